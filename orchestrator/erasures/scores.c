/* The scores that the selector keeps of every pipeline's samples: those of erased ones are dropped, and counted again
 * when everything is verified. */
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/pipeline/pipeline.h"

enum { PURGE_ASK_MS = 600000 }; /* every file of scores may have to be written again */

static void ask_next(struct erasure *erasure);

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure *erasure = owner;
    if (reply == NULL && err->status != WEIR_NOT_FOUND) { /* a pipeline that never selected */
        erasure_trouble(erasure, err);
        return;
    }
    if (reply != NULL) {
        const struct msg_scores_noted *noted = reply->message;
        erasure->scores.samples += noted->samples;
    }
    erasure->scores.pipeline = orchestrator_pipeline_next(erasure->scores.pipeline);
    ask_next(erasure);
}

static void ask_next(struct erasure *erasure)
{
    if (erasure->scores.pipeline == NULL) {
        erasure->scores.done(erasure, erasure->scores.samples);
        return;
    }
    const struct msg_scores_purge purge = {
        .pipeline = orchestrator_pipeline_config(erasure->scores.pipeline)->name,
        .count = erasure->scores.count,
    };
    weir_rpc_call(erasure->orch->selector, MSG_scores_purge, &purge, PURGE_ASK_MS, on_noted,
                  erasure);
}

static void ask_all(struct erasure *erasure, bool count, erasure_scores_fn *done)
{
    erasure->scores.pipeline = erasure->orch->pipelines;
    erasure->scores.count = count;
    erasure->scores.samples = 0;
    erasure->scores.done = done;
    ask_next(erasure);
}

void erasure_purge_scores(struct erasure *erasure, erasure_scores_fn *done)
{
    ask_all(erasure, false, done);
}

void erasure_count_scores(struct erasure *erasure, erasure_scores_fn *done)
{
    ask_all(erasure, true, done);
}
