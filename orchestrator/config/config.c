/* The key tables of the orchestrator's sections, and what tables cannot check. */
#include "orchestrator/config/config.h"

#include "core/base/memory.h"
#include "core/config/sections.h"
#include "core/wire/selection_policies.h"
#include "orchestrator/drift/detector.h"
#include "orchestrator/drift/judge.h"
#include "orchestrator/triggers/trigger.h"
#include "orchestrator/values/name.h"

#include <stdlib.h>
#include <string.h>

static const char *const MODES[] = {"replay", "live", NULL};
static const char *const DELETIONS[] = {"retrain_now", "retire", "keep", NULL};

/* The whole file. Sections that belong to others are only named here. */
struct file_section {
    const struct weir_yaml_node *pipeline, *datasets, *dataset, *trigger, *selection, *preprocess,
        *training, *evaluation, *promote, *models, *budget, *deletion;
};

static const struct cfg_key FILE_KEYS[] = {
    CFG_NODE(struct file_section, pipeline, .required = true,
             .doc = "name and mode of the pipeline"),
    CFG_NODE(struct file_section, datasets, .doc = "datasets of the samples"),
    CFG_NODE(struct file_section, dataset, .doc = "the same for a list of one"),
    CFG_NODE(struct file_section, trigger, .required = true,
             .doc = "trigger policy: time to train"),
    CFG_NODE(struct file_section, selection, .required = true, .doc = "on which samples"),
    CFG_NODE(struct file_section, preprocess, .required = true, .doc = "from bytes to batches"),
    CFG_NODE(struct file_section, training, .required = true, .doc = "model and its training"),
    CFG_NODE(struct file_section, evaluation, .doc = "measurements of each model"),
    CFG_NODE(struct file_section, promote, .doc = "rule by which a model becomes the active one"),
    CFG_NODE(struct file_section, models, .doc = "storage of models, and the models that are kept"),
    CFG_NODE(struct file_section, budget, .doc = "limit of the cost"),
    CFG_NODE(struct file_section, deletion, .doc = "treatment of models when samples are erased"),
    CFG_END,
};

struct pipeline_section {
    const char *name;
    int mode;
};

static const struct cfg_key PIPELINE_KEYS[] = {
    CFG_TEXT(struct pipeline_section, name, .required = true,
             .doc = "letters, digits, - and _; models are called after it"),
    CFG_CHOICE(struct pipeline_section, mode, .fallback = "replay", .choices = MODES,
               .doc =
                   "replay walks what is there in order of event time; live follows what arrives"),
    CFG_END,
};

struct deletion_section {
    int policy;
    int64_t within;
};

static const struct cfg_key DELETION_KEYS[] = {
    CFG_CHOICE(
        struct deletion_section, policy, .fallback = "retrain_now", .choices = DELETIONS,
        .doc =
            "retrain_now replaces models that have seen what was erased, retire removes them, keep lists them"),
    CFG_DURATION(struct deletion_section, within, .fallback = "30d", .min = 1,
                 .doc = "an erasure without its receipt after so long is overdue"),
    CFG_END,
};

/* Read beside the trainer, which owns this section and documents it. */
struct training_section {
    struct cfg_training shared;
    const char *loss;
    const char *program;
    const struct weir_yaml_node *options;
    const char *group;
    struct cfg_texts slices;
};

static const struct cfg_key TRAINING_KEYS[] = {
    CFG_TRAINING_ROWS(struct training_section, shared.),
    CFG_TEXT(struct training_section, loss, .fallback = "logistic", .doc = ""),
    CFG_TEXT(struct training_section, program, .fallback = "", .doc = ""),
    CFG_NODE(struct training_section, options, .doc = ""),
    CFG_TEXT(struct training_section, group, .fallback = "", .doc = ""),
    CFG_TEXTS(struct training_section, slices, .doc = ""),
    CFG_END,
};

static enum weir_status check_name(const struct weir_yaml_node *node, const char *name,
                                   const char *path, struct weir_error *err)
{
    if (!orchestrator_is_name(name) || strlen(name) > ORCHESTRATOR_NAME_MAX) {
        return weir_yaml_fail(
            node, err,
            "%s: expected 1 to %d letters, digits, - or _, a letter or digit first, found '%.80s'",
            path, ORCHESTRATOR_NAME_MAX, name);
    }
    return WEIR_OK;
}

