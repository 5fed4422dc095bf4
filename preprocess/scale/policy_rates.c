/* As many workers as the consumers' rate needs, by the rates that were measured: one jump. */
#include "preprocess/scale/policy.h"
#include "preprocess/scale/rates.h"

#include <math.h>

struct rates {
    double wanted, made; /* batches a second: of all consumers, of one worker; moving means */
};

enum { KEPT = 2 /* the newest report counts one part in so many */ };

static double mean_of(double before, double newest)
{
    return before > 0 ? before + (newest - before) / KEPT : newest;
}

static uint32_t bounded(double workers, uint32_t min, uint32_t max)
{
    double most = workers < (double)max ? workers : (double)max;
    return most > (double)min ? (uint32_t)most : min;
}

static void decide(const struct rates *rates, const struct scale_setting *setting,
                   struct scale_decision *ret_decision)
{
    bool is_known = rates->made > 0 && rates->wanted > 0;
    double need = is_known ? rates->wanted / rates->made : 1;
    *ret_decision = (struct scale_decision){
        .need = need,
        .why = is_known ? "jump" : "measuring",
        .is_settled = is_known,
    };
    ret_decision->size.at[SCALE_POOL] =
        bounded(ceil(need), setting->min.at[SCALE_POOL], setting->max.at[SCALE_POOL]);
}

static void begin(void *state, const struct scale_setting *setting,
                  struct scale_decision *ret_decision)
{
    decide(state, setting, ret_decision);
}

static void report(void *state, const struct scale_setting *setting,
                   const struct scale_report *report, struct scale_decision *ret_decision)
{
    struct rates *rates = state;
    double wanted = preprocess_scale_wanted(report);
    double made = preprocess_scale_made(report, SCALE_POOL);
    if (wanted > 0 && made > 0) {
        rates->wanted = mean_of(rates->wanted, wanted);
        rates->made = mean_of(rates->made, made);
    }
    decide(rates, setting, ret_decision);
}

static const struct cfg_key OPTIONS[] = {CFG_END};

const struct scale_policy preprocess_scale_rates = {
    .name = "rates",
    .summary = "by the rates of consumers and workers, verified by a step up and down",
    .options = OPTIONS,
    .state_size = sizeof(struct rates),
    .begin = begin,
    .report = report,
};
