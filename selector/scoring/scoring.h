/* Choosing by a model's outputs for the samples: importance sampling, uncertainty, coresets. Pure: numbers
 * in, positions and weights out, on the caller's thread; the same input, options and seed give the same
 * choice on any machine.
 *
 *     const struct scoring_method *method = scoring_find("craig");   // NULL: not known
 *     cfg_read(method->options, …, options, err);                    // options_size bytes
 *     // gather method->wants of every candidate, e.g. from a score run
 *     struct scoring_choice choice = {.chosen = chosen, .weights = weights};
 *     if (selector_scoring_choose(method, options, &input, &choice))
 *         // chosen[0 … choice.count - 1] are positions in the columns of `input`
 *
 * Memory beside the input: about count * width floats, never count * count. README.md has the table of the
 * methods and their costs. One file per method: scoring_NAME.c holds
 * `const struct scoring_method scoring_NAME`, named in registry.c. */
#ifndef SELECTOR_SCORING_SCORING_H
#define SELECTOR_SCORING_SCORING_H

#include "core/base/rng.h"
#include "core/config/plugin.h"
#include "selector/scoring/progress.h"

/* Data that a method needs of each candidate. */
enum scoring_wants {
    SCORING_WANTS_NOTHING,
    SCORING_WANTS_LOSS,
    SCORING_WANTS_GRADIENT_NORM,
    SCORING_WANTS_PROBABILITIES, /* of the classes; width 1: of the second of two */
    SCORING_WANTS_GRADIENT,      /* of the last layer */
    SCORING_WANTS_EMBEDDING,
};

/* The mode of the run in which a model says it of each: "score"; NULL: none does. */
const char *selector_scoring_mode(enum scoring_wants wants);

/* Candidates 0 … count - 1, in order of id. Of equal ones the first wins. NaN: not known; where a method
 * ranks by one number, such a candidate comes after all others, in a vector it counts as 0. Infinite:
 * as large as can be. */
struct scoring_input {
    size_t count;                /* may be 0 */
    size_t width;                /* floats of each: 1 for a loss or a norm; 0: nothing is wanted */
    const float *values;         /* count * width, row by row, as the method wants them */
    const float *holdout_losses; /* for wants_holdout_loss: one each; else NULL */
    const int64_t *labels;       /* balance: choose for each label apart; NULL: do not */
    size_t target;               /* maximum to choose */
    uint64_t seed;
    uint32_t part; /* of a method that draws again for every epoch: the epoch, from 0 */
    struct progress progress;
};

struct scoring_choice {
    size_t *chosen; /* room for the smaller of target and count: distinct positions, in any order */
    float *weights; /* the same: of the loss; finite, above 0; 1 where the method gives none */
    size_t count;   /* chosen candidates */
};

/* Samples held out for wants_holdout_loss. */
struct scoring_holdout {
    double share; /* of the candidates, which are never trained on; 0: none are, see `twin` */
    bool twin; /* two models, each trained on one half of the candidates, speak of the other one */
};

struct scoring_method {
    CFG_PLUGIN;
    enum scoring_wants wants;
    bool wants_holdout_loss; /* also the loss by a model that was trained on held-out samples */
    struct scoring_holdout (*holdout)(const void *options); /* required with it */
    bool draws_again; /* for every part, `target` of them with weight 1 */

    /* Called by selector_scoring_choose() with 0 < target < count, room for target, and values that are wanted.
     * Chooses `target`; fewer, but not none, only when the method's own rule says so. False: given
     * up, as progress.report wanted. */
    bool (*choose)(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice);
};

/* Fills `choice`. All candidates, with weight 1, when the target is not below their number; none when
 * either is 0. With labels each has a share of the target in proportion to its size (largest remainders;
 * of equal ones the smaller label first). False: given up, `choice` says nothing. */
bool selector_scoring_choose(const struct scoring_method *method, const void *options,
                             const struct scoring_input *input, struct scoring_choice *choice);

/* A schedule of methods: stage i begins with trigger from[i]; from[0] <= 1, ascending. */
size_t selector_scoring_stage_at(const uint64_t *from, size_t count, uint64_t trigger);

CFG_REGISTRY(scoring, struct scoring_method, SELECTOR_SCORING_METHODS)

#endif
