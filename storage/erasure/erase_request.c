/* Requests for erasures: accepted once and for all, asked about, or only planned. */
#include "storage/erasure/erasure_steps.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/unmatched.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

/* Beyond MATCHED_MAX nobody counts before the request is accepted. */
enum { UUID_MAX = 64, REFERENCE_MAX = 1000, MATCHED_MAX = 65536 };

/* Parameters of Q_erasures_add, of each row; from ROW_UUID to ROW_PROOFS, numbers of bytes. */
enum {
    ROW_DATASET,
    ROW_ACCEPTED,
    ROW_AT,
    ROW_UUID,
    ROW_REFERENCE,
    ROW_SUBJECTS,
    ROW_WANTED,
    ROW_KEYS,
    ROW_PROOFS,
    ROW_DROPS, /* 1: refused records, too */
    ROW_COLUMNS
};

/* Names by which a request calls its samples. */
struct requested_names {
    const char *dataset;
    const struct weir_strs *subjects, *keys;
    const struct weir_u64s *ids;
    bool is_enough; /* without any of them: the request is about other things as well */
};

static enum weir_status check_names(const struct store *store, const struct requested_names *asked,
                                    uint32_t *ret_dataset, struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_find(store->catalog, asked->dataset);
    size_t names = asked->subjects->count + asked->keys->count;

    if (names > ERASE_SUBJECTS_MAX || asked->ids->count > ERASE_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT,
                         "erasure: expected at most %d subjects and keys and %d ids: split the "
                         "request",
                         ERASE_SUBJECTS_MAX, ERASE_IDS_MAX);
    if (names + asked->ids->count == 0 && !asked->is_enough)
        return weir_fail(err, WEIR_INVALID, "erasure: found no subject, no key and no id");
    if (*asked->dataset && dataset == NULL)
        return weir_fail(err, WEIR_INVALID, "no dataset '%.80s': `weir datasets` lists them",
                         asked->dataset);
    *ret_dataset = dataset != NULL ? dataset->number : 0;
    return WEIR_OK;
}

static bool has_names(const struct requested_names *asked)
{
    return asked->subjects->count + asked->keys->count + asked->ids->count > 0;
}

static void add_clear(const struct store *store, struct erase_request *request,
                      enum storage_hash_domain domain, const struct weir_strs *clear)
{
    for (size_t i = 0; i < clear->count; i++) {
        struct key_name name =
            storage_key_name(&store->secret, domain, weir_bytes_of(clear->at[i]));

        storage_key_names_add(&request->names, &name);
    }
}

/* Hashes the clear values, which go no further. */
static struct erase_request *new_request(const struct store *store,
                                         const struct requested_names *asked, uint32_t dataset)
{
    struct erase_request *request = weir_calloc(1, sizeof(*request));

    request->dataset = dataset;
    add_clear(store, request, HASH_SUBJECT, asked->subjects);
    add_clear(store, request, HASH_KEY, asked->keys);
    storage_erasure_record_list(request);
    for (size_t i = 0; i < asked->ids->count; i++)
        storage_id_list_add(&request->wanted, asked->ids->at[i]);
    storage_id_list_sort(&request->wanted);
    return request;
}

/* ---- accepting ---- */

static struct requested_names names_of(const struct msg_erase_accept *asked)
{
    return (struct requested_names){asked->dataset, &asked->subjects, &asked->keys, &asked->ids,
                                    asked->drop_refused};
}

static enum weir_status check_accept(const struct store *store,
                                     const struct msg_erase_accept *asked, uint32_t *ret_dataset,
                                     struct weir_error *err)
{
    const struct requested_names names = names_of(asked);
    size_t size = strlen(asked->uuid);

    if (size == 0 || size > UUID_MAX || strlen(asked->reference) > REFERENCE_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "erase_accept: expected a uuid of 1 to %d and a reference of at most %d "
                         "characters",
                         UUID_MAX, REFERENCE_MAX);
    return check_names(store, &names, ret_dataset, err);
}

/* Rows of requests on their way to one statement: their bytes one after the other, and how many of them each column
 * of each row has. */
struct request_rows {
    struct weir_buf bytes;
    struct id_list columns[ROW_COLUMNS];
};

static void add_cell(struct request_rows *rows, int column, size_t before)
{
    storage_id_list_add(&rows->columns[column], rows->bytes.size - before);
}

static void add_text(struct request_rows *rows, int column, const char *text)
{
    storage_id_list_add(&rows->columns[column], strlen(text));
    weir_buf_append(&rows->bytes, text, strlen(text));
}

static void add_list(struct request_rows *rows, int column, const struct id_list *list)
{
    size_t before = rows->bytes.size;

    storage_id_list_pack(list, &rows->bytes);
    add_cell(rows, column, before);
}

