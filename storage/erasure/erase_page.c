/* Pages of an erasure: see erasure_record.h. */
#include "storage/erasure/erasure_record.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

enum { EPOCHS_PER_LOOK = 64 };

/* ---- life ---- */

static void drop_list(struct id_list *list)
{
    free(list->at);
    *list = (struct id_list){0};
}

void storage_page_fini(struct erase_page *page)
{
    for (size_t i = 0; i < page->row_count; i++) {
        storage_fingerprints_fini(&page->rows[i].prints);
        free(page->rows[i].touched.at);
    }
    for (size_t i = 0; i < page->known_count; i++)
        free(page->known[i].ids.at);
    free(page->known);
    free(page->rows);
    free(page->row_of);
    drop_list(&page->ids);
    drop_list(&page->unread);
    drop_list(&page->still_unread);
    drop_list(&page->read);
    *page = (struct erase_page){0};
}

void storage_page_rewind(struct erasure_record *erasure)
{
    storage_page_fini(&erasure->page);
    erasure->epoch_at = 0;
}

static size_t place_of(const struct erase_page *page, uint64_t id)
{
    size_t low = 0, high = page->ids.count;

    WEIR_BISECT(low, high, middle, page->ids.at[middle] < id);
    return low;
}

struct page_row *storage_page_row(const struct erase_page *page, uint64_t id)
{
    return &page->rows[page->row_of[place_of(page, id)]];
}

/* A file number is far below 2^44. */
void storage_page_row_scrubbed(struct page_row *row, const struct dataset *dataset, uint64_t file,
                               uint64_t length)
{
    bool is_alone = dataset->declaration->format->is_one_sample;

    row->records++;
    row->bytes += length;
    row->files += is_alone;
    if (!is_alone)
        storage_id_list_add(&row->touched, (uint64_t)dataset->number << 44 | file);
}

/* ---- loading ---- */

struct owned_id {
    uint64_t id;
    uint32_t row;
};

static int by_id(const void *a, const void *b)
{
    const struct owned_id *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* Rows come one request after the other; their ids are wanted in one order. */
static void sort_ids(struct erase_page *page, struct owned_id *owned, size_t count)
{
    if (count > 1)
        qsort(owned, count, sizeof(*owned), by_id);
    page->row_of = weir_calloc(count + 1, sizeof(*page->row_of));
    for (size_t i = 0; i < count; i++) {
        storage_id_list_add(&page->ids, owned[i].id);
        page->row_of[i] = owned[i].row;
    }
}

static void fill(struct erase_page *page, const struct erasure_record *erasure,
                 const struct weir_rows *rows)
{
    struct owned_id *owned = NULL;
    size_t count = 0;

    page->rows = weir_calloc(weir_rows_count(rows) + 1, sizeof(*page->rows));
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        struct erase_request *request =
            storage_erasure_record_find(erasure, (uint64_t)weir_rows_i64(rows, i, "erasure"));
        struct weir_bytes ids = weir_rows_bytes(rows, i, "ids");

        if (request == NULL)
            continue;
        owned = weir_realloc(owned, count + ids.size / sizeof(uint64_t) + 1, sizeof(*owned));
        for (size_t at = 0; at + sizeof(uint64_t) <= ids.size; at += sizeof(uint64_t))
            owned[count++] =
                (struct owned_id){weir_get_u64(ids.at + at), (uint32_t)page->row_count};
        page->rows[page->row_count++] =
            (struct page_row){.request = request,
                              .number = (uint64_t)weir_rows_i64(rows, i, "page"),
                              .step = (enum page_step)weir_rows_i64(rows, i, "step")};
    }
    sort_ids(page, owned, count);
    free(owned);
}

