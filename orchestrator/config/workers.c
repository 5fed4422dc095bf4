/* A number alone, or a mapping of bounds. */
#include "orchestrator/config/workers.h"

enum { WORKERS = 2 /* of a file that says nothing */ };

struct workers_section {
    uint64_t min, max, host;
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

static enum weir_status read_bounds(const struct weir_yaml_node *node,
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
    *workers = (struct orchestrator_workers){.min = (uint32_t)section.min,
                                             .max = (uint32_t)section.max,
                                             .host_max = (uint32_t)section.host};
    return WEIR_OK;
}

enum weir_status orchestrator_workers_read(const struct weir_yaml_node *node,
                                           struct orchestrator_workers *ret_workers,
                                           struct weir_error *err)
{
    if (node == NULL || weir_yaml_is_null(node)) {
        *ret_workers = (struct orchestrator_workers){.min = WORKERS, .max = WORKERS};
        return WEIR_OK;
    }
    return weir_yaml_is_mapping(node) ? read_bounds(node, ret_workers, err)
                                      : read_number(node, ret_workers, err);
}

void orchestrator_workers_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "\n## workers\n\nA number alone: so many, always; 0: those that are "
                              "elsewhere alone.\n\n");
    cfg_document(WORKERS_KEYS, out);
}
