/* VERIFYING: the files of models that were replaced or retired are unlinked, the new ones are measured where the old
 * ones were (measuring.c), lineage is asked again, and storage until it has verified its part. Then the receipt. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/events.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/models/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_VERIFIED = 4 };

/* ---- old models ---- */

typedef enum weir_status old_model_fn(struct orchestrator *orch, const struct stored_model *model,
                                      struct weir_error *err);

static enum weir_status release(struct orchestrator *orch, const struct stored_model *model,
                                struct weir_error *err)
{
    return orchestrator_model_release(orch, model->id, err);
}

static enum weir_status remove_files(struct orchestrator *orch, const struct stored_model *model,
                                     struct weir_error *err)
{
    return orchestrator_model_remove_files(orch, model, err);
}

static enum weir_status each_old(struct erasure *erasure, old_model_fn *act, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(erasure->orch->db, Q_erasure_models, &rows, err, DB_I64(erasure->number));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct stored_model model = {0};
        status = orchestrator_model_get(erasure->orch, weir_rows_text(rows, i, 0), &model, err);
        if (status == WEIR_OK && !orchestrator_model_is_live(&model))
            status = act(erasure->orch, &model, err);
        orchestrator_model_fini(&model);
    }
    return status;
}

/* No clean model may need the bytes of one that goes: those that are its difference are stored whole first. */
static enum weir_status remove_old(struct erasure *erasure, struct weir_error *err)
{
    enum weir_status status = each_old(erasure, release, err);
    if (status == WEIR_OK)
        status = each_old(erasure, remove_files, err);
    return status == WEIR_OK ? orchestrator_models_end_dropping(erasure->orch, err) : status;
}

static bool is_kept(const struct weir_rows *models, const char *model)
{
    for (size_t i = 0; i < weir_rows_count(models); i++)
        if (strcmp(weir_rows_text(models, i, 3), "keep") == 0 &&
            strcmp(weir_rows_text(models, i, 0), model) == 0)
            return true;
    return false;
}

enum weir_status orchestrator_erasure_seen_by(struct orchestrator *orch, int64_t number,
                                              char **ret_model, struct weir_error *err)
{
    struct id_blocks ids = {0};
    struct lineage_answer answer = {0};
    WEIR_AUTO(weir_rows) models = NULL;
    enum weir_status status = orchestrator_lineage_of_erasure(orch, number, &ids, err);
    *ret_model = NULL;
    if (status == WEIR_OK)
        status = orchestrator_lineage_ask(orch, &ids, &answer, err);
    if (status == WEIR_OK)
        status = DB_RUN(orch->db, Q_erasure_models, &models, err, DB_I64(number));
    for (size_t i = 0; status == WEIR_OK && *ret_model == NULL && i < answer.count; i++)
        if (answer.at[i].live && answer.at[i].through == NULL &&
            !is_kept(models, answer.at[i].model))
            *ret_model = weir_strdup(answer.at[i].model);
    id_blocks_fini(&ids);
    orchestrator_lineage_answer_fini(&answer);
    return status;
}

static enum weir_status check_lineage(struct erasure *erasure, struct weir_error *err)
{
    WEIR_AUTO_FREE char *model = NULL;
    enum weir_status status =
        orchestrator_erasure_seen_by(erasure->orch, erasure->number, &model, err);
    if (status == WEIR_OK && model != NULL)
        status = weir_fail(err, WEIR_INTERNAL,
                           "model %s has seen erased samples and is still there", model);
    return status;
}

/* ---- storage, and the receipt ---- */

static enum weir_status effect_verified(struct erasure *erasure, const void *what,
                                        struct weir_error *err)
{
    const struct erasure_receipt *receipt = what;
    enum weir_status status =
        DB_RUN(erasure->orch->db, Q_erasure_finished, NULL, err, DB_I64(erasure->number),
               DB_TEXT(receipt->text), DB_TEXT(receipt->hash), DB_I64(weir_now_wall_us()));
    return status == WEIR_OK ? erasure_tell(erasure, "receipt", NULL,
                                            json_pack("{ss}", "hash", receipt->hash), err)
                             : status;
}

static void write_receipt(struct erasure *erasure, const struct msg_erase_is *storage)
{
    struct weir_error err;
    struct erasure_receipt receipt = {0};
    char name[48];
    (void)snprintf(name, sizeof name, "%" PRId64 ".json", erasure->number);
    WEIR_AUTO_FREE char *path = orchestrator_path(erasure->orch, "receipts", name);
    WEIR_AUTO_FREE char *directory = orchestrator_path(erasure->orch, "receipts", ".");
    enum weir_status status = weir_make_directories(directory, 0700, &err);
    if (status == WEIR_OK)
        status = erasure_receipt_make(erasure, storage, &receipt, &err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, weir_bytes_of(receipt.text), &err);
    if (status == WEIR_OK)
        erasure_advance(erasure, ERASURE_ON_VERIFIED, effect_verified, &receipt);
    else
        erasure_trouble(erasure, &err);
    free(receipt.text);
}

/* Nothing reads what was erased once storage has verified it: from then on memory is clean once it was wiped. */
static bool is_wiped(struct erasure *erasure)
{
    struct wiping *wiping = erasure->orch->wiping;
    if (erasure->wipe == 0)
        erasure->wipe = wiping_wanted(wiping);
    return wiping_is_done(wiping, erasure->wipe);
}

static void ask_storage(struct erasure *erasure);

static void on_erase_is(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasure *erasure = owner;
    if (reply == NULL) {
        erasure_trouble(erasure, err);
        return;
    }
    const struct msg_erase_is *storage = reply->message;
    if (erasure_storage_rank(storage->state) < RANK_VERIFIED) {
        erasure_begin_after(erasure, ORCHESTRATOR_POLL_MS);
        return;
    }
    if (!is_wiped(erasure)) {
        erasure_begin_after(erasure, ORCHESTRATOR_POLL_MS);
        return;
    }
    if (erasure->page == 0 && storage->pages > 0) { /* the receipt lists the first ids */
        erasure->page = 1;
        ask_storage(erasure);
        return;
    }
    write_receipt(erasure, storage);
}

static void ask_storage(struct erasure *erasure)
{
    struct msg_erase_ask ask = {.erasure = (uint64_t)erasure->number, .page = erasure->page};
    weir_rpc_call(erasure->orch->storage, MSG_erase_ask, &ask, ORCHESTRATOR_ASK_MS, on_erase_is,
                  erasure);
}

static void on_scores_counted(struct erasure *erasure, uint64_t samples)
{
    struct weir_error err;
    if (samples == 0) {
        ask_storage(erasure);
        return;
    }
    weir_ignore(weir_fail(&err, WEIR_INTERNAL, "%" PRIu64 " scores of erased samples are kept",
                          samples)); /* the trouble carries the status */
    erasure_trouble(erasure, &err);
}

void erasure_verify(struct erasure *erasure)
{
    struct weir_error err;
    bool measuring = false;
    enum weir_status status = remove_old(erasure, &err);
    if (status == WEIR_OK)
        status = check_lineage(erasure, &err);
    if (status == WEIR_OK)
        status = erasure_measure(erasure, &measuring, &err);
    if (status != WEIR_OK) {
        erasure_trouble(erasure, &err);
        return;
    }
    if (!measuring) /* else it comes back here */
        erasure_count_scores(erasure, on_scores_counted);
}
