/* The schedules, by the closed forms of PyTorch's torch.optim.lr_scheduler: step is StepLR, cosine CosineAnnealingLR
 * (Loshchilov, Hutter 2017, equation 5, without restarts) down to the end of the run, the warm-up LinearLR from
 * 1 / warmup in warmup - 1 units. */
#include "trainer_client/models/schedule.h"

#include "core/base/elementary.h"

#include <math.h>

static const char *const UNITS[] = {"batch", "epoch", NULL};

const struct cfg_key TRAINER_SCHEDULE_KEYS[] = {
    CFG_TEXT(struct schedule_shared, name, .fallback = "constant", .doc = "name of the schedule"),
    CFG_CHOICE(struct schedule_shared, by, .fallback = "batch", .choices = UNITS,
               .doc = "unit of time: the rate changes with each batch, or with each epoch"),
    CFG_U64(struct schedule_shared, warmup, .fallback = "0", .max = 1e12,
            .doc =
                "batches or epochs at the beginning in which the rate rises to lr in equal steps"),
    CFG_END,
};

static const struct cfg_key CONSTANT[] = {CFG_END};
static const struct cfg_key STEP[] = {
    CFG_U64(struct schedule_options, every, .required = true, .min = 1, .max = 1e12,
            .doc = "batches or epochs from one change to the next"),
    CFG_F64(struct schedule_options, factor, .fallback = "0.1", .min = 1e-12, .max = 1,
            .doc = "factor that the rate is multiplied by"),
    CFG_END,
};
static const struct cfg_key COSINE[] = {
    CFG_F64(struct schedule_options, floor, .fallback = "0", .max = 1,
            .doc = "share of lr that is left at the end of the run"),
    CFG_END,
};

// clang-format off
#define SCHEDULES(X)                                                                               \
    X("constant", "lr from the warm-up on", CONSTANT, factor_constant)                             \
    X("step", "lr times a factor, again and again", STEP, factor_step)                             \
    X("cosine", "down along half a cosine, which ends with the run", COSINE, factor_cosine)
// clang-format on

static double factor_constant(const struct schedule_options *options, double done, double total)
{
    (void)options;
    (void)done;
    (void)total;
    return 1.0;
}

static double factor_step(const struct schedule_options *options, double done, double total)
{
    (void)total;
    return weir_pow(options->factor, floor(done / (double)options->every));
}

static double factor_cosine(const struct schedule_options *options, double done, double total)
{
    double share = done < total ? done / total : 1.0;
    return options->floor + (1.0 - options->floor) * (1.0 + weir_cospi(share)) / 2.0;
}

static const struct cfg_plugin *const ALL[] = {
#define X(name_, summary_, keys, factor_)                \
    &(const struct schedule){                            \
        .name = name_,                                   \
        .summary = summary_,                             \
        .options = keys,                                 \
        .options_size = sizeof(struct schedule_options), \
        .factor = factor_,                               \
    }                                                    \
         .plugin,
    SCHEDULES(X)
#undef X
};

const struct cfg_registry TRAINER_SCHEDULES = {
    .what = "schedule",
    .key = "name",
    .expected = "a name, or {name: NAME, its options}",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

double trainer_schedule_factor(const struct schedule *schedule,
                               const struct schedule_shared *shared,
                               const struct schedule_options *options,
                               const struct schedule_place *place)
{
    bool by_epoch = shared->by == SCHEDULE_BY_EPOCH;
    uint64_t at = by_epoch ? place->epoch : place->batch;
    double total = (double)place->epochs * (by_epoch ? 1.0 : (double)place->batches_per_epoch);
    if (at < shared->warmup)
        return (double)(at + 1) / (double)shared->warmup;
    return schedule->factor(options, (double)(at - shared->warmup),
                            fmax(total - (double)shared->warmup, 1.0));
}
