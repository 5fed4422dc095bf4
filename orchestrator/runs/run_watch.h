/* Processes of trainers that do not do their part: who says nothing for longer than
 * training.patience, and who is done and does not leave, is told to end, for it holds a slot. Time
 * counts while this process looks: one that was suspended itself finds nobody silent. Owned by:
 * struct runs. */
#ifndef ORCHESTRATOR_RUNS_RUN_WATCH_H
#define ORCHESTRATOR_RUNS_RUN_WATCH_H

#include "core/loop/loop.h"

/* Starting and ending of trainer processes; main.c backs it with the platform, tests with a script. */
struct orchestrator_trainer {
    int64_t run;
    uint32_t rank, ranks; /* of the processes of the run */
    uint16_t port;        /* of the loopback, at which they meet; 0: it is alone */
    uint64_t gpus;        /* slots that are its own, a bit each */
    const char *base;     /* file of the model it starts from; NULL: none */
    const char *program;  /* of the system file; NULL: the built-in one */
    const char *mode;
    const char *token; /* secret of the run, known to the orchestrator and the dispatcher */
};

struct orchestrator_trainers {
    void *owner;
    /* All processes of a run, `ranks` of the first of them, or none. */
    enum weir_status (*start)(void *owner, const struct orchestrator_trainer *trainers,
                              struct weir_error *err);
    void (*end)(void *owner, int64_t run); /* all of its processes */
    /* Optional. True while a process waits for a machine: it can say nothing yet. */
    bool (*waits)(void *owner, int64_t run, uint32_t rank);
    /* Optional. The process that was started for the run `before` is given another one: it is called after that from
     * now on. NOT_FOUND when there is none, INVALID when its program does not do the mode. */
    enum weir_status (*pass)(void *owner, int64_t before,
                             const struct orchestrator_trainer *trainer, struct weir_error *err);
};

struct run_watch;

/* Both outlive it. */
struct run_watch *orchestrator_run_watch_new(struct weir_loop *loop,
                                             const struct orchestrator_trainers *trainers);
void orchestrator_run_watch_free(struct run_watch *watch);

/* A process was started for the run, as that rank. */
void orchestrator_run_watch_begin(struct run_watch *watch, int64_t run, uint32_t rank,
                                  int64_t patience_ms);
/* The same of a process that has waited for the run: its first word comes soon, or it will not do it. */
void orchestrator_run_watch_given(struct run_watch *watch, int64_t run, int64_t patience_ms);
/* True between that and orchestrator_run_watch_end(), of any rank. */
bool orchestrator_run_watch_has(const struct run_watch *watch, int64_t run);
/* Notes that the rank has said something. Runs without a process are fine, here and below. */
void orchestrator_run_watch_hear(struct run_watch *watch, int64_t run, uint32_t rank);
/* Notes that the run has nothing left to do. */
void orchestrator_run_watch_leaves(struct run_watch *watch, int64_t run);
/* The process is gone. Time without a word after which its run was ended; 0: it was not. */
int64_t orchestrator_run_watch_end(struct run_watch *watch, int64_t run, uint32_t rank);

/* Calls `each` for every process. */
void orchestrator_run_watch_each(const struct run_watch *watch,
                                 void (*each)(void *owner, int64_t run, uint32_t rank),
                                 void *owner);

#endif
