/* Loans of rows: see lent_rows.h. */
#include "storage/push/lent_rows.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/quota.h"
#include "core/base/rng.h"
#include "core/wire/guard.h"
#include "core/wire/sample.h"
#include "storage/catalog/table_columns.h"
#include "storage/push/push_batch.h"
#include "storage/reading/serve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { CHECK_MS = 1000, LENT_BITS = WEIR_BLOCK_BITS + WEIR_ROW_BITS };
#define NOT_TOLD SIZE_MAX /* length of a text that an answer does not have */

struct loan {
    LIST_ENTRY(loan) link;
    uint64_t key; /* of whoever has lent the rows */
    uint64_t number, first;
    size_t charge;             /* of the quota */
    size_t copied;             /* bytes of `texts` */
    size_t answer_bytes;       /* at most, of what is told of its rows … */
    size_t answer_objects;     /* … and objects */
    bool has_more;             /* rows than can be lent, or told of */
    struct weir_frames frames; /* with the bytes of the rows */
    struct weir_bytes *rows;
    uint64_t *records;
    const char **keys; /* of each row; "" where it has none */
    size_t count, capacity;
    bool has_keys;
    uint64_t *refused;
    const char **reasons;
    size_t refused_count, reason_count, refused_capacity;
    struct weir_arena *texts;
    int64_t until_ms;
};

struct lent_rows {
    struct store *store;
    const struct use_leases *leases;
    LIST_HEAD(, loan) loans;
    struct weir_quota quota;
    uint64_t next; /* id of the next row, within its dataset */
    uint64_t timer;
};

/* ---- loans ---- */

static struct loan *find(const struct lent_rows *lent, const struct weir_request *request,
                         uint64_t number)
{
    uint64_t key = weir_rpc_quota_key(request);
    struct loan *loan;

    LIST_FOREACH (loan, &lent->loans, link)
        if (loan->number == number && loan->key == key)
            return loan;
    return NULL;
}

static void free_loan(struct loan *loan)
{
    weir_frames_clear(&loan->frames);
    weir_arena_free(loan->texts);
    free(loan->rows);
    free(loan->records);
    free((void *)loan->keys);
    free(loan->refused);
    free((void *)loan->reasons);
    free(loan);
}

static void end(struct lent_rows *lent, struct loan *loan)
{
    LIST_REMOVE(loan, link);
    weir_quota_give(&lent->quota, loan->key, loan->charge);
    free_loan(loan);
}

static void on_check(void *owner)
{
    struct lent_rows *lent = owner;
    struct loan *next;

    for (struct loan *loan = LIST_FIRST(&lent->loans); loan != NULL; loan = next) {
        next = LIST_NEXT(loan, link);
        if (loan->until_ms <= weir_now_ms() || weir_fault("storage.lent.late"))
            end(lent, loan);
    }
}

/* Begins at random: an id that an earlier process gave does not mean another row now. */
struct lent_rows *storage_lent_rows_new(struct store *store, const struct use_leases *leases)
{
    struct lent_rows *lent = weir_calloc(1, sizeof(*lent));

    lent->store = store;
    lent->leases = leases;
    lent->next = weir_random_u64() >> (65 - LENT_BITS);
    lent->timer = weir_loop_timer(store->loop, CHECK_MS, CHECK_MS, on_check, lent);
    return lent;
}

void storage_lent_rows_free(struct lent_rows *lent)
{
    if (lent == NULL)
        return;
    weir_loop_cancel(lent->store->loop, lent->timer);
    while (!LIST_EMPTY(&lent->loans))
        end(lent, LIST_FIRST(&lent->loans));
    weir_quota_fini(&lent->quota);
    free(lent);
}

/* ---- rows ---- */

struct reading {
    struct loan *loan;
    const struct declaration *declaration;
    struct table_columns_order order; /* NULL: rows stay as they are */
    struct weir_buf arranged;
    struct weir_bytes payload;
};

/* False: as many as can be are there already, and no memory is taken for more. Else an answer will tell of one by its
 * number and, unless it is NOT_TOLD, a text of this size. */
