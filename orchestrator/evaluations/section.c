/* The keys of an evaluation: its own, then those of its strategy. */
#include "orchestrator/evaluations/section.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *const WHEN[] = {"after_training", "after_pipeline", "on_demand", NULL};

/* The bits of enum evaluation_models, from the first. */
static const char *const MODELS[] = {"next", "active", "trained", "matrix", NULL};

struct evaluation_section {
    const char *name;
    const char *on;
    const char *strategy;
    struct cfg_texts models;
    int when;
    const struct weir_yaml_node *metrics;
};

static const struct cfg_key KEYS[] = {
    CFG_TEXT(struct evaluation_section, name, .required = true, .doc = "name of the results"),
    CFG_TEXT(
        struct evaluation_section, on, .fallback = "new",
        .doc =
            "new: samples of the stream; holdout: of these, the ones that datasets[].holdout keeps from all "
            "training; or one of the pipeline's datasets by its name: of these, its own"),
    CFG_TEXT(
        struct evaluation_section, strategy, .fallback = "slicing",
        .doc =
            "intervals of event time: one of the strategies below, whose keys stand beside these"),
    CFG_TEXTS(
        struct evaluation_section, models,
        .doc =
            "models for each interval, one or several: next (each model on the first interval that "
            "begins after its newest sample), active (on each interval the newest model that had "
            "seen nothing of it), trained (the one after that), matrix (every model on every "
            "interval); by default [next, active]; not with offset"),
    CFG_CHOICE(
        struct evaluation_section, when, .fallback = "after_training", .choices = WHEN,
        .doc = "after_training: as soon as a model and its interval are there, and what is left "
               "at the end; after_pipeline: at the end; on_demand: when weir evaluate asks"),
    CFG_NODE(struct evaluation_section, metrics, .required = true,
             .doc = "names, or mappings such as {name: top_n, n: 5}"),
    CFG_END,
};

static enum weir_status read_models(struct orchestrator_evaluation *evaluation,
                                    const struct cfg_texts *models, struct weir_error *err)
{
    struct evaluation_request *request = &evaluation->request;
    if (models->count > 0 && request->strategy->intervals == NULL) {
        return weir_yaml_fail(models->node, err,
                              "evaluation.models: %s has intervals of each model: expected nothing",
                              request->strategy->name);
    }
    if (models->count == 0)
        request->models = MODELS_NEXT | MODELS_ACTIVE;
    for (size_t i = 0; i < models->count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(models->node, i));
        size_t at = 0;
        while (MODELS[at] != NULL && !weir_str_equal(MODELS[at], name))
            at++;
        if (MODELS[at] == NULL)
            return weir_yaml_fail(
                weir_yaml_at(models->node, i), err,
                "evaluation.models: expected next, active, trained or matrix, found "
                "'%.40s'",
                name == NULL ? "" : name);
        request->models |= 1U << at;
    }
    return WEIR_OK;
}

static enum weir_status read_metrics(struct orchestrator_evaluation *evaluation,
                                     const struct weir_yaml_node *node, struct weir_error *err)
{
    size_t count = weir_yaml_length(node);
    if (count == 0 || count > ORCHESTRATOR_METRICS_MAX) {
        return weir_yaml_fail(node, err, "evaluation.metrics: expected 1 to %d metrics, found %zu",
                              ORCHESTRATOR_METRICS_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct weir_yaml_node *item = weir_yaml_at(node, i);
        struct configured_metric **metric = &evaluation->metrics[evaluation->metric_count];
        enum weir_status status = orchestrator_metric_open(item, "evaluation.metrics", metric, err);
        if (status != WEIR_OK)
            return status;
        const char *label = orchestrator_metric_label(*metric);
        for (size_t j = 0; j < evaluation->metric_count; j++)
            if (strcmp(orchestrator_metric_label(evaluation->metrics[j]), label) == 0)
                return weir_yaml_fail(item, err, "evaluation.metrics: '%s' is given twice", label);
        evaluation->metric_count++;
    }
    return WEIR_OK;
}

enum weir_status orchestrator_evaluation_read(const struct weir_yaml_node *node,
                                              struct orchestrator_evaluation *evaluation,
                                              struct weir_error *err)
{
    const struct cfg_shared shared = {KEYS, sizeof(struct evaluation_section)};
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&ORCHESTRATOR_STRATEGIES, &shared, node, "evaluation", &opened, err);
    if (status != WEIR_OK)
        return status;
    const struct evaluation_strategy *strategy = (const struct evaluation_strategy *)opened.plugin;
    const struct evaluation_section *section = opened.memory;
    evaluation->section = opened.memory;
    evaluation->options = opened.options;
    evaluation->state = weir_calloc(1, strategy->state_size);
    evaluation->request =
        (struct evaluation_request){.strategy = strategy, .state = evaluation->state};
    evaluation->name = section->name;
    evaluation->holdout = strcmp(section->on, "holdout") == 0;
    evaluation->dataset =
        evaluation->holdout || strcmp(section->on, "new") == 0 ? NULL : section->on;
    evaluation->when = section->when;
    status = strategy->init(evaluation->state, opened.options, node, err);
    if (status == WEIR_OK)
        status = read_models(evaluation, &section->models, err);
    return status == WEIR_OK ? read_metrics(evaluation, section->metrics, err) : status;
}

void orchestrator_evaluation_fini(struct orchestrator_evaluation *evaluation)
{
    if (evaluation->state != NULL && evaluation->request.strategy->fini != NULL)
        evaluation->request.strategy->fini(evaluation->state);
    for (size_t i = 0; i < ORCHESTRATOR_METRICS_MAX; i++)
        orchestrator_metric_close(evaluation->metrics[i]);
    free(evaluation->state);
    free(evaluation->section);
    *evaluation = (struct orchestrator_evaluation){0};
}

void orchestrator_evaluation_print(const struct orchestrator_evaluation *evaluation,
                                   struct weir_buf *out)
{
    size_t from = out->size;
    cfg_print(KEYS, evaluation->section, 4, out);
    cfg_print(evaluation->request.strategy->options, evaluation->options, 4, out);
    out->at[from + 2] = '-';
}

void orchestrator_evaluation_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "\n## evaluation\n\nA list.\n\n");
    cfg_document(KEYS, out);
    cfg_registry_document(&ORCHESTRATOR_STRATEGIES, "### evaluation.strategy", out);
    orchestrator_metric_describe(out);
}
