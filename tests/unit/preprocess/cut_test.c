/* Rows that are kept at a cut: whichever of them are known, a batch is the same to the bit as without a cut. */
#include "preprocess/plan/ordering.h"
#include "preprocess/worker/mapping.h"
#include "tests/support/chain.h"
#include "tests/support/jpeg_picture.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 40, ROUNDS = 12 };

/* Rows as they were kept, as a cache would. */
struct kept {
    struct weir_buf row[ROWS];
    uint8_t is_known[ROWS];
    uint64_t loads;
    size_t lost; /* row that is not there when it is asked for; ROWS: none */
};

static bool load(void *owner, size_t row, struct weir_bytes *ret_row)
{
    struct kept *kept = owner;
    assert_true(kept->is_known[row] != 0);
    kept->loads++;
    *ret_row = weir_buf_view(&kept->row[row]);
    return row != kept->lost;
}

static void keep(void *owner, size_t row, struct weir_bytes bytes)
{
    struct kept *kept = owner;
    assert_int_equal(kept->is_known[row], 0);
    weir_buf_clear(&kept->row[row]);
    weir_buf_append(&kept->row[row], bytes.at, bytes.size);
}

/* A chain, and the same with a cut. */
struct pair {
    struct test_chain whole, cut;
    struct weir_bytes rows[ROWS];
    uint64_t ids[ROWS];
};

