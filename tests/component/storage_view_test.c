/* People see with psql (the view storage.sample) the rows that the service answers. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/db/db.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"
#include "tests/component/storage_lab.h"
#include "tests/support/list_page.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 4, LINES = 700, LOCATE_MAX = 4096 };
#define DATASET(name, label)                                               \
    "  - name: " name "\n"                                                 \
    "    source: {path: %s, format: csv, import: copy, on_erase: scrub,\n" \
    "             settle: 0ms}\n"                                          \
    "    time: {from: field, field: ts, unit: s}\n" label "    subject: {field: who}\n"
static const struct {
    const char *name, *text;
} DATASETS[] = {
    {"ints", DATASET("ints", "    label: {field: n, type: i64}\n")},
    {"reals", DATASET("reals", "    label: {field: x, type: f64}\n")},
    {"classes", DATASET("classes", "    label: {field: kind, classes: stream}\n")},
    {"none", DATASET("none", "")},
    {"singles", DATASET("singles", "    label: {fields: [x, n, y], values: [f32, 3]}\n")},
    {"doubles", DATASET("doubles", "    label: {fields: [y, x], values: [f64, 2]}\n")},
};

static const struct weir_query QUERIES[] = {
    {"view",
     "SELECT id, time_us, label #>> '{}' AS label, state, \"offset\", length FROM storage.sample "
     "WHERE dataset = $1 ORDER BY id"},
};

static struct storage_lab lab;

/* Returns a number of any size that a single has, the smallest and zero too. */
static double any_real(struct weir_rng *rng)
{
    int exponent = (int)weir_rng_below(rng, 277) - 149;

    return exponent == 127 ? 0.0 : ldexp(weir_rng_unit(rng) - 0.5, exponent);
}

static double value_at(const struct msg_located *is, size_t i)
{
    float single;
    double number;

    if (is->value_type == WEIR_F32) {
        memcpy(&single, is->label_values.at + i * sizeof(single), sizeof(single));
        return (double)single;
    }
    memcpy(&number, is->label_values.at + i * sizeof(number), sizeof(number));
    return number;
}

/* A vector as JSON: [1, 2.5]. */
static void assert_same_values(const char *text, const struct msg_located *is, size_t i)
{
    for (uint32_t k = 0; k < is->label_width; k++) {
        char *end;

        assert_non_null(strpbrk(text, k == 0 ? "[" : ","));
        assert_true(strtod(strpbrk(text, k == 0 ? "[" : ",") + 1, &end) ==
                    value_at(is, i * is->label_width + k));
        text = end;
    }
    assert_string_equal(text, "]");
}

static struct weir_strs classes; /* of the dataset that is compared */

/* The label as the view shows it against that of the service. */
static void assert_same_label(const char *text, const struct msg_located *is, size_t i)
{
    int64_t label = is->labels.at[i];
    double real;

    switch ((enum weir_label_kind)is->label_kind) {
    case WEIR_LABEL_NONE:
        assert_string_equal(text, ""); /* NULL */
        break;
    case WEIR_LABEL_INT:
        assert_int_equal(strtoll(text, NULL, 10), label);
        break;
    case WEIR_LABEL_FLOAT:
        memcpy(&real, &label, sizeof(real));
        assert_true(strtod(text, NULL) == real);
        break;
    case WEIR_LABEL_CLASS:
        assert_string_equal(text, classes.at[label]);
        break;
    case WEIR_LABEL_VALUES:
        assert_same_values(text, is, i);
        break;
    }
}

static void write_lines(int file, struct weir_rng *rng)
{
    WEIR_AUTO_FREE char *name = weir_format("f%d.csv", file);
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, "ts,n,x,y,kind,who\n");
    for (int i = 0; i < LINES; i++)
        weir_buf_printf(&text, "%lld,%lld,%.17g,%.17g,kind%llu,u%d\n",
                        (long long)(1000000000 + i * 60 + (int64_t)weir_rng_below(rng, 600)),
                        (long long)(weir_rng_next(rng) >> weir_rng_below(rng, 64)),
                        weir_rng_unit(rng) - 0.5, any_real(rng),
                        (unsigned long long)weir_rng_below(rng, 7), i);
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

