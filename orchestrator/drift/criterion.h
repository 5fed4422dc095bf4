/* When a measured value is bad enough: a criterion looks at one value after the other, and remembers a bounded
 * number of them. Pure. What is judged is a distance, where more is worse, or a quality, where less is.
 *
 * One file per kind: criterion_NAME.c holds `const struct criterion_kind criterion_NAME`, named in
 * criterion.c. */
#ifndef ORCHESTRATOR_DRIFT_CRITERION_H
#define ORCHESTRATOR_DRIFT_CRITERION_H

#include "core/config/plugin.h"

enum { CRITERION_WINDOW_MAX = 1000 };

struct criterion_value {
    double value;
    double p_value; /* NaN: there is none */
    bool lower_is_worse;
};

struct criterion_verdict {
    bool fires;
    double limit; /* what was compared with; NaN: nothing to compare with yet */
};

/* The values before this one, oldest first, negated where lower is worse: more is worse for every kind. */
struct criterion_past {
    const double *values;
    size_t count;
};

struct criterion_kind {
    CFG_PLUGIN;
    bool wants_p_value;
    /* Optional: how many values it remembers, at most CRITERION_WINDOW_MAX. */
    size_t (*window)(const void *options);
    /* The limit in the terms of `value`. */
    struct criterion_verdict (*judge)(const void *options, const struct criterion_past *past,
                                      const struct criterion_value *value);
};

CFG_REGISTRY(orchestrator_criterion, struct criterion_kind, ORCHESTRATOR_CRITERIA)

/* ---- a criterion at work ---- */

struct criterion;

/* Builds what the mapping `node` says ("policy: threshold, value: 0.1"); `path` names it in errors. The document must
 * outlive the criterion. */
enum weir_status orchestrator_criterion_open(const struct weir_yaml_node *node, const char *path,
                                             struct criterion **ret_criterion,
                                             struct weir_error *err) WEIR_MUST_USE;
void orchestrator_criterion_close(struct criterion *criterion);
WEIR_DEFINE_AUTO(criterion, orchestrator_criterion_close)
const struct criterion_kind *orchestrator_criterion_kind(const struct criterion *criterion);

/* Judges `value`, and remembers it. NaN never fires and is not remembered. */
struct criterion_verdict orchestrator_criterion_judge(struct criterion *criterion,
                                                      const struct criterion_value *value);
/* Remembers `value` without judging: warm-up. */
void orchestrator_criterion_learn(struct criterion *criterion, const struct criterion_value *value);

/* save() appends a fixed number of bytes for a given configuration; restore() takes them back from the front
 * of `*bytes`, INVALID when they are too few or not what save() wrote. */
void orchestrator_criterion_save(const struct criterion *criterion, struct weir_buf *out);
enum weir_status orchestrator_criterion_restore(struct criterion *criterion,
                                                struct weir_bytes *bytes,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
