/* Key tables of the sections `models` and `promote`. */
#include "orchestrator/config/model_settings.h"

#include <string.h>

enum { FULL_EVERY_MAX = 100, KEEP_MAX = 1000000 };

static const char *const STORAGES[] = {"full", "delta", NULL};
static const char *const OTHERWISE[] = {"keep_previous", NULL};

struct models_section {
    int storage;
    uint64_t full_every;
    const struct weir_yaml_node *keep;
};

static const struct cfg_key MODELS_KEYS[] = {
    CFG_CHOICE(
        struct models_section, storage, .fallback = "full", .choices = STORAGES,
        .doc =
            "delta stores a model as its difference from the one it started from, bit for bit, where that is smaller"),
    CFG_U64(struct models_section, full_every, .fallback = "10", .min = 1, .max = FULL_EVERY_MAX,
            .doc = "of deltas in a row, the one that is stored whole: what a read costs at most"),
    CFG_NODE(
        struct models_section, keep,
        .doc =
            "`all`, `{last: 5}` or `{best: 5, by: roc_auc}`; the active model, the newest one and what a delta needs "
            "are kept in any case"),
    CFG_END,
};

struct keep_section {
    uint64_t last, best;
    const struct weir_yaml_node *by;
};

static const struct cfg_key KEEP_KEYS[] = {
    CFG_U64(struct keep_section, last, .min = 1, .max = KEEP_MAX,
            .doc = "number of the newest models that are kept"),
    CFG_U64(
        struct keep_section, best, .min = 1, .max = KEEP_MAX,
        .doc =
            "number of the best models that are kept, each by the newest interval it was measured "
            "on"),
    CFG_NODE(struct keep_section, by, .doc = "metric of `best`, as an evaluation has it"),
    CFG_END,
};

struct promote_section {
    const struct weir_yaml_node *when;
    int otherwise;
};

static const struct cfg_key PROMOTE_KEYS[] = {
    CFG_NODE(struct promote_section, when, .required = true,
             .doc = "metric that a new model and the active one are compared by"),
    CFG_KEY_AS("else", CFG_KIND_CHOICE, int, struct promote_section, otherwise,
               .fallback = "keep_previous", .choices = OTHERWISE,
               .doc = "treatment of a model that fails"),
    CFG_END,
};

struct when_section {
    const struct weir_yaml_node *metric;
    double not_worse_by;
    const char *evaluation;
};

static const struct cfg_key WHEN_KEYS[] = {
    CFG_NODE(
        struct when_section, metric, .required = true,
        .doc =
            "of both models, on an interval that both were measured on; as an evaluation has it"),
    CFG_F64(struct when_section, not_worse_by, .fallback = "0", .min = 0, .max = 1e12,
            .doc = "margin by which it may be worse than the active one, in units of the metric"),
    CFG_TEXT(struct when_section, evaluation, .fallback = "",
             .doc = "name of the evaluation; any that has the metric"),
    CFG_END,
};

static enum weir_status read_keep(const struct weir_yaml_node *node,
                                  struct models_settings *settings, struct weir_error *err)
{
    struct keep_section keep = {0};
    if (node == NULL || weir_str_equal(weir_yaml_text(node), "all"))
        return WEIR_OK;
    enum weir_status status =
        cfg_read(KEEP_KEYS, CFG_CLOSED, node, "models.keep", NULL, &keep, err);
    if (status != WEIR_OK)
        return status;
    if ((keep.last > 0) == (keep.best > 0) || (keep.by != NULL && keep.best == 0)) {
        return weir_yaml_fail(node, err,
                              "models.keep: expected all, {last: 5} or {best: 5, by: roc_auc}");
    }
    settings->keep = keep.last > 0 ? MODELS_KEEP_LAST : MODELS_KEEP_BEST;
    settings->keep_count = keep.last > 0 ? keep.last : keep.best;
    if (keep.last > 0)
        return WEIR_OK;
    if (keep.by == NULL)
        return weir_yaml_fail(node, err,
                              "models.keep: best needs the metric that it is by, expected {best: "
                              "%llu, by: roc_auc} for example",
                              (unsigned long long)keep.best);
    status = orchestrator_metric_open(keep.by, "models.keep.by", &settings->keep_by, err);
    if (status == WEIR_OK)
        settings->higher_is_better = orchestrator_metric_of(settings->keep_by)->higher_is_better;
    return status;
}

enum weir_status orchestrator_models_settings_read(const struct weir_yaml_node *models,
                                                   struct models_settings *ret_settings,
                                                   struct weir_error *err)
{
    struct models_section section = {0};
    enum weir_status status =
        cfg_read(MODELS_KEYS, CFG_CLOSED, models, "models", NULL, &section, err);
    if (status != WEIR_OK)
        return status;
    *ret_settings = (struct models_settings){
        .storage = section.storage, .full_every = section.full_every, .keep_node = section.keep};
    return read_keep(section.keep, ret_settings, err);
}

enum weir_status orchestrator_promote_settings_read(const struct weir_yaml_node *promote,
                                                    struct promote_settings *ret_settings,
                                                    struct weir_error *err)
{
    struct promote_section section = {0};
    struct when_section when = {0};
    *ret_settings = (struct promote_settings){.metric = NULL};
    if (promote == NULL)
        return WEIR_OK;
    enum weir_status status =
        cfg_read(PROMOTE_KEYS, CFG_CLOSED, promote, "promote", NULL, &section, err);
    if (status == WEIR_OK)
        status = cfg_read(WHEN_KEYS, CFG_CLOSED, section.when, "promote.when", NULL, &when, err);
    if (status == WEIR_OK) {
        ret_settings->when_node = section.when;
        ret_settings->not_worse_by = when.not_worse_by;
        ret_settings->evaluation = when.evaluation;
        status = orchestrator_metric_open(when.metric, "promote.when.metric", &ret_settings->metric,
                                          err);
    }
    return status;
}

void orchestrator_models_settings_fini(struct models_settings *settings)
{
    orchestrator_metric_close(settings->keep_by);
    settings->keep_by = NULL;
}

void orchestrator_promote_settings_fini(struct promote_settings *settings)
{
    orchestrator_metric_close(settings->metric);
    settings->metric = NULL;
}

void orchestrator_models_settings_print(const struct models_settings *settings,
                                        struct weir_buf *out)
{
    weir_buf_printf(out, "models:\n  storage: %s\n  full_every: %llu\n  keep: ",
                    STORAGES[settings->storage], (unsigned long long)settings->full_every);
    if (settings->keep_node == NULL)
        weir_buf_append_text(out, "all");
    else
        weir_yaml_print(settings->keep_node, out);
    weir_buf_append_text(out, "\n");
}

void orchestrator_promote_settings_print(const struct promote_settings *settings,
                                         struct weir_buf *out)
{
    if (settings->metric == NULL)
        return;
    weir_buf_append_text(out, "promote:\n  when: ");
    weir_yaml_print(settings->when_node, out);
    weir_buf_append_text(out, "\n  else: keep_previous\n");
}

void orchestrator_models_settings_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "## models\n\n");
    cfg_document(MODELS_KEYS, out);
    weir_buf_append_text(out, "\n### models.keep\n\n");
    cfg_document(KEEP_KEYS, out);
    weir_buf_append_text(
        out, "\n## promote\n\nAbsent, every new model becomes the active one as it is stored.\n\n");
    cfg_document(PROMOTE_KEYS, out);
    weir_buf_append_text(out, "\n### promote.when\n\n");
    cfg_document(WHEN_KEYS, out);
}
