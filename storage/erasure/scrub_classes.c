/* Names of classes that came with samples (`classes: stream`): a name may be a person's, so that it goes with the last
 * sample of its class that is erased. Labels are overwritten chunk by chunk, before it is known which class has no
 * other sample; so the classes of what is overwritten are noted in the same transaction, and looked for among all live
 * samples once every label of the erasure is gone. A death between repeats the look. */
#include "storage/erasure/erasure_record.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

/* ---- classes of what is overwritten ---- */

/* A chunk may hold samples of other requests, which have come no further: whose they are does not matter to names. */
static uint64_t request_of(const struct erasure_record *erasure, uint64_t id)
{
    const struct erase_page *page = &erasure->page;

    return storage_id_list_has(&page->ids, id) ? storage_page_row(page, id)->request->number
                                               : page->rows[0].request->number;
}

static enum weir_status store_touched(struct store *store, const struct dataset *dataset,
                                      const struct id_list *classes, uint64_t request,
                                      struct weir_error *err)
{
    if (classes->count == 0)
        return WEIR_OK;
    return DB_RUN(store->db, Q_classes_touch, NULL, err, DB_I64(dataset->number),
                  DB_I64S(classes->at, classes->count), DB_I64(request));
}

/* The mark of a class that nobody has touched; NULL: there is nothing to note. */
static struct class_mark *untouched(const struct dataset *dataset, int64_t class)
{
    struct class_mark *mark;

    if (class < 0 || (uint64_t) class >= dataset->class_count)
        return NULL;
    mark = &dataset->class_marks[class];
    return mark->is_erased || mark->touched_by > 0 ? NULL : mark;
}

enum weir_status storage_scrub_touch_classes(struct store *store,
                                             const struct erasure_record *erasure,
                                             struct dataset *dataset, const struct chunk *chunk,
                                             struct weir_error *err)
{
    struct id_list classes = {0}; /* of `request` */
    uint64_t request = 0;
    enum weir_status status = WEIR_OK;

    dataset->class_edition++;
    for (uint32_t i = 0;
         status == WEIR_OK && storage_dataset_grows_classes(dataset) && i < chunk->count; i++) {
        uint32_t row = chunk->first_row + i;
        int64_t class = weir_column_at(&chunk->labels, i);
        struct class_mark *mark = untouched(dataset, class);

        if (mark == NULL || !storage_dataset_is_erased(dataset, chunk->block, row))
            continue;
        mark->touched_by = request_of(erasure, weir_sample_id(dataset->number, chunk->block, row));
        if (mark->touched_by != request) {
            status = store_touched(store, dataset, &classes, request, err);
            classes.count = 0;
        }
        request = mark->touched_by;
        storage_id_list_add(&classes, (uint64_t) class);
    }
    if (status == WEIR_OK)
        status = store_touched(store, dataset, &classes, request, err);
    free(classes.at);
    return status;
}

/* ---- classes that are left ---- */

static bool is_touched(const struct dataset *dataset, size_t class)
{
    return dataset->class_marks[class].touched_by > 0 && !dataset->class_marks[class].is_erased;
}

static size_t count_touched(const struct dataset *dataset)
{
    size_t count = 0;

    for (size_t i = 0; storage_dataset_grows_classes(dataset) && i < dataset->class_count; i++)
        count += is_touched(dataset, i);
    return count;
}

static void look_into(const struct dataset *dataset, const struct chunk *chunk,
                      struct class_check *check)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        int64_t class = weir_column_at(&chunk->labels, i);

        if (class < 0 || (uint64_t) class >= dataset->class_count ||
            !is_touched(dataset, (size_t) class) || weir_bits_get(&check->left, (size_t) class) ||
            storage_dataset_is_dead(dataset, chunk->block, chunk->first_row + i))
            continue;
        weir_bits_set(&check->left, (size_t) class);
        check->left_count++;
    }
}

/* Forgets which classes of a dataset were seen: more of its labels are overwritten. */
static void begin_look(const struct dataset *dataset, struct class_check *check)
{
    if (check->edition == dataset->class_edition)
        return;
    weir_bits_clear(&check->left);
    check->edition = dataset->class_edition;
    check->left_count = 0;
    check->next_row = 0;
}

/* The next chunk of the dataset; *ret_done when there is none, or all that were touched have a live sample. */
static enum weir_status look(struct eraser *eraser, const struct dataset *dataset,
                             struct class_check *check, bool *ret_done, struct weir_error *err)
{
    const struct chunk_ref *ref;
    const struct chunk *chunk;
    enum weir_status status = WEIR_OK;

    begin_look(dataset, check);
    if (check->next_row == dataset->next_row)
        status = storage_scrub_flush(eraser, err); /* labels of staged rows are numbers already */
    *ret_done = check->left_count == count_touched(dataset) || check->next_row == dataset->next_row;
    if (status != WEIR_OK || *ret_done)
        return status;
    ref = storage_dataset_chunk(dataset, (uint32_t)(check->next_row >> WEIR_ROW_BITS),
                                (uint32_t)(check->next_row & (WEIR_BLOCK_ROWS - 1)));
    if (ref == NULL)
        return weir_fail(err, WEIR_CORRUPT, "dataset '%s': no chunk holds row %llu", dataset->name,
                         (unsigned long long)check->next_row);
    status =
        storage_chunk_cache_get(eraser->store->cache, eraser->store->db, dataset, ref, &chunk, err);
    if (status != WEIR_OK)
        return status;
    look_into(dataset, chunk, check);
    check->next_row = ((uint64_t)ref->block << WEIR_ROW_BITS | ref->first_row) + ref->count;
    return WEIR_OK;
}

