/* Taking over what a run wrote. The files come first: a row never names one that is not there, and files without their
 * row are written again, the same, under the same name. */
#include "selector/scores/scores_file.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "selector/sql/queries.h"

#include <inttypes.h>

/* The same scores have the same name. */
static char *name_of(const struct msg_scores_take *take)
{
    char digest[WEIR_DIGEST_TEXT_MAX];
    WEIR_AUTO_FREE char *key =
        weir_format("%s/%s/%s/%s", take->pipeline, take->mode, take->model, take->digest);
    struct weir_digest digest_of_key = weir_digest_of(weir_bytes_of(key));
    weir_digest_text(&digest_of_key, digest);
    return weir_strdup(digest);
}

/* Samples of `set` that are not in `outputs`, whose ids must all be. Room for set->count in `unscored`. */
static enum weir_status find_unscored(const struct weir_sample_set *set,
                                      const struct weir_outputs *outputs, uint64_t *unscored,
                                      size_t *ret_count, struct weir_error *err)
{
    size_t at = 0, count = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (at < outputs->count && outputs->ids[at] == set->ids[i])
            at++;
        else
            unscored[count++] = set->ids[i];
    }
    if (at < outputs->count)
        return weir_fail(err, WEIR_INVALID,
                         "sample %" PRIu64 " was scored, but is not in the set or comes twice",
                         outputs->ids[at]);
    *ret_count = count;
    return WEIR_OK;
}

static enum weir_status put(const struct selector_scores_store *store,
                            const struct msg_scores_take *take, const char *name,
                            const struct msg_scores_noted *noted, struct weir_error *err)
{
    if (weir_fault("selector.scores"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault selector.scores");
    return DB_RUN(store->db, Q_put_scores, NULL, err, DB_TEXT(take->pipeline), DB_TEXT(take->mode),
                  DB_TEXT(take->model), DB_TEXT(take->digest), DB_TEXT(name),
                  DB_I64(noted->samples), DB_I64(noted->unscored));
}

static enum weir_status take_over(const struct selector_scores_store *store,
                                  const struct msg_scores_take *take,
                                  const struct weir_outputs *outputs,
                                  const struct weir_sample_set *set,
                                  struct msg_scores_noted *ret_noted, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *unscored = weir_calloc(set->count + 1, sizeof(*unscored));
    WEIR_AUTO_FREE char *name = name_of(take);
    size_t count = 0;
    enum weir_status status = find_unscored(set, outputs, unscored, &count, err);
    if (take->partial)
        count = 0;
    if (status == WEIR_OK)
        status = selector_scores_file_write(store, name, outputs, unscored, count, err);
    const struct msg_scores_noted noted = {.samples = outputs->count, .unscored = count};
    if (status == WEIR_OK)
        status = put(store, take, name, &noted, err);
    if (status == WEIR_OK)
        *ret_noted = noted;
    return status;
}

/* NOT_FOUND: not taken over yet. */
static enum weir_status find_taken(const struct selector_scores_store *store,
                                   const struct msg_scores_take *take,
                                   struct msg_scores_noted *ret_noted, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_find_scores, &rows, err, DB_TEXT(take->pipeline), DB_TEXT(take->mode),
               DB_TEXT(take->model), DB_TEXT(take->digest));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "no scores of set %s", take->digest);
    *ret_noted = (struct msg_scores_noted){
        .samples = (uint64_t)weir_rows_i64(rows, 0, "samples"),
        .unscored = (uint64_t)weir_rows_i64(rows, 0, "unscored"),
    };
    return WEIR_OK;
}

enum weir_status selector_scores_take(const struct selector_scores_store *store,
                                      const struct msg_scores_take *take,
                                      struct msg_scores_noted *ret_noted, struct weir_error *err)
{
    struct weir_outputs outputs = {0};
    struct weir_sample_set set = {0};
    WEIR_AUTO_FREE char *set_path = weir_format("%s/sets/%s.set", store->data_dir, take->digest);
    WEIR_AUTO_FREE char *folder = weir_format("%s/scores", store->data_dir);
    enum weir_status status = find_taken(store, take, ret_noted, err);
    if (status != WEIR_NOT_FOUND)
        return status;
    status = weir_make_directories(folder, 0700, err);
    if (status == WEIR_OK)
        status = weir_outputs_open(take->outputs, &outputs, err);
    if (status == WEIR_OK)
        status = weir_sample_set_open(set_path, &set, err);
    if (status == WEIR_OK)
        status = take_over(store, take, &outputs, &set, ret_noted, err);
    weir_sample_set_close(&set);
    weir_outputs_close(&outputs);
    return status;
}
