/* Reads `selection` with one table made of two: the keys every policy shares and the policy's own,
 * so that all complaints about the section come at once. */
#include "selector/pipelines/section.h"

#include "core/base/memory.h"
#include "core/config/sections.h"
#include "core/service/programs.h"
#include "selector/scoring/scoring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The keys of the section, as written. */
struct written {
    const struct weir_yaml_node *batch_then_sample;
    const char *policy;
    const char *limit;
    double ratio;
    const char *tail_triggers;
    uint64_t warmup_triggers;
    uint64_t seed;
    int64_t keep_sets;
};

// clang-format off
#define CHOICE_KEYS \
    CFG_TEXT(struct written, policy, .required = true, .doc = "policy that chooses samples, see below"), \
    CFG_TEXT(struct written, limit, .fallback = "none", .doc = "maximum number of samples, or none"), \
    CFG_F64(struct written, ratio, .fallback = "1", .max = 1, \
            .doc = "at most this share of the candidates, above 0")
// clang-format on

enum { NESTED_KEYS = 1 }; /* at the front of the table: mappings, printed as understood */
static const struct cfg_key KEYS[] = {
    CFG_NODE(struct written, batch_then_sample,
             .doc = "{score: loss, ratio: 0.5}: the trainer takes each step with this part of its "
                    "batch alone; all of it otherwise"),
    CHOICE_KEYS,
    CFG_TEXT(
        struct written, tail_triggers, .fallback = "0",
        .doc =
            "number of triggers before this one whose samples are candidates, too: 0, 1, 2, ... or "
            "all"),
    CFG_U64(
        struct written, warmup_triggers, .fallback = "0",
        .doc =
            "number of first triggers that take all candidates, without limit, ratio and policy"),
    CFG_U64(struct written, seed, .fallback = "0",
            .doc = "same seed and same samples, same selection"),
    CFG_DURATION(struct written, keep_sets, .fallback = "30d", .min = 3600000000,
                 .doc = "sets of evaluations, predictions and scorings are kept so long after they "
                        "were last asked for (the longest of all pipelines counts); those of "
                        "triggers always are: models, and what follows an erasure, need them; "
                        "scores go after the same time, but not those by the two models that "
                        "scored last or those that another pipeline takes"),
    CFG_END,
};

/* Keys of a selection before a scored one, see policy.h. */
static const struct cfg_key PRESAMPLE_KEYS[] = {CHOICE_KEYS, CFG_END};

struct dataset_names {
    const char *name;
    const struct weir_yaml_node *label;
    const struct weir_yaml_node *holdout;
    const struct weir_yaml_node *use;
    const char *updates;
};
static const struct cfg_key DATASET_KEYS[] = {
    CFG_TEXT(struct dataset_names, name, .doc = "name of the dataset"),
    CFG_NODE(struct dataset_names, label, .doc = "place of the label"),
    CFG_NODE(struct dataset_names, holdout, .doc = "samples that are kept from all training"),
    CFG_NODE(struct dataset_names, use, .doc = CFG_USE_DOC),
    CFG_TEXT(struct dataset_names, updates, .doc = "dataset that its labels are of"),
    CFG_END,
};

/* "12", or `word` for UINT64_MAX. */
static bool read_count(const char *text, const char *word, uint64_t *ret_count)
{
    if (weir_str_equal(text, word)) {
        *ret_count = UINT64_MAX;
        return true;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] < '0' || text[0] > '9' || value == UINT64_MAX)
        return false;
    *ret_count = value;
    return true;
}

static enum weir_status check_bounds(const struct weir_yaml_node *node, const char *path,
                                     struct selector_section *section, struct weir_error *err)
{
    const struct written *written = section->memory;
    if (!read_count(written->limit, "none", &section->limit) || section->limit == 0)
        return weir_yaml_fail(weir_yaml_get(node, "limit"), err,
                              "%s.limit: expected a number of samples >= 1 or none, found '%s'",
                              path, written->limit);
    if (!(written->ratio > 0))
        return weir_yaml_fail(weir_yaml_get(node, "ratio"), err,
                              "%s.ratio: expected a number above 0 and at most 1, found %g", path,
                              written->ratio);
    section->ratio = written->ratio;
    return WEIR_OK;
}

/* Checks the keys that a selection has for every policy, and a presampling has not. */
static enum weir_status check_shared(const struct weir_yaml_node *node,
                                     struct selector_section *section, struct weir_error *err)
{
    const struct written *written = section->memory;
    if (!read_count(written->tail_triggers, "all", &section->tail))
        return weir_yaml_fail(weir_yaml_get(node, "tail_triggers"), err,
                              "selection.tail_triggers: expected 0, 1, 2, ... or all, found '%s'",
                              written->tail_triggers);
    section->warmup = written->warmup_triggers;
    section->seed = written->seed;
    section->keep_us = written->keep_sets;
    return cfg_batch_then_sample_read(written->batch_then_sample, &section->in_batch, err);
}