static void add_row(struct request_rows *rows, const struct erase_acceptance *one)
{
    const struct erase_request *request = one->request;
    size_t before;

    storage_id_list_add(&rows->columns[ROW_DATASET], request->dataset);
    storage_id_list_add(&rows->columns[ROW_ACCEPTED], (uint64_t)request->accepted_us);
    storage_id_list_add(&rows->columns[ROW_DROPS], request->drops_refused);
    storage_id_list_add(&rows->columns[ROW_AT], rows->bytes.size + 1);
    add_text(rows, ROW_UUID, one->asked->uuid);
    add_text(rows, ROW_REFERENCE, one->asked->reference);
    add_list(rows, ROW_SUBJECTS, &request->subjects);
    add_list(rows, ROW_WANTED, &request->wanted);
    add_list(rows, ROW_KEYS, &request->keys);
    before = rows->bytes.size;
    storage_key_names_pack(&request->names, &rows->bytes);
    add_cell(rows, ROW_PROOFS, before);
}

static void request_rows_fini(struct request_rows *rows)
{
    weir_buf_fini(&rows->bytes);
    for (size_t i = 0; i < WEIR_COUNT(rows->columns); i++)
        free(rows->columns[i].at);
}

#define COLUMN(rows, column) DB_I64S((rows)->columns[column].at, (rows)->columns[column].count)

static enum weir_status run_insert(struct store *store, const struct request_rows *given,
                                   struct weir_rows **ret_rows, struct weir_error *err)
{
    return DB_RUN(store->db, Q_erasures_add, ret_rows, err, DB_BYTES(weir_buf_view(&given->bytes)),
                  COLUMN(given, ROW_DATASET), COLUMN(given, ROW_ACCEPTED), COLUMN(given, ROW_AT),
                  COLUMN(given, ROW_UUID), COLUMN(given, ROW_REFERENCE),
                  COLUMN(given, ROW_SUBJECTS), COLUMN(given, ROW_WANTED), COLUMN(given, ROW_KEYS),
                  COLUMN(given, ROW_PROOFS), COLUMN(given, ROW_DROPS));
}

/* Rows come in the order of the requests; one that was made before has none. */
static void number_all(struct eraser *eraser, struct erase_acceptance *const *all, size_t count,
                       const struct weir_rows *rows)
{
    size_t row = 0;

    for (size_t i = 0; i < count && row < weir_rows_count(rows); i++) {
        struct erase_acceptance *one = all[i];

        if (one->request == NULL ||
            strcmp(one->asked->uuid, weir_rows_text(rows, row, "uuid")) != 0)
            continue;
        one->request->number = (uint64_t)weir_rows_i64(rows, row++, "number");
        one->answer.erasure = one->request->number;
        storage_erasure_take_up(eraser, one->request);
        one->request = NULL;
    }
}

static enum weir_status insert_all(struct eraser *eraser, struct erase_acceptance *const *all,
                                   size_t count, struct weir_error *err)
{
    struct request_rows given = {0};
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count; i++) {
        if (all[i]->request != NULL)
            add_row(&given, all[i]);
    }
    if (given.bytes.size > 0)
        status = run_insert(eraser->store, &given, &rows, err);
    if (status == WEIR_OK && rows != NULL)
        number_all(eraser, all, count, rows);
    request_rows_fini(&given);
    return status;
}

static void drop_request(struct erase_acceptance *one)
{
    storage_erase_request_free(one->request);
    one->request = NULL;
}

/* The same request again: its number, and what it means by now. */
static enum weir_status accepted_before(struct store *store, uint64_t number,
                                        struct msg_erase_accepted *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_erasure_get, &rows, err, DB_I64(number));

    answer->erasure = number;
    if (status == WEIR_OK)
        answer->matched = (uint64_t)weir_rows_i64(rows, 0, "samples");
    return status;
}

/* Counts the samples that it means; *ret_unmatched, where a match is expected: its names that nobody has. */
static enum weir_status match(struct store *store, const struct erase_request *request,
                              bool expects_match, struct unmatched *ret_unmatched,
                              uint64_t *ret_matched, struct weir_error *err)
{
    struct id_list matched = {0};
    enum weir_status status = storage_resolve(store, request, MATCHED_MAX, &matched, err);

    *ret_matched = matched.count;
    free(matched.at);
    if (status != WEIR_OK || !expects_match)
        return status;
    status = storage_unmatched_find(store, request, *ret_matched, ret_unmatched, err);
    if (status == WEIR_OK && ret_unmatched->is_all)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "no sample has any of these names: nothing was created; --allow-none "
                         "makes a receipt that says so");
    return status;
}