static void open_pair(struct pair *pair, const char *operators, const char *after)
{
    struct weir_error err;
    struct chain *divided = NULL;
    test_chain_open(&pair->whole, operators);
    test_chain_open(&pair->cut, operators);
    if (preprocess_chain_materialise(pair->cut.chain, after, &divided, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    preprocess_chain_free(pair->cut.chain);
    pair->cut.chain = divided;
    for (size_t i = 0; i < ROWS; i++)
        pair->ids[i] = 1000 + i;
}

static void close_pair(struct pair *pair)
{
    test_chain_close(&pair->whole);
    test_chain_close(&pair->cut);
}

static struct operator_batch batch_of(const struct pair *pair, uint32_t epoch)
{
    return (struct operator_batch){
        .rows = ROWS, .ids = pair->ids, .epoch = epoch, .trains = true, .drops = true};
}

static void run_whole(struct pair *pair, uint32_t epoch)
{
    struct operator_batch batch = batch_of(pair, epoch);
    test_chain_fill(&pair->whole, pair->rows, ROWS);
    pair->whole.failed = preprocess_chain_run(pair->whole.chain, &batch);
}

/* Rows that are known come without their payload. */
static void run_cut(struct pair *pair, uint32_t epoch, struct kept *kept)
{
    struct operator_batch batch = batch_of(pair, epoch);
    struct weir_bytes rows[ROWS];
    struct chain_kept use = {.is_known = kept->is_known, .load = load, .keep = keep, .owner = kept};
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = kept->is_known[i] ? weir_bytes(NULL, 0) : pair->rows[i];
    test_chain_fill(&pair->cut, rows, ROWS);
    preprocess_chain_use_kept(pair->cut.chain, &use);
    pair->cut.failed = preprocess_chain_run(pair->cut.chain, &batch);
}

static void assert_same_failures(const struct pair *pair)
{
    const struct operator_failures *one = preprocess_chain_failures(pair->whole.chain);
    const struct operator_failures *other = preprocess_chain_failures(pair->cut.chain);
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++) {
        assert_int_equal(one->of[i].row, other->of[i].row);
        assert_int_equal(one->of[i].step, other->of[i].step);
        assert_string_equal(one->of[i].reason, other->of[i].reason);
    }
}

static void assert_same_buf(const struct weir_buf *one, const struct weir_buf *other)
{
    assert_int_equal(one->size, other->size);
    if (one->size > 0)
        assert_memory_equal(one->at, other->at, one->size);
}

static void assert_same(const struct pair *pair)
{
    assert_memory_equal(pair->whole.failed, pair->cut.failed, ROWS);
    for (size_t i = 0; i < preprocess_chain_outputs(pair->whole.chain); i++) {
        const struct column *one = preprocess_chain_output(pair->whole.chain, i);
        const struct column *other = preprocess_chain_output(pair->cut.chain, i);
        assert_string_equal(one->about.name, other->about.name);
        assert_same_buf(&one->values, &other->values);
        if (one->about.kind == COLUMN_RAGGED)
            assert_same_buf(&one->offsets, &other->offsets);
    }
    assert_same_failures(pair);
}

/* All of them, none, and by chance: only rows that were kept can be known. */
static void choose_known(struct kept *kept, int round, struct weir_rng *rng)
{
    for (size_t i = 0; i < ROWS; i++) {
        bool is_chosen = round == 1 || (round > 1 && weir_rng_below(rng, 3) < 2);
        kept->is_known[i] = round > 0 && is_chosen && kept->row[i].size > 0;
    }
}

static void check_pair(struct pair *pair)
{
    struct weir_rng rng;
    struct kept kept = {.lost = ROWS};
    weir_rng_init(&rng, 19);
    for (int round = 0; round < ROUNDS; round++) {
        choose_known(&kept, round, &rng);
        run_whole(pair, (uint32_t)round);
        run_cut(pair, (uint32_t)round, &kept);
        assert_false(preprocess_chain_has_lost(pair->cut.chain));
        assert_same(pair);
    }
    assert_true(kept.loads > 0);
    for (size_t i = 0; i < ROWS; i++)
        weir_buf_fini(&kept.row[i]);
}

static void check(const char *operators, const char *after, const struct weir_bytes *rows)
{
    struct pair pair = {0};
    open_pair(&pair, operators, after);
    memcpy(pair.rows, rows, sizeof(pair.rows));
    check_pair(&pair);
    close_pair(&pair);
}

/* Pictures of several sizes; one of them is cut off. */
static void with_pictures(void (*act)(const struct weir_bytes *rows))
{
    struct weir_buf files[ROWS] = {{0}};
    struct weir_bytes rows[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        struct jpeg_picture picture = {.height = 40 + (uint32_t)i * 3,
                                       .width = 150 - (uint32_t)i,
                                       .seed = i,
                                       .quality = 85,
                                       .components = i % 5 == 0 ? 1 : 3,
                                       .noise = 20};
        jpeg_picture_write(&picture, &files[i]);
        rows[i] = weir_buf_view(&files[i]);
    }
    rows[7].size /= 2;
    act(rows);
    for (size_t i = 0; i < ROWS; i++)
        weir_buf_fini(&files[i]);
}

#define PICTURES                                                                          \
    "[{op: decode_jpeg, scale: never}, {op: random_resized_crop, size: 32}, {op: flip}, " \
    "{op: normalize}, {op: to_chw}]"
#define RESIZED                                                                 \
    "[{op: decode_jpeg}, {op: resize, size: 40}, {op: center_crop, size: 32}, " \
    "{op: flip}, {op: normalize}, {op: to_chw}]"

static void check_pictures(const struct weir_bytes *rows)
{
    check(PICTURES, "decode_jpeg", rows);
    check(RESIZED, "resize", rows);
    check(RESIZED, "center_crop", rows);
    check("[{op: decode_jpeg}, {op: resize, size: [16, 16]}, {op: normalize}, {op: to_chw}]",
          "to_chw", rows);
    check("[{op: decode_jpeg}, {op: resize, size: [16, 16]}, {op: normalize}, {op: to_chw}]",
          "normalize", rows);
}

static void pictures_are_the_same_from_any_cut(void **state)
{
    (void)state;
    with_pictures(check_pictures);
}

static void check_lost(const struct weir_bytes *rows)
{
    struct pair pair = {0};
    struct kept kept = {.lost = ROWS};
    open_pair(&pair, PICTURES, "decode_jpeg");
    memcpy(pair.rows, rows, sizeof(pair.rows));
    run_cut(&pair, 0, &kept);
    kept.lost = 3;
    kept.is_known[3] = kept.is_known[5] = 1;
    run_cut(&pair, 0, &kept);
    assert_true(preprocess_chain_has_lost(pair.cut.chain));
    kept.is_known[3] = 0;
    kept.row[5].size--; /* damaged in a way that no checksum has seen */
    run_cut(&pair, 0, &kept);
    assert_true(preprocess_chain_has_lost(pair.cut.chain));
    kept.is_known[5] = 0;
    run_cut(&pair, 0, &kept);
    run_whole(&pair, 0);
    assert_same(&pair);
    close_pair(&pair);
    for (size_t i = 0; i < ROWS; i++)
        weir_buf_fini(&kept.row[i]);
}

static void a_row_that_is_lost_costs_the_batch_and_no_more(void **state)
{
    (void)state;
    with_pictures(check_lost);
}

static void check_overwritten(const struct weir_bytes *rows)
{
    struct pair pair = {0};
    struct kept kept = {.lost = ROWS};
    open_pair(&pair, PICTURES, "decode_jpeg");
    memcpy(pair.rows, rows, sizeof(pair.rows));
    run_cut(&pair, 0, &kept);
    kept.is_known[5] = 1;
    for (size_t zeros = 1; zeros <= sizeof(struct picture_place); zeros++) {
        memset(kept.row[5].at, 0, zeros);
        run_cut(&pair, 0, &kept);
        assert_true(preprocess_chain_has_lost(pair.cut.chain));
    }
    close_pair(&pair);
    for (size_t i = 0; i < ROWS; i++)
        weir_buf_fini(&kept.row[i]);
}

/* An erasure may overwrite a row after it was checked, while a worker that has slept through it reads it. */
static void a_row_that_is_being_overwritten_is_lost(void **state)
{
    (void)state;
    with_pictures(check_overwritten);
}

/* Runs a chain whose row 9 lies in a file that ends once it was checked. */
struct ending {
    struct pair *pair;
    struct kept *kept;
    struct mapping mapping;
    int file;
};

static bool load_ending(void *owner, size_t row, struct weir_bytes *ret_row)
{
    struct ending *ending = owner;
    if (row != 9)
        return load(ending->kept, row, ret_row);
    assert_int_equal(ftruncate(ending->file, 4096), 0);
    *ret_row = weir_bytes(ending->mapping.at, ending->mapping.size);
    return true;
}

static void keep_ending(void *owner, size_t row, struct weir_bytes bytes)
{
    keep(((struct ending *)owner)->kept, row, bytes);
}

static void run_ending(void *owner)
{
    struct ending *ending = owner;
    struct operator_batch batch = batch_of(ending->pair, 0);
    struct chain_kept use = {.is_known = ending->kept->is_known,
                             .load = load_ending,
                             .keep = keep_ending,
                             .owner = ending};
    test_chain_fill(&ending->pair->cut, ending->pair->rows, ROWS);
    preprocess_chain_use_kept(ending->pair->cut.chain, &use);
    preprocess_chain_run(ending->pair->cut.chain, &batch);
}

static void check_ending(const struct weir_bytes *rows)
{
    struct pair pair = {0};
    struct kept kept = {.lost = ROWS};
    struct ending ending = {.pair = &pair, .kept = &kept, .file = memfd_create("rows", 0)};
    open_pair(&pair, PICTURES, "decode_jpeg");
    memcpy(pair.rows, rows, sizeof(pair.rows));
    run_cut(&pair, 0, &kept);
    memset(kept.is_known + 8, 1, 3);
    assert_true(weir_write_all(ending.file, weir_buf_view(&kept.row[9])));
    assert_true(preprocess_mapping_open(&ending.mapping, ending.file, kept.row[9].size));
    assert_false(preprocess_mapping_watch(run_ending, &ending));
    run_cut(&pair, 0, &kept);
    run_whole(&pair, 0);
    assert_same(&pair);
    preprocess_mapping_close(&ending.mapping);
    close(ending.file);
    close_pair(&pair);
    for (size_t i = 0; i < ROWS; i++)
        weir_buf_fini(&kept.row[i]);
}

static void a_row_that_ends_while_it_is_read_costs_the_batch_and_no_more(void **state)
{
    (void)state;
    with_pictures(check_ending);
}

#define NUMBERS                                                                             \
    "[{op: csv_words, as: words, fields: [1]}, {op: csv_fields, fields: [0], as: number}, " \
    "{op: clamp, on: number, max: 30}, {op: filter, on: number, min: 2}, "                  \
    "{op: tokenize_hash, on: words, buckets: 1000}, {op: truncate, length: 4}, "            \
    "{op: math, on: number, function: sqrt}]"

/* Some cannot be read, and some are filtered. */
static void numbers_are_the_same_from_any_cut(void **state)
{
    struct weir_bytes rows[ROWS];
    char text[ROWS][96];
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(text[i], sizeof(text[i]), "%s,words%zu of a row %zu and more",
                 i % 9 == 4 ? "no" : "5", i, i * i);
        if (i % 6 == 0)
            text[i][0] = '1';
        rows[i] = weir_bytes_of(text[i]);
    }
    check(NUMBERS, "tokenize_hash", rows);
    check(NUMBERS, "truncate", rows);
    check(NUMBERS, "math", rows);
}

