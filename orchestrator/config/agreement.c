/* Checks across sections, by the config that was read and by the document itself. */
#include "orchestrator/config/agreement.h"

#include "core/service/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct weir_yaml_node *section_of(const struct orchestrator_config *config,
                                               const char *name)
{
    return weir_yaml_get(weir_yaml_root(config->document), name);
}

/* The first dataset whose label has that key, or NULL. */
static const struct weir_yaml_node *dataset_with(const struct orchestrator_config *config,
                                                 const char *key)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));

    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const struct weir_yaml_node *dataset = weir_yaml_at(datasets, i);
        if (weir_yaml_get(weir_yaml_get(dataset, "label"), key) != NULL)
            return dataset;
    }
    return NULL;
}

static const char *name_of(const struct weir_yaml_node *dataset)
{
    const char *name = weir_yaml_text(weir_yaml_get(dataset, "name"));

    return name != NULL ? name : "";
}

/* The first metric that is for labels of one number or class alone, or else for numbers alone. */
static const struct configured_metric *find_metric(const struct orchestrator_config *config,
                                                   bool of_vectors)
{
    for (size_t i = 0; i < config->evaluation_count; i++) {
        const struct orchestrator_evaluation *evaluation = &config->evaluations[i];
        for (size_t m = 0; m < evaluation->metric_count; m++)
            if (orchestrator_metric_of(evaluation->metrics[m])->of_vectors == of_vectors)
                return evaluation->metrics[m];
    }
    return NULL;
}

/* True when an evaluation called `evaluation` (NULL: any) measures it. */
static bool is_measured(const struct orchestrator_config *config, const char *evaluation,
                        const struct configured_metric *metric)
{
    for (size_t i = 0; i < config->evaluation_count; i++) {
        const struct orchestrator_evaluation *one = &config->evaluations[i];
        for (size_t m = 0; m < one->metric_count; m++)
            if ((evaluation == NULL || strcmp(evaluation, one->name) == 0) &&
                strcmp(orchestrator_metric_label(one->metrics[m]),
                       orchestrator_metric_label(metric)) == 0)
                return true;
    }
    return false;
}

/* ---- what contradicts itself ---- */

static enum weir_status check_vectors(const struct orchestrator_config *config,
                                      struct weir_error *err)
{
    const struct weir_yaml_node *dataset = dataset_with(config, "values");
    const struct configured_metric *scalar = find_metric(config, false);

    if (dataset == NULL)
        return WEIR_OK;
    if (config->program[0] == '\0' && strcmp(config->loss, "squared") != 0)
        return weir_yaml_fail(section_of(config, "training"), err,
                              "training.loss: found '%s', expected squared, because labels of "
                              "dataset '%s' are vectors (label.values)",
                              config->loss, name_of(dataset));
    if (scalar != NULL)
        return weir_yaml_fail(
            section_of(config, "evaluation"), err,
            "evaluation.metrics: expected metrics of numbers (mse, rmse, mae, mape, r2), found %s, "
            "because labels of dataset '%s' are vectors (label.values)",
            orchestrator_metric_label(scalar), name_of(dataset));
    return WEIR_OK;
}

/* INVALID when models are compared by a metric that is not measured. */
static enum weir_status check_promote(const struct orchestrator_config *config,
                                      struct weir_error *err)
{
    const struct promote_settings *promote = &config->promote;
    bool is_any = promote->metric == NULL || promote->evaluation[0] == '\0';

    if (promote->metric == NULL ||
        is_measured(config, is_any ? NULL : promote->evaluation, promote->metric))
        return WEIR_OK;
    return weir_yaml_fail(section_of(config, "promote"), err,
                          "promote.when: expected an evaluation%s%s that measures %s, found none",
                          is_any ? "" : " called ", is_any ? "" : promote->evaluation,
                          orchestrator_metric_label(promote->metric));
}

