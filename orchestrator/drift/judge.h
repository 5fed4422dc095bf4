/* Several statistics of drift, each with its criterion, and how many of them must say so: what a drift trigger asks
 * of two windows. Pure; what the criteria remember is saved with the trigger.
 *
 *     statistics:
 *       - {name: mmd, permutations: 200, criterion: {policy: p_value, below: 0.01}}
 *       - {name: ks, correction: fdr, criterion: {policy: quantile, window: 20}}
 *       - psi                      # as {name: psi}; without a criterion: p_value, where there is one
 *     votes: majority              # or a number */
#ifndef ORCHESTRATOR_DRIFT_JUDGE_H
#define ORCHESTRATOR_DRIFT_JUDGE_H

#include "orchestrator/drift/criterion.h"
#include "orchestrator/drift/statistic.h"

enum { DRIFT_STATISTICS_MAX = 16 };

struct drift_judge;

/* `statistics` is the list, or a list of one without the dash; `votes` "majority" (more than half) or a number of
 * statistics. `path` names the section in errors. With `labels` every statistic must take labels. The
 * document must outlive the judge. */
enum weir_status orchestrator_judge_open(const struct weir_yaml_node *statistics, const char *votes,
                                         bool labels, const char *path,
                                         struct drift_judge **ret_judge,
                                         struct weir_error *err) WEIR_MUST_USE;
void orchestrator_judge_close(struct drift_judge *judge);
WEIR_DEFINE_AUTO(drift_judge, orchestrator_judge_close)

const struct drift_statistic *orchestrator_judge_statistic(const struct drift_judge *judge,
                                                           size_t index);

/* The finding of a statistic (NaN: no score) and the verdict of its criterion. */
struct drift_finding {
    double distance, p_value;
    double limit; /* of the distance, or of the p-value; NaN: nothing to compare with yet */
    bool by_p_value;
    bool fires;
};

struct drift_findings {
    size_t count;
    size_t votes, needed;
    bool fires; /* votes >= needed */
    struct drift_finding of[DRIFT_STATISTICS_MAX];
};

/* The two halves of a decision: what an input measures to needs the samples, judging that needs the
 * past. measure() fills distance and p_value alone, and may run on another thread; judge() the
 * rest, and remembers. The input says neither whether p-values are wanted (the criteria do) nor
 * needs the same width each time. */
void orchestrator_judge_measure(const struct drift_judge *judge, const struct drift_input *input,
                                struct drift_findings *ret_findings);
void orchestrator_judge_decide(struct drift_judge *judge, struct drift_findings *findings);
/* Warm-up: the criteria remember, nothing fires. */
void orchestrator_judge_learn(struct drift_judge *judge, const struct drift_findings *findings);

/* The features, farthest first, as orchestrator_drift_measure_each(): by the first of the statistics that goes feature
 * by feature, by ks where none does. Returns that statistic. */
const struct drift_statistic *orchestrator_judge_moved(const struct drift_judge *judge,
                                                       const struct drift_input *input,
                                                       struct drift_moved *ret_moved,
                                                       size_t *ret_count);

/* "mmd 0.131 >= 0.1, ks p 0.2 (limit 0.05): 1 of 1 needed votes". */
void orchestrator_judge_explain(const struct drift_judge *judge,
                                const struct drift_findings *findings, struct weir_buf *out);

/* As those of a criterion. */
void orchestrator_judge_save(const struct drift_judge *judge, struct weir_buf *out);
enum weir_status orchestrator_judge_restore(struct drift_judge *judge, struct weir_bytes *bytes,
                                            struct weir_error *err) WEIR_MUST_USE;

/* Appends the reference of the statistics and of the criteria: headings of level 3 and tables. */
void orchestrator_judge_describe(struct weir_buf *out);

#endif
