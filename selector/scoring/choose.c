/* The part that all methods share: the ends of the range, and one choice for each label. */
#include "core/base/memory.h"
#include "selector/scoring/scoring.h"

#include <stdlib.h>
#include <string.h>

const char *selector_scoring_mode(enum scoring_wants wants)
{
    static const char *const MODES[] = {
        [SCORING_WANTS_NOTHING] = NULL,          [SCORING_WANTS_LOSS] = "score",
        [SCORING_WANTS_GRADIENT_NORM] = "score", [SCORING_WANTS_PROBABILITIES] = "predict",
        [SCORING_WANTS_GRADIENT] = "gradient",   [SCORING_WANTS_EMBEDDING] = "embed",
    };
    return MODES[wants];
}

static void choose_all(const struct scoring_input *input, struct scoring_choice *choice)
{
    choice->count = input->count;
    for (size_t i = 0; i < input->count; i++) {
        choice->chosen[i] = i;
        choice->weights[i] = 1;
    }
}

static bool choose_some(const struct scoring_method *method, const void *options,
                        const struct scoring_input *input, struct scoring_choice *choice)
{
    choice->count = 0;
    if (input->target == 0 || input->count == 0)
        return true;
    if (input->target < input->count)
        return method->choose(options, input, choice);
    choose_all(input, choice);
    return true;
}

/* ---- each label apart ---- */

struct member {
    int64_t label;
    size_t position;
};

struct group {
    size_t first, count; /* of the members */
    size_t share;
    size_t remainder; /* of count * target / all, in units of 1 / all */
};

static int by_label(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    if (x->label != y->label)
        return x->label > y->label ? 1 : -1;
    return (x->position > y->position) - (x->position < y->position);
}

static size_t group_members(struct member *members, size_t count, struct group *groups)
{
    size_t found = 0;
    qsort(members, count, sizeof(*members), by_label);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || members[i].label != members[i - 1].label)
            groups[found++].first = i;
        groups[found - 1].count++;
    }
    return found;
}

static int by_remainder(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    if (x->remainder != y->remainder)
        return x->remainder > y->remainder ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Shares out the target; the rest after rounding down goes to the largest remainders. Reorders the groups. */
static void share_out(struct group *groups, size_t count, size_t target, size_t all)
{
    size_t left = target;
    for (size_t g = 0; g < count; g++) {
        __extension__ unsigned __int128 exact = (unsigned __int128)groups[g].count * target;
        groups[g].share = (size_t)(exact / all);
        groups[g].remainder = (size_t)(exact % all);
        left -= groups[g].share;
    }
    qsort(groups, count, sizeof(*groups), by_remainder);
    for (size_t g = 0; g < left; g++)
        groups[g].share++;
}

/* Progress of one group as progress of the whole. */
struct part_of_all {
    const struct progress *whole;
    size_t before, share, target;
};

static bool report_part(void *owner, size_t done, size_t total)
{
    const struct part_of_all *part = owner;
    double of_share = (double)done / (double)total * (double)part->share;
    return scoring_goes_on(part->whole, part->before + (size_t)of_share, part->target);
}

static float *gather(const float *values, size_t width, const struct member *members, size_t count)
{
    float *rows = weir_calloc(count * width + 1, sizeof(*rows));
    for (size_t i = 0; i < count && values != NULL && width > 0; i++)
        memcpy(rows + i * width, values + members[i].position * width, width * sizeof(*rows));
    return rows;
}

static bool choose_group(const struct scoring_method *method, const void *options,
                         const struct scoring_input *whole, const struct member *members,
                         struct scoring_choice *choice)
{
    WEIR_AUTO_FREE float *values = gather(whole->values, whole->width, members, whole->count);
    WEIR_AUTO_FREE float *losses = gather(whole->holdout_losses, 1, members, whole->count);
    struct scoring_input input = *whole;
    input.values = values;
    input.holdout_losses = losses;
    input.seed = weir_mix64(whole->seed + (uint64_t)members[0].label);
    if (!choose_some(method, options, &input, choice))
        return false;
    for (size_t n = 0; n < choice->count; n++)
        choice->chosen[n] = members[choice->chosen[n]].position;
    return true;
}

static bool choose_by_label(const struct scoring_method *method, const void *options,
                            const struct scoring_input *input, struct scoring_choice *choice)
{
    WEIR_AUTO_FREE struct member *members = weir_calloc(input->count, sizeof(*members));
    WEIR_AUTO_FREE struct group *groups = weir_calloc(input->count, sizeof(*groups));
    for (size_t i = 0; i < input->count; i++)
        members[i] = (struct member){.label = input->labels[i], .position = i};
    size_t count = group_members(members, input->count, groups);
    size_t target = input->target < input->count ? input->target : input->count;
    share_out(groups, count, target, input->count);
    choice->count = 0;
    for (size_t g = 0, before = 0; g < count; before += groups[g++].share) {
        struct part_of_all part = {&input->progress, before, groups[g].share, target};
        struct scoring_choice own = {choice->chosen + choice->count,
                                     choice->weights + choice->count, 0};
        struct scoring_input some = *input;
        some.count = groups[g].count;
        some.target = groups[g].share;
        some.progress = (struct progress){report_part, &part};
        if (!choose_group(method, options, &some, members + groups[g].first, &own))
            return false;
        choice->count += own.count;
    }
    return true;
}

bool selector_scoring_choose(const struct scoring_method *method, const void *options,
                             const struct scoring_input *input, struct scoring_choice *choice)
{
    if (input->labels != NULL && input->count > 0)
        return choose_by_label(method, options, input, choice);
    return choose_some(method, options, input, choice);
}

size_t selector_scoring_stage_at(const uint64_t *from, size_t count, uint64_t trigger)
{
    size_t stage = 0;
    while (stage + 1 < count && from[stage + 1] <= trigger)
        stage++;
    return stage;
}