/* INVALID when a metric is sliced by a tensor that training.slices does not name. */
static enum weir_status check_slices(const struct orchestrator_config *config,
                                     struct weir_error *err)
{
    enum { NAMES_MAX = 16 };
    const char *names[NAMES_MAX] = {"nothing", "label", "group"};
    for (size_t i = 0; i < config->slices.count && i + 4 < NAMES_MAX; i++)
        names[3 + i] = weir_yaml_text(weir_yaml_at(config->slices.node, i));
    for (size_t e = 0; e < config->evaluation_count; e++) {
        const struct orchestrator_evaluation *evaluation = &config->evaluations[e];
        const struct weir_yaml_node *metrics =
            weir_yaml_get(weir_yaml_at(section_of(config, "evaluation"), e), "metrics");
        for (size_t m = 0; m < evaluation->metric_count; m++) {
            const char *by = orchestrator_metric_by(evaluation->metrics[m]);
            size_t at = 0;
            while (names[at] != NULL && !weir_str_equal(names[at], by))
                at++;
            if (names[at] == NULL)
                return cfg_unknown(weir_yaml_get(weir_yaml_at(metrics, m), "by"),
                                   "evaluation.metrics.by", "tensor of training.slices", names,
                                   err);
        }
    }
    return WEIR_OK;
}

void orchestrator_config_agree(const struct orchestrator_config *config,
                               struct cfg_complaints *complaints)
{
    struct weir_error err;

    cfg_note(complaints, check_promote(config, &err), &err);
    cfg_note(complaints, check_slices(config, &err), &err);
    cfg_note(complaints, check_vectors(config, &err), &err);
}

/* ---- what would be noticed late ---- */

/* Classes that are named in the file; those of a stream are known once they come. */
static enum weir_status check_loss(const struct orchestrator_config *config,
                                   const struct weir_yaml_node *dataset, struct weir_error *err)
{
    const struct weir_yaml_node *training = section_of(config, "training");
    const struct weir_yaml_node *loss = weir_yaml_get(training, "loss");
    size_t classes = weir_yaml_length(weir_yaml_get(weir_yaml_get(dataset, "label"), "classes"));

    if (config->program[0] != '\0')
        return WEIR_OK;
    if (strcmp(config->loss, "squared") == 0)
        return weir_yaml_fail(loss, err,
                              "training.loss: found squared, expected %s, because labels of "
                              "dataset '%s' are classes (label.classes)",
                              classes <= 2 ? "logistic" : "softmax", name_of(dataset));
    if (strcmp(config->loss, "logistic") == 0 && classes > 2)
        return weir_yaml_fail(loss != NULL ? loss : training, err,
                              "training.loss: found logistic, which is of two classes, expected "
                              "softmax, because dataset '%s' has %zu (label.classes)",
                              name_of(dataset), classes);
    return WEIR_OK;
}

static enum weir_status check_metrics(const struct orchestrator_config *config,
                                      const struct weir_yaml_node *dataset, struct weir_error *err)
{
    const struct configured_metric *of_numbers = find_metric(config, true);

    if (of_numbers == NULL)
        return WEIR_OK;
    return weir_yaml_fail(section_of(config, "evaluation"), err,
                          "evaluation.metrics: found %s, which compares numbers, expected metrics "
                          "of classes, accuracy or roc_auc for example, because labels of dataset "
                          "'%s' are classes (label.classes)",
                          orchestrator_metric_label(of_numbers), name_of(dataset));
}

static enum weir_status check_holdout(const struct orchestrator_config *config,
                                      struct weir_error *err)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));
    const struct weir_yaml_node *evaluations = section_of(config, "evaluation");
    bool has_any = false;

    for (size_t i = 0; i < weir_yaml_length(datasets); i++)
        has_any |= weir_yaml_get(weir_yaml_at(datasets, i), "holdout") != NULL;
    for (size_t i = 0; i < config->evaluation_count && !has_any; i++)
        if (config->evaluations[i].holdout)
            return weir_yaml_fail(
                weir_yaml_get(weir_yaml_at(evaluations, i), "on"), err,
                "evaluation.on: found holdout, and no dataset keeps samples from "
                "training: expected datasets[].holdout, {share: 0.1} for example");
    return WEIR_OK;
}

static enum weir_status check_keep(const struct orchestrator_config *config, struct weir_error *err)
{
    const struct models_settings *models = &config->models;

