/* Reads what squeue and sbatch print, in formats of our choice, and says what it means: states of a job (squeue(1), JOB
 * STATE CODES), reasons why one waits (JOB REASON CODES), complaints of sbatch. Pure. */
#ifndef ORCHESTRATOR_LAUNCHERS_SLURM_ANSWERS_H
#define ORCHESTRATOR_LAUNCHERS_SLURM_ANSWERS_H

#include "core/base/bytes.h"
#include "orchestrator/launchers/launcher.h"

enum { SLURM_NAME_SIZE = 80, SLURM_HOST_SIZE = 64, SLURM_REASON_SIZE = 256, SLURM_NO_INDEX = -1 };

/* The format of squeue(1): name, number of the array or job, index in the array, state, hosts, reason. */
#define SLURM_SQUEUE_FORMAT "%j|%F|%K|%T|%N|%r"

/* One line of squeue: a task of an array, or a job. */
struct slurm_sight {
    char name[SLURM_NAME_SIZE];
    uint64_t job;
    int64_t index; /* in the array; SLURM_NO_INDEX: it is a job */
    char host[SLURM_HOST_SIZE];
    enum launcher_state state;
    bool is_over;                   /* it runs no more, and never will again */
    bool is_hopeless;               /* it waits for what never comes: it is to be cancelled */
    char reason[SLURM_REASON_SIZE]; /* for a person; "": none */
};

/* False: it is no such line, or of a name that is too long for ours. */
bool orchestrator_slurm_sight_read(struct weir_bytes line, struct slurm_sight *ret_sight);

/* Reads what `sbatch --parsable` prints, NUMBER or NUMBER;CLUSTER, on a line of its own. */
bool orchestrator_slurm_job_read(struct weir_bytes text, uint64_t *ret_job);

/* True for a complaint that says nothing about the job: slurmctld cannot be reached, or is too busy. */
bool orchestrator_slurm_is_passing(const char *complaint);
/* Joins the lines in which a program complains, without what all of them begin with; cut to fit. */
void orchestrator_slurm_complaint(struct weir_bytes text, char *complaint, size_t size);

#endif