static enum weir_status read_pipeline(struct orchestrator_config *config,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    struct pipeline_section section = {0};
    enum weir_status status =
        cfg_read(PIPELINE_KEYS, CFG_CLOSED, node, "pipeline", NULL, &section, err);
    if (status != WEIR_OK)
        return status;
    config->name = section.name;
    config->mode = section.mode;
    return check_name(weir_yaml_get(node, "name"), section.name, "pipeline.name", err);
}

static enum weir_status read_dataset(struct orchestrator_config *config, size_t index,
                                     const struct weir_yaml_node *dataset, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("datasets[%zu].use", index);
    const char *name = weir_yaml_text(weir_yaml_get(dataset, "name"));
    if (weir_yaml_get(dataset, "updates") != NULL)
        return WEIR_OK; /* it holds labels, which storage joins to their samples */
    if (name == NULL)
        return weir_yaml_fail(dataset, err, "datasets.name: expected a name, found nothing");
    config->datasets[config->dataset_count] = name;
    return cfg_use_read(weir_yaml_get(dataset, "use"), path, &config->uses[config->dataset_count++],
                        err);
}

/* A pipeline of which nothing triggers, or nothing is selected, never trains. */
static enum weir_status check_uses(const struct orchestrator_config *config,
                                   const struct weir_yaml_node *node, struct weir_error *err)
{
    unsigned uses = 0;
    for (size_t i = 0; i < config->dataset_count; i++)
        uses |= config->uses[i];
    if ((uses & CFG_USE_TRIGGER) == 0)
        return weir_yaml_fail(node, err,
                              "datasets: no `use` has trigger in it: expected one dataset at least "
                              "whose samples the trigger counts");
    if ((uses & CFG_USE_SELECTION) == 0)
        return weir_yaml_fail(node, err,
                              "datasets: no `use` has selection in it: expected one dataset at "
                              "least that models are trained on");
    return WEIR_OK;
}

static enum weir_status read_datasets(struct orchestrator_config *config,
                                      const struct weir_yaml_node *root,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    size_t count = weir_yaml_length(node);
    if (count == 0 || count > ORCHESTRATOR_DATASETS_MAX) {
        return weir_yaml_fail(node == NULL ? root : node, err,
                              "datasets: expected 1 to %d datasets, found %zu",
                              ORCHESTRATOR_DATASETS_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        enum weir_status status = read_dataset(config, i, weir_yaml_at(node, i), err);
        if (status != WEIR_OK)
            return status;
    }
    return check_uses(config, node, err);
}

bool orchestrator_config_measures(const struct orchestrator_config *config, size_t index,
                                  const char *named)
{
    if (named != NULL)
        return strcmp(config->datasets[index], named) == 0;
    return (config->uses[index] & CFG_USE_EVALUATION) != 0 &&
           config->uses[index] != CFG_USE_EVALUATION;
}

static enum weir_status check_measured(const struct orchestrator_config *config, size_t index,
                                       const struct weir_yaml_node *on, struct weir_error *err)
{
    if ((config->uses[index] & CFG_USE_EVALUATION) != 0)
        return WEIR_OK;
    return weir_yaml_fail(on, err,
                          "evaluation.on: dataset '%s' has a `use` without evaluation: expected it "
                          "there, or another dataset",
                          config->datasets[index]);
}

static enum weir_status check_on(const struct orchestrator_config *config,
                                 const struct orchestrator_evaluation *evaluation,
                                 const struct weir_yaml_node *node, struct weir_error *err)
{
    const char *names[ORCHESTRATOR_DATASETS_MAX + 3] = {"new", "holdout"};
    for (size_t i = 0; i < config->dataset_count; i++) {
        if (weir_str_equal(config->datasets[i], evaluation->dataset))
            return check_measured(config, i, weir_yaml_get(node, "on"), err);
        names[2 + i] = config->datasets[i];
    }
    if (evaluation->dataset == NULL)
        return WEIR_OK;
    return cfg_unknown(weir_yaml_get(node, "on"), "evaluation.on", "dataset", names, err);
}

static enum weir_status read_evaluation(struct orchestrator_config *config,
                                        const struct weir_yaml_node *node, struct weir_error *err)
{
    size_t index = config->evaluation_count++; /* whatever becomes of it, it is released */
    struct orchestrator_evaluation *evaluation = &config->evaluations[index];
    enum weir_status status = orchestrator_evaluation_read(node, evaluation, err);
    if (status == WEIR_OK)
        status = check_on(config, evaluation, node, err);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < index; i++)
        if (weir_str_equal(config->evaluations[i].name, evaluation->name))
            return weir_yaml_fail(node, err, "evaluation.name: '%s' is given twice",
                                  evaluation->name);
    return check_name(weir_yaml_get(node, "name"), evaluation->name, "evaluation.name", err);
}