    if (models->keep_by == NULL || is_measured(config, NULL, models->keep_by))
        return WEIR_OK;
    return weir_yaml_fail(models->keep_node, err,
                          "models.keep.by: expected a metric of an evaluation, found %s, which "
                          "none measures",
                          orchestrator_metric_label(models->keep_by));
}

static enum weir_status check_start(const struct orchestrator_config *config,
                                    struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_get(section_of(config, "training"), "start_from");

    if (config->start_from[0] != '/' || access(config->start_from, F_OK) == 0)
        return WEIR_OK;
    return weir_yaml_fail(node, err, "training.start_from: found %s, expected a model's file: %s",
                          config->start_from, strerror(errno));
}

/* A key that is read with another `from` alone may be what was meant. */
static enum weir_status check_time(const struct weir_yaml_node *dataset, size_t place,
                                   struct weir_error *err)
{
    static const struct {
        const char *from, *unread[8];
    } WAYS[] = {
        {"mtime", {"field", "offset", "type", "pattern", "zone", "unit", "start", "every"}},
        {"file_name", {"field", "offset", "type", "unit", "start", "every"}},
        {"record", {"field", "offset", "type", "pattern", "zone", "unit"}},
        {"field", {"start", "every"}},
    };
    const struct weir_yaml_node *time = weir_yaml_get(dataset, "time");
    const char *from = weir_yaml_text(weir_yaml_get(time, "from"));

    for (size_t i = 0; i < WEIR_COUNT(WAYS); i++)
        for (size_t j = 0; j < WEIR_COUNT(WAYS[i].unread) && WAYS[i].unread[j] != NULL; j++) {
            const char *key = WAYS[i].unread[j];
            const struct weir_yaml_node *unread = weir_yaml_get(time, key);

            if (unread != NULL && weir_str_equal(from, WAYS[i].from))
                return weir_yaml_fail(
                    unread, err,
                    "datasets[%zu].time.%s: found beside from: %s, which does not "
                    "read it: expected another from, or no %s",
                    place, key, from, key);
        }
    return WEIR_OK;
}

/* A metric of one class, or of the n most probable ones, of `count` classes that are listed. */
static enum weir_status check_counted(const struct weir_yaml_node *metric, size_t count,
                                      struct cfg_complaints *complaints, struct weir_error *err)
{
    const struct weir_yaml_node *one = weir_yaml_get(metric, "class");
    const struct weir_yaml_node *n = weir_yaml_get(metric, "n");
    const char *name = weir_yaml_text(metric);

    if (name == NULL)
        name = weir_yaml_text(weir_yaml_get(metric, "name"));
    if (one != NULL && strtoll(weir_yaml_text(one), NULL, 10) >= (long long)count)
        return weir_yaml_fail(one, err,
                              "evaluation.metrics.class: found %s, expected the number of a class, "
                              "0 to %zu (label.classes)",
                              weir_yaml_text(one), count - 1);
    if (weir_str_equal(name, "top_n") &&
        (n == NULL ? 5 : strtoull(weir_yaml_text(n), NULL, 10)) >= count)
        cfg_note_at(complaints, WEIR_OK, metric,
                    "evaluation.metrics: top_n takes a label for right that is among %s classes, "
                    "and there are %zu (label.classes): it is always 1; n: 1 is accuracy",
                    n == NULL ? "5" : weir_yaml_text(n), count);
    return WEIR_OK;
}

/* Metrics that say nothing of these labels, or of groups that there are none of. */
static void check_each_metric(const struct orchestrator_config *config,
                              const struct weir_yaml_node *of_classes,
                              struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *evaluations = section_of(config, "evaluation");
    const struct weir_yaml_node *label = weir_yaml_get(of_classes, "label");
    size_t count = weir_yaml_length(weir_yaml_get(label, "classes"));
    bool has_group = weir_yaml_get(section_of(config, "training"), "group") != NULL;
    struct weir_error err;

    for (size_t i = 0; i < weir_yaml_length(evaluations); i++) {
        const struct weir_yaml_node *all = weir_yaml_get(weir_yaml_at(evaluations, i), "metrics");
        for (size_t m = 0; m < weir_yaml_length(all); m++) {
            const struct weir_yaml_node *metric = weir_yaml_at(all, m);
            const struct weir_yaml_node *by = weir_yaml_get(metric, "by");

            if (count > 0)
                cfg_note(complaints, check_counted(metric, count, complaints, &err), &err);
            if (!has_group && weir_str_equal(weir_yaml_text(by), "group"))
                cfg_note_at(complaints, WEIR_OK, by,
                            "evaluation.metrics.by: found group, and training.group names no "
                            "tensor: all samples count as one group");
        }
    }
}

