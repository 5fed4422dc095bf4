/* A launcher puts processes somewhere: on this machine, later on a cluster. The orchestrator decides how many run and
 * under which names, and commits that before it asks; the launcher decides where. Processes come in groups that are
 * started at once: workers of one place, ranks of one training. They need not be children of this process, and may
 * outlive it. They call home by themselves and are known to work only after that. One instance lives on one loop; no
 * call may block on another program.
 *
 * To add a launcher: write launcher_NAME.c and name it in registry.c. */
#ifndef ORCHESTRATOR_LAUNCHERS_LAUNCHER_H
#define ORCHESTRATOR_LAUNCHERS_LAUNCHER_H

#include "core/config/plugin.h"
#include "orchestrator/processes/supervisor.h"

enum launcher_state {
    LAUNCHER_PENDING, /* it waits to be started, or to be started again */
    LAUNCHER_RUNNING,
    LAUNCHER_DRAINED, /* its machine was taken away */
    LAUNCHER_LOST,    /* there is none of that name for certain, and nobody has ended it */
    LAUNCHER_REFUSED, /* it will never be started */
    LAUNCHER_ENDED,
};

struct launcher_process {
    const char *name; /* borrowed until the next call */
    const char *host; /* "": none yet */
    enum launcher_state state;
    const char *reason; /* of a state that is no good one, for a person; "": none */
};

/* 0 everywhere: whatever there is. */
struct launcher_resources {
    unsigned cores;
    unsigned gpus;
    uint64_t memory; /* bytes */
    int64_t time_ms; /* how long it may run */
};

/* In the words of a command and its variables these stand for what only the machine knows that it is started on: its
 * address, a new folder that is removed when it has ended, and the file of the group's pass there. */
#define LAUNCHER_HOST    "{host}"
#define LAUNCHER_SCRATCH "{scratch}"
#define LAUNCHER_KEY     "{key}"

struct launcher_group {
    const char *name;               /* unique for all time and all platforms, weir-PLATFORM-…:
                                     * durable before it is started */
    const char *place;              /* class of machines: pool, host, trainer */
    struct launcher_resources each; /* at most, of one process */
    const struct orchestrator_child *members; /* by unique names */
    size_t count;
    const char *key; /* file of the pass that its processes prove; NULL: none */
    bool is_gang; /* they run at the same time or not at all, and the end of one ends the others */
};

/* The platform as a launcher sees it; outlives it. */
struct launcher_context {
    struct weir_loop *loop;
    struct orchestrator_supervisor *supervisor;
    const char *bin_dir;  /* of the programs of the platform, on whatever machine */
    const char *data_dir; /* a launcher's own files lie in a folder of its name */
    const void *options;  /* its own: a struct of options_size; NULL: it has none */
};

/* Functions of a launcher whose processes are not the supervisor's children. All are required. */
struct launcher_elsewhere {
    /* Ends all that it has started, and calls `done` from the loop when that is under way. */
    void (*leave)(void *state, weir_loop_timer_fn *done, void *owner);
    /* Returns the folder outside of the data directory in which keys lie, as its options name it; NULL: there is none.
     * It is closed to programs of the user, as the data directory is. */
    const char *(*folder)(const void *options);
};

struct launcher {
    CFG_PLUGIN;
    size_t state_size;                          /* zeroed and owned by the caller */
    const struct launcher_elsewhere *elsewhere; /* NULL: the supervisor ends what it has started */

    /* Required. NOT_FOUND when what it needs is not there. */
    enum weir_status (*init)(void *state, const struct launcher_context *context,
                             struct weir_error *err);
    /* Required. Takes on all members or none, and keeps each as its `restart` and `exited` ask, or says that it is LOST
     * when it ends; list() says what becomes of them. After a failure nothing of the group is there, or ever comes: the
     * next attempt has another name.
     * EXISTS when the group, or a process of one of the names, is there: nothing is started twice. The name of a
     * process that is over is free.
     * LIMIT when there is not room enough for the group, ever or now, UNSUPPORTED for what it cannot see to; what is
     * not known at once is REFUSED later. */
    enum weir_status (*start)(void *state, const struct launcher_group *group,
                              struct weir_error *err);
    /* Required. Takes up a group that an earlier process has committed and may have started, or not. Starts nothing.
     * NOT_FOUND, with a reason for a person, when there is nothing of it; if that is not known at once, its processes
     * are LOST later. All that are to be adopted are, before the loop goes on. */
    enum weir_status (*adopt)(void *state, const struct launcher_group *group,
                              struct weir_error *err);
    /* Required. Asks a process to end within `grace_ms`, then ends it, and forgets one that has ended or never will
     * start. Unknown names, and asking again, are fine. */
    void (*stop)(void *state, const char *name, int64_t grace_ms);
    /* Required. Fills up to `max`, returns how many there are of this launcher's. One that is not listed is LOST, or
     * ENDED if it was to be stopped. */
    size_t (*list)(const void *state, struct launcher_process *processes, size_t max);
    /* Required. Calls a process by another name. NOT_FOUND unless it runs, EXISTS when the name is taken. */
    enum weir_status (*rename)(void *state, const char *from, const char *to,
                               struct weir_error *err);
    /* Optional. Releases what init() took. Running processes are the supervisor's. */
    void (*fini)(void *state);
};

CFG_REGISTRY(orchestrator_launcher, struct launcher, ORCHESTRATOR_LAUNCHERS)

#endif
