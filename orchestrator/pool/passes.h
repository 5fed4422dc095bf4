/* Keys of workers on other machines: one for each group, made before its launcher is asked for it, and ended when no
 * worker of the group is left. Its pass lies in DATA_DIR/keys/groups/GROUP until then, so that after a crash the files
 * there are the keys that may be in force. */
#ifndef ORCHESTRATOR_POOL_PASSES_H
#define ORCHESTRATOR_POOL_PASSES_H

#include "orchestrator/keys/keys.h"

struct pool_passes {
    struct keys *keys;
    char *directory;
    bool are_swept; /* keys of groups that are gone have ended */
};

void orchestrator_pool_passes_open(struct pool_passes *passes, struct keys *keys,
                                   const char *data_dir);
void orchestrator_pool_passes_fini(struct pool_passes *passes);
/* File of the pass of a group, in caller's memory. */
char *orchestrator_pool_pass_path(const struct pool_passes *passes,
                                  const char *group) WEIR_MUST_USE;
enum weir_status orchestrator_pool_pass_issue(struct pool_passes *passes, const char *group,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Ends the keys of all groups but those that are `left`, unless that is done; what fails is tried again. */
void orchestrator_pool_passes_sweep(struct pool_passes *passes,
                                    bool (*left)(const void *owner, const char *group),
                                    const void *owner);

#endif