/* The first trigger has so many samples to choose from, and they make no whole batch. */
static enum weir_status check_batches(const struct orchestrator_config *config,
                                      struct weir_error *err)
{
    const struct weir_yaml_node *batch = weir_yaml_get(section_of(config, "preprocess"), "batch");
    const struct weir_yaml_node *last = weir_yaml_get(batch, "last");
    const char *size = weir_yaml_text(weir_yaml_get(batch, "samples"));
    const char *waits = weir_yaml_text(weir_yaml_get(config->trigger, "samples"));
    const char *policy = weir_yaml_text(weir_yaml_get(config->trigger, "policy"));

    size = size != NULL ? size : "256";
    if (!weir_str_equal(weir_yaml_text(last), "drop") || !weir_str_equal(policy, "amount") ||
        waits == NULL || strtoull(waits, NULL, 10) >= strtoull(size, NULL, 10) ||
        weir_yaml_length(cfg_datasets(weir_yaml_root(config->document))) > 1)
        return WEIR_OK;
    return weir_yaml_fail(last, err,
                          "preprocess.batch.last: found drop, which leaves nothing of the %s "
                          "samples of a trigger (trigger.samples) in batches of %s, expected "
                          "smaller batches, or short",
                          waits, size);
}

/* Slots that are held for nothing. */
static void remark_gpus(const struct orchestrator_config *config, struct cfg_complaints *complaints)
{
    if (config->gpus > 0 && config->program[0] == '\0')
        cfg_note_at(complaints, WEIR_OK, weir_yaml_get(section_of(config, "training"), "gpus"),
                    "training.gpus: built-in models compute on the CPU: a slot that is held for "
                    "one is lost to others");
}

/* Without groups all samples are one. */
static void remark_groups(const struct orchestrator_config *config,
                          struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *training = section_of(config, "training");

    for (size_t e = 0; e < config->evaluation_count; e++) {
        const struct orchestrator_evaluation *evaluation = &config->evaluations[e];
        for (size_t m = 0; m < evaluation->metric_count; m++)
            if (orchestrator_metric_of(evaluation->metrics[m])->of_groups &&
                weir_yaml_get(training, "group") == NULL)
                cfg_note_at(complaints, WEIR_OK, weir_yaml_at(section_of(config, "evaluation"), e),
                            "evaluation.metrics: %s is measured group by group, and training.group "
                            "names no tensor: all samples count as one group",
                            orchestrator_metric_label(evaluation->metrics[m]));
    }
}

static bool holds(const struct weir_yaml_node *list, const char *word)
{
    for (size_t i = 0; word != NULL && i < weir_yaml_length(list); i++)
        if (weir_str_equal(weir_yaml_text(weir_yaml_at(list, i)), word))
            return true;
    return false;
}

/* A model that sees the label learns nothing else. A tensor for metrics alone may hold it. */
static void remark_label(const struct orchestrator_config *config,
                         const struct weir_yaml_node *dataset, struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *training = section_of(config, "training");
    const struct weir_yaml_node *operators =
        weir_yaml_get(section_of(config, "preprocess"), "operators");
    const char *label = weir_yaml_text(weir_yaml_get(weir_yaml_get(dataset, "label"), "field"));

    for (size_t i = 0; i < weir_yaml_length(operators); i++) {
        const struct weir_yaml_node *operator= weir_yaml_at(operators, i);
        const char *tensor = weir_yaml_text(weir_yaml_get(operator, "as"));

        if (!holds(weir_yaml_get(operator, "fields"), label) &&
            !holds(weir_yaml_get(operator, "field"), label))
            continue;
        if (!holds(weir_yaml_get(training, "group"), tensor) &&
            !holds(weir_yaml_get(training, "slices"), tensor))
            cfg_note_at(complaints, WEIR_OK, operator,
                        "preprocess.operators: %s reads '%s', which is the label of dataset '%s': "
                        "the model would be told what it is to learn",
                        weir_yaml_text(weir_yaml_get(operator, "op")), label, name_of(dataset));
    }
}