static void assert_refused(const char *operators, const char *after, const char *reason)
{
    struct weir_error err;
    struct test_chain test;
    struct chain *cut = NULL;
    test_chain_open(&test, operators);
    assert_int_equal(preprocess_chain_materialise(test.chain, after, &cut, &err), WEIR_INVALID);
    if (strstr(err.text, reason) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, reason);
    test_chain_close(&test);
}

static void a_cut_where_rows_cannot_be_kept_is_refused_in_words(void **state)
{
    (void)state;
    assert_refused(PICTURES, "flip", "random_resized_crop makes another row");
    assert_refused(PICTURES, "blur", "stands 0 times");
    assert_refused("[{op: decode_jpeg}, {op: random_resized_crop, size: 8}, {op: normalize}]",
                   "decode_jpeg", "scale: never");
    assert_refused(NUMBERS, "csv_words", "column payload is bytes there");
    assert_refused(NUMBERS, "clamp", "column words is tokens there");
}

/* Cheaper orders are chosen within each side. */
static bool stays(void *owner, const uint8_t *order)
{
    const size_t *cut = owner;
    for (size_t i = 0; i < *cut; i++)
        assert_true(order[i] < *cut);
    return true;
}

static void nothing_passes_a_cut(void **state)
{
    struct pair pair = {0};
    struct ordering ordering;
    (void)state;
    open_pair(&pair, NUMBERS, "tokenize_hash");
    size_t cut = preprocess_chain_cut_at(pair.cut.chain);
    assert_int_equal(cut, 5);
    preprocess_ordering_begin(&ordering, pair.cut.chain, ALGEBRA_EXACTLY);
    preprocess_ordering_visit(&ordering, stays, &cut);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_the_same_from_any_cut),
        cmocka_unit_test(a_row_that_is_lost_costs_the_batch_and_no_more),
        cmocka_unit_test(a_row_that_is_being_overwritten_is_lost),
        cmocka_unit_test(a_row_that_ends_while_it_is_read_costs_the_batch_and_no_more),
        cmocka_unit_test(numbers_are_the_same_from_any_cut),
        cmocka_unit_test(a_cut_where_rows_cannot_be_kept_is_refused_in_words),
        cmocka_unit_test(nothing_passes_a_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
