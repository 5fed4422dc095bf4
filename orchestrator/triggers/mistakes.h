/* Detectors of change that follow a model's mistakes, sample by sample in the order of the stream. Pure; part of the
 * state of policies. */
#ifndef ORCHESTRATOR_TRIGGERS_MISTAKES_H
#define ORCHESTRATOR_TRIGGERS_MISTAKES_H

#include "orchestrator/drift/detector.h"
#include "orchestrator/triggers/window.h"

enum { MISTAKES_DETECTORS_MAX = 8 };

/* Zero-initialised is empty. */
struct mistakes {
    struct detector *detectors[MISTAKES_DETECTORS_MAX];
    size_t count;
};

/* `list` names the detectors ("[{policy: ddm}]"), or is NULL; `path` names it in errors. */
enum weir_status orchestrator_mistakes_init(struct mistakes *mistakes,
                                            const struct weir_yaml_node *list, const char *path,
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_mistakes_fini(struct mistakes *mistakes);
/* Takes what was predicted (in order of id) in the order in which `window` has the samples. `ret_detectors` gets what
 * each detector says, an array of {"detector", "verdict"} and its numbers, and `ret_text` the same in words. True: one
 * of them says change. */
bool orchestrator_mistakes_take(struct mistakes *mistakes, const struct trigger_points *points,
                                const struct window *window, json_t *ret_detectors,
                                struct weir_buf *ret_text);
/* Another model: its mistakes are others. */
void orchestrator_mistakes_forget(struct mistakes *mistakes);

void orchestrator_mistakes_save(const struct mistakes *mistakes, struct weir_buf *out);
enum weir_status orchestrator_mistakes_restore(struct mistakes *mistakes, struct weir_bytes *bytes,
                                               struct weir_error *err) WEIR_MUST_USE;

#endif