static void read_evaluations(struct orchestrator_config *config, const struct weir_yaml_node *node,
                             struct cfg_complaints *all)
{
    struct weir_error err;
    size_t count = weir_yaml_length(node);

    if (count > ORCHESTRATOR_EVALUATIONS_MAX) {
        cfg_note(all,
                 weir_yaml_fail(node, &err, "evaluation: expected at most %d, found %zu",
                                ORCHESTRATOR_EVALUATIONS_MAX, count),
                 &err);
        return;
    }
    for (size_t i = 0; i < count; i++)
        cfg_note(all, read_evaluation(config, weir_yaml_at(node, i), &err), &err);
}

/* Each rank has its own. */
static enum weir_status check_gpus(const struct orchestrator_config *config,
                                   const struct weir_yaml_node *training, struct weir_error *err)
{
    if (config->gpus % config->ranks == 0)
        return WEIR_OK;
    return weir_yaml_fail(weir_yaml_get(training, "gpus"), err,
                          "training.gpus: expected a multiple of training.ranks, %llu, found %llu: "
                          "each rank has equally many",
                          (unsigned long long)config->ranks, (unsigned long long)config->gpus);
}

static enum weir_status check_start_from(const char *start_from, const struct weir_yaml_node *node,
                                         struct weir_error *err)
{
    static const char *const WORDS[] = {"previous", "scratch", NULL};
    const char *word = cfg_nearest(start_from, WORDS), *dash = strrchr(start_from, '-');
    bool is_model = dash != NULL && strpbrk(dash, "0123456789") != NULL;

    if (start_from[0] == '/' || (word != NULL && strcmp(word, start_from) == 0) ||
        (is_model && strchr(start_from, '/') == NULL))
        return WEIR_OK;
    if (word != NULL)
        return weir_yaml_fail(node, err, "training.start_from: found '%s' (did you mean %s?)",
                              start_from, word);
    return weir_yaml_fail(
        node, err,
        "training.start_from: expected previous, scratch, a model's name (mine-3) "
        "or the absolute path of a model's file, found '%s'",
        start_from);
}

static enum weir_status read_deletion(struct orchestrator_config *config,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    struct deletion_section deletion = {0};
    enum weir_status status =
        cfg_read(DELETION_KEYS, CFG_CLOSED, node, "deletion", NULL, &deletion, err);

    config->deletion = deletion.policy;
    config->deletion_within_us = deletion.within;
    return status;
}

static enum weir_status read_trigger(struct orchestrator_config *config,
                                     const struct weir_yaml_node *node, struct weir_error *err)
{
    WEIR_AUTO(trigger) trigger = NULL;

    config->trigger = node;
    return orchestrator_trigger_open(node, "trigger", &trigger, err);
}

static enum weir_status read_training(struct orchestrator_config *config,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    struct training_section training = {0};
    enum weir_status status =
        cfg_read(TRAINING_KEYS, CFG_OPEN, node, "training", NULL, &training, err);

    if (status == WEIR_OK)
        status =
            check_start_from(training.shared.start_from, weir_yaml_get(node, "start_from"), err);
    if (status != WEIR_OK)
        return status;
    config->epochs = training.shared.epochs;
    config->seed = training.shared.seed;
    config->retries = training.shared.retries;
    config->patience_ms = training.shared.patience / 1000;
    config->keep_warm_ms = training.shared.keep_warm / 1000;
    config->gpus = training.shared.gpus;
    config->ranks = training.shared.ranks;
    config->start_from = training.shared.start_from;
    config->loss = training.loss;
    config->program = training.program;
    config->program_options = training.options;
    config->reports = training.shared.report_losses;
    config->digests = training.shared.digests;
    config->group = training.group;
    config->slices = training.slices;
    return check_gpus(config, node, err);
}

