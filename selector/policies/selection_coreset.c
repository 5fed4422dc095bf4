/* A choice by what a model says of the samples: each one's loss, gradient or place among the others.
 *
 * `presample` chooses first, so that not everything has to be scored; `score` names the method, or several with
 * the trigger from which on each holds; limit and ratio bound what the method chooses of the presampled. The
 * newest model scores. As long as there is none the choice is random. */
#include "core/base/memory.h"
#include "selector/policies/draw.h"
#include "selector/scoring/scoring.h"

#include <stdlib.h>
#include <string.h>

enum { STAGES_MAX = 16, METHOD_OPTIONS_MAX = 64 };

struct stage {
    struct selection_scored scored;
    _Alignas(16) uint8_t options[METHOD_OPTIONS_MAX];
};

struct coreset {
    const struct weir_yaml_node *presample;
    const struct weir_yaml_node *score;
    const struct weir_yaml_node *scores;
    uint64_t from[STAGES_MAX]; /* the trigger with which each stage begins */
    struct stage stages[STAGES_MAX];
    size_t stage_count;
};

static const struct cfg_key OPTIONS[] = {
    CFG_NODE(
        struct coreset, presample,
        .doc =
            "choice of the samples that are scored: {policy: random, ratio: 0.5}, with any policy "
            "and its options; by default all candidates"),
    CFG_NODE(struct coreset, score, .required = true,
             .doc = "{method: loss}, see below; or a list of such, each with from_trigger"),
    CFG_NODE(struct coreset, scores,
             .doc = "{from: PIPELINE}: what its models have said already is not asked again"),
    CFG_END,
};

/* One stage of `score`, as written. */
struct score {
    const char *method;
    bool balance;
    uint64_t from_trigger;
    uint64_t period;
};

static const struct cfg_key SCORE_KEYS[] = {
    CFG_TEXT(struct score, method, .required = true, .doc = "method that chooses by scores"),
    CFG_BOOL(struct score, balance, .fallback = "false",
             .doc = "choose for each label apart, in proportion to how many have it"),
    CFG_U64(struct score, from_trigger, .fallback = "1", .min = 1,
            .doc = "in a list: the trigger from which on this method chooses"),
    CFG_U64(
        struct score, period, .fallback = "0", .max = UINT32_MAX,
        .doc =
            "epochs of a training after which it chooses again, by the model as it is by then; 0: "
            "once for each trigger"),
    CFG_END,
};

struct scores {
    const char *from;
};
static const struct cfg_key SCORES_KEYS[] = {
    CFG_TEXT(struct scores, from, .required = true,
             .doc = "the pipeline; it should see the same datasets through the same operators"),
    CFG_END,
};

/* ---- reading ---- */

static enum weir_status read_stage(const struct weir_yaml_node *node, struct coreset *own,
                                   struct weir_error *err)
{
    struct stage *stage = &own->stages[own->stage_count];
    const struct cfg_shared shared = {SCORE_KEYS, sizeof(struct score)};
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&SELECTOR_SCORING_METHODS, &shared, node, "selection.score", &opened, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE const struct score *score = opened.memory;
    const struct scoring_method *method = (const struct scoring_method *)opened.plugin;
    weir_require(method->options_size <= METHOD_OPTIONS_MAX);
    memcpy(stage->options, opened.options, method->options_size);
    own->from[own->stage_count++] = score->from_trigger;
    stage->scored = (struct selection_scored){
        .method = method,
        .node = node,
        .options = stage->options,
        .balance = score->balance,
        .period = (uint32_t)score->period,
        .presample = own->presample,
    };
    return WEIR_OK;
}

/* Refuses rounds of a method that no model has a say in. */
static enum weir_status check_period(const struct selection_scored *scored, struct weir_error *err)
{
    if (scored->period == 0 || scored->method->wants != SCORING_WANTS_NOTHING)
        return WEIR_OK;
    return weir_yaml_fail(
        weir_yaml_get(scored->node, "period"), err,
        "selection.score.period: expected none with %s, which asks no model: found "
        "%u",
        scored->method->name, scored->period);
}