static bool has_room(struct loan *loan, size_t text)
{
    enum { NUMBER = 9, TEXT_HEAD = 5, OTHERS = 64 }; /* in msgpack, at most */
    bool has_text = text != NOT_TOLD;

    loan->answer_objects += has_text ? 2 : 1;
    loan->answer_bytes += NUMBER + (has_text ? TEXT_HEAD + text : 0);
    loan->has_more |= loan->count + loan->refused_count >= LENT_ROWS_MAX ||
                      loan->answer_bytes > LENT_ANSWER_BYTES ||
                      loan->answer_objects > WEIR_GUARD_OBJECTS_MAX - OTHERS;
    return !loan->has_more;
}

static const char *key_of(struct loan *loan, const struct format_value *key)
{
    loan->copied += key->kind == FORMAT_TEXT ? key->text.size : sizeof(uint64_t);
    switch (key->kind) {
    case FORMAT_TEXT:
        return weir_arena_strndup(loan->texts, (const char *)key->text.at, key->text.size);
    case FORMAT_INT:
        return weir_arena_format(loan->texts, "%" PRId64, key->i64);
    case FORMAT_UINT:
        return weir_arena_format(loan->texts, "%" PRIu64, key->u64);
    default:
        return "";
    }
}

/* Returns the length that the key of a row has in an answer, at most. */
static size_t told_of(const struct declaration *declaration, const struct format_value *key)
{
    enum { DIGITS = 20 };

    if (declaration->fields.key.from == FORMAT_NOWHERE)
        return NOT_TOLD;
    return key->kind == FORMAT_TEXT ? key->text.size : DIGITS;
}

static void add_row(struct loan *loan, struct weir_bytes row, uint64_t record, const char *key)
{
    if (loan->count == loan->capacity) {
        loan->capacity = loan->capacity == 0 ? 1024 : 2 * loan->capacity;
        loan->rows = weir_realloc(loan->rows, loan->capacity, sizeof(*loan->rows));
        loan->records = weir_realloc(loan->records, loan->capacity, sizeof(*loan->records));
        loan->keys = weir_realloc((void *)loan->keys, loan->capacity, sizeof(*loan->keys));
    }
    loan->rows[loan->count] = row;
    loan->records[loan->count] = record;
    loan->keys[loan->count++] = key;
}

/* The row with the columns of the dataset, in memory of the loan. */
static struct weir_bytes arrange(struct reading *reading, struct weir_bytes row)
{
    const struct declaration *d = reading->declaration;
    const struct table_columns_order *order = &reading->order;
    struct weir_buf *arranged = &reading->arranged;

    weir_buf_clear(arranged);
    if (!d->format->arrange(d->options, row, order->order, order->count, arranged))
        return row;
    reading->loan->copied += arranged->size;
    return weir_bytes(weir_arena_copy(reading->loan->texts, arranged->at, arranged->size),
                      arranged->size);
}

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct reading *reading = owner;
    struct weir_bytes row = weir_bytes(reading->payload.at + sample->offset, sample->length);

    if (!has_room(reading->loan, told_of(reading->declaration, &sample->key)))
        return;
    add_row(reading->loan, reading->order.order != NULL ? arrange(reading, row) : row,
            sample->record, key_of(reading->loan, &sample->key));
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    struct loan *loan = ((const struct reading *)owner)->loan;
    bool has_reason = loan->reason_count < LENT_REASONS_MAX;

    if (!has_room(loan, has_reason ? strlen(refusal->reason) : NOT_TOLD))
        return;
    if (loan->refused_count == loan->refused_capacity) {
        size_t capacity = loan->refused_capacity == 0 ? 64 : 2 * loan->refused_capacity;

        loan->refused = weir_realloc(loan->refused, capacity, sizeof(*loan->refused));
        loan->reasons = weir_realloc((void *)loan->reasons, capacity, sizeof(*loan->reasons));
        loan->refused_capacity = capacity;
    }
    loan->refused[loan->refused_count++] = refusal->record;
    if (has_reason)
        loan->reasons[loan->reason_count++] =
            weir_arena_strndup(loan->texts, refusal->reason, strlen(refusal->reason));
}