static enum weir_status check_tail(const struct weir_yaml_node *node,
                                   const struct selector_section *section, struct weir_error *err)
{
    static const char *const EXPECTED[] = {"", "1, 2, ... or all", "all"};
    const struct weir_yaml_node *written = weir_yaml_get(node, "tail_triggers");
    enum selection_tail wanted = section->policy->tail;
    bool fits = wanted == SELECTION_TAIL_ANY ||
                (wanted == SELECTION_TAIL_EARLIER && section->tail > 0) ||
                section->tail == UINT64_MAX;
    if (fits)
        return WEIR_OK;
    const char *text = weir_yaml_text(written);
    return weir_yaml_fail(written != NULL ? written : node, err,
                          "selection.tail_triggers: %s chooses among samples of earlier triggers: "
                          "expected %s, found %s",
                          section->policy->name, EXPECTED[wanted], text != NULL ? text : "0");
}

static void read_classes(const struct weir_yaml_node *label, struct selector_section *section)
{
    const struct weir_yaml_node *classes = weir_yaml_get(label, "classes");
    if (section->classes != NULL || classes == NULL || weir_yaml_is_scalar(classes))
        return; /* "stream": named as they appear, by storage */
    section->class_count = weir_yaml_length(classes);
    section->classes = weir_calloc(section->class_count + 1, sizeof(*section->classes));
    for (size_t i = 0; i < section->class_count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(classes, i));
        section->classes[i] = name != NULL ? name : "";
    }
}

/* Of the dataset number `index`: in the words of storage, which complains of it, too. */
static enum weir_status read_holdout(const struct dataset_names *dataset, size_t index,
                                     struct selector_holdout *holdout, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("datasets[%zu].holdout", index);
    struct cfg_holdout written = {0};
    if (dataset->holdout == NULL)
        return WEIR_OK;
    enum weir_status status =
        cfg_read(CFG_HOLDOUT_KEYS, CFG_CLOSED, dataset->holdout, path, NULL, &written, err);
    if (status != WEIR_OK)
        return status;
    if (written.by == CFG_HOLDOUT_BY_SUBJECT) {
        holdout->by_subject = true;
        return WEIR_OK;
    }
    *holdout = selector_holdout_make(dataset->name != NULL ? dataset->name : "", written.share);
    return WEIR_OK;
}

static enum weir_status read_use(const struct dataset_names *dataset, size_t index,
                                 bool *ret_is_selected, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("datasets[%zu].use", index);
    unsigned uses = 0;
    enum weir_status status = cfg_use_read(dataset->use, path, &uses, err);
    *ret_is_selected = (uses & CFG_USE_SELECTION) != 0;
    return status;
}

static bool has_label(const struct dataset_names *dataset)
{
    return dataset->label != NULL && !weir_str_equal(weir_yaml_text(dataset->label), "none");
}

static enum weir_status read_datasets(const struct weir_yaml_node *root,
                                      struct selector_section *section, struct weir_error *err)
{
    const struct weir_yaml_node *datasets = cfg_datasets(root);
    section->dataset_names =
        weir_calloc(weir_yaml_length(datasets) + 1, sizeof(*section->dataset_names));
    section->holdouts = weir_calloc(weir_yaml_length(datasets) + 1, sizeof(*section->holdouts));
    section->are_selected =
        weir_calloc(weir_yaml_length(datasets) + 1, sizeof(*section->are_selected));
    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const struct weir_yaml_node *node = weir_yaml_at(datasets, i);
        struct dataset_names dataset = {0};
        enum weir_status status =
            cfg_read(DATASET_KEYS, CFG_OPEN, node, "datasets", NULL, &dataset, err);
        size_t index = section->dataset_count; /* as they are followed: without those of labels */
        if (status == WEIR_OK && dataset.updates != NULL) {
            read_classes(dataset.label, section);
            continue;
        }
        if (status == WEIR_OK)
            status = read_holdout(&dataset, i, &section->holdouts[index], err);
        if (status == WEIR_OK)
            status = read_use(&dataset, i, &section->are_selected[index], err);
        if (status != WEIR_OK)
            return status;
        bool is_selectable = section->are_selected[index] && dataset.name != NULL;
        section->dataset_names[section->dataset_count++] = is_selectable ? dataset.name : "";
        if (section->are_selected[index] && !has_label(&dataset) && section->unlabelled == NULL)
            section->unlabelled = dataset.name != NULL ? dataset.name : "";
        if (weir_yaml_get(dataset.label, "values") != NULL && section->vectors == NULL)
            section->vectors = dataset.name != NULL ? dataset.name : "";
        read_classes(dataset.label, section);
    }
    return WEIR_OK;
}

