/* The children of this process: started, restarted with growing pauses, stopped in order, never
 * left behind. One supervisor belongs to one loop and its thread. Children die with this process
 * (parent-death signal), whatever kills it. */
#ifndef ORCHESTRATOR_PROCESSES_SUPERVISOR_H
#define ORCHESTRATOR_PROCESSES_SUPERVISOR_H

#include "core/base/error.h"
#include "core/loop/loop.h"
#include "orchestrator/processes/identity.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    ORCHESTRATOR_RESTART_MS_MIN = 100,
    ORCHESTRATOR_RESTART_MS_MAX = 5000,
    ORCHESTRATOR_RESTART_RESET_MS = 1000, /* a life of this length is no part of a crash loop */
    ORCHESTRATOR_CHILDREN_MAX = 256,
};

/* Stopped from the last to the first. */
enum orchestrator_stage {
    ORCHESTRATOR_STAGE_DATABASE,
    ORCHESTRATOR_STAGE_SERVICE,
    ORCHESTRATOR_STAGE_LAUNCHED, /* workers and trainers: whatever a launcher started */
};

/* End of a child, or the reason why it could not be started again. */
struct orchestrator_child_exit {
    const char *name;
    pid_t pid;
    int wait_status;   /* as waitpid() gives it; -1: it could not be started */
    bool restarting;   /* the supervisor will start it again */
    unsigned restarts; /* so far */
    /* lives on end shorter than ORCHESTRATOR_RESTART_RESET_MS, not ended by SIGKILL */
    unsigned failures;
    const char *last_line; /* of its log */
    /* of one that somebody else looks after: what they say; NULL: they say nothing */
    const char *why;
};
typedef void weir_child_exit_fn(void *owner, const struct orchestrator_child_exit *ended);

/* Everything is copied. */
struct orchestrator_child {
    const char *name;  /* unique; its log is NAME.log */
    char *const *argv; /* argv[0] is a path */
    char *const *env;  /* NULL: ours */
    /* names of those that it has to find wherever it is started, also where we have them; NULL
     * at the end, or none */
    const char *const *told;
    const char *input; /* its standard input, at every start; NULL: empty */
    /* a file that is made again at every start, in place of the log: of a command, which is begun and ends without a
     * word in ours; NULL: it has a log */
    const char *output;
    const char *directory;                        /* NULL: ours */
    const struct orchestrator_identity *identity; /* NULL: as we are */
    bool restart;                                 /* whenever it ends by itself */
    unsigned core;                /* the only one that it runs on, counted from 1; 0: any */
    const struct weir_jail *jail; /* borrowed; of what is not restarted alone; NULL: none */
    enum orchestrator_stage stage;
    int stop_signal;                   /* 0: SIGTERM */
    int kill_signal;                   /* after stop_ms; 0: SIGKILL, to its whole process group */
    int64_t stop_ms;                   /* 0: 5000 */
    void (*before_start)(void *owner); /* optional: runs before each start */
    weir_child_exit_fn *exited;        /* optional: called from the loop */
    void *owner;
};

struct weir_jail;
struct orchestrator_supervisor;

/* Blocks SIGCHLD for this thread: make it before anything starts threads. */
struct orchestrator_supervisor *orchestrator_supervisor_new(struct weir_loop *loop,
                                                            const char *log_dir);
/* Ends what still runs, waiting for it; calls nobody back. */
void orchestrator_supervisor_free(struct orchestrator_supervisor *supervisor);
WEIR_DEFINE_AUTO(orchestrator_supervisor, orchestrator_supervisor_free)

/* EXISTS when the name is taken by a child that has not ended, LIMIT, or why exec failed. */
enum weir_status orchestrator_supervisor_start(struct orchestrator_supervisor *supervisor,
                                               const struct orchestrator_child *child,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Asks one child to end and forgets it then; `exited` is still called. Unknown names are fine.
 * `stop_ms` < 0: the child's own bound. */
void orchestrator_supervisor_stop(struct orchestrator_supervisor *supervisor, const char *name,
                                  int64_t stop_ms);
/* Calls a running child by another name, and begins the log of that name: what it has written so far stays in the old
 * one. NOT_FOUND unless it runs, EXISTS when the name is taken. */
enum weir_status orchestrator_supervisor_rename(struct orchestrator_supervisor *supervisor,
                                                const char *from, const char *to,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Stops all, stage after stage; `done` is called from the loop when none is left. From now on
 * nothing is started. */
void orchestrator_supervisor_stop_all(struct orchestrator_supervisor *supervisor,
                                      weir_loop_timer_fn *done, void *owner);

/* 0: not running now. */
pid_t orchestrator_supervisor_pid(const struct orchestrator_supervisor *supervisor,
                                  const char *name);

struct orchestrator_child_state {
    const char *name; /* borrowed until the child is forgotten */
    pid_t pid;        /* 0: waiting for its restart */
    enum orchestrator_stage stage;
    unsigned restarts;
    unsigned core; /* as it was asked for */
    bool stopping;
    const char *how; /* it ended last, borrowed as the name: "killed by signal 9"; "": it has not */
};
/* Number of times that children were started again which are forgotten now. */
uint64_t orchestrator_supervisor_past_restarts(const struct orchestrator_supervisor *supervisor);
/* Fills up to `max` states, in the order of starting; returns how many there are. */
size_t orchestrator_supervisor_list(const struct orchestrator_supervisor *supervisor,
                                    struct orchestrator_child_state *states, size_t max);

#endif