/* Hands the payload to the format. Rows may lack all but what operators read: a key is taken where it is there. */
static enum weir_status index_rows(struct reading *reading, const struct format_input *input,
                                   struct weir_error *err)
{
    const struct declaration *d = reading->declaration;
    const struct format_sink sink = {.owner = reading, .sample = on_sample, .refuse = on_refuse};
    struct format_fields fields = {.key = d->fields.key};
    struct format_progress progress;
    enum weir_status status = d->format->index(input, d->options, &fields, &sink, &progress, err);

    reading->loan->has_keys = status == WEIR_OK && fields.key.from != FORMAT_NOWHERE;
    if (status != WEIR_INVALID || fields.key.from == FORMAT_NOWHERE || reading->loan->count > 0)
        return status;
    fields.key.from = FORMAT_NOWHERE;
    return d->format->index(input, d->options, &fields, &sink, &progress, err);
}

static enum weir_status read_records(struct loan *loan, const struct dataset *dataset,
                                     struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;
    struct reading reading = {
        .loan = loan, .payload = weir_frames_at(&loan->frames, 0), .declaration = d};
    size_t size = reading.payload.size;
    const struct format_input input = {
        .head = weir_bytes(reading.payload.at, size < FORMAT_HEAD_MAX ? size : FORMAT_HEAD_MAX),
        .window = reading.payload,
        .record = d->format->counts_lines ? 1 : 0,
        .size = size,
        .is_last = true,
        .is_full = true,
    };
    enum weir_status status =
        storage_table_columns_order(dataset, input.head, input.size, &reading.order, err);

    if (status == WEIR_OK)
        status = index_rows(&reading, &input, err);
    free(reading.order.order);
    weir_buf_fini(&reading.arranged);
    return status;
}

static enum weir_status read_rows(struct loan *loan, const struct dataset *dataset,
                                  struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;
    enum weir_status status = WEIR_OK;

    if (!d->format->is_one_sample && !d->format->is_pushable)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "dataset '%s' has format %s: rows are lent in formats that can be pushed, "
                         "or of which a file is a sample",
                         dataset->name, d->format->name);
    if (!d->format->is_one_sample && loan->frames.count > 1)
        return weir_fail(err, WEIR_INVALID, "rows_lend: found %zu frames, expected one",
                         loan->frames.count);
    if (!d->format->is_one_sample)
        status = read_records(loan, dataset, err);
    for (size_t i = 0; d->format->is_one_sample && i < loan->frames.count; i++)
        add_row(loan, weir_frames_at(&loan->frames, i), i, "");
    if (status == WEIR_OK && loan->has_more)
        status =
            weir_fail(err, WEIR_LIMIT,
                      "rows_lend: found more than %d rows in one loan, or than one answer can tell "
                      "of: expected that they are lent in several",
                      LENT_ROWS_MAX);
    return status;
}

static uint64_t take_ids(struct lent_rows *lent, size_t count)
{
    uint64_t first = lent->next;

    if (first + count >= UINT64_C(1) << LENT_BITS)
        first = 0;
    lent->next = first + count;
    return (uint64_t)WEIR_DATASET_LENT << LENT_BITS | first;
}

static enum weir_status check_room(const struct lent_rows *lent, uint64_t key, size_t charge,
                                   struct weir_error *err)
{
    if (weir_quota_allows(&lent->quota, key, charge, LENT_BYTES_MAX))
        return WEIR_OK;
    return weir_fail(err, WEIR_UNAVAILABLE,
                     "as many rows are lent as there is room for, of %d MiB, beside what one key "
                     "leaves to others",
                     LENT_BYTES_MAX >> 20);
}

static size_t charge_of(const struct loan *loan)
{
    return weir_frames_bytes(&loan->frames) + LENT_LOAN_BYTES + loan->copied +
           (loan->count + loan->refused_count) * LENT_ROW_BYTES;
}

static enum weir_status begin(struct lent_rows *lent, const struct dataset *dataset,
                              struct weir_request *request, struct loan **ret_loan,
                              struct weir_error *err)
{
    const struct msg_rows_lend *asked = request->message;
    uint64_t key = weir_rpc_quota_key(request);
    enum weir_status status;

