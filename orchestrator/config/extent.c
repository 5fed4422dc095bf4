/* See extent.h. */
#include "orchestrator/config/extent.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/values/period.h"

#include <stdlib.h>
#include <string.h>

/* The contents of the datasets, as far as they were looked at. */
struct extent {
    uint64_t samples; /* all of them; an estimate, unless `is_whole`; 0: nobody can say */
    int64_t first_us, last_us;
    /* About the newest of all: those that were not looked at go on as these begin. */
    int64_t until_us;
    bool is_whole; /* there is nothing else */
};

/* Half as much again as is likely; for ever where nobody can say. */
static int64_t until(const struct extent *extent, uint64_t found)
{
    double length = (double)(extent->last_us - extent->first_us);
    double whole = length * (double)extent->samples / (double)found * 3 / 2;

    return extent->samples > found && whole < (double)(INT64_MAX / 4)
               ? extent->first_us + (int64_t)whole
               : INT64_MAX;
}

/* False where nothing was found. */
static bool read_extent(const json_t *datasets, struct extent *ret_extent)
{
    struct extent extent = {.first_us = INT64_MAX, .last_us = INT64_MIN, .is_whole = true};
    uint64_t found = 0;
    bool is_known = true;
    size_t index;
    const json_t *dataset;

    json_array_foreach(datasets, index, dataset)
    {
        int64_t first = json_integer_value(json_object_get(dataset, "first"));
        int64_t last = json_integer_value(json_object_get(dataset, "last"));

        uint64_t about = (uint64_t)json_integer_value(json_object_get(dataset, "about"));

        if (!json_is_true(json_object_get(dataset, "gives_samples")))
            return false;
        extent.is_whole &= json_is_true(json_object_get(dataset, "is_whole"));
        is_known &= about > 0 || json_is_true(json_object_get(dataset, "is_whole"));
        extent.samples += about;
        found += (uint64_t)json_integer_value(json_object_get(dataset, "samples"));
        extent.first_us = first < extent.first_us ? first : extent.first_us;
        extent.last_us = last > extent.last_us ? last : extent.last_us;
    }
    extent.samples = is_known ? extent.samples : 0;
    extent.until_us = extent.last_us;
    if (!extent.is_whole && found > 0)
        extent.until_us = until(&extent, found);
    *ret_extent = extent;
    return found > 0;
}

/* Remarks on `node`, a value of the file that no sample comes up to. */
static void note(struct cfg_complaints *complaints, const struct weir_yaml_node *node,
                 const char *key, const struct extent *extent, const char *outcome)
{
    char first[WEIR_TIME_TEXT_MAX], last[WEIR_TIME_TEXT_MAX];

    weir_time_format(extent->first_us, first);
    weir_time_format(extent->until_us == INT64_MAX ? extent->last_us : extent->until_us, last);
    cfg_note_at(complaints, WEIR_OK, node, "%s: found %s, and samples are from %s to %s%s: %s", key,
                weir_yaml_text(node), first, extent->is_whole ? "" : "about ", last, outcome);
}

/* Returns true when the grid of `every` has a boundary that the samples cross, within `from` and `to`. */
static bool is_crossed(const struct weir_yaml_node *node, const struct extent *extent)
{
    const char *every = weir_yaml_text(weir_yaml_get(node, "every"));
    const char *from = weir_yaml_text(weir_yaml_get(node, "from"));
    const char *to = weir_yaml_text(weir_yaml_get(node, "to"));
    struct orchestrator_period period;
    struct weir_error err;
    int64_t first = extent->first_us, from_us, to_us;

    if (orchestrator_period_parse(every, &period, &err) != WEIR_OK)
        return true; /* others complain of it */
    if (from != NULL && weir_time_parse(from, strlen(from), &from_us) && from_us - 1 > first)
        first = from_us - 1;
    int64_t boundary = orchestrator_period_next(&period, first);
    return boundary <= extent->until_us &&
           (to == NULL || !weir_time_parse(to, strlen(to), &to_us) || boundary < to_us);
}

static void judge_time_trigger(const struct orchestrator_config *config,
                               const struct extent *extent, struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(config->trigger, "every");
    const struct weir_yaml_node *from = weir_yaml_get(config->trigger, "from");
    const char *text = weir_yaml_text(from);
    int64_t from_us;
    bool is_late =
        text != NULL && weir_time_parse(text, strlen(text), &from_us) && from_us > extent->until_us;

    if (weir_yaml_text(node) != NULL && !is_crossed(config->trigger, extent))
        note(complaints, is_late ? from : node, is_late ? "trigger.from" : "trigger.every", extent,
             is_late ? "nothing will be trained"
                     : "no such period begins among them, nothing will be trained");
}