static void read_sections(struct orchestrator_config *config, const struct weir_yaml_node *root,
                          const struct file_section *file, struct cfg_complaints *all)
{
    struct weir_error err;
    const struct weir_yaml_node *on_error =
        weir_yaml_get(weir_yaml_get(root, "preprocess"), "on_error");

    if (file->pipeline != NULL)
        cfg_note(all, read_pipeline(config, file->pipeline, &err), &err);
    cfg_note(all, read_datasets(config, root, cfg_datasets(root), &err), &err);
    if (file->training != NULL)
        cfg_note(all, read_training(config, file->training, &err), &err);
    if (file->trigger != NULL)
        cfg_note(all, read_trigger(config, file->trigger, &err), &err);
    read_evaluations(config, file->evaluation, all);
    cfg_note(all, orchestrator_models_settings_read(file->models, &config->models, &err), &err);
    cfg_note(all, orchestrator_budget_read(file->budget, "budget", &config->budget, &err), &err);
    cfg_note(all, orchestrator_promote_settings_read(file->promote, &config->promote, &err), &err);
    cfg_note(all, read_deletion(config, file->deletion, &err), &err);
    cfg_note(all, cfg_on_error_read(on_error, &config->on_error, &err), &err);
    cfg_note(all,
             cfg_batch_then_sample_read(cfg_batch_then_sample_node(root), &config->in_batch, &err),
             &err);
}

void orchestrator_config_read(struct orchestrator_config *config, struct cfg_complaints *complaints)
{
    struct weir_error err;
    struct file_section sections = {0};
    const struct weir_yaml_node *root = weir_yaml_root(config->document);

    cfg_note(complaints, cfg_read(FILE_KEYS, CFG_CLOSED, root, "", NULL, &sections, &err), &err);
    if (weir_yaml_is_mapping(root))
        read_sections(config, root, &sections, complaints);
}

static enum weir_status check_trigger(const struct orchestrator_config *config,
                                      const struct weir_allowed *program, struct weir_error *err)
{
    WEIR_AUTO(trigger) trigger = NULL;
    enum weir_status status = orchestrator_trigger_open(config->trigger, "trigger", &trigger, err);

    return status == WEIR_OK ? orchestrator_trigger_check_modes(trigger, program, err) : status;
}

/* Models are promoted by what evaluations measure. */
static enum weir_status check_program(const struct orchestrator_config *config,
                                      struct weir_error *err)
{
    const struct weir_yaml_node *root = weir_yaml_root(config->document);
    struct weir_allowed program;
    enum weir_status status = weir_programs_find_trainer(root, &program, err);

    if (status == WEIR_OK)
        status = weir_allowed_require_mode(&program, "train", weir_yaml_get(root, "training"),
                                           "training", err);
    if (status == WEIR_OK && config->evaluation_count > 0)
        status = weir_allowed_require_mode(&program, "evaluate", weir_yaml_get(root, "evaluation"),
                                           "evaluation", err);
    if (status == WEIR_OK)
        status = weir_allowed_require_ranks(
            &program, config->ranks, weir_yaml_get(weir_yaml_get(root, "training"), "ranks"), err);
    if (status == WEIR_OK)
        status = check_trigger(config, &program, err);
    weir_allowed_fini(&program);
    return status;
}

/* Runs would be refused once the data is there. */
static enum weir_status check_slots(const struct orchestrator_config *config,
                                    const struct orchestrator_sharing *sharing,
                                    struct weir_error *err)
{
    const struct weir_yaml_node *training =
        weir_yaml_get(weir_yaml_root(config->document), "training");
    uint64_t most = orchestrator_quota_gpus(sharing, config->name);

    if (config->gpus <= most)
        return WEIR_OK;
    if (most == 0)
        return weir_yaml_fail(weir_yaml_get(training, "gpus"), err,
                              "training.gpus: found %llu, and the system file has no GPU slots: "
                              "expected gpus: %llu there, or none here",
                              (unsigned long long)config->gpus, (unsigned long long)config->gpus);
    return weir_yaml_fail(weir_yaml_get(training, "gpus"), err,
                          "training.gpus: found %llu, expected at most %llu of the system file "
                          "(gpus, and quotas.%s)",
                          (unsigned long long)config->gpus, (unsigned long long)most, config->name);
}

enum weir_status orchestrator_config_check_system(const struct orchestrator_config *config,
                                                  const struct orchestrator_site *site,
                                                  struct weir_error *err)
{
    const struct weir_yaml_node *budget = weir_yaml_get(weir_yaml_root(config->document), "budget");
    struct weir_error one;
    CFG_AUTO_COMPLAINTS all = {0};

