/* Keys of processes that are started on other machines: one for what they are started for (a group of workers, a run),
 * made before its launcher is asked for them, and ended with it. Its pass lies in DATA_DIR/keys/KINDs/SUBJECT until
 * then, so that after a crash the files there are the keys that may be in force. */
#ifndef ORCHESTRATOR_KEYS_PASSES_H
#define ORCHESTRATOR_KEYS_PASSES_H

#include "orchestrator/keys/keys.h"

struct passes {
    struct keys *keys;
    const char *kind; /* "group" */
    enum weir_role role;
    char *directory;
    bool are_swept; /* keys of what is over have ended */
};

void orchestrator_passes_open(struct passes *passes, const char *data_dir);
void orchestrator_passes_fini(struct passes *passes);
/* File of the pass, in caller's memory. */
char *orchestrator_pass_path(const struct passes *passes, const char *subject) WEIR_MUST_USE;
enum weir_status orchestrator_pass_issue(struct passes *passes, const char *subject,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Ends all keys but those of what is `left`, unless that is done; what fails is tried again at the next call. */
void orchestrator_passes_sweep(struct passes *passes,
                               bool (*left)(const void *owner, const char *subject),
                               const void *owner);

#endif