static enum weir_status read_training(const struct weir_yaml_node *root,
                                      struct selector_section *section, struct weir_error *err)
{
    struct cfg_training training = {0};
    enum weir_status status = cfg_read(CFG_TRAINING_KEYS, CFG_OPEN, weir_yaml_get(root, "training"),
                                       "training", NULL, &training, err);
    section->epochs = training.epochs;
    section->reported = training.report_losses;
    return status;
}

/* No dataset is called that: what a policy withholds is drawn apart from every holdout. */
static const char WITHHELD[] = "(withheld)";

/* Has the policy check its options, and notes the columns that it then needs. */
static enum weir_status check_policy(const struct weir_yaml_node *node, const char *path,
                                     struct selector_section *section, struct weir_error *err)
{
    const struct selection_policy *policy = section->policy;
    const struct selection_scope scope = {
        .datasets = section->dataset_names,
        .dataset_count = section->dataset_count,
        .classes = section->classes,
        .class_count = section->class_count,
    };
    void *options = section->options;
    enum weir_status status =
        policy->check != NULL ? policy->check(node, &scope, options, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    if (policy->withheld != NULL && policy->withheld(options) > 0)
        section->withheld = selector_holdout_make(WITHHELD, policy->withheld(options));
    section->needs = policy->needs | (policy->needs_of != NULL ? policy->needs_of(options) : 0);
    if ((section->needs & SELECTION_NEEDS_LABELS) && section->vectors != NULL)
        return weir_yaml_fail(
            weir_yaml_get(node, "policy"), err,
            "%s.policy: %s needs labels that are equal or not, and those of dataset '%s' are "
            "vectors (label.values)",
            path, policy->name, section->vectors);
    if ((section->needs & SELECTION_NEEDS_LABELS) && section->unlabelled != NULL)
        return weir_yaml_fail(weir_yaml_get(node, "policy"), err,
                              "%s.policy: %s needs labels, and dataset '%s' declares none", path,
                              policy->name, section->unlabelled);
    if ((section->needs & SELECTION_NEEDS_LOSSES) && !section->reported)
        return weir_yaml_fail(weir_yaml_get(node, "change"), err,
                              "%s.change: loss goes by what training reports: expected "
                              "training.report_losses: true",
                              path);
    return WEIR_OK;
}

/* Policy, options, limit and ratio, all complaints at once. */
static enum weir_status read_choice(const struct weir_yaml_node *node, const char *path,
                                    const struct cfg_key *shared, struct selector_section *section,
                                    struct weir_error *err)
{
    const struct cfg_shared written = {shared, sizeof(struct written)};
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&SELECTOR_POLICIES, &written, node, path, &opened, err);
    if (status != WEIR_OK)
        return status;
    section->policy = (const struct selection_policy *)opened.plugin;
    section->memory = opened.memory;
    section->options = opened.options;
    return check_bounds(node, path, section, err);
}

/* Reads the choice before a model scores: a section that shares all but policy, options, limit and ratio. */
static enum weir_status read_presample(const struct weir_yaml_node *node,
                                       struct selector_section *section, struct weir_error *err)
{
    static const char PATH[] = "selection.presample";
    struct selector_section *presample = weir_calloc(1, sizeof(*presample));
    *presample = *section;
    presample->memory = NULL;
    presample->warmup = 0;
    presample->seed =
        weir_mix64(section->seed); /* not the numbers that the choice after it draws */
    section->presample = presample;
    enum weir_status status = read_choice(node, PATH, PRESAMPLE_KEYS, presample, err);
    if (status == WEIR_OK && presample->policy->scoring != NULL)
        status = weir_yaml_fail(weir_yaml_get(node, "policy"), err,
                                "%s.policy: expected a policy that needs no scores, found '%s'",
                                PATH, presample->policy->name);
    if (status == WEIR_OK)
        status = check_tail(node, presample, err);
    if (status == WEIR_OK)
        status = check_policy(node, PATH, presample, err);
    if (status == WEIR_OK && (presample->needs & SELECTION_NEEDS_LOSSES))
        status = weir_yaml_fail(weir_yaml_get(node, "change"), err,
                                "%s.change: expected step or linear: shares by loss are for the "
                                "selection itself, whose choice they are sealed with",
                                PATH);
    section->needs |= presample->needs;
    return status;
}