    cfg_note(&all, check_program(config, &one), &one);
    if (site != NULL)
        cfg_note(&all, orchestrator_budget_check_prices(budget, "budget", site->prices, &one),
                 &one);
    if (site != NULL && site->sharing != NULL)
        cfg_note(&all, check_slots(config, site->sharing, &one), &one);
    return cfg_complaints_end(&all, err);
}

bool orchestrator_config_names(const struct orchestrator_config *config, const char *dataset)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));

    for (size_t i = 0; i < weir_yaml_length(datasets); i++)
        if (weir_str_equal(weir_yaml_text(weir_yaml_get(weir_yaml_at(datasets, i), "name")),
                           dataset))
            return true;
    return false;
}

void orchestrator_config_list_datasets(const struct orchestrator_config *config,
                                       struct weir_buf *out)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));

    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const char *name = weir_yaml_text(weir_yaml_get(weir_yaml_at(datasets, i), "name"));
        if (name != NULL)
            weir_buf_printf(out, "%s\n", name);
    }
}

const struct orchestrator_evaluation *orchestrator_config_evaluation(
    const struct orchestrator_config *config, const char *name)
{
    for (size_t i = 0; i < config->evaluation_count; i++)
        if (strcmp(config->evaluations[i].name, name) == 0)
            return &config->evaluations[i];
    return NULL;
}

const char *orchestrator_config_shared(const struct orchestrator_config *config,
                                       const struct orchestrator_config *other)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));

    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const char *name = weir_yaml_text(weir_yaml_get(weir_yaml_at(datasets, i), "name"));
        if (name != NULL && orchestrator_config_names(other, name))
            return name;
    }
    return NULL;
}

bool orchestrator_config_selects_alone(const struct orchestrator_config *config)
{
#define X(name) #name,
    static const char *const ALONE[] = {SELECTION_POLICIES_WITHOUT_MODEL(X)};
#undef X
    const struct weir_yaml_node *root = weir_yaml_root(config->document);
    const char *policy = weir_yaml_text(weir_yaml_get(weir_yaml_get(root, "selection"), "policy"));

    for (size_t i = 0; i < WEIR_COUNT(ALONE); i++)
        if (weir_str_equal(policy, ALONE[i]))
            return true;
    return false;
}

void orchestrator_config_free(struct orchestrator_config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config->evaluation_count; i++)
        orchestrator_evaluation_fini(&config->evaluations[i]);
    orchestrator_models_settings_fini(&config->models);
    orchestrator_promote_settings_fini(&config->promote);
    weir_yaml_free(config->document);
    free(config);
}

enum weir_status orchestrator_config_print(const struct orchestrator_config *config,
                                           struct weir_buf *out, struct weir_error *err)
{
    weir_buf_printf(out, "pipeline:\n  name: %s\n  mode: %s\ntrigger:\n", config->name,
                    MODES[config->mode]);
    enum weir_status status = orchestrator_trigger_print(config->trigger, 2, out, err);
    if (status != WEIR_OK)
        return status;
    if (config->evaluation_count > 0)
        weir_buf_append_text(out, "evaluation:\n");
    for (size_t i = 0; i < config->evaluation_count; i++)
        orchestrator_evaluation_print(&config->evaluations[i], out);
    orchestrator_promote_settings_print(&config->promote, out);
    orchestrator_models_settings_print(&config->models, out);
    orchestrator_budget_print(&config->budget, out);
    struct deletion_section deletion = {.policy = config->deletion,
                                        .within = config->deletion_within_us};
    weir_buf_append_text(out, "deletion:\n");
    cfg_print(DELETION_KEYS, &deletion, 2, out);
    return WEIR_OK;
}

void orchestrator_config_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "## pipeline\n\n");
    cfg_document(PIPELINE_KEYS, out);
    weir_buf_append_text(out, "\n");
    weir_buf_append_text(
        out, "## trigger\n\n`policy` names one of these; the other keys are its own.\n");
    cfg_registry_document(&ORCHESTRATOR_TRIGGERS, "### trigger.policy", out);
    orchestrator_judge_describe(out);
    weir_buf_append_text(out, "\n### detectors\n\nOf policy performance: a list of policies.\n");
    cfg_registry_document(&ORCHESTRATOR_DETECTORS, "#### detector.policy", out);
    orchestrator_evaluation_describe(out);
    orchestrator_models_settings_describe(out);
    weir_buf_append_text(out, "\n");
    orchestrator_budget_describe(out);
    weir_buf_append_text(out, "\n## deletion\n\n");
    cfg_document(DELETION_KEYS, out);
}
