/* The script that Slurm runs: it starts the program of one member of a group, hands on the request to end, and leaves a
 * record of how that ended. It holds no secret: Slurm keeps scripts, and shows them. Pure.
 *
 * A group has a folder of its own, which all nodes see:
 *
 *     script     this script
 *     key        the pass that its processes prove, if they have one
 *     env-0 …    variables of a member, for those that have some of their own
 *     job        number of the job that the group is run by: another one of the same name ends at once
 *     exit-0 …   how each member has ended: its exit code, whether it was asked to, and its node
 *     out-0 …    what Slurm itself says of it
 *
 * A job that begins when the folder is gone ends at once: the group was given up. */
#ifndef ORCHESTRATOR_LAUNCHERS_SLURM_SCRIPT_H
#define ORCHESTRATOR_LAUNCHERS_SLURM_SCRIPT_H

#include "orchestrator/launchers/launcher.h"

struct slurm_script {
    const struct launcher_group *group;
    const char *folder;  /* of the group */
    const char *log_dir; /* a member writes to NAME.log there */
    const char *confine; /* the program that locks others in (processes/confined.h) */
};

/* Appends the script. */
void orchestrator_slurm_script_write(const struct slurm_script *script, struct weir_buf *out);

/* Appends a line of shell that exports NAME=value. */
void orchestrator_slurm_script_export(const char *variable, struct weir_buf *out);

/* The record of an end. */
struct slurm_exit {
    int code; /* as a shell has it: 128 and the number of a signal */
    bool was_asked;
    char host[64];
};
/* False: it is no such record. */
bool orchestrator_slurm_exit_read(struct weir_bytes text, struct slurm_exit *ret_exit);
/* As waitpid() gives it. */
int orchestrator_slurm_exit_status(const struct slurm_exit *ended);

#endif