static enum weir_status load_unread(struct store *store, struct erase_page *page,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    bool is_read = false;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < page->row_count; i++)
        is_read = is_read || page->rows[i].step >= PAGE_READ;
    if (is_read)
        status =
            DB_RUN(store->db, Q_erasure_unread, &rows, err, DB_I64S(page->ids.at, page->ids.count));
    for (size_t i = 0; is_read && status == WEIR_OK && i < weir_rows_count(rows); i++)
        storage_id_list_add(&page->unread, (uint64_t)weir_rows_i64(rows, i, "id"));
    storage_id_list_sort(&page->unread);
    return status;
}

static enum weir_status load(struct store *store, struct erasure_record *erasure, uint64_t epoch,
                             enum page_step step, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_erasure_rows, &rows, err, DB_I64(epoch), DB_I64(step));

    if (status != WEIR_OK)
        return status;
    fill(&erasure->page, erasure, rows);
    if (erasure->page.row_count == 0) {
        storage_page_fini(&erasure->page);
        return WEIR_OK;
    }
    erasure->page.erasure_epoch = epoch;
    return step <= PAGE_OVERWRITTEN ? load_unread(store, &erasure->page, err) : WEIR_OK;
}

enum weir_status storage_page_next(struct store *store, struct erasure_record *erasure,
                                   enum page_step step, bool *ret_done, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    storage_page_fini(&erasure->page);
    for (size_t i = 0;
         status == WEIR_OK && i < EPOCHS_PER_LOOK && erasure->page.erasure_epoch == 0 &&
         erasure->epoch_at < erasure->epochs.count;
         i++)
        status = load(store, erasure, erasure->epochs.at[erasure->epoch_at++], step, err);
    *ret_done = erasure->page.erasure_epoch == 0 && erasure->epoch_at == erasure->epochs.count;
    return status;
}

/* ---- storing ---- */

void storage_pieces_add(struct pieces *pieces, struct weir_bytes piece)
{
    storage_id_list_add(&pieces->at, pieces->bytes.size);
    storage_id_list_add(&pieces->sizes, piece.size);
    if (piece.size > 0)
        weir_buf_append(&pieces->bytes, piece.at, piece.size);
}

void storage_pieces_fini(struct pieces *pieces)
{
    weir_buf_fini(&pieces->bytes);
    drop_list(&pieces->at);
    drop_list(&pieces->sizes);
}

static enum weir_status store_prints(struct store *store, const struct erase_page *page,
                                     struct weir_error *err)
{
    struct pieces packed = {0};
    struct id_list numbers = {0}, pages = {0}, unsearched = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < page->row_count; i++) {
        const struct fingerprints *found = &page->rows[i].prints;
        WEIR_AUTO_BUF prints = {0};

        if (page->rows[i].step >= PAGE_READ &&
            found->long_count + found->short_count + found->unsearched == 0)
            continue;
        storage_fingerprints_pack(found, &prints);
        storage_pieces_add(&packed, weir_buf_view(&prints));
        storage_id_list_add(&numbers, page->rows[i].request->number);
        storage_id_list_add(&pages, page->rows[i].number);
        storage_id_list_add(&unsearched, found->unsearched);
    }
    if (numbers.count > 0)
        status = DB_RUN(store->db, Q_erasure_prints_add, NULL, err,
                        DB_BYTES(weir_buf_view(&packed.bytes)), DB_I64S(numbers.at, numbers.count),
                        DB_I64S(pages.at, pages.count), DB_I64S(packed.at.at, packed.at.count),
                        DB_I64S(packed.sizes.at, packed.sizes.count),
                        DB_I64S(unsearched.at, unsearched.count));
    storage_pieces_fini(&packed);
    free(numbers.at);
    free(pages.at);
    free(unsearched.at);
    return status;
}

static enum weir_status store_unread(struct store *store, struct erase_page *page,
                                     struct weir_error *err)
{
    struct id_list numbers = {0};
    enum weir_status status = WEIR_OK;

    drop_list(&page->unread);
    page->unread = page->still_unread;
    page->still_unread = (struct id_list){0};

