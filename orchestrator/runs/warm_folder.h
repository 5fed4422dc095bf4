/* The folder of a trainer that stays. What holds the trainer in (core/base/jail.h) opens one folder to it, which it
 * works in from its start to its end: so the folder itself goes from run to run, by renaming, and the files that a
 * finished run has come to are put into another one in its place.
 *
 *     runs/5           of the trainer and of run 5, while it works
 *     runs/idle-5      of the trainer, once run 5 is finished; runs/5 is a new folder then, with the result
 *     runs/7           of the trainer and of run 7, from when it is given that
 *
 * A platform that dies between two steps leaves a run's folder with everything its row names, and folders of other
 * names, which are nobody's: orchestrator_warm_folder_is_left(). */
#ifndef ORCHESTRATOR_RUNS_WARM_FOLDER_H
#define ORCHESTRATOR_RUNS_WARM_FOLDER_H

#include "core/base/error.h"

#include <stdbool.h>

/* Parts the folder `directory` of a finished run from its trainer, keeping the files of those `names` ("": none) in a
 * folder of that name, durably. The trainer's own, with the rest, is `aside` then. UNSUPPORTED where folders cannot be
 * exchanged. */
enum weir_status orchestrator_warm_folder_part(const char *directory, const char *aside,
                                               const char *const names[2],
                                               struct weir_error *err) WEIR_MUST_USE;
/* Removes everything in it. */
enum weir_status orchestrator_warm_folder_empty(const char *aside,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Makes the trainer's folder that of another run, with the model to start from (a file of any folder; "": none) in
 * it; `*ret_base` is where that is then, for the caller to free. EXISTS when an earlier trainer has left files of the
 * run; LIMIT for a model that is too large to be copied while others wait. Nothing has changed for the run then. */
enum weir_status orchestrator_warm_folder_give(const char *aside, const char *directory,
                                               const char *base, char **ret_base,
                                               struct weir_error *err) WEIR_MUST_USE;
/* True for the name of a folder that a trainer of an earlier process may have left. */
bool orchestrator_warm_folder_is_left(const char *name);

#endif