/* Files need not be alike: half as much again may be there. */
static bool holds(const struct extent *extent, uint64_t samples)
{
    return extent->samples == 0 ||
           samples <= extent->samples + (extent->is_whole ? 0 : extent->samples / 2);
}

static void judge_trigger(const struct orchestrator_config *config, const struct extent *extent,
                          struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(config->trigger, "samples");
    const char *policy = weir_yaml_text(weir_yaml_get(config->trigger, "policy"));
    const char *text = weir_yaml_text(node);

    if (weir_str_equal(policy, "time"))
        judge_time_trigger(config, extent, complaints);
    if (text == NULL || !weir_str_equal(policy, "amount") ||
        holds(extent, strtoull(text, NULL, 10)))
        return;
    cfg_note_at(complaints, WEIR_OK, node,
                "trigger.samples: found %s, and the datasets hold %s%llu samples%s: nothing will "
                "be trained",
                text, extent->is_whole ? "" : "about ", (unsigned long long)extent->samples,
                extent->is_whole ? "" : " (by the size of their files)");
}

/* A time of an evaluation that no sample reaches. */
static void judge_moment(const struct weir_yaml_node *section, const char *path, const char *key,
                         const struct extent *extent, struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(section, key);
    const char *text = weir_yaml_text(node);
    WEIR_AUTO_FREE char *full = weir_format("%s.%s", path, key);
    int64_t time_us;

    if (text == NULL || !weir_time_parse(text, strlen(text), &time_us))
        return;
    if (strcmp(key, "from") == 0 ? time_us <= extent->last_us : time_us > extent->first_us)
        return;
    note(complaints, node, full, extent, "nothing will be evaluated");
}

/* Slices of the default models begin after the newest sample of one: after the first sample. */
static void judge_slices(const struct weir_yaml_node *evaluation, const struct extent *extent,
                         struct cfg_complaints *complaints)
{
    const char *strategy = weir_yaml_text(weir_yaml_get(evaluation, "strategy"));
    const struct weir_yaml_node *every = weir_yaml_get(evaluation, "every");

    if ((strategy != NULL && strcmp(strategy, "slicing") != 0) || weir_yaml_text(every) == NULL ||
        weir_yaml_get(evaluation, "models") != NULL || weir_yaml_get(evaluation, "from") != NULL ||
        weir_yaml_get(evaluation, "to") != NULL || is_crossed(evaluation, extent))
        return;
    note(complaints, every, "evaluation.every", extent,
         "no slice begins after a model, nothing will be evaluated");
}

/* The end of the grid of `every` within which models are measured. */
static int64_t moment_of(const struct weir_yaml_node *section, const char *key, int64_t otherwise)
{
    const char *text = weir_yaml_text(weir_yaml_get(section, key));
    int64_t time_us;

    return text != NULL && weir_time_parse(text, strlen(text), &time_us) ? time_us : otherwise;
}

/* Something that a run will have; a guess supposes that samples lie evenly in time. */
struct foreseen {
    uint64_t count;
    bool is_guess;
    bool is_least; /* there is more than was looked at */
};

/* Half a period more or less of a guess is no mistake yet: up to twice as many are remarked. */
static void note_count(struct cfg_complaints *complaints, const struct weir_yaml_node *node,
                       const char *key, struct foreseen foreseen, const char *remedy)
{
    uint64_t max = EVALUATION_INTERVALS_MAX;
    bool is_sure = foreseen.count > (foreseen.is_guess ? 2 * max : max);

    if (foreseen.count > max)
        cfg_note_at(complaints, is_sure ? WEIR_INVALID : WEIR_OK, node,
                    "evaluation.%s: found %s, which makes %s%llu intervals to measure models on, "
                    "expected at most %d: %s",
                    key, weir_yaml_text(node),
                    foreseen.is_guess   ? "about "
                    : foreseen.is_least ? "at least "
                                        : "",
                    (unsigned long long)foreseen.count, EVALUATION_INTERVALS_MAX, remedy);
}

static bool is_trigger(const struct orchestrator_config *config, const char *policy)
{
    return weir_str_equal(weir_yaml_text(weir_yaml_get(config->trigger, "policy")), policy);
}

/* Samples of a trigger; 0: it does not count them. */
static uint64_t amount_of(const struct orchestrator_config *config)
{
    const char *text = weir_yaml_text(weir_yaml_get(config->trigger, "samples"));

    return text != NULL && is_trigger(config, "amount") ? strtoull(text, NULL, 10) : 0;
}

