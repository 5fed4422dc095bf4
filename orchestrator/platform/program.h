/* Programs that are started besides the services: what a platform is told of them. */
#ifndef ORCHESTRATOR_PLATFORM_PROGRAM_H
#define ORCHESTRATOR_PLATFORM_PROGRAM_H

#include "orchestrator/processes/environment.h"
#include "orchestrator/processes/supervisor.h"

/* A process besides the services: a trainer, or a worker. */
struct orchestrator_program {
    const char *program; /* "trainer": an executable of bin_dir */
    const char *name;    /* "trainer-17": also --name */
    /* it may be on another machine, has no part of ours, and proves its group's key */
    bool is_elsewhere;
    const char *const *arguments; /* after the common ones; NULL: none */
    size_t argument_count;
    /* the user's program that is run in place of it; NULL: none */
    const struct weir_allowed *foreign;
    const char *run;               /* number of the run that such a program is given … */
    struct orchestrator_rank rank; /* … and which of its processes it is */
    const char *token;             /* of the run, WEIR_TOKEN; NULL: it does none */
    bool restart;
    /* of the data directory, in lists that end with NULL: what it may change … */
    const char *const *open;
    /* … and files that it may read; both NULL: everything, it is Weir's own */
    const char *const *readable;
    const char *gpus;           /* it may see: "0,2"; NULL: whatever there is */
    weir_child_exit_fn *exited; /* optional */
    void *owner;
};
/* Programs that are started at once, or not at all: the group of a launcher (orchestrator/launchers/launcher.h). */
struct orchestrator_programs {
    const char *group;    /* unique for all time */
    const char *place;    /* class of machines: pool, host, trainer */
    const char *launcher; /* NULL: that of the place */
    unsigned cores;       /* usable by one of them; 0: all there are */
    unsigned gpus;        /* … held by one of them */
    uint64_t memory;      /* bytes, of one of them; 0: whatever there is */
    const char *key;      /* file of the pass of those that are elsewhere; NULL: none is */
    const struct orchestrator_program *at;
    size_t count;
    bool is_gang; /* they run at the same time, or not at all */
};

#endif