static void assert_same_row(const struct weir_rows *rows, size_t row, const struct msg_located *is,
                            size_t i)
{
    const char *state = weir_rows_text(rows, row, "state");

    assert_int_equal(is->states.at[i], strcmp(state, "live") == 0     ? WEIR_SAMPLE_LIVE
                                       : strcmp(state, "erased") == 0 ? WEIR_SAMPLE_ERASED
                                                                      : WEIR_SAMPLE_GONE);
    if (is->states.at[i] != WEIR_SAMPLE_LIVE)
        return;
    assert_int_equal(weir_rows_i64(rows, row, "time_us"), is->times.at[i]);
    assert_int_equal(is->ids.at[i], weir_rows_i64(rows, row, "id"));
    assert_same_label(weir_rows_text(rows, row, "label"), is, i);
    assert_int_equal(weir_rows_i64(rows, row, "offset"), is->offsets.at[i]);
    assert_int_equal(weir_rows_i64(rows, row, "length"), is->lengths.at[i]);
}

static size_t compare(struct weir_db *db, const char *name)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    size_t count;

    if (DB_RUN(db, 0, &rows, &err, DB_TEXT(name)) != WEIR_OK)
        fail_msg("%s", err.text);
    count = weir_rows_count(rows);
    for (size_t at = 0; at < count; at += LOCATE_MAX) {
        uint64_t ids[LOCATE_MAX];
        size_t piece = count - at < LOCATE_MAX ? count - at : LOCATE_MAX;
        struct msg_located located;

        for (size_t i = 0; i < piece; i++)
            ids[i] = (uint64_t)weir_rows_i64(rows, at + i, "id");
        assert_int_equal(storage_lab_request(&lab, MSG_locate,
                                             &(struct msg_locate){.ids = {ids, piece}}, MSG_located,
                                             &located),
                         WEIR_OK);
        for (size_t i = 0; i < piece; i++)
            assert_same_row(rows, at + i, &located, i);
    }
    return count;
}

/* ---- list ---- */

enum { LISTED_MAX = (FILES + 1) * LINES, PAGE_ROWS = 333 };

struct listed {
    int64_t columns[LIST_COLUMNS][LISTED_MAX];
    size_t count;
    uint64_t cursor;
    bool is_done, end;
    uint32_t label_kind, label_width, value_type;
    uint8_t values[LISTED_MAX * 3 * sizeof(double)];
};

static struct weir_bytes listed_values(const struct listed *listed, size_t row)
{
    size_t bytes = listed->label_width * weir_dtype_bytes((enum weir_dtype)listed->value_type);

    return weir_bytes(listed->values + row * bytes, bytes);
}

static void on_page(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct listed *listed = owner;
    const struct msg_list_is *page = reply != NULL ? reply->message : NULL;
    int64_t *columns[LIST_COLUMNS];
    struct weir_error failed;

    if (page == NULL)
        fail_msg("%s", err->text);
    assert_true(listed->count + list_page_rows(page) <= LISTED_MAX);
    for (int c = 0; c < LIST_COLUMNS; c++)
        columns[c] = listed->columns[c] + listed->count;
    assert_int_equal(list_page_unpack(page, reply->frames, columns, &failed), WEIR_OK);
    listed->label_kind = page->label_kind;
    listed->label_width = page->label_width;
    listed->value_type = page->value_type;
    if (page->label_width > 0) {
        struct weir_bytes values = weir_frames_at(reply->frames, LIST_VALUES);

        assert_int_equal(values.size, list_page_rows(page) * listed_values(listed, 0).size);
        memcpy(listed->values + listed->count * listed_values(listed, 0).size, values.at,
               values.size);
    }
    listed->count += list_page_rows(page);
    listed->cursor = page->cursor;
    listed->end = page->end;
    listed->is_done = true;
}