static bool read_trigger_period(const struct orchestrator_config *config,
                                struct orchestrator_period *ret_every)
{
    const char *text = weir_yaml_text(weir_yaml_get(config->trigger, "every"));
    struct weir_error err;

    return text != NULL && is_trigger(config, "time") &&
           orchestrator_period_parse(text, ret_every, &err) == WEIR_OK;
}

/* The newest sample of the first model, behind which intervals begin; at least the first sample. */
static int64_t first_model(const struct orchestrator_config *config, const struct extent *extent,
                           bool *ret_is_guess)
{
    struct orchestrator_period every;
    int64_t from_us = moment_of(config->trigger, "from", extent->first_us);
    uint64_t amount = amount_of(config);

    *ret_is_guess = false;
    if (read_trigger_period(config, &every))
        return orchestrator_period_next(&every, from_us > extent->first_us ? from_us - 1
                                                                           : extent->first_us);
    *ret_is_guess = true;
    if (amount == 0 || amount >= extent->samples)
        return extent->first_us;
    double share = (double)amount / (double)extent->samples;

    return extent->first_us + (int64_t)(share * (double)(extent->last_us - extent->first_us));
}

static void judge_count(const struct orchestrator_config *config,
                        const struct weir_yaml_node *evaluation, const struct extent *extent,
                        struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(evaluation, "every");
    struct foreseen foreseen = {.is_least = !extent->is_whole};
    int64_t from_us = weir_yaml_get(evaluation, "from") != NULL
                          ? moment_of(evaluation, "from", extent->first_us)
                          : first_model(config, extent, &foreseen.is_guess);
    int64_t to_us = moment_of(evaluation, "to", INT64_MAX);
    struct orchestrator_period every;
    struct weir_error err;

    if (orchestrator_period_parse(weir_yaml_text(node), &every, &err) != WEIR_OK)
        return;
    to_us = to_us < extent->last_us ? to_us : extent->last_us;
    foreseen.count = orchestrator_period_count(&every, from_us, to_us);
    note_count(complaints, node, "every", foreseen, "a longer one, or from and to");
}

/* One interval behind each trigger. */
static void judge_triggers(const struct orchestrator_config *config,
                           const struct weir_yaml_node *evaluation, const struct extent *extent,
                           struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *node = weir_yaml_get(evaluation, "strategy");
    struct orchestrator_period every;
    uint64_t amount = amount_of(config);
    struct foreseen foreseen = {.is_least = !extent->is_whole};

    if (!weir_str_equal(weir_yaml_text(node), "between_triggers"))
        return;
    if (read_trigger_period(config, &every))
        foreseen.count = orchestrator_period_count(
            &every, moment_of(config->trigger, "from", extent->first_us), extent->last_us);
    else if (amount > 0)
        foreseen =
            (struct foreseen){.count = extent->samples / amount, .is_guess = !extent->is_whole};
    note_count(complaints, node, "strategy", foreseen, "slicing, or triggers that fire less often");
}

static void judge_evaluation(const struct weir_yaml_node *evaluation, const struct extent *extent,
                             struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *intervals = weir_yaml_get(evaluation, "intervals");

    judge_slices(evaluation, extent, complaints);
    if (!extent->is_whole)
        return; /* files need not be in the order of their times */
    judge_moment(evaluation, "evaluation", "from", extent, complaints);
    judge_moment(evaluation, "evaluation", "to", extent, complaints);
    for (size_t i = 0; i < weir_yaml_length(intervals); i++) {
        judge_moment(weir_yaml_at(intervals, i), "evaluation.intervals", "from", extent,
                     complaints);
        judge_moment(weir_yaml_at(intervals, i), "evaluation.intervals", "to", extent, complaints);
    }
}

void orchestrator_extent_judge(const struct orchestrator_config *config, const json_t *datasets,
                               struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *root = weir_yaml_root(config->document);
    const struct weir_yaml_node *evaluations = weir_yaml_get(root, "evaluation");
    struct extent extent;

    if (config->mode == MODE_LIVE || !read_extent(datasets, &extent))
        return;
    judge_trigger(config, &extent, complaints);
    for (size_t i = 0; i < weir_yaml_length(evaluations); i++) {
        const struct weir_yaml_node *evaluation = weir_yaml_at(evaluations, i);
        judge_evaluation(evaluation, &extent, complaints);
        judge_count(config, evaluation, &extent, complaints);
        judge_triggers(config, evaluation, &extent, complaints);
    }
}