/* Makes the request, which has no row yet. */
static enum weir_status prepare_new(struct store *store, struct erase_acceptance *one,
                                    uint32_t dataset)
{
    const struct requested_names names = names_of(one->asked);
    struct unmatched unmatched = {0};
    enum weir_status status;

    one->request = new_request(store, &names, dataset);
    one->request->accepted_us = weir_now_wall_us();
    one->request->drops_refused = one->asked->drop_refused;
    status = match(store, one->request, one->asked->expects_match && has_names(&names), &unmatched,
                   &one->answer.matched, &one->err);
    storage_unmatched_tell(&store->secret, &unmatched, one->asked, one->arena, &one->answer);
    storage_unmatched_fini(&unmatched);
    return status;
}

/* The request comes again. *ret_known: false, it is new. */
static enum weir_status answer_known(struct store *store, struct erase_acceptance *one,
                                     bool *ret_known, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_erasure_find, &rows, err, DB_TEXT(one->asked->uuid));

    *ret_known = status == WEIR_OK && weir_rows_count(rows) == 1;
    if (!*ret_known)
        return status;
    one->answer = (struct msg_erase_accepted){0};
    return accepted_before(store, (uint64_t)weir_rows_i64(rows, 0, "number"), &one->answer, err);
}

/* Names that nobody has now may be those of a request that was accepted before. */
static enum weir_status refuse_unless_known(struct store *store, struct erase_acceptance *one,
                                            struct weir_error *err)
{
    bool is_known;
    enum weir_status status = answer_known(store, one, &is_known, err);

    if (status == WEIR_OK && is_known)
        one->status = WEIR_OK;
    return status;
}

static bool ends_all(const struct store *store, enum weir_status status)
{
    return status == WEIR_UNAVAILABLE || status == WEIR_INTERNAL || store->is_stale;
}

static enum weir_status prepare(struct store *store, struct erase_acceptance *one,
                                struct weir_error *err)
{
    uint32_t dataset = 0; /* every one */

    one->status = check_accept(store, one->asked, &dataset, &one->err);
    if (one->status != WEIR_OK)
        return WEIR_OK;
    one->status = prepare_new(store, one, dataset);
    if (one->status == WEIR_OK)
        return WEIR_OK;
    drop_request(one);
    if (!ends_all(store, one->status))
        return refuse_unless_known(store, one, err);
    *err = one->err;
    return one->status;
}

/* Those that have no row by now were made before, or by another request of the group. */
static enum weir_status answer_others(struct store *store, struct erase_acceptance *one,
                                      struct weir_error *err)
{
    bool is_known = false;
    enum weir_status status = WEIR_OK;

    if (one->request == NULL)
        return WEIR_OK;
    drop_request(one);
    status = answer_known(store, one, &is_known, err);
    if (status == WEIR_OK && !is_known)
        status = weir_fail(err, WEIR_INTERNAL, "erasure: a request has no row");
    return status;
}

