/* ACCEPTED: waits until storage says that the erasure is in force. Then its samples and its epoch are noted: runs that
 * begin from now on never see the samples, and lineage knows it. */
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/events.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/pipeline/pipeline.h"

enum { RANK_IN_FORCE = 2 };

/* What is noted when it is in force. */
struct in_force {
    const struct msg_erase_is *storage;
    const struct id_blocks *ids;
};

static enum weir_status effect_in_force(struct erasure *erasure, const void *what,
                                        struct weir_error *err)
{
    const struct in_force *in_force = what;
    const struct msg_erase_is *storage = in_force->storage;
    enum weir_status status =
        orchestrator_lineage_note_erasure(erasure->orch, erasure->number, in_force->ids, err);
    if (status == WEIR_OK) {
        status =
            DB_RUN(erasure->orch->db, Q_erasure_in_force, NULL, err, DB_I64(erasure->number),
                   DB_I64(storage->epoch), DB_I64(storage->samples), DB_I64(storage->in_force_us));
    }
    return status == WEIR_OK
               ? erasure_tell(erasure, "in_force", NULL,
                              json_pack("{sI,sI,sI,sI}", "samples", (json_int_t)storage->samples,
                                        "epoch", (json_int_t)storage->epoch, "holders_answered",
                                        (json_int_t)storage->holders_answered, "holders_expired",
                                        (json_int_t)storage->holders_expired),
                              err)
               : status;
}

/* Its ids come page by page; the last one brings it on. */
static void on_erase_is(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure *erasure = owner;
    if (reply == NULL) {
        erasure_trouble(erasure, err);
        return;
    }
    const struct msg_erase_is *storage = reply->message;
    if (erasure_storage_rank(storage->state) < RANK_IN_FORCE) {
        erasure_begin_after(erasure, ORCHESTRATOR_POLL_MS);
        return;
    }
    id_blocks_add(&erasure->ids, storage->ids.at, storage->ids.count);
    if (erasure->page < storage->pages) {
        erasure->page++;
        erasure_await(erasure);
        return;
    }
    const struct in_force in_force = {.storage = storage, .ids = &erasure->ids};
    if (!erasure_advance(erasure, ERASURE_ON_IN_FORCE, effect_in_force, &in_force))
        return;
    id_blocks_fini(&erasure->ids);
    erasure->page = 0;
    for (struct pipeline *p = erasure->orch->pipelines; p != NULL;
         p = orchestrator_pipeline_next(p))
        orchestrator_pipeline_erased(p, storage->samples);
}

void erasure_await(struct erasure *erasure)
{
    struct msg_erase_ask ask = {.erasure = (uint64_t)erasure->number, .page = erasure->page};
    weir_rpc_call(erasure->orch->storage, MSG_erase_ask, &ask, ORCHESTRATOR_ASK_MS, on_erase_is,
                  erasure);
}
