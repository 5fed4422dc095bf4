/* The last steps of an erasure: see erasure_record.h. Only an attempt that looked at everything, and found nothing,
 * ends it. */
#include "storage/erasure/erasure_record.h"

#include "core/base/bisect.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/refused.h"
#include "storage/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BLOCKS_PER_PARTITION = 64, PRINTS_PER_QUERY = 1 << 16, ROWS_PER_QUERY = 1024 };

/* ---- who can still be read ---- */

/* Asking for the ids again must yield nothing. */
static enum weir_status count_page(struct store *store, struct erasure_record *erasure,
                                   struct weir_error *err)
{
    const struct erase_page *page = &erasure->page;
    enum weir_status status = WEIR_OK;
    uint64_t last = 0;

    for (size_t i = 0; status == WEIR_OK && i < page->ids.count; i++) {
        uint64_t id = page->ids.at[i];
        uint64_t partition =
            (uint64_t)weir_sample_dataset(id) << 32 | weir_sample_block(id) / BLOCKS_PER_PARTITION;
        struct located found;

        status = storage_find(store, id, &found, err);
        if (status == WEIR_OK && found.state != WEIR_SAMPLE_ERASED)
            storage_page_row(page, id)->request->left++;
        if (partition != last && !storage_id_list_has(&erasure->partitions, partition)) {
            storage_id_list_add(&erasure->partitions, partition);
            storage_id_list_sort(&erasure->partitions);
        }
        last = partition;
    }
    return status;
}

static enum weir_status count_some(struct store *store, struct erasure_record *erasure,
                                   struct weir_error *err)
{
    enum weir_status status =
        storage_page_next(store, erasure, PAGE_BLANK + 1, &erasure->is_counted, err);

    return status == WEIR_OK ? count_page(store, erasure, err) : status;
}

/* ---- what is searched for ---- */

/* A request's fingerprints, or what was found of them. */
typedef bool prints_fn(struct erasure_record *erasure, struct erase_request *request,
                       const struct fingerprints *prints);

/* Rows of about as many fingerprints as one step takes. */
static int64_t rows_per_query(const struct erasure_record *erasure)
{
    uint64_t pages = 1, each;

    for (size_t i = 0; i < erasure->count; i++)
        pages += erasure->requests[i]->pages;
    each = erasure->samples * PASSAGES_PER_SAMPLE / pages + 1;
    return each > PRINTS_PER_QUERY                    ? 1
           : PRINTS_PER_QUERY / each < ROWS_PER_QUERY ? (int64_t)(PRINTS_PER_QUERY / each)
                                                      : ROWS_PER_QUERY;
}

/* Counts it as unread: the rest of them may still be there. */
static void note_damage(struct erasure_record *erasure)
{
    erasure->attempt.unread++;
    if (erasure->attempt.trouble == NULL)
        erasure->attempt.trouble = weir_strdup("fingerprints of it are damaged in Postgres");
}

/* One row; false when there is no room for it now. */
static bool take_row(struct erasure_record *erasure, const struct weir_rows *rows, size_t i,
                     prints_fn *take)
{
    struct erase_request *request =
        storage_erasure_record_find(erasure, (uint64_t)weir_rows_i64(rows, i, "erasure"));
    struct weir_bytes packed = weir_rows_bytes(rows, i, "prints");
    struct fingerprints prints = {0};
    bool is_taken = true, is_whole = true;

    while (is_whole && packed.size > 0)
        is_whole = storage_fingerprints_unpack(&packed, &prints);
    if (!is_whole)
        note_damage(erasure);
    prints.unsearched = (uint64_t)weir_rows_i64(rows, i, "unsearched");
    if (request != NULL)
        is_taken = take(erasure, request, &prints);
    storage_fingerprints_fini(&prints);
    if (!is_taken)
        return false;
    erasure->prints.erasure = (uint64_t)weir_rows_i64(rows, i, "erasure");
    erasure->prints.page = (uint64_t)weir_rows_i64(rows, i, "page");
    return true;
}

/* Some of them, from where erasure->prints is. */
static enum weir_status read_prints(struct store *store, struct erasure_record *erasure,
                                    prints_fn *take, struct weir_error *err)
{
    struct prints_place *place = &erasure->prints;
    struct id_list numbers = storage_erasure_record_numbers(erasure, place->from, ERASE_SLICE);
    int64_t limit = rows_per_query(erasure);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_erasure_prints_next, &rows, err, DB_I64S(numbers.at, numbers.count),
               DB_I64(place->erasure), DB_I64(place->page), DB_I64(limit));
    size_t count = status == WEIR_OK ? weir_rows_count(rows) : 0;

    free(numbers.at);
    if (status != WEIR_OK)
        return status;
    place->is_full = false;
    for (size_t i = 0; i < count && !place->is_full; i++)
        place->is_full = !take_row(erasure, rows, i, take);
    if (!place->is_full && (int64_t)count < limit)
        place->from += ERASE_SLICE;
    place->is_through = place->from >= erasure->count;
    return WEIR_OK;
}

static void rewind_prints(struct erasure_record *erasure)
{
    erasure->prints = (struct prints_place){0};
}