static void list(uint64_t dataset, int64_t from, int64_t to, uint64_t position,
                 struct listed *listed)
{
    *listed = (struct listed){0};
    while (!listed->end) {
        const struct msg_list asked = {.dataset = dataset,
                                       .from_time = from,
                                       .to_time = to,
                                       .after_id = listed->cursor,
                                       .position = position,
                                       .limit = PAGE_ROWS,
                                       .values = true};

        listed->is_done = false;
        weir_rpc_call(lab.peer, MSG_list, &asked, 30000, on_page, listed);
        while (!listed->is_done)
            weir_loop_step(lab.loop, 10);
    }
}

/* Live rows of a range of time, as the view has them. */
static void compare_list(struct weir_db *db, const char *name, uint64_t dataset)
{
    const int64_t from = INT64_C(1000010000) * 1000000, to = INT64_C(1000030000) * 1000000;
    static struct listed listed;
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    size_t found = 0;

    assert_int_equal(DB_RUN(db, 0, &rows, &err, DB_TEXT(name)), WEIR_OK);
    list(dataset, from, to, 0, &listed);
    for (size_t row = 0; row < weir_rows_count(rows); row++) {
        int64_t time = weir_rows_i64(rows, row, "time_us");

        if (time < from || time >= to || strcmp(weir_rows_text(rows, row, "state"), "live") != 0)
            continue;
        assert_true(found < listed.count);
        assert_int_equal(listed.columns[LIST_IDS][found], weir_rows_i64(rows, row, "id"));
        assert_int_equal(listed.columns[LIST_TIMES][found], time);
        assert_same_label(weir_rows_text(rows, row, "label"),
                          &(struct msg_located){.labels = {&listed.columns[LIST_LABELS][found], 1},
                                                .label_kind = listed.label_kind,
                                                .label_width = listed.label_width,
                                                .value_type = listed.value_type,
                                                .label_values = listed_values(&listed, found)},
                          0);
        found++;
    }
    assert_int_equal(found, listed.count);
    assert_true(found > PAGE_ROWS);
    list(dataset, INT64_MIN, INT64_MAX, 1, &listed);       /* before anything stopped being live */
    assert_int_equal(listed.count, FILES * LINES - FILES); /* one erased in each */
}

static void the_view_shows_what_the_service_answers(void **state)
{
    WEIR_AUTO(weir_db) db = NULL;
    struct weir_error err;
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 7);
    for (int i = 0; i < FILES; i++)
        write_lines(i, &rng);
    for (size_t i = 0; i < WEIR_COUNT(DATASETS); i++) {
        assert_int_equal(storage_lab_declare(&lab, DATASETS[i].text), WEIR_OK);
        (void)storage_lab_await(&lab, DATASETS[i].name, 1);
    }
    storage_lab_remove(&lab, "f1.csv");
    write_lines(2, &rng);
    for (size_t i = 0; i < WEIR_COUNT(DATASETS); i++) {
        struct msg_dataset_is is = storage_lab_await(&lab, DATASETS[i].name, 2);

        while (is.removed + is.replaced < 2 * LINES || is.ingested < (FILES + 1) * LINES)
            is = storage_lab_await(&lab, DATASETS[i].name, is.sequence + 1);
    }
    (void)storage_lab_erase(&lab, "e-1", "u5", "verified");
    assert_int_equal(
        weir_db_open(lab.postgres.conninfo, "public", QUERIES, WEIR_COUNT(QUERIES), &db, &err),
        WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(DATASETS); i++) {
        classes = storage_lab_dataset(&lab, DATASETS[i].name).classes;
        assert_int_equal(compare(db, DATASETS[i].name), (FILES + 1) * LINES);
        compare_list(db, DATASETS[i].name, i + 1);
    }
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(the_view_shows_what_the_service_answers),
    };
    return storage_lab_run(&lab, "storage: the view", tests, WEIR_COUNT(tests));
}