static enum weir_status check_rounds(const struct weir_yaml_node *root,
                                     const struct selector_section *section, struct weir_error *err)
{
    const struct weir_yaml_node *period = cfg_period_node(root);
    if (period == NULL || section->in_batch.ratio <= 0)
        return WEIR_OK;
    return weir_yaml_fail(
        period, err,
        "selection.score.period: expected none beside selection.batch_then_sample, "
        "which chooses anew with every batch");
}

const struct selection_scored *selector_section_scored(const struct selector_section *section,
                                                       uint64_t trigger)
{
    const struct selection_scoring *scoring = section->policy->scoring;

    return scoring != NULL ? scoring->at_trigger(section->options, trigger) : NULL;
}

enum weir_status selector_section_read(const struct weir_yaml_node *root,
                                       struct selector_section **ret_section,
                                       struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_get(root, "selection");
    if (!weir_yaml_is_mapping(node))
        return weir_yaml_fail(node != NULL ? node : root, err,
                              "selection: expected a section with a policy, for example "
                              "selection: {policy: random, limit: 1000}");
    WEIR_AUTO(selector_section) section = weir_calloc(1, sizeof(*section));
    enum weir_status status = read_choice(node, "selection", KEYS, section, err);
    if (status == WEIR_OK)
        status = check_shared(node, section, err);
    if (status == WEIR_OK)
        status = check_tail(node, section, err);
    if (status == WEIR_OK)
        status = read_datasets(root, section, err);
    if (status == WEIR_OK)
        status = read_training(root, section, err);
    if (status == WEIR_OK)
        status = check_policy(node, "selection", section, err);
    if (status == WEIR_OK)
        status = check_rounds(root, section, err);
    const struct selection_scored *scored =
        status == WEIR_OK ? selector_section_scored(section, 1) : NULL;
    if (scored != NULL && scored->presample != NULL)
        status = read_presample(scored->presample, section, err);
    if (status != WEIR_OK)
        return status;
    *ret_section = WEIR_TAKE(section);
    return WEIR_OK;
}

void selector_section_free(struct selector_section *section)
{
    if (section == NULL)
        return;
    if (section->presample != NULL)
        free(section->presample->memory); /* the rest it shares */
    free(section->presample);
    free(section->classes);
    free(section->dataset_names);
    free(section->holdouts);
    free(section->are_selected);
    free(section->memory);
    free(section);
}

/* The methods score by the pipeline's models, of which its program alone can say something. */
static enum weir_status check_modes(const struct selector_section *section,
                                    const struct weir_allowed *program, struct weir_error *err)
{
    const struct selection_scoring *scoring = section->policy->scoring;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && scoring != NULL; i++) {
        const struct selection_scored *scored = scoring->at(section->options, i);
        if (scored == NULL)
            break;
        const char *mode = selector_scoring_mode(scored->method->wants);
        WEIR_AUTO_FREE char *path = weir_format("selection.score: method %s", scored->method->name);
        if (mode != NULL)
            status = weir_allowed_require_mode(program, mode, scored->node, path, err);
    }
    return status;
}

enum weir_status selector_section_check(const struct weir_yaml_node *root, struct weir_error *err)
{
    WEIR_AUTO(selector_section) section = NULL;
    struct weir_allowed program;
    struct weir_error unknown; /* the orchestrator complains of a program that is not allowed */
    enum weir_status status = selector_section_read(root, &section, err);

    if (status != WEIR_OK || weir_programs_find_trainer(root, &program, &unknown) != WEIR_OK)
        return status;
    status = check_modes(section, &program, err);
    weir_allowed_fini(&program);
    return status;
}

enum weir_status selector_section_print(const struct weir_yaml_node *root, struct weir_buf *out,
                                        struct weir_error *err)
{
    WEIR_AUTO(selector_section) section = NULL;
    enum weir_status status = selector_section_read(root, &section, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_append_text(out, "selection:\n");
    cfg_print(KEYS + NESTED_KEYS, section->memory, 2, out);
    cfg_print(section->policy->options, section->options, 2, out);
    if (section->in_batch.ratio > 0) {
        weir_buf_append_text(out, "  batch_then_sample:\n");
        cfg_batch_then_sample_print(&section->in_batch, 4, out);
    }
    return WEIR_OK;
}

void selector_section_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "## selection\n\nOn which samples each trigger trains.\n\n");
    cfg_document(KEYS, out);
    weir_buf_append_text(out, "\n### selection.batch_then_sample\n\n");
    cfg_document(CFG_BATCH_THEN_SAMPLE_KEYS, out);
    for (size_t i = 0; i < selector_policy_count(); i++) {
        const struct selection_policy *policy = selector_policy_at(i);
        cfg_plugin_document(&policy->plugin, "### selection.policy", out);
        if (policy->describe != NULL)
            policy->describe(out);
    }
}