static bool search_for(struct erasure_record *erasure, struct erase_request *request,
                       const struct fingerprints *prints)
{
    if (!storage_search_add(erasure->search, prints))
        return false;
    request->unsearched += prints->unsearched;
    return true;
}

/* ---- searching, in rounds of as many fingerprints as there is room for ---- */

static size_t room_for(const struct erasure_record *erasure)
{
    uint64_t most = (erasure->samples + 1) * PASSAGES_PER_SAMPLE;

    return most < PRINTS_AT_ONCE ? (size_t)most : PRINTS_AT_ONCE;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void sort_prints(struct search_prints *prints)
{
    if (prints->at.count > 0)
        qsort(prints->at.at, prints->at.count, sizeof(*prints->at.at), by_value);
}

static void end_round(struct erasure_record *erasure)
{
    struct search_result result = storage_search_result(erasure->search);

    if (erasure->result.bytes == 0) { /* every round looks at the same */
        erasure->result.bytes = result.bytes;
        erasure->result.places = result.places;
    }
    if (erasure->attempt.trouble == NULL)
        erasure->attempt.trouble = storage_search_trouble(erasure->search);
    erasure->attempt.unread += result.unread;
    erasure->result.found += result.found;
    erasure->result.shared += result.shared;
    storage_search_tell(erasure->search, &erasure->found, &erasure->shared);
    storage_search_free(erasure->search);
    erasure->search = NULL;
    erasure->prints.is_full = false;
    if (!erasure->prints.is_through)
        return;
    sort_prints(&erasure->found);
    sort_prints(&erasure->shared);
    erasure->is_searched = true;
    rewind_prints(erasure);
}

static enum weir_status search_some(struct eraser *eraser, struct erasure_record *erasure,
                                    struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (erasure->search == NULL)
        erasure->search = storage_search_new(eraser, room_for(erasure));
    if (!storage_search_warm(erasure->search))
        return WEIR_OK;
    if (!erasure->prints.is_full && !erasure->prints.is_through)
        return read_prints(eraser->store, erasure, search_for, err);
    status = storage_search_step(erasure->search, &is_done, err);
    if (status == WEIR_OK && is_done)
        end_round(erasure);
    return status;
}

/* ---- whose it is ---- */

static size_t count_in(const struct search_prints *found, const uint64_t *prints, size_t count)
{
    size_t places = 0;

    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = found->at.count;

        WEIR_BISECT(low, high, middle, found->at.at[middle] < prints[i]);
        for (; low < found->at.count && found->at.at[low] == prints[i]; low++)
            places++;
    }
    return places;
}

static bool attribute(struct erasure_record *erasure, struct erase_request *request,
                      const struct fingerprints *prints)
{
    request->left += count_in(&erasure->found, prints->longs, prints->long_count) +
                     count_in(&erasure->found, prints->shorts, prints->short_count);
    request->is_shared = request->is_shared ||
                         count_in(&erasure->shared, prints->longs, prints->long_count) > 0 ||
                         count_in(&erasure->shared, prints->shorts, prints->short_count) > 0;
    return true;
}

/* Attributes findings that cannot be distinguished to every request. */
static void attribute_to_all(struct erasure_record *erasure)
{
    for (size_t i = 0; i < erasure->count; i++) {
        struct erase_request *request = erasure->requests[i];

        if (erasure->found.is_cut && request->samples > 0)
            request->left = erasure->result.found;
        if (erasure->shared.is_cut && request->samples > 0)
            request->is_shared = true;
    }
}

static enum weir_status attribute_some(struct store *store, struct erasure_record *erasure,
                                       struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    erasure->is_attributed = erasure->found.at.count + erasure->shared.at.count == 0;
    if (!erasure->is_attributed) {
        status = read_prints(store, erasure, attribute, err);
        erasure->is_attributed = status == WEIR_OK && erasure->prints.is_through;
    }
    if (erasure->is_attributed)
        attribute_to_all(erasure);
    return status;
}

/* ---- what was found is looked for again ---- */

static bool has_left(const struct erase_request *request)
{
    return request->left > 0;
}

bool storage_verify_waits(const struct erasure_record *erasure, int64_t now_ms)
{
    return now_ms < erasure->failing.again_ms;
}

/* Begins the search again. */
static void start_again(struct erasure_record *erasure)
{
    erasure->is_counted = erasure->is_searched = erasure->is_attributed = false;
    erasure->found.at.count = erasure->shared.at.count = 0;
    erasure->found.is_cut = erasure->shared.is_cut = false;
    erasure->result = (struct search_result){0};
    free(erasure->attempt.trouble);
    erasure->attempt = (struct attempt){0};
    for (size_t i = 0; i < erasure->count; i++)
        erasure->requests[i]->left = erasure->requests[i]->unsearched = 0;
    rewind_prints(erasure);
    storage_page_rewind(erasure);
}

