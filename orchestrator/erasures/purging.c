/* PURGING: no run begins, and once none is under way, and what one has said is not being measured (an earlier batch
 * may be at its models), everything below runs/ is left over from one: checkpoints, optimizer state, what a model said
 * of each sample. All of it goes, and a training that was not through begins again when its pipeline goes on. So do
 * the shards of exports that are not done, lists of batch digests, what is kept of the reference windows of triggers,
 * rows kept of the samples, what the dispatcher keeps of jobs, the scores that the selector keeps of the samples, and
 * words of people in rows. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/cached.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/exports/holders.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/pipeline/probe.h"
#include "orchestrator/runs/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Removes everything in a folder of the data directory. */
static enum weir_status empty(const struct context *context, const char *folder,
                              int64_t *ret_removed, struct weir_error *err)
{
    WEIR_AUTO_FREE char *whole = orchestrator_path(context, folder, ".");
    DIR *directory = opendir(whole);
    if (directory == NULL) {
        return errno == ENOENT
                   ? WEIR_OK
                   : weir_fail(err, WEIR_IO, "%s: cannot be read: %s", whole, strerror(errno));
    }
    enum weir_status status = WEIR_OK;
    const struct dirent *entry = NULL;
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        WEIR_AUTO_FREE char *path = orchestrator_path(context, folder, entry->d_name);
        status = weir_remove_tree(path, err);
        (*ret_removed)++;
    }
    if (status == WEIR_OK &&
        fsync(dirfd(directory)) != 0) /* a power cut must not bring them back */
        status = weir_fail(err, WEIR_IO, "%s: fsync: %s", whole, strerror(errno));
    (void)closedir(directory);
    return status;
}

/* Their rows go, except of those that have not begun, and the workers need no longer make anything for them. */
static enum weir_status forget_runs(const struct erasures *erasures, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE int64_t *waiting = NULL;
    size_t count = orchestrator_runs_waiting(erasures->runs, &waiting);
    enum weir_status status =
        DB_RUN(erasures->context->db, Q_run_purge, &rows, err, DB_I64S(waiting, count));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        weir_rpc_send(erasures->context->dispatcher, MSG_job_close,
                      &(struct msg_job_close){.job = (uint64_t)weir_rows_i64(rows, i, "number")});
    }
    return status;
}

/* Rows of the orchestrator's quote records; the windows of trigger policies hold labels. */
static enum weir_status forget_samples(const struct erasure_batch *batch, struct weir_error *err)
{
    struct id_blocks blocks = {0};
    enum weir_status status =
        orchestrator_lineage_of_batch(batch->context, batch->number, &blocks, err);
    if (status == WEIR_OK)
        status = orchestrator_erasure_forget_words(batch->all, &blocks, err);
    for (struct pipeline *p = batch->all->pipelines->first; p != NULL && status == WEIR_OK;
         p = orchestrator_pipeline_next(p))
        status = orchestrator_pipeline_forget(p, &blocks, err);
    orchestrator_id_blocks_fini(&blocks);
    return status;
}

static enum weir_status effect_purged(struct erasure_batch *batch, const void *what,
                                      struct weir_error *err)
{
    const uint64_t *scores = what;
    enum weir_status status = forget_runs(batch->all, err);
    if (status == WEIR_OK)
        status = forget_samples(batch, err);
    if (status == WEIR_OK) {
        status = DB_RUN(batch->context->db, Q_erasure_purged, NULL, err, DB_I64(batch->number),
                        DB_I64(batch->purged), DB_I64(*scores), DB_I64(batch->cached));
    }
    return status == WEIR_OK
               ? orchestrator_erasure_tell(batch, "purged", NULL,
                                           JSON_FIELDS(JSON_NUMBER("directories", batch->purged),
                                                       JSON_NUMBER("scores", *scores),
                                                       JSON_NUMBER("cached", batch->cached)),
                                           err)
               : status;
}

static void on_scores_purged(struct erasure_batch *batch, uint64_t samples)
{
    orchestrator_erasure_advance(batch, ERASURE_ON_PURGED, effect_purged, &samples);
}

static void on_jobs_purged(void *owner, const struct weir_reply *reply,
                           const struct weir_error *err)
{
    struct erasure_batch *batch = owner;
    if (reply == NULL)
        orchestrator_erasure_trouble(batch, err);
    else
        orchestrator_erasure_purge_scores(batch, on_scores_purged);
}

/* No run is under way, and those that come have greater numbers: every job so far is over. */
static enum weir_status purge_jobs(struct erasure_batch *batch, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) newest = NULL;
    enum weir_status status = DB_RUN(batch->context->db, Q_run_newest, &newest, err);
    if (status != WEIR_OK)
        return status;
    struct msg_jobs_purge purge = {.upto = (uint64_t)weir_rows_i64(newest, 0, "number")};
    weir_rpc_call(batch->context->dispatcher, MSG_jobs_purge, &purge, ORCHESTRATOR_REQUEST_MS,
                  on_jobs_purged, batch);
    return WEIR_OK;
}

static enum weir_status purge_cached(struct erasure_batch *batch, struct weir_error *err)
{
    struct id_blocks ids = {0};
    enum weir_status status =
        orchestrator_lineage_of_batch(batch->context, batch->number, &ids, err);
    if (status == WEIR_OK)
        status = orchestrator_cached_erase(batch->context, &ids, &batch->cached, err);
    orchestrator_id_blocks_fini(&ids);
    return status;
}

void orchestrator_erasure_purge(struct erasure_batch *batch)
{
    struct weir_error err;
    batch->all->runs->are_held = true;
    orchestrator_warm_end(batch->all->runs->warm, 0, "samples are being erased");
    /* Trainers that were asked to stop may still write. */
    if (batch->all->runs->trainers_alive > 0 || orchestrator_runs_under_way(batch->all->runs) ||
        !weir_work_queue_is_idle(batch->context->measurings) ||
        !weir_work_queue_is_idle(batch->context->decisions)) {
        orchestrator_erasure_begin_after(batch, ORCHESTRATOR_POLL_MS);
        return;
    }
    batch->purged = 0;
    enum weir_status status = empty(batch->context, "runs", &batch->purged, &err);
    if (status == WEIR_OK)
        status = empty(batch->context, RUN_DIGESTS_FOLDER, &batch->purged, &err);
    if (status == WEIR_OK)
        status = orchestrator_probes_purge(batch->context, &batch->purged, &err);
    if (status == WEIR_OK)
        status = orchestrator_exports_purge(batch->context, &batch->purged, &err);
    if (status == WEIR_OK)
        status = purge_cached(batch, &err);
    if (status == WEIR_OK)
        status = purge_jobs(batch, &err);
    if (status != WEIR_OK)
        orchestrator_erasure_trouble(batch, &err);
}
