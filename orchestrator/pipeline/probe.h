/* A measurement for a trigger policy: two windows of samples, and the outputs of a run over them. Those of the
 * reference window are kept in a file, so that the checks that follow measure the current window alone: probes/ in the
 * data directory, a holder of what samples are like, which an erasure empties. */
#ifndef ORCHESTRATOR_PIPELINE_PROBE_H
#define ORCHESTRATOR_PIPELINE_PROBE_H

#include "core/wire/outputs.h"
#include "orchestrator/metrics/given.h"
#include "orchestrator/pipeline/pipeline_state.h"

/* The findings of a window. */
struct probe_found {
    struct weir_outputs outputs; /* their columns and names are owned */
    struct metric_given given;   /* the same, as metrics read it */
};

struct probe {
    struct trigger_request request; /* ids are the policy's */
    char *model;                    /* the newest; NULL: none */
    char *folder, *prefix,
        *name; /* of the reference window's file; with the prefix, of all before it */
    struct weir_outputs kept; /* open if `has_kept` */
    bool has_kept;
    uint64_t *ids; /* to be measured, ascending */
    size_t count;
    struct probe_found reference, current;
};

/* `request` as it is. */
enum weir_status orchestrator_pipeline_probe_new(struct pipeline *pipeline,
                                                 const struct trigger_request *request,
                                                 struct probe **ret_probe,
                                                 struct weir_error *err) WEIR_MUST_USE;
void orchestrator_pipeline_probe_free(struct probe *probe); /* NULL is fine */
/* Opens what is kept of its reference window, if anything is, and lists what is to be measured. Reads the whole file:
 * on a thread. */
void orchestrator_pipeline_probe_recall(struct probe *probe);
/* Takes the windows' samples out of what the run has said (`path`; NULL: nothing, every sample is gone), and keeps
 * the reference's for the next check, unless `work` is given up. On its thread. */
enum weir_status orchestrator_pipeline_probe_take(struct probe *probe, const char *path,
                                                  struct weir_work *work,
                                                  struct weir_error *err) WEIR_MUST_USE;

/* Fills in the findings, as the policy takes them. */
void orchestrator_pipeline_probe_measured(const struct probe *probe,
                                          struct trigger_measured *ret_measured);

/* Removes what is kept of every pipeline; adds how many files to `*ret_removed`. */
enum weir_status orchestrator_probes_purge(const struct context *context, int64_t *ret_removed,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