enum weir_status storage_erase_accept_all(struct eraser *eraser,
                                          struct erase_acceptance *const *all, size_t count,
                                          struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        status = prepare(eraser->store, all[i], err);
    if (status == WEIR_OK)
        status = insert_all(eraser, all, count, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        status = answer_others(eraser->store, all[i], err);
    for (size_t i = 0; status != WEIR_OK && i < count; i++)
        drop_request(all[i]);
    if (status != WEIR_OK)
        storage_doubt(eraser->store);
    return status;
}

static struct weir_strs split_lines(const char *text, struct weir_arena *arena)
{
    size_t count = 0, capacity = 1;
    const char **lines;

    for (const char *c = text; *c; c++)
        capacity += *c == '\n';
    lines = weir_arena_alloc(arena, capacity * sizeof(*lines));
    while (*text) {
        size_t size = strcspn(text, "\n");

        lines[count++] = weir_arena_strndup(arena, text, size);
        text += size + (text[size] == '\n');
    }
    return (struct weir_strs){lines, count};
}

static enum weir_status read_page(struct store *store, const struct msg_erase_request *asked,
                                  struct weir_arena *arena, struct msg_erase_is *answer,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_bytes ids;
    enum weir_status status;

    if (asked->page == 0 || asked->page > answer->pages)
        return WEIR_OK;
    status =
        DB_RUN(store->db, Q_erasure_page, &rows, err, DB_I64(asked->erasure), DB_I64(asked->page));
    if (status == WEIR_OK && weir_rows_count(rows) == 0)
        status = weir_fail(err, WEIR_CORRUPT, "erasure %llu: page %llu of its ids is missing",
                           (unsigned long long)asked->erasure, (unsigned long long)asked->page);
    if (status != WEIR_OK)
        return status;
    ids = weir_rows_bytes(rows, 0, "ids");
    answer->ids =
        (struct weir_u64s){weir_arena_copy(arena, ids.at, ids.size), ids.size / sizeof(uint64_t)};
    return WEIR_OK;
}

enum weir_status storage_erase_describe(struct eraser *eraser,
                                        const struct msg_erase_request *asked,
                                        struct weir_arena *arena, struct msg_erase_is *answer,
                                        struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(eraser->store->db, Q_erasure_get, &rows, err, DB_I64(asked->erasure));

    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "no erasure %llu",
                         (unsigned long long)asked->erasure);
    *answer = (struct msg_erase_is){
        .state = weir_arena_format(arena, "%s", weir_rows_text(rows, 0, "state")),
        .epoch = (uint64_t)weir_rows_i64(rows, 0, "epoch"),
        .samples = (uint64_t)weir_rows_i64(rows, 0, "samples"),
        .accepted_us = weir_rows_i64(rows, 0, "accepted_us"),
        .in_force_us = weir_rows_i64(rows, 0, "in_force_us"),
        .scrubbed_us = weir_rows_i64(rows, 0, "scrubbed_us"),
        .verified_us = weir_rows_i64(rows, 0, "verified_us"),
        .records_scrubbed = (uint64_t)weir_rows_i64(rows, 0, "records_scrubbed"),
        .files_scrubbed = (uint64_t)weir_rows_i64(rows, 0, "files_scrubbed"),
        .bytes_scrubbed = (uint64_t)weir_rows_i64(rows, 0, "bytes_scrubbed"),
        .bytes_searched = (uint64_t)weir_rows_i64(rows, 0, "bytes_searched"),
        .found = (uint64_t)weir_rows_i64(rows, 0, "found"),
        .remarks = split_lines(weir_rows_text(rows, 0, "remarks"), arena),
        .holders_answered = (uint64_t)weir_rows_i64(rows, 0, "holders_answered"),
        .holders_expired = (uint64_t)weir_rows_i64(rows, 0, "holders_expired"),
        .pages = (uint64_t)weir_rows_i64(rows, 0, "pages"),
        .objects_cleaned = (uint64_t)weir_rows_i64(rows, 0, "objects_cleaned"),
        .dropped = split_lines(weir_rows_text(rows, 0, "dropped"), arena),
    };
    status = storage_erasure_trouble(eraser, asked->erasure, arena, answer, err);
    return status != WEIR_OK ? status : read_page(eraser->store, asked, arena, answer, err);
}

/* ---- a dry run ---- */

static enum weir_status sum_bytes(struct store *store, const struct id_list *ids,
                                  uint64_t *ret_bytes, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_bytes = 0;
    for (size_t i = 0; status == WEIR_OK && i < ids->count; i++) {
        struct located found;

        status = storage_find(store, ids->at[i], &found, err);
        *ret_bytes += status == WEIR_OK ? found.length : 0;
    }
    return status;
}

static enum weir_status find_all(struct store *store, const struct erase_request *request,
                                 struct weir_arena *arena, struct msg_found *answer,
                                 struct weir_error *err)
{
    struct id_list ids = {0};
    enum weir_status status = storage_resolve(store, request, ERASE_IDS_MAX + 1, &ids, err);

    if (status == WEIR_OK && ids.count > ERASE_IDS_MAX)
        status = weir_fail(err, WEIR_LIMIT,
                           "%zu samples are meant, at most %d can be planned for: name a dataset, "
                           "or fewer subjects",
                           ids.count, ERASE_IDS_MAX);
    if (status == WEIR_OK)
        status = sum_bytes(store, &ids, &answer->bytes, err);
    if (status == WEIR_OK && ids.count > 0)
        answer->ids = (struct weir_u64s){
            weir_arena_copy(arena, ids.at, ids.count * sizeof(*ids.at)), ids.count};
    free(ids.at);
    return status;
}

enum weir_status storage_erase_find(struct store *store, const struct msg_find *asked,
                                    struct weir_arena *arena, struct msg_found *answer,
                                    struct weir_error *err)
{
    const struct requested_names names = {.dataset = asked->dataset,
                                          .subjects = &asked->subjects,
                                          .keys = &asked->keys,
                                          .ids = &asked->ids};
    struct erase_request *request;
    uint32_t dataset = 0;
    enum weir_status status = storage_ready(store, err);

    if (status == WEIR_OK)
        status = check_names(store, &names, &dataset, err);
    if (status != WEIR_OK)
        return status;
    request = new_request(store, &names, dataset);
    status = find_all(store, request, arena, answer, err);
    storage_erase_request_free(request);
    return status;
}
