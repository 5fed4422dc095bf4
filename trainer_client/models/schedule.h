/* Schedules: the learning rate as a run goes on. Pure: the rate of a step follows from its place alone, so that a run
 * that is resumed goes on with the same rates. To add one: a row in schedule.c. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_SCHEDULE_H
#define WEIR_TRAINER_CLIENT_MODELS_SCHEDULE_H

#include "core/config/plugin.h"

enum schedule_by { SCHEDULE_BY_BATCH, SCHEDULE_BY_EPOCH };

/* The mapping `training.schedule`: the keys of all, and those that the schedules name. */
struct schedule_shared {
    const char *name;
    int by; /* enum schedule_by: the unit of everything else */
    /* units at the beginning in which the rate rises, line by line, to the full one */
    uint64_t warmup;
};
struct schedule_options {
    uint64_t every;
    double factor;
    double floor;
};
extern const struct cfg_key TRAINER_SCHEDULE_KEYS[];

/* Place of a step in its run. */
struct schedule_place {
    uint64_t batch, epoch; /* from 0; batches are counted over all epochs */
    uint64_t batches_per_epoch, epochs;
};

struct schedule {
    CFG_PLUGIN;
    /* Required. Factor of the learning rate `done` units after the warm-up, of `total` there are. */
    double (*factor)(const struct schedule_options *options, double done, double total);
};

CFG_REGISTRY(trainer_schedule, struct schedule, TRAINER_SCHEDULES)

/* Factor of the optimizer's learning rate at a place. */
double trainer_schedule_factor(const struct schedule *schedule,
                               const struct schedule_shared *shared,
                               const struct schedule_options *options,
                               const struct schedule_place *place);

#endif