/* Of numbers, nearly every one would be a class of its own. */
static void remark_balance(const struct orchestrator_config *config,
                           const struct weir_yaml_node *dataset, struct cfg_complaints *complaints)
{
    static const char *const REALS[] = {"float", "f32", "f64"};
    const struct weir_yaml_node *selection = section_of(config, "selection");
    const struct weir_yaml_node *label = weir_yaml_get(dataset, "label");
    const char *type = weir_yaml_text(weir_yaml_get(label, "type"));

    if (!weir_str_equal(weir_yaml_text(weir_yaml_get(selection, "policy")), "label_balanced") ||
        weir_yaml_get(label, "at_least") != NULL)
        return;
    for (size_t i = 0; i < WEIR_COUNT(REALS); i++)
        if (weir_str_equal(type, REALS[i]))
            cfg_note_at(complaints, WEIR_OK, weir_yaml_get(selection, "policy"),
                        "selection.policy: label_balanced takes each different label for a class, "
                        "and those of dataset '%s' are numbers (type: %s): at_least makes two "
                        "classes of them",
                        name_of(dataset), type);
}

/* Trainers may be started on another host. */
static void remark_program(const struct orchestrator_config *config,
                           struct cfg_complaints *complaints)
{
    struct weir_error err;
    struct weir_allowed allowed;
    const struct weir_yaml_node *root = weir_yaml_root(config->document);

    enum weir_status status = weir_programs_find_trainer(root, &allowed, &err);
    const char *command = weir_yaml_text(weir_yaml_at(allowed.command.node, 0));
    if (status == WEIR_OK && command != NULL && access(command, X_OK) != 0)
        cfg_note_at(complaints, WEIR_OK, weir_yaml_get(section_of(config, "training"), "program"),
                    "training.program: '%s' is %s in the system file, which cannot be run here: %s",
                    allowed.name, command, strerror(errno));
    weir_allowed_fini(&allowed);
}

void orchestrator_config_foresee(const struct orchestrator_config *config,
                                 struct cfg_complaints *complaints)
{
    struct weir_error err;
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));
    const struct weir_yaml_node *of_classes = dataset_with(config, "classes");

    if (of_classes != NULL) {
        cfg_note(complaints, check_loss(config, of_classes, &err), &err);
        cfg_note(complaints, check_metrics(config, of_classes, &err), &err);
    }
    cfg_note(complaints, check_holdout(config, &err), &err);
    cfg_note(complaints, check_keep(config, &err), &err);
    cfg_note(complaints, check_start(config, &err), &err);
    cfg_note(complaints, check_batches(config, &err), &err);
    check_each_metric(config, of_classes, complaints);
    remark_groups(config, complaints);
    remark_gpus(config, complaints);
    remark_program(config, complaints);
    for (size_t i = 0; i < weir_yaml_length(datasets); i++)
        cfg_note(complaints, check_time(weir_yaml_at(datasets, i), i, &err), &err);
    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        remark_label(config, weir_yaml_at(datasets, i), complaints);
        remark_balance(config, weir_yaml_at(datasets, i), complaints);
    }
}

void orchestrator_config_remark_site(const struct orchestrator_config *config,
                                     struct cfg_complaints *complaints)
{
    if (config->budget.money > 0)
        cfg_note_at(complaints, WEIR_OK, weir_yaml_get(section_of(config, "budget"), "money"),
                    "budget.money: needs prices in the system file, which was not looked at: "
                    "check with that, too (--with)");
    if (config->gpus > 0 && config->program[0] != '\0')
        cfg_note_at(complaints, WEIR_OK, weir_yaml_get(section_of(config, "training"), "gpus"),
                    "training.gpus: needs as many gpus in the system file, which was not looked "
                    "at: check with that, too (--with)");
}
