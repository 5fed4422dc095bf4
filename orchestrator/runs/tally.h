/* Counts of what the runs of each pipeline have come to since this process began, for people who watch. They only grow,
 * whatever dies: what a run is said to have done may shrink when its trainer or worker begins again. Pure.
 *
 * Owned by: struct runs. */
#ifndef ORCHESTRATOR_RUNS_TALLY_H
#define ORCHESTRATOR_RUNS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Stages that a trainer waits for, as client_orders names them; the last one stands for none, or one not known yet. */
enum run_stage {
    RUN_STAGE_LOCATE,
    RUN_STAGE_READ,
    RUN_STAGE_OPERATORS,
    RUN_STAGE_TRANSFER,
    RUN_STAGE_OTHER,
    RUN_STAGES
};
const char *orchestrator_run_stage_name(enum run_stage stage);
enum run_stage orchestrator_run_stage_of(const char *name);

/* Work on a job so far, by all workers. */
struct run_work {
    int64_t cpu_ns;
    uint64_t bytes_read, bytes_sent;
    uint64_t batches; /* consumed */
    uint64_t failed;  /* samples */
};

struct run_tally {
    LIST_ENTRY(run_tally) link;
    int64_t pipeline;
    uint64_t samples;
    int64_t busy_ns, stalled_ns[RUN_STAGES];
    struct run_work work;
    uint64_t done, failed, evaluated, retries;
};

LIST_HEAD(run_tallies, run_tally);

/* Found, or made. */
struct run_tally *orchestrator_tally_of(struct run_tallies *tallies, int64_t pipeline);
void orchestrator_tallies_free(struct run_tallies *tallies);

/* Part of a run that is counted: the most that it was ever said to have done. */
struct run_counted {
    uint64_t samples;
    struct run_work work;
    bool skips_samples, skips_work; /* the first figure is what an earlier process has counted */
};

void orchestrator_tally_samples(struct run_tally *tally, struct run_counted *counted,
                                uint64_t samples);
void orchestrator_tally_work(struct run_tally *tally, struct run_counted *counted,
                             const struct run_work *work);
/* Time of one trainer: `before` and `after` are cumulative, and begin again with its process. */
struct run_times {
    int64_t busy_ns, wait_ns;
};
void orchestrator_tally_times(struct run_tally *tally, struct run_times before,
                              struct run_times after, enum run_stage stage);

#endif
