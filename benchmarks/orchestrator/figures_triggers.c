/* Figures about trigger policies alone: ten million samples of a year, one after the other, as a pipeline hands them
 * over. */
#include "benchmarks/orchestrator/bench.h"

#include "core/base/clock.h"
#include "core/config/yaml.h"
#include "orchestrator/triggers/trigger.h"

enum { SAMPLES = 10000000 };

static const char POLICY[] =
    "policy: ensemble\n"
    "any: [{policy: amount, samples: 100000}, {policy: time, every: 1d}]\n";

static uint64_t walk(struct trigger *trigger, uint64_t count)
{
    const int64_t year_us = INT64_C(365) * 86400 * 1000000;
    uint64_t fired = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct trigger_sample sample = {
            .id = i, .time_us = (int64_t)(i * (uint64_t)(year_us / (int64_t)count)), .label = 0};
        if (orchestrator_trigger_before(trigger, &sample)) {
            orchestrator_trigger_fired(trigger);
            fired++;
        }
        if (orchestrator_trigger_observe(trigger, &sample)) {
            orchestrator_trigger_fired(trigger);
            fired++;
        }
    }
    return fired;
}

enum weir_status evaluate_triggers(void *state, double *ret_rate, struct weir_error *err)
{
    const struct orchestrator_bench *bench = state;
    uint64_t count = (uint64_t)(SAMPLES * bench->scale) + 1;
    WEIR_AUTO(weir_yaml) yaml = NULL;
    WEIR_AUTO(trigger) trigger = NULL;
    enum weir_status status = weir_yaml_parse("policy", weir_bytes_of(POLICY), &yaml, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_open(weir_yaml_root(yaml), "trigger", &trigger, err);
    if (status != WEIR_OK)
        return status;
    int64_t since_ns = weir_now_ns();
    uint64_t fired = walk(trigger, count);
    *ret_rate = (double)count * 1e9 / (double)(weir_now_ns() - since_ns);
    return fired > 300 ? WEIR_OK
                       : weir_fail(err, WEIR_INTERNAL, "%llu triggers in a year of days",
                                   (unsigned long long)fired);
}

enum weir_status twenty_million_samples(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 20e6;
    return WEIR_OK;
}