    if (request->frames->count == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "these rows are no longer lent");
    status = check_room(lent, key, weir_frames_bytes(request->frames) + LENT_LOAN_BYTES, err);
    if (status != WEIR_OK)
        return status;
    struct loan *loan = weir_calloc(1, sizeof(*loan));

    loan->key = key;
    loan->number = asked->loan;
    loan->texts = weir_arena_new();
    weir_frames_move(&loan->frames, request->frames);
    status = read_rows(loan, dataset, err);
    loan->charge = charge_of(loan);
    if (status == WEIR_OK)
        status = check_room(lent, key, loan->charge, err);
    if (status != WEIR_OK) {
        free_loan(loan);
        return status;
    }
    weir_quota_take(&lent->quota, key, loan->charge);
    loan->first = take_ids(lent, loan->count);
    LIST_INSERT_HEAD(&lent->loans, loan, link);
    *ret_loan = loan;
    return WEIR_OK;
}

/* ---- answers ---- */

static void describe(const struct dataset *dataset, struct msg_rows_lent *answer)
{
    struct msg_pushed pushed = {0};

    storage_push_describe(dataset, &pushed);
    answer->format = pushed.format;
    answer->whole_files = dataset->declaration->format->is_one_sample;
    answer->record_bytes = pushed.record_bytes;
    answer->delimiter = pushed.delimiter;
    answer->unquoted = pushed.unquoted;
    answer->headless = pushed.headless;
}

static void tell(const struct loan *loan, struct msg_rows_lent *answer)
{
    answer->first = loan->first;
    answer->records = (struct weir_u64s){loan->records, loan->count};
    answer->keys = (struct weir_strs){loan->keys, loan->has_keys ? loan->count : 0};
    answer->refused = (struct weir_u64s){loan->refused, loan->refused_count};
    answer->reasons = (struct weir_strs){loan->reasons, loan->reason_count};
}

enum weir_status storage_rows_lend(struct lent_rows *lent, struct weir_request *request,
                                   struct msg_rows_lent *answer, struct weir_error *err)
{
    const struct msg_rows_lend *asked = request->message;
    enum weir_status status = storage_ready(lent->store, err);
    const struct dataset *dataset;
    struct loan *loan;

    if (status != WEIR_OK)
        return status;
    dataset = storage_catalog_find(lent->store->catalog, asked->dataset);
    if (dataset == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no dataset '%.80s'", asked->dataset);
    describe(dataset, answer);
    if (asked->loan == 0)
        return WEIR_OK;
    loan = find(lent, request, asked->loan);
    if (loan == NULL)
        status = begin(lent, dataset, request, &loan, err);
    if (status != WEIR_OK)
        return status;
    loan->until_ms = weir_now_ms() + LENT_MS;
    tell(loan, answer);
    return WEIR_OK;
}

void storage_rows_return(struct lent_rows *lent, const struct weir_request *request)
{
    const struct msg_rows_return *asked = request->message;
    struct loan *loan = find(lent, request, asked->loan);

    if (loan != NULL)
        end(lent, loan);
}

enum weir_status storage_rows_claim(const struct lent_rows *lent,
                                    const struct msg_rows_claim *asked, struct weir_error *err)
{
    uint64_t key = weir_quota_key(asked->key);
    const struct loan *loan;

    LIST_FOREACH (loan, &lent->loans, link)
        if (loan->key == key && asked->first >= loan->first &&
            asked->first - loan->first < loan->count &&
            asked->count <= loan->count - (asked->first - loan->first))
            return WEIR_OK;
    return weir_fail(
        err, WEIR_NOT_FOUND,
        "these rows are no longer lent by whoever asks for them: storage was restarted, "
        "or the loan was not renewed in time; ask again");
}

bool storage_rows_are_lent(const struct weir_u64s *ids)
{
    return ids->count > 0 && weir_sample_dataset(ids->at[0]) == WEIR_DATASET_LENT;
}

/* Returns the bytes of a row; NULL: it is not lent now. */
static const struct weir_bytes *row_of(const struct lent_rows *lent, uint64_t id)
{
    const struct loan *loan;

    LIST_FOREACH (loan, &lent->loans, link)
        if (id >= loan->first && id - loan->first < loan->count)
            return &loan->rows[id - loan->first];
    return NULL;
}

enum weir_status storage_lent_locate(const struct lent_rows *lent, const struct msg_locate *asked,
                                     struct weir_arena *arena, struct msg_located *answer,
                                     struct weir_error *err)
{
    static const char *const PATHS[] = {""}; /* only storage can read them */
    static const uint64_t ZERO[1] = {0};
    static const int64_t NO_TIME[1] = {0};
    size_t count = asked->ids.count;

