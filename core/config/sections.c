/* Keys of sections that several services read: see sections.h. */
#include "core/config/sections.h"

#include "core/base/attributes.h"
#include "core/base/doubt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const HOLDOUT_BY[] = {"sample", "subject", NULL};

const struct cfg_key CFG_HOLDOUT_KEYS[] = {
    CFG_F64(struct cfg_holdout, share, .required = true, .min = 0.000001, .max = 0.9,
            .doc = "share of the samples or subjects that is held out"),
    CFG_CHOICE(struct cfg_holdout, by, .choices = HOLDOUT_BY, .fallback = "sample",
               .doc = "unit of the draw: samples, or subjects with all their samples"),
    CFG_END,
};

const struct cfg_key CFG_TRAINING_KEYS[] = {
    CFG_TRAINING_ROWS(struct cfg_training, ),
    CFG_END,
};

const struct weir_yaml_node *cfg_datasets(const struct weir_yaml_node *root)
{
    const struct weir_yaml_node *datasets = weir_yaml_get(root, "datasets");
    return datasets != NULL ? datasets : weir_yaml_get(root, "dataset");
}

static const char *const USES[] = {"trigger", "selection", "evaluation", NULL};

static unsigned use_of(const char *word)
{
    for (unsigned i = 0; USES[i] != NULL; i++)
        if (word != NULL && strcmp(USES[i], word) == 0)
            return 1U << i;
    return 0;
}

enum weir_status cfg_use_read(const struct weir_yaml_node *node, const char *path,
                              unsigned *ret_uses, struct weir_error *err)
{
    unsigned uses = 0;
    *ret_uses = CFG_USE_ALL;
    for (size_t i = 0; i < weir_yaml_length(node); i++) {
        const struct weir_yaml_node *word = weir_yaml_at(node, i);
        unsigned use = use_of(weir_yaml_text(word));
        if (use == 0)
            return cfg_unknown(word, path, "use", USES, err);
        uses |= use;
    }
    if (node != NULL && uses == 0)
        return weir_yaml_fail(node, err,
                              "%s: found an empty list, expected trigger, selection, evaluation, "
                              "or several of these",
                              path);
    if (node != NULL)
        *ret_uses = uses;
    return WEIR_OK;
}

void cfg_use_print(unsigned uses, struct weir_buf *out)
{
    const char *between = "[";
    for (unsigned i = 0; USES[i] != NULL; i++) {
        if ((uses & 1U << i) == 0)
            continue;
        weir_buf_printf(out, "%s%s", between, USES[i]);
        between = ", ";
    }
    weir_buf_append_text(out, "]");
}

bool cfg_dataset_may_change(const char *path)
{
    static const char *const KEYS[] = {
        "source.on_erase", "source.on_return",    "source.settle",         "source.segment_bytes",
        "source.s3.every", "source.s3.transfers", "source.s3.credentials",
    };

    for (size_t i = 0; i < WEIR_COUNT(KEYS); i++)
        if (strcmp(KEYS[i], path) == 0)
            return true;
    return cfg_dataset_is_use(path);
}

bool cfg_dataset_is_use(const char *path)
{
    return strncmp(path, "use", 3) == 0 && (path[3] == '\0' || path[3] == '[');
}

/* ---- batch_then_sample ---- */

static const char *const IN_BATCH_SCORES[] = {"loss", "grad_norm", "uncertainty", NULL};

const struct cfg_key CFG_BATCH_THEN_SAMPLE_KEYS[] = {
    CFG_CHOICE(struct cfg_batch_then_sample, score, .choices = IN_BATCH_SCORES, .required = true,
               .doc = "loss, grad_norm: drawn in proportion, with weights that make up for it; "
                      "uncertainty: those that the model is least sure of"),
    CFG_F64(struct cfg_batch_then_sample, ratio, .required = true, .max = 1,
            .doc = "share of each batch that a step learns from, above 0; at least one sample"),
    CFG_CHOICE(struct cfg_batch_then_sample, metric, .choices = WEIR_DOUBT_NAMES,
               .fallback = "least_confidence", .doc = "of uncertainty. " WEIR_DOUBT_DOC),
    CFG_END,
};

const struct weir_yaml_node *cfg_period_node(const struct weir_yaml_node *root)
{
    const struct weir_yaml_node *score = weir_yaml_get(weir_yaml_get(root, "selection"), "score");
    for (size_t i = 0; i < weir_yaml_length(score); i++) {
        const struct weir_yaml_node *node = weir_yaml_get(weir_yaml_at(score, i), "period");
        if (node != NULL && !weir_str_equal(weir_yaml_text(node), "0"))
            return node;
    }
    return NULL;
}

const struct weir_yaml_node *cfg_batch_then_sample_node(const struct weir_yaml_node *root)
{
    return weir_yaml_get(weir_yaml_get(root, "selection"), "batch_then_sample");
}

