/* The scores that the selector keeps of every pipeline's samples: those of erased ones are dropped, and counted again
 * when everything is verified. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/pipeline/pipeline.h"

enum { PURGE_REQUEST_MS = 600000 }; /* every file of scores may have to be written again */
enum { BLOCKS_PER_REQUEST = 16 };   /* about so many ids as a message may hold */

/* ---- dropping ---- */

static void purge_next(struct erasure_batch *batch);

/* False: `err` was trouble. NOT_FOUND is none: a pipeline that never selected. */
static bool add_noted(struct erasure_batch *batch, const struct weir_reply *reply,
                      const struct weir_error *err)
{
    if (reply == NULL && err->status != WEIR_NOT_FOUND) {
        orchestrator_erasure_trouble(batch, err);
        return false;
    }
    if (reply != NULL) {
        const struct msg_scores_noted *noted = reply->message;
        batch->scores.samples += noted->samples;
    }
    return true;
}

static void on_purged(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure_batch *batch = owner;
    if (!add_noted(batch, reply, err))
        return;
    batch->scores.place.pipeline = orchestrator_pipeline_next(batch->scores.place.pipeline);
    purge_next(batch);
}

static void purge_next(struct erasure_batch *batch)
{
    if (batch->scores.place.pipeline == NULL) {
        batch->scores.done(batch, batch->scores.samples);
        return;
    }
    const struct msg_scores_purge purge = {
        .pipeline = orchestrator_pipeline_config(batch->scores.place.pipeline)->name,
    };
    weir_rpc_call(batch->context->selector, MSG_scores_purge, &purge, PURGE_REQUEST_MS, on_purged,
                  batch);
}

static void begin(struct erasure_batch *batch, erasure_scores_fn *done)
{
    batch->scores.place = (struct erasure_scores_place){.pipeline = batch->all->pipelines->first};
    batch->scores.samples = 0;
    batch->scores.done = done;
}

void orchestrator_erasure_purge_scores(struct erasure_batch *batch, erasure_scores_fn *done)
{
    begin(batch, done);
    purge_next(batch);
}

/* ---- counting ---- */

static void request_scores(struct context *context, const struct id_blocks *blocks,
                           struct erasure_scores_place *place, weir_rpc_done_fn *done, void *owner)
{
    size_t end = place->block + BLOCKS_PER_REQUEST, count = 0;
    end = end < blocks->count ? end : blocks->count;
    WEIR_AUTO_FREE uint64_t *ids =
        weir_calloc((size_t)BLOCKS_PER_REQUEST * WEIR_BLOCK_ROWS, sizeof(*ids));
    for (size_t i = place->block; i < end; i++)
        count += orchestrator_id_block_ids(&blocks->at[i], ids + count);
    place->block = end < blocks->count ? end : 0;
    const struct msg_scores_purge asked = {
        .pipeline = orchestrator_pipeline_config(place->pipeline)->name,
        .count = true,
        .ids = {ids, count},
    };
    weir_rpc_call(context->selector, MSG_scores_purge, &asked, PURGE_REQUEST_MS, done, owner);
}

enum weir_status orchestrator_erasure_request_scores(struct context *context, int64_t number,
                                                     struct erasure_scores_place *place,
                                                     weir_rpc_done_fn *done, void *owner,
                                                     struct weir_error *err)
{
    struct id_blocks blocks = {0};
    enum weir_status status = orchestrator_lineage_of_erasure(context, number, &blocks, err);
    if (status == WEIR_OK)
        request_scores(context, &blocks, place, done, owner);
    orchestrator_id_blocks_fini(&blocks);
    return status;
}

static void count_next(struct erasure_batch *batch);

static void on_counted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure_batch *batch = owner;
    if (!add_noted(batch, reply, err))
        return;
    if (batch->scores.place.block == 0)
        batch->scores.place.pipeline = orchestrator_pipeline_next(batch->scores.place.pipeline);
    count_next(batch);
}

static void count_next(struct erasure_batch *batch)
{
    struct weir_error err;
    struct id_blocks blocks = {0};
    if (batch->scores.place.pipeline == NULL)
        batch->scores.done(batch, batch->scores.samples);
    else if (orchestrator_lineage_of_batch(batch->context, batch->number, &blocks, &err) == WEIR_OK)
        request_scores(batch->context, &blocks, &batch->scores.place, on_counted, batch);
    else
        orchestrator_erasure_trouble(batch, &err);
    orchestrator_id_blocks_fini(&blocks);
}

void orchestrator_erasure_count_scores(struct erasure_batch *batch, erasure_scores_fn *done)
{
    begin(batch, done);
    count_next(batch);
}