    for (size_t i = 0; i < page->unread.count; i++)
        storage_id_list_add(&numbers, storage_page_row(page, page->unread.at[i])->request->number);
    if (numbers.count > 0)
        status =
            DB_RUN(store->db, Q_erasure_unread_add, NULL, err, DB_I64S(numbers.at, numbers.count),
                   DB_I64S(page->unread.at, page->unread.count));
    free(numbers.at);
    if (status == WEIR_OK && page->read.count > 0)
        status = DB_RUN(store->db, Q_erasure_unread_drop, NULL, err,
                        DB_I64S(page->read.at, page->read.count));
    return status;
}

enum weir_status storage_page_store_read(struct store *store, struct erase_page *page,
                                         struct weir_error *err)
{
    enum weir_status status = store_prints(store, page, err);

    if (status == WEIR_OK)
        status = store_unread(store, page, err);
    if (status == WEIR_OK)
        status = storage_page_store_step(store, page, PAGE_READ, err);
    return status;
}

static void add_touched(struct pieces *touched, struct id_list *files)
{
    WEIR_AUTO_BUF packed = {0};

    storage_id_list_sort(files);
    storage_id_list_pack(files, &packed);
    storage_pieces_add(touched, weir_buf_view(&packed));
}

enum weir_status storage_page_store_step(struct store *store, const struct erase_page *page,
                                         enum page_step step, struct weir_error *err)
{
    struct id_list columns[5] = {{0}};
    struct pieces touched = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < page->row_count; i++) {
        struct page_row *row = &page->rows[i];
        const uint64_t values[] = {row->request->number, row->number, row->records, row->files,
                                   row->bytes};

        if (row->is_stuck && step > PAGE_READ)
            continue;
        for (size_t c = 0; c < WEIR_COUNT(columns); c++)
            storage_id_list_add(&columns[c], values[c]);
        add_touched(&touched, &row->touched);
    }
    if (columns[0].count > 0)
        status = DB_RUN(
            store->db, Q_erasure_step, NULL, err, DB_I64(step),
            DB_BYTES(weir_buf_view(&touched.bytes)), DB_I64S(columns[0].at, columns[0].count),
            DB_I64S(columns[1].at, columns[1].count), DB_I64S(columns[2].at, columns[2].count),
            DB_I64S(columns[3].at, columns[3].count), DB_I64S(columns[4].at, columns[4].count),
            DB_I64S(touched.at.at, touched.at.count),
            DB_I64S(touched.sizes.at, touched.sizes.count));
    storage_pieces_fini(&touched);
    for (size_t c = 0; c < WEIR_COUNT(columns); c++)
        free(columns[c].at);
    return status;
}

enum weir_status storage_store_remarks(struct store *store, struct erase_request *const *requests,
                                       size_t count, struct weir_error *err)
{
    struct pieces texts = {0};
    struct id_list numbers = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count; i++) {
        if (!requests[i]->is_remarked)
            continue;
        storage_id_list_add(&numbers, requests[i]->number);
        storage_pieces_add(&texts, weir_buf_view(&requests[i]->remarks));
        requests[i]->is_remarked = false;
    }
    if (numbers.count > 0)
        status =
            DB_RUN(store->db, Q_erasure_remarks, NULL, err, DB_BYTES(weir_buf_view(&texts.bytes)),
                   DB_I64S(numbers.at, numbers.count), DB_I64S(texts.at.at, texts.at.count),
                   DB_I64S(texts.sizes.at, texts.sizes.count));
    storage_pieces_fini(&texts);
    free(numbers.at);
    return status;
}

enum weir_status storage_page_store_remarks(struct store *store, const struct erase_page *page,
                                            struct weir_error *err)
{
    WEIR_AUTO_FREE struct erase_request **requests =
        weir_calloc(page->row_count + 1, sizeof(struct erase_request *));

    for (size_t i = 0; i < page->row_count; i++)
        requests[i] = page->rows[i].request;
    return storage_store_remarks(store, requests, page->row_count, err);
}
