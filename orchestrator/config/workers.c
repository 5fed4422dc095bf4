/* A number alone, or a mapping of bounds. */
#include "orchestrator/config/workers.h"

#include <inttypes.h>
#include <math.h>

enum { WORKERS = 2 /* of a file that says nothing */ };

struct workers_section {
    uint64_t min, max, host;
    double money_hour;
};

static const struct cfg_key WORKERS_KEYS[] = {
    CFG_U64(struct workers_section, min, .fallback = "1", .max = ORCHESTRATOR_WORKERS_MAX,
            .doc = "workers that are always there; 0: none while no run wants any"),
    CFG_U64(struct workers_section, max, .required = true, .min = 1,
            .max = ORCHESTRATOR_WORKERS_MAX,
            .doc = "workers of the pool, at most: between the two there are as many as the runs "
                   "need, by what is measured"),
    CFG_U64(struct workers_section, host, .fallback = "0", .max = ORCHESTRATOR_WORKERS_MAX,
            .doc = "workers beside the trainers, at most, as many as are needed"),
    CFG_F64(struct workers_section, money_hour, .fallback = "0", .max = 1e15,
            .doc = "money that the workers of the pool may cost in an hour, by prices.worker_hour; "
                   "0: as much as max allows"),
    CFG_END,
};

static enum weir_status read_number(const struct weir_yaml_node *node,
                                    struct orchestrator_workers *workers, struct weir_error *err)
{
    uint64_t number = 0;
    const char *text = weir_yaml_text(node);
    bool is_number = text != NULL && cfg_parse_u64(text, &number);
    if (!is_number || number > ORCHESTRATOR_WORKERS_MAX)
        return weir_yaml_fail(node, err,
                              "workers: expected an integer from 0 to %d, or a mapping such as "
                              "{min: 1, max: 8}, found %s%s%s",
                              ORCHESTRATOR_WORKERS_MAX, text != NULL ? "'" : "",
                              text != NULL ? text : "a list", text != NULL ? "'" : "");
    *workers = (struct orchestrator_workers){.min = (uint32_t)number, .max = (uint32_t)number};
    return WEIR_OK;
}

/* No more are there than the money pays for. */
static enum weir_status bound_by_money(const struct weir_yaml_node *node, double worker_hour,
                                       struct workers_section *section, struct weir_error *err)
{
    enum { LEAST = 1 };
    const struct weir_yaml_node *at = weir_yaml_get(node, "money_hour");
    uint64_t least = section->min > LEAST ? section->min : LEAST;

    if (section->money_hour == 0)
        return WEIR_OK;
    if (worker_hour == 0)
        return weir_yaml_fail(at, err,
                              "workers.money_hour: expected prices.worker_hour as well, the price "
                              "of a worker");
    double payable = floor(section->money_hour / worker_hour * (1 + 1e-9));
    if (payable < (double)least)
        return weir_yaml_fail(at, err,
                              "workers.money_hour: expected at least %g, the price of %" PRIu64
                              " of the pool (workers.min, prices.worker_hour), found %g",
                              worker_hour * (double)least, least, section->money_hour);
    if (payable < (double)section->max)
        section->max = (uint64_t)payable;
    return WEIR_OK;
}

static enum weir_status read_bounds(const struct weir_yaml_node *node, double worker_hour,
                                    struct orchestrator_workers *workers, struct weir_error *err)
{
    struct workers_section section = {0};
    enum weir_status status =
        cfg_read(WORKERS_KEYS, CFG_CLOSED, node, "workers", NULL, &section, err);
    if (status != WEIR_OK)
        return status;
    if (section.min > section.max) {
        const struct weir_yaml_node *min = weir_yaml_get(node, "min");
        return weir_yaml_fail(min != NULL ? min : weir_yaml_get(node, "max"), err,
                              "workers.min: expected at most workers.max, which is %lu, found %lu",
                              section.max, section.min);
    }
    if (section.max + section.host > ORCHESTRATOR_WORKERS_MAX)
        return weir_yaml_fail(weir_yaml_get(node, "host"), err,
                              "workers.host: expected at most %lu beside a pool of %lu (%d in "
                              "all), found %lu",
                              ORCHESTRATOR_WORKERS_MAX - section.max, section.max,
                              ORCHESTRATOR_WORKERS_MAX, section.host);
    status = bound_by_money(node, worker_hour, &section, err);
    if (status == WEIR_OK)
        *workers = (struct orchestrator_workers){.min = (uint32_t)section.min,
                                                 .max = (uint32_t)section.max,
                                                 .host_max = (uint32_t)section.host};
    return status;
}

enum weir_status orchestrator_workers_read(const struct weir_yaml_node *node, double worker_hour,
                                           struct orchestrator_workers *ret_workers,
                                           struct weir_error *err)
{
    if (node == NULL || weir_yaml_is_null(node)) {
        *ret_workers = (struct orchestrator_workers){.min = WORKERS, .max = WORKERS};
        return WEIR_OK;
    }
    return weir_yaml_is_mapping(node) ? read_bounds(node, worker_hour, ret_workers, err)
                                      : read_number(node, ret_workers, err);
}

void orchestrator_workers_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "\n## workers\n\nA number alone: so many, always; 0: those that are "
                              "elsewhere alone.\n\n");
    cfg_document(WORKERS_KEYS, out);
}