/* The log does not name the file: its name may be a person's. Takes `trouble` over; NULL: there is none to speak of. */
static void try_again_later(struct erasure_record *erasure, char *trouble)
{
    struct failing *failing = &erasure->failing;

    if (failing->trouble == NULL && trouble != NULL)
        weir_log(WEIR_LOG_ERROR, "erasures not verified, which is tried again",
                 "erasures=%zu first=%" PRIu64 " found=%" PRIu64 " unread=%" PRIu64
                 " see=\"weir erase status %" PRIu64 "\"",
                 erasure->count, erasure->requests[0]->number, erasure->requests[0]->left,
                 erasure->attempt.unread, erasure->requests[0]->number);
    start_again(erasure);
    free(failing->trouble);
    failing->trouble = trouble;
    failing->pause_ms = storage_erase_pause(failing->pause_ms);
    failing->again_ms = weir_now_ms() + failing->pause_ms;
}

static char *take_trouble(struct erasure_record *erasure, bool is_other_unscrubbed)
{
    char *trouble;

    if (is_other_unscrubbed && erasure->attempt.unread == 0)
        return NULL;
    trouble = WEIR_TAKE(erasure->attempt.trouble);
    return trouble != NULL ? trouble : weir_strdup("some of its samples can still be read");
}

struct erasure_record *storage_verify_part(struct erasure_record *erasure, bool is_other_unscrubbed)
{
    struct erasure_record *found;
    size_t clean = 0;

    for (size_t i = 0; i < erasure->count; i++)
        clean += !has_left(erasure->requests[i]);
    if (erasure->attempt.unread == 0 && clean == erasure->count)
        return NULL;
    if (erasure->attempt.unread > 0 || clean == 0) {
        try_again_later(erasure, take_trouble(erasure, is_other_unscrubbed));
        return NULL;
    }
    found = storage_erasure_record_part(erasure, has_left);
    found->is_sealed = true;
    try_again_later(found, take_trouble(erasure, is_other_unscrubbed));
    return found;
}

/* ---- the end ---- */

static void finish_remarks(struct erase_request *request, struct weir_buf *refused)
{
    WEIR_AUTO_FREE char *unsearched = weir_format(
        "%" PRIu64 " of its records are shorter than %d bytes, or monotonous: they were "
        "overwritten, and could not be searched for elsewhere",
        request->unsearched, PASSAGE_SHORT);

    if (request->unsearched > 0)
        storage_remark(&request->remarks, unsearched);
    if (refused->size > 0)
        storage_remark(&request->remarks, weir_buf_text(refused));
    if (request->is_shared)
        storage_remark(
            &request->remarks,
            "passages of the erased content also stand in samples of others, in names of "
            "classes or in references of requests, which stay: text that they share");
}

/* Requests of one kind for the same datasets, as a rule all of them, have the same refused records to tell of. */
static enum weir_status finish_all(struct store *store, const struct erasure_record *erasure,
                                   const struct id_list *numbers, struct weir_error *err)
{
    WEIR_AUTO_BUF refused = {0};
    const struct erase_request *before = NULL;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < numbers->count; i++) {
        struct erase_request *request = storage_erasure_record_find(erasure, numbers->at[i]);

        if (before == NULL || before->dataset != request->dataset ||
            before->drops_refused != request->drops_refused)
            status = storage_refused_tell(store, request, &refused, err);
        if (status == WEIR_OK)
            finish_remarks(request, &refused);
        before = request;
    }
    return status;
}

enum weir_status storage_move_verified(struct eraser *eraser, struct erasure_record *erasure,
                                       const struct id_list *numbers, struct weir_error *err)
{
    struct pieces remarks = {0};
    struct id_list left = {0};
    WEIR_AUTO_BUF places = {0};
    enum weir_status status = finish_all(eraser->store, erasure, numbers, err);

    for (size_t i = 0; i < numbers->count; i++) {
        struct erase_request *request = storage_erasure_record_find(erasure, numbers->at[i]);

        storage_id_list_add(&left, request->left);
        storage_pieces_add(&remarks, weir_buf_view(&request->remarks));
    }
    storage_search_places_print(&erasure->result.places, eraser->places, &places);
    if (status == WEIR_OK)
        status =
            DB_RUN(eraser->store->db, Q_erasures_verified, NULL, err, DB_I64(weir_now_wall_us()),
                   DB_I64(erasure->result.bytes), DB_BYTES(weir_buf_view(&remarks.bytes)),
                   DB_I64S(numbers->at, numbers->count), DB_I64S(left.at, left.count),
                   DB_I64S(remarks.at.at, remarks.at.count),
                   DB_I64S(remarks.sizes.at, remarks.sizes.count), DB_TEXT(weir_buf_text(&places)));
    for (size_t i = 0; status == WEIR_OK && i < numbers->count; i++)
        storage_id_list_add(&eraser->erasures->spent, numbers->at[i]);
    storage_pieces_fini(&remarks);
    free(left.at);
    return status;
}

enum weir_status storage_verify_step(struct eraser *eraser, struct erasure_record *erasure,
                                     struct weir_error *err)
{
    if (!erasure->is_counted)
        return count_some(eraser->store, erasure, err);
    if (!erasure->is_searched)
        return search_some(eraser, erasure, err);
    return attribute_some(eraser->store, erasure, err);
}
