/* Forgetting the scores of samples that are no longer there. */
#include "selector/scores/scores_file.h"

#include "core/base/memory.h"
#include "selector/sql/queries.h"

#include <stdlib.h>
#include <string.h>

/* A file without what is not live, in memory. */
struct remains {
    uint64_t *ids;
    int64_t *labels;
    float *values;
    uint64_t *unscored;
    size_t count, unscored_count;
};

static void remains_fini(struct remains *remains)
{
    free(remains->ids);
    free(remains->labels);
    free(remains->values);
    free(remains->unscored);
}

static void keep_live(const struct scores_file *file, const struct selector_set *live,
                      struct remains *remains)
{
    const struct weir_outputs *outputs = &file->outputs;
    size_t width = outputs->width;
    remains->ids = weir_calloc(outputs->count + 1, sizeof(*remains->ids));
    remains->labels = weir_calloc(outputs->count + 1, sizeof(*remains->labels));
    remains->values = weir_calloc(outputs->count * width + 1, sizeof(*remains->values));
    remains->unscored = weir_calloc(file->unscored.count + 1, sizeof(*remains->unscored));
    for (size_t i = 0; i < outputs->count; i++) {
        if (!selector_set_has(live, outputs->ids[i]))
            continue;
        remains->ids[remains->count] = outputs->ids[i];
        remains->labels[remains->count] = outputs->labels[i];
        memcpy(remains->values + remains->count++ * width, outputs->values + i * width,
               width * sizeof(*remains->values));
    }
    for (size_t i = 0; i < file->unscored.count; i++)
        if (selector_set_has(live, file->unscored.ids[i]))
            remains->unscored[remains->unscored_count++] = file->unscored.ids[i];
}

static enum weir_status replace(const struct selector_scores_store *store, int64_t number,
                                const char *name, const struct remains *remains, size_t width,
                                struct weir_error *err)
{
    const struct weir_outputs outputs = {.ids = remains->ids,
                                         .labels = remains->labels,
                                         .values = remains->values,
                                         .count = remains->count,
                                         .width = width};
    enum weir_status status = selector_scores_file_write(store, name, &outputs, remains->unscored,
                                                         remains->unscored_count, err);
    return status != WEIR_OK ? status
                             : DB_RUN(store->db, Q_shrink_scores, NULL, err, DB_I64(number),
                                      DB_I64(remains->count), DB_I64(remains->unscored_count));
}

/* A purge that died between file and row has left a row that speaks of more. */
static bool is_counted(const struct weir_rows *rows, size_t row, const struct remains *remains)
{
    return (size_t)weir_rows_i64(rows, row, "samples") == remains->count &&
           (size_t)weir_rows_i64(rows, row, "unscored") == remains->unscored_count;
}

static enum weir_status purge_file(const struct selector_scores_store *store,
                                   const struct weir_rows *rows, size_t row,
                                   const struct selector_set *live, uint64_t *samples,
                                   struct weir_error *err)
{
    const char *name = weir_rows_text(rows, row, "name");
    struct scores_file file = {0};
    struct remains remains = {0};
    enum weir_status status = selector_scores_file_open(store, name, &file, err);
    if (status != WEIR_OK)
        return status;
    keep_live(&file, live, &remains);
    size_t gone = file.outputs.count + file.unscored.count - remains.count - remains.unscored_count;
    if (gone > 0 || !is_counted(rows, row, &remains))
        status = replace(store, weir_rows_i64(rows, row, "number"), name, &remains,
                         file.outputs.width, err);
    *samples += gone;
    remains_fini(&remains);
    selector_scores_file_close(&file);
    return status;
}

enum weir_status selector_scores_purge(const struct selector_scores_store *store,
                                       const char *pipeline, const struct selector_set *live,
                                       uint64_t *ret_samples, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    uint64_t samples = 0;
    enum weir_status status = DB_RUN(store->db, Q_list_score_files, &rows, err, DB_TEXT(pipeline));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = purge_file(store, rows, i, live, &samples, err);
    if (status == WEIR_OK)
        *ret_samples = samples;
    return status;
}

/* ---- what is left of them ---- */

static uint64_t count_shared(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    uint64_t shared = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        shared += a[i] == b[k];
        bool behind = a[i] <= b[k];
        k += b[k] <= a[i];
        i += behind;
    }
    return shared;
}

enum weir_status selector_scores_count(const struct selector_scores_store *store,
                                       const char *pipeline, const uint64_t *ids, size_t count,
                                       uint64_t *ret_samples, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    uint64_t samples = 0;
    enum weir_status status = DB_RUN(store->db, Q_list_score_files, &rows, err, DB_TEXT(pipeline));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct scores_file file = {0};
        status = selector_scores_file_open(store, weir_rows_text(rows, i, "name"), &file, err);
        if (status != WEIR_OK)
            break;
        samples += count_shared(ids, count, file.outputs.ids, file.outputs.count);
        samples += count_shared(ids, count, file.unscored.ids, file.unscored.count);
        selector_scores_file_close(&file);
    }
    if (status == WEIR_OK)
        *ret_samples = samples;
    return status;
}