enum weir_status cfg_batch_then_sample_read(const struct weir_yaml_node *node,
                                            struct cfg_batch_then_sample *ret_options,
                                            struct weir_error *err)
{
    static const char PATH[] = "selection.batch_then_sample";
    *ret_options = (struct cfg_batch_then_sample){0};
    if (node == NULL)
        return WEIR_OK;
    enum weir_status status =
        cfg_read(CFG_BATCH_THEN_SAMPLE_KEYS, CFG_CLOSED, node, PATH, NULL, ret_options, err);
    if (status != WEIR_OK)
        return status;
    if (!(ret_options->ratio > 0))
        return weir_yaml_fail(weir_yaml_get(node, "ratio"), err,
                              "%s.ratio: expected a number above 0 and at most 1, found %g", PATH,
                              ret_options->ratio);
    const struct weir_yaml_node *metric = weir_yaml_get(node, "metric");
    if (metric != NULL && ret_options->score != CFG_IN_BATCH_UNCERTAINTY)
        return weir_yaml_fail(metric, err, "%s.metric: expected none with score: %s", PATH,
                              IN_BATCH_SCORES[ret_options->score]);
    return WEIR_OK;
}

void cfg_batch_then_sample_print(const struct cfg_batch_then_sample *options, int indent,
                                 struct weir_buf *out)
{
    cfg_print(CFG_BATCH_THEN_SAMPLE_KEYS, options, indent, out);
}

void cfg_batch_then_sample_print_json(const struct cfg_batch_then_sample *options,
                                      struct weir_buf *out)
{
    if (options->ratio > 0)
        weir_buf_printf(out, "{\"score\": \"%s\", \"ratio\": %.17g, \"metric\": \"%s\"}",
                        IN_BATCH_SCORES[options->score], options->ratio,
                        WEIR_DOUBT_NAMES[options->metric]);
    else
        weir_buf_append_text(out, "null");
}

/* ---- on_error ---- */

static const char *const ON_ERROR_ACTIONS[] = {"skip", "fail", "retry"};

static bool find_action(const char *word, enum cfg_on_error_action *ret_action)
{
    for (size_t i = 0; i < WEIR_COUNT(ON_ERROR_ACTIONS); i++) {
        if (strcmp(word, ON_ERROR_ACTIONS[i]) == 0) {
            *ret_action = (enum cfg_on_error_action)i;
            return true;
        }
    }
    return false;
}

/* "1%", "0.5 %" or "0.01". Bare, 1 is none: it may be a number of samples, or all of them. */
static bool read_share(const char *text, double *ret_share)
{
    char *end;
    double number = strtod(text, &end);
    bool is_percent = end[strspn(end, " ")] == '%';
    if (end == text || (is_percent ? end[strspn(end, " ") + 1] : *end) != '\0')
        return false;
    *ret_share = is_percent ? number / 100 : number;
    return *ret_share > 0 && (is_percent ? *ret_share <= 1 : *ret_share < 1);
}

static enum weir_status refuse_on_error(const struct weir_yaml_node *node, struct weir_error *err)
{
    const char *limit = weir_yaml_text(weir_yaml_value(node, 0));
    if (limit != NULL && strchr(limit, '%') == NULL && strtod(limit, NULL) >= 1)
        return weir_yaml_fail(
            weir_yaml_value(node, 0), err,
            "preprocess.on_error: found %.40s, which may be a number of samples or a share of "
            "them, expected a share, such as %.40s%% or 0.01; `%.10s` alone has no limit",
            limit, limit, weir_yaml_key(node, 0));
    return weir_yaml_fail(
        node, err,
        "preprocess.on_error: expected skip, fail, retry, or one of the first and last "
        "with a limit up to 100%%, such as {skip: 1%%}");
}

enum weir_status cfg_on_error_read(const struct weir_yaml_node *node,
                                   struct cfg_on_error *ret_on_error, struct weir_error *err)
{
    struct cfg_on_error on_error = {.action = CFG_ON_ERROR_SKIP, .share = 0.01};
    if (weir_yaml_pairs(node) == 1) {
        const char *share = weir_yaml_text(weir_yaml_value(node, 0));
        if (!find_action(weir_yaml_key(node, 0), &on_error.action) || share == NULL ||
            on_error.action == CFG_ON_ERROR_FAIL || !read_share(share, &on_error.share))
            return refuse_on_error(node, err);
    } else if (node != NULL) {
        const char *word = weir_yaml_text(node);
        if (word == NULL || !find_action(word, &on_error.action))
            return refuse_on_error(node, err);
        on_error.share = 1;
    }
    *ret_on_error = on_error;
    return WEIR_OK;
}

void cfg_on_error_print(const struct cfg_on_error *on_error, struct weir_buf *out)
{
    const char *word = ON_ERROR_ACTIONS[on_error->action];
    if (on_error->share >= 1)
        weir_buf_append_text(out, word);
    else
        weir_buf_printf(out, "{%s: %g%%}", word, 100 * on_error->share);
}
