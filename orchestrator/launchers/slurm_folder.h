/* The folders of groups, on a file system that all nodes see: written before a group is submitted, read when its
 * processes end or another orchestrator adopts them, removed with it. See slurm_script.h for what is in one. */
#ifndef ORCHESTRATOR_LAUNCHERS_SLURM_FOLDER_H
#define ORCHESTRATOR_LAUNCHERS_SLURM_FOLDER_H

#include "orchestrator/launchers/slurm_jobs.h"
#include "orchestrator/launchers/slurm_script.h"

struct slurm_folders {
    char *directory; /* they lie in */
    char *log_dir;   /* of the processes */
    char *confine;   /* the program that locks others in; NULL: none is locked in */
};

char *orchestrator_slurm_folder(const struct slurm_folders *folders,
                                const char *group) WEIR_MUST_USE;
enum weir_status orchestrator_slurm_folder_write(const struct slurm_folders *folders,
                                                 const struct launcher_group *group,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* Appends the names of the members, a line each, in the order in which the group was submitted. NOT_FOUND: it never
 * was. */
enum weir_status orchestrator_slurm_folder_members(const struct slurm_folders *folders,
                                                   const char *group, struct weir_buf *names,
                                                   struct weir_error *err) WEIR_MUST_USE;
/* Reads how a member has ended. False: it has left no record. */
bool orchestrator_slurm_folder_exit(const struct slurm_folders *folders, const char *group,
                                    size_t index, struct slurm_exit *ret_exit);
/* A job of the group that begins later ends at once. */
void orchestrator_slurm_folder_drop(const struct slurm_folders *folders, const char *group);
/* Drops folders of this platform's that belong to no group. */
void orchestrator_slurm_folder_sweep(const struct slurm_folders *folders,
                                     const struct slurm_jobs *jobs);

#endif
