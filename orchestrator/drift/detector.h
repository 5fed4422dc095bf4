/* Detectors of change in a stream of numbers, mostly of errors (1: the model was wrong, 0: it was
 * right), one at a time. Pure: what a detector knows is a fixed number of words, which are saved
 * and taken back as they are.
 *
 * One file per detector: detector_NAME.c holds `const struct detector_kind detector_NAME`, named in
 * detector.c. */
#ifndef ORCHESTRATOR_DRIFT_DETECTOR_H
#define ORCHESTRATOR_DRIFT_DETECTOR_H

#include "core/config/plugin.h"

enum detector_verdict {
    DETECTOR_STABLE,
    DETECTOR_WARNING,
    DETECTOR_CHANGE, /* for the worse; the detector begins again */
};

/* The comparison behind a verdict. NaN: there is no such number, or nothing to compare yet. */
struct detector_seen {
    uint64_t values; /* number of values compared: the window, or all since the detector began */
    double base;     /* what is compared with, by its kind: the lowest rate, the older mean, … */
    double found, limit;
    double warning; /* the limit of a warning */
};

struct detector_kind {
    CFG_PLUGIN;
    const char *found,
        *base;  /* names of these numbers: "error rate plus deviation", "lowest rate" */
    bool below; /* it fires when `found` is below the limit, not above */
    /* Returns what bounds in the table cannot say of the options; "" when they are good. May be NULL. */
    const char *(*complaint)(const void *options);
    /* Returns the number of words of 8 bytes in the state. All zero: nothing taken yet. */
    size_t (*words)(const void *options);
    /* Fills `ret_seen`, empty before, if it compares anything. */
    enum detector_verdict (*take)(const void *options, void *state, double value,
                                  struct detector_seen *ret_seen);
};

CFG_REGISTRY(orchestrator_detector, struct detector_kind, ORCHESTRATOR_DETECTORS)

/* ---- a detector at work ---- */

struct detector;

/* Builds what the mapping `node` says ("policy: ddm"); `path` names it in errors. The document must outlive the
 * detector. */
enum weir_status orchestrator_detector_open(const struct weir_yaml_node *node, const char *path,
                                            struct detector **ret_detector,
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_detector_close(struct detector *detector);
WEIR_DEFINE_AUTO(detector, orchestrator_detector_close)
const struct detector_kind *orchestrator_detector_kind(const struct detector *detector);

/* A value that is no number is passed over. `ret_seen` (NULL: not wanted) is left as it is when nothing was compared.
 */
enum detector_verdict orchestrator_detector_take(struct detector *detector, double value,
                                                 struct detector_seen *ret_seen);
/* Appends `ddm: error rate plus deviation 0.31 > 0.24 (lowest rate 0.11, warning at 0.2, 412 values)`. */
void orchestrator_detector_explain(const struct detector_kind *kind, enum detector_verdict verdict,
                                   const struct detector_seen *seen, struct weir_buf *out);
void orchestrator_detector_forget(struct detector *detector);

/* As those of a criterion. */
void orchestrator_detector_save(const struct detector *detector, struct weir_buf *out);
enum weir_status orchestrator_detector_restore(struct detector *detector, struct weir_bytes *bytes,
                                               struct weir_error *err) WEIR_MUST_USE;

#endif