/* ---- names ---- */

static struct erase_request *find_request(const struct erasures *erasures, uint64_t number)
{
    struct erase_request *found = NULL;

    for (size_t i = 0; found == NULL && i < erasures->count; i++)
        found = storage_erasure_record_find(erasures->at[i], number);
    return found;
}

struct gone_class {
    uint64_t request, class;
};

static int by_request(const void *a, const void *b)
{
    const struct gone_class *x = a, *y = b;

    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return (x->class > y->class) - (x->class < y->class);
}

/* One remark a request, however many classes were its. */
static enum weir_status remark(struct eraser *eraser, const struct dataset *dataset,
                               struct gone_class *gone, size_t count, struct weir_error *err)
{
    WEIR_AUTO_FREE struct erase_request **requests =
        weir_calloc(count + 1, sizeof(struct erase_request *));
    size_t request_count = 0;

    qsort(gone, count, sizeof(*gone), by_request);
    for (size_t i = 0, end; i < count; i = end) {
        struct erase_request *request = find_request(eraser->erasures, gone[i].request);
        WEIR_AUTO_FREE char *text = NULL;

        for (end = i; end < count && gone[end].request == gone[i].request;)
            end++;
        if (request == NULL) /* it has its receipt: this is a later one's */
            continue;
        text = weir_format("dataset '%s': no sample is left of %zu classes that its stream has "
                           "named: their names were replaced, as 'erased-%llu'",
                           dataset->name, end - i, (unsigned long long)gone[i].class);
        storage_remark(&request->remarks, text);
        request->is_remarked = true;
        requests[request_count++] = request;
    }
    return storage_store_remarks(eraser->store, requests, request_count, err);
}

static enum weir_status store_names(struct eraser *eraser, const struct dataset *dataset,
                                    struct gone_class *gone, size_t count, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *numbers = weir_calloc(count + 1, sizeof(*numbers));
    enum weir_status status = weir_db_begin(eraser->store->db, err);

    for (size_t i = 0; i < count; i++)
        numbers[i] = gone[i].class;
    if (status == WEIR_OK && count > 0)
        status = DB_RUN(eraser->store->db, Q_classes_erase, NULL, err, DB_I64(dataset->number),
                        DB_I64S(numbers, count));
    if (status == WEIR_OK)
        status = DB_RUN(eraser->store->db, Q_classes_keep, NULL, err, DB_I64(dataset->number));
    if (status == WEIR_OK)
        status = remark(eraser, dataset, gone, count, err);
    if (status == WEIR_OK && weir_fault("storage.erase.classes"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.classes");
    if (status == WEIR_OK)
        status = weir_db_commit(eraser->store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(eraser->store->db);
    return status;
}

/* Renames the classes that were looked for and not found. */
static enum weir_status settle(struct eraser *eraser, struct dataset *dataset,
                               const struct class_check *check, struct weir_error *err)
{
    WEIR_AUTO_FREE struct gone_class *gone = weir_calloc(count_touched(dataset) + 1, sizeof(*gone));
    size_t count = 0;
    enum weir_status status;

    for (size_t i = 0; i < dataset->class_count; i++) {
        if (is_touched(dataset, i) && !weir_bits_get(&check->left, i))
            gone[count++] = (struct gone_class){dataset->class_marks[i].touched_by, i};
    }
    status = store_names(eraser, dataset, gone, count, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        free(dataset->classes[gone[i].class]);
        dataset->classes[gone[i].class] = storage_erased_class_name(gone[i].class);
        dataset->class_marks[gone[i].class].is_erased = true;
    }
    for (size_t i = 0; status == WEIR_OK && i < dataset->class_count; i++)
        dataset->class_marks[i].touched_by = 0;
    dataset->class_edition++;
    return status;
}

enum weir_status storage_scrub_classes(struct eraser *eraser, struct erasure_record *erasure,
                                       bool *ret_done, struct weir_error *err)
{
    struct class_check *check = &erasure->classes;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && check->dataset < eraser->store->catalog->count &&
           weir_now_ms() < until_ms) {
        struct dataset *dataset = eraser->store->catalog->datasets[check->dataset];
        bool is_through = count_touched(dataset) == 0;

        if (!is_through)
            status = look(eraser, dataset, check, &is_through, err);
        if (status != WEIR_OK || !is_through)
            continue;
        if (count_touched(dataset) > 0)
            status = settle(eraser, dataset, check, err);
        weir_bits_clear(&check->left);
        *check = (struct class_check){.dataset = check->dataset + 1, .left = check->left};
    }
    *ret_done = status == WEIR_OK && check->dataset == eraser->store->catalog->count;
    return status;
}