static enum weir_status check_order(const struct weir_yaml_node *node, const struct coreset *own,
                                    size_t index, struct weir_error *err)
{
    bool follows = index == 0 ? own->from[0] == 1 : own->from[index] > own->from[index - 1];
    if (follows)
        return WEIR_OK;
    return weir_yaml_fail(node, err,
                          "selection.score.from_trigger: expected 1 for the first method and more "
                          "for each that follows, found %llu",
                          (unsigned long long)own->from[index]);
}

static double withheld_by(const struct stage *stage)
{
    const struct scoring_method *method = stage->scored.method;
    return method->holdout != NULL ? method->holdout(stage->options).share : 0;
}

static double withheld(const void *options)
{
    const struct coreset *own = options;
    double share = 0;
    for (size_t i = 0; i < own->stage_count && !(share > 0); i++)
        share = withheld_by(&own->stages[i]);
    return share;
}

/* Refuses stages with different shares: a sample held out in one trigger must not be trained on in another. */
static enum weir_status check_withheld(const struct coreset *own, struct weir_error *err)
{
    double share = withheld(own);
    for (size_t i = 0; i < own->stage_count; i++) {
        double other = withheld_by(&own->stages[i]);
        if (other > 0 && (other < share || other > share))
            return weir_yaml_fail(weir_yaml_at(own->score, i), err,
                                  "selection.score.share: expected %g, as before: the same "
                                  "samples are held out in every trigger; found %g",
                                  share, other);
    }
    return WEIR_OK;
}

static enum weir_status read_from(struct coreset *own, struct weir_error *err)
{
    struct scores scores = {0};
    if (own->scores == NULL)
        return WEIR_OK;
    enum weir_status status =
        cfg_read(SCORES_KEYS, CFG_CLOSED, own->scores, "selection.scores", NULL, &scores, err);
    for (size_t i = 0; i < own->stage_count; i++)
        own->stages[i].scored.from = scores.from;
    return status;
}

static enum weir_status check(const struct weir_yaml_node *section,
                              const struct selection_scope *scope, void *options,
                              struct weir_error *err)
{
    struct coreset *own = options;
    size_t count = weir_yaml_length(own->score);
    (void)section, (void)scope;
    if (count == 0 || count > STAGES_MAX)
        return weir_yaml_fail(own->score, err,
                              "selection.score: expected {method: NAME}, or a list of 1 to %d",
                              STAGES_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(own->score, i);
        enum weir_status status = read_stage(node, own, err);
        if (status == WEIR_OK)
            status = check_order(node, own, i, err);
        if (status == WEIR_OK)
            status = check_period(&own->stages[i].scored, err);
        if (status != WEIR_OK)
            return status;
    }
    enum weir_status status = check_withheld(own, err);
    return status != WEIR_OK ? status : read_from(own, err);
}

static unsigned needs_of(const void *options)
{
    const struct coreset *own = options;
    for (size_t i = 0; i < own->stage_count; i++)
        if (own->stages[i].scored.balance)
            return SELECTION_NEEDS_LABELS;
    return 0;
}

/* ---- choosing ---- */

static const struct selection_scored *scored(const void *options, uint64_t trigger)
{
    const struct coreset *own = options;
    return &own->stages[selector_scoring_stage_at(own->from, own->stage_count, trigger)].scored;
}

static const struct selection_scored *scored_at(const void *options, size_t index)
{
    const struct coreset *own = options;

    return index < own->stage_count ? &own->stages[index].scored : NULL;
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    (void)options;
    selection_draw(input, input->target, rng, output);
}

static void describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "\n### selection.score\n\nHow a coreset is chosen.\n\n");
    cfg_document(SCORE_KEYS, out);
    weir_buf_append_text(out, "\n### selection.scores\n\nScores that others have paid for.\n\n");
    cfg_document(SCORES_KEYS, out);
    cfg_registry_document(&SELECTOR_SCORING_METHODS, "### selection.score.method", out);
}

static const struct selection_scoring SCORING = {.at_trigger = scored, .at = scored_at};

const struct selection_policy selector_selection_coreset = {
    .name = "coreset",
    .summary = "samples that a method chooses by the scores of a model",
    .options = OPTIONS,
    .options_size = sizeof(struct coreset),
    .check = check,
    .needs_of = needs_of,
    .scoring = &SCORING,
    .withheld = withheld,
    .describe = describe,
    .choose = choose,
};
