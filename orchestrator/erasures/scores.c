/* The scores that the selector keeps of every pipeline's samples: those of erased ones are dropped, and counted again
 * when everything is verified. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/pipeline/pipeline.h"

enum { PURGE_ASK_MS = 600000 };     /* every file of scores may have to be written again */
enum { BLOCKS_ASKED_AT_ONCE = 16 }; /* about so many ids as a message may hold */

/* ---- dropping ---- */

static void purge_next(struct erasure *erasure);

/* False: `err` was trouble. NOT_FOUND is none: a pipeline that never selected. */
static bool add_noted(struct erasure *erasure, const struct weir_reply *reply,
                      const struct weir_error *err)
{
    if (reply == NULL && err->status != WEIR_NOT_FOUND) {
        erasure_trouble(erasure, err);
        return false;
    }
    if (reply != NULL) {
        const struct msg_scores_noted *noted = reply->message;
        erasure->scores.samples += noted->samples;
    }
    return true;
}

static void on_purged(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure *erasure = owner;
    if (!add_noted(erasure, reply, err))
        return;
    erasure->scores.place.pipeline = orchestrator_pipeline_next(erasure->scores.place.pipeline);
    purge_next(erasure);
}

static void purge_next(struct erasure *erasure)
{
    if (erasure->scores.place.pipeline == NULL) {
        erasure->scores.done(erasure, erasure->scores.samples);
        return;
    }
    const struct msg_scores_purge purge = {
        .pipeline = orchestrator_pipeline_config(erasure->scores.place.pipeline)->name,
    };
    weir_rpc_call(erasure->orch->selector, MSG_scores_purge, &purge, PURGE_ASK_MS, on_purged,
                  erasure);
}

static void begin(struct erasure *erasure, erasure_scores_fn *done)
{
    erasure->scores.place = (struct erasure_scores_place){.pipeline = erasure->orch->pipelines};
    erasure->scores.samples = 0;
    erasure->scores.done = done;
}

void erasure_purge_scores(struct erasure *erasure, erasure_scores_fn *done)
{
    begin(erasure, done);
    purge_next(erasure);
}

/* ---- counting ---- */

enum weir_status orchestrator_erasure_ask_scores(struct orchestrator *orch, int64_t number,
                                                 struct erasure_scores_place *place,
                                                 weir_rpc_done_fn *done, void *owner,
                                                 struct weir_error *err)
{
    struct id_blocks blocks = {0};
    enum weir_status status = orchestrator_lineage_of_erasure(orch, number, &blocks, err);
    if (status != WEIR_OK)
        return status;
    size_t end = place->block + BLOCKS_ASKED_AT_ONCE, count = 0;
    end = end < blocks.count ? end : blocks.count;
    WEIR_AUTO_FREE uint64_t *ids =
        weir_calloc((size_t)BLOCKS_ASKED_AT_ONCE * WEIR_BLOCK_ROWS, sizeof *ids);
    for (size_t i = place->block; i < end; i++)
        count += id_block_ids(&blocks.at[i], ids + count);
    place->block = end < blocks.count ? end : 0;
    id_blocks_fini(&blocks);
    const struct msg_scores_purge asked = {
        .pipeline = orchestrator_pipeline_config(place->pipeline)->name,
        .count = true,
        .ids = {ids, count},
    };
    weir_rpc_call(orch->selector, MSG_scores_purge, &asked, PURGE_ASK_MS, done, owner);
    return WEIR_OK;
}

static void count_next(struct erasure *erasure);

static void on_counted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure *erasure = owner;
    if (!add_noted(erasure, reply, err))
        return;
    if (erasure->scores.place.block == 0)
        erasure->scores.place.pipeline = orchestrator_pipeline_next(erasure->scores.place.pipeline);
    count_next(erasure);
}

static void count_next(struct erasure *erasure)
{
    struct weir_error err;
    if (erasure->scores.place.pipeline == NULL)
        erasure->scores.done(erasure, erasure->scores.samples);
    else if (orchestrator_erasure_ask_scores(erasure->orch, erasure->number, &erasure->scores.place,
                                             on_counted, erasure, &err) != WEIR_OK)
        erasure_trouble(erasure, &err);
}

void erasure_count_scores(struct erasure *erasure, erasure_scores_fn *done)
{
    begin(erasure, done);
    count_next(erasure);
}
