/* The key table of a quota. */
#include "orchestrator/sharing/quotas.h"

#include "core/base/memory.h"

static const struct cfg_key KEYS[] = {
    CFG_F64(
        struct orchestrator_quota, share, .fallback = "1", .min = 0.001, .max = 1000,
        .doc =
            "of trainer time and of worker time, against the shares of the others that want any"),
    CFG_U64(struct orchestrator_quota, trainers, .fallback = "0", .max = 1000,
            .doc = "at once; 0: as many as there are"),
    CFG_U64(struct orchestrator_quota, gpus, .fallback = "0", .max = CFG_GPUS_MAX,
            .doc = "the same"),
    CFG_U64(struct orchestrator_quota, workers, .fallback = "0", .max = 1000,
            .doc =
                "that make its batches at once, even while others idle; 0: as many as there are"),
    CFG_END,
};

static enum weir_status read(const struct weir_yaml_node *node, const char *path,
                             struct orchestrator_quota *ret_quota, struct weir_error *err)
{
    struct orchestrator_quota quota = {0};
    enum weir_status status = cfg_read(KEYS, CFG_CLOSED, node, path, NULL, &quota, err);
    *ret_quota = quota;
    return status;
}

enum weir_status orchestrator_quotas_check(const struct weir_yaml_node *quotas,
                                           struct weir_error *err)
{
    if (!weir_yaml_is_mapping_if_any(quotas))
        return weir_yaml_fail(quotas, err, "quotas: expected NAME: {share: …, trainers: …}");
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < weir_yaml_pairs(quotas); i++) {
        struct orchestrator_quota quota;
        WEIR_AUTO_FREE char *path = weir_format("quotas.%s", weir_yaml_key(quotas, i));
        status = read(weir_yaml_value(quotas, i), path, &quota, err);
    }
    return status;
}

struct orchestrator_quota orchestrator_quota_of(const struct orchestrator_sharing *sharing,
                                                const char *pipeline)
{
    struct orchestrator_quota quota;
    struct weir_error err;
    const struct weir_yaml_node *node = weir_yaml_get(sharing->quotas, pipeline);
    if (node == NULL)
        node = weir_yaml_get(sharing->quotas, "default");
    weir_require(read(node, "quotas", &quota, &err) == WEIR_OK); /* checked when it was loaded */
    return quota;
}

uint64_t orchestrator_quota_gpus(const struct orchestrator_sharing *sharing, const char *pipeline)
{
    struct orchestrator_quota quota = orchestrator_quota_of(sharing, pipeline);

    return quota.gpus > 0 && quota.gpus < sharing->gpus ? quota.gpus : sharing->gpus;
}

struct arbiter_quota orchestrator_quota_trainers(const struct orchestrator_quota *quota)
{
    return (struct arbiter_quota){
        .share = quota->share, .trainers = quota->trainers, .gpus = quota->gpus};
}

void orchestrator_quotas_describe(struct weir_buf *out)
{
    weir_buf_append_text(
        out, "\n## quotas.NAME\n\nOf the pipeline of that name; `default` is for the others.\n\n");
    cfg_document(KEYS, out);
}
