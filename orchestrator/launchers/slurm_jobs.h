/* The groups that Slurm runs, and which command is next: a table without a clock, process or file. Workers are an
 * array, a task each; a gang is one job. A group is submitted under a name that was committed before, and a second
 * time only when squeue was heard since and knows no job of that name: so there are never two, and a job whose number
 * was not heard is found. A job of this platform's that nobody here knows is cancelled. A slurmctld that lost its
 * state gives numbers out again: a job is ours by its name, and its number goes into a command only right after
 * squeue has shown it under that name. */
#ifndef ORCHESTRATOR_LAUNCHERS_SLURM_JOBS_H
#define ORCHESTRATOR_LAUNCHERS_SLURM_JOBS_H

#include "orchestrator/launchers/slurm_answers.h"

enum {
    SLURM_LOOK_MS = 1000,      /* between two looks while something is on its way */
    SLURM_LOOK_IDLE_MS = 5000, /* … while all is as it should be */
    SLURM_FRESH_MS = 1000,     /* an answer of squeue that scancel may go by is no older */
    SLURM_MISSING_MAX = 2,     /* looks on end in which a job is not there, and then is gone */
    SLURM_HOPELESS_MAX = 2, /* … of a job that waits for what never comes, and then is cancelled */
    SLURM_SUBMIT_MS_MIN = 1000,  /* before a group that could not be submitted is tried again, */
    SLURM_SUBMIT_MS_MAX = 30000, /* … doubling up to this */
    SLURM_KEEP_MS = 60000,       /* one that is over is listed for so long, if nobody ends it */
    SLURM_TARGETS_MAX = 64,      /* of one command */
    SLURM_TARGET_SIZE = 48,
};

enum slurm_stage {
    SLURM_NEW,        /* to be submitted */
    SLURM_SUBMITTING, /* sbatch runs */
    SLURM_UNSURE,     /* it may have been submitted: squeue will tell */
    SLURM_SUBMITTED,  /* its number is known */
};

struct slurm_task {
    char *name;
    enum launcher_state state;
    char host[SLURM_HOST_SIZE];
    char reason[SLURM_REASON_SIZE];
    unsigned hopeless;     /* looks on end in which it waited for what never comes */
    bool is_hopeless;      /* … so often that it is believed: it is to be cancelled */
    bool is_over, is_told; /* its end; and that whoever started it was told */
    int64_t over_ms;
    unsigned missing;
    bool is_seen; /* in the last answer of squeue */
    bool is_stopping, is_signalled, is_cancelled;
    int64_t kill_ms; /* when it is cancelled, if it has not ended before */
    weir_child_exit_fn *exited;
    void *owner;
};

struct slurm_group {
    char *name;
    enum slurm_stage stage;
    bool is_gang;
    bool is_adopted; /* of an earlier process: never submitted here */
    struct launcher_resources each;
    uint64_t job; /* 0: not known */
    unsigned missing;
    int64_t submit_ms; /* not before */
    int64_t pause_ms;
    char complaint[SLURM_REASON_SIZE]; /* of sbatch */
    struct slurm_task *tasks;
    size_t count;
};

struct slurm_jobs {
    struct slurm_group **groups;
    size_t count, capacity;
    char prefix[SLURM_NAME_SIZE]; /* beginning of this platform's names; "": not known yet */
    int64_t looked_ms; /* when squeue was last begun; 0: it is to be begun before all else */
    int64_t seen_ms;   /* when it last answered; 0: too long ago to go by */
    struct slurm_sight orphans[SLURM_TARGETS_MAX]; /* jobs that nobody here knows */
    size_t orphan_count;
};

enum slurm_order_kind { SLURM_WAIT, SLURM_SUBMIT, SLURM_LOOK, SLURM_SIGNAL, SLURM_CANCEL };

struct slurm_order {
    enum slurm_order_kind kind;
    struct slurm_group *group;  /* SUBMIT */
    bool is_gang;               /* SIGNAL: the target is */
    char name[SLURM_NAME_SIZE]; /* SIGNAL, CANCEL: of all targets; "": not to be asked for */
    char targets[SLURM_TARGETS_MAX][SLURM_TARGET_SIZE]; /* SIGNAL, CANCEL: "17_3", "17" */
    size_t count;
};

void orchestrator_slurm_jobs_fini(struct slurm_jobs *jobs);
/* EXISTS: the group, or a process of one of the names, is there. */
enum weir_status orchestrator_slurm_jobs_check(const struct slurm_jobs *jobs,
                                               const struct launcher_group *group,
                                               struct weir_error *err) WEIR_MUST_USE;
bool orchestrator_slurm_jobs_has(const struct slurm_jobs *jobs, const char *group);
/* Takes a group on that was checked, to be submitted or looked for; a member without a name is a place in the array
 * that is no longer anybody's. */
void orchestrator_slurm_jobs_add(struct slurm_jobs *jobs, const struct launcher_group *group,
                                 bool is_adopted);
/* Asks for the end of a process; forgets one that is over and has been told. */
void orchestrator_slurm_jobs_stop(struct slurm_jobs *jobs, const char *name, int64_t kill_ms);
/* Returns the command that is to be run now, and takes it for begun. */
struct slurm_order orchestrator_slurm_jobs_next(struct slurm_jobs *jobs, int64_t now_ms);
/* Takes in the end of sbatch; `job` 0: it has failed, with `complaint`. */
void orchestrator_slurm_jobs_submitted(struct slurm_jobs *jobs, const char *group, uint64_t job,
                                       const char *complaint, int64_t now_ms);
/* Takes in a failure of scancel, which may have done nothing of what it was told. */
void orchestrator_slurm_jobs_undone(struct slurm_jobs *jobs);
/* Takes in an answer of squeue: all jobs of this user. */
void orchestrator_slurm_jobs_seen(struct slurm_jobs *jobs, const struct slurm_sight *sights,
                                  size_t count, int64_t now_ms);
/* Forgets what is over and has been told. Calls `drop` for each group of which nothing is left. */
void orchestrator_slurm_jobs_clean(struct slurm_jobs *jobs, int64_t now_ms,
                                   void (*drop)(void *owner, const struct slurm_group *group),
                                   void *owner);
/* NOT_FOUND, EXISTS as a launcher's. */
enum weir_status orchestrator_slurm_jobs_rename(struct slurm_jobs *jobs, const char *from,
                                                const char *to,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Asks for the end of all. */
void orchestrator_slurm_jobs_stop_all(struct slurm_jobs *jobs, int64_t kill_ms);

#endif