    if (count > LOCATE_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "locate.ids: found %zu, expected at most %d", count,
                         LOCATE_IDS_MAX);
    uint32_t *states = weir_arena_alloc(arena, count * sizeof(*states));
    uint32_t *files = weir_arena_alloc(arena, count * sizeof(*files));
    uint64_t *offsets = weir_arena_alloc(arena, count * sizeof(*offsets));
    uint64_t *lengths = weir_arena_alloc(arena, count * sizeof(*lengths));
    int64_t *labels = weir_arena_alloc(arena, count * sizeof(*labels));

    for (size_t i = 0; i < count; i++) {
        const struct weir_bytes *row = row_of(lent, asked->ids.at[i]);

        states[i] = row != NULL ? WEIR_SAMPLE_LIVE : WEIR_SAMPLE_GONE;
        lengths[i] = row != NULL ? row->size : 0;
    }
    *answer = (struct msg_located){.epoch = storage_leases_epoch(lent->leases),
                                   .states = {states, count},
                                   .files = {files, count},
                                   .offsets = {offsets, count},
                                   .lengths = {lengths, count},
                                   .labels = {labels, count},
                                   .times = {labels, count},
                                   .paths = {PATHS, 1},
                                   .layouts = {ZERO, 1},
                                   .devices = {ZERO, 1},
                                   .inodes = {ZERO, 1},
                                   .sizes = {ZERO, 1},
                                   .mtimes = {NO_TIME, 1},
                                   .label_kind = WEIR_LABEL_NONE,
                                   .ids = asked->ids};
    return WEIR_OK;
}

/* As many rows as an answer holds; one at least. */
static size_t copy_rows(const struct lent_rows *lent, const struct weir_u64s *ids,
                        struct weir_buf *payload, uint32_t *states, uint64_t *lengths)
{
    size_t count = 0;

    for (; count < ids->count; count++) {
        const struct weir_bytes *row = row_of(lent, ids->at[count]);

        if (row != NULL && count > 0 && payload->size + row->size > READ_ANSWER_BYTES)
            break;
        states[count] = row != NULL ? WEIR_SAMPLE_LIVE : WEIR_SAMPLE_GONE;
        lengths[count] = row != NULL ? row->size : 0;
        if (row != NULL)
            weir_buf_append(payload, row->at, row->size);
    }
    return count;
}

enum weir_status storage_lent_read(const struct lent_rows *lent, const struct msg_read *asked,
                                   struct weir_arena *arena, struct msg_read_is *answer,
                                   struct weir_frames *frames, struct weir_error *err)
{
    struct weir_buf payload = {0};
    size_t count = asked->ids.count;

    if (count > READ_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "read.ids: found %zu, expected at most %d", count,
                         READ_IDS_MAX);
    uint32_t *states = weir_arena_alloc(arena, count * sizeof(*states));
    uint64_t *lengths = weir_arena_alloc(arena, count * sizeof(*lengths));
    int64_t *labels = weir_arena_alloc(arena, count * sizeof(*labels));

    weir_buf_reserve(&payload, 1); /* a frame that is empty has memory, too */
    count = copy_rows(lent, &asked->ids, &payload, states, lengths);
    weir_frames_give(frames, payload.at, payload.size);
    *answer = (struct msg_read_is){.epoch = storage_leases_epoch(lent->leases),
                                   .states = {states, count},
                                   .lengths = {lengths, count},
                                   .labels = {labels, count},
                                   .ids = {asked->ids.at, count}};
    return WEIR_OK;
}
