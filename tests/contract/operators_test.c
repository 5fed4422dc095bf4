/* Promises of every operator, looped over the registry with rows of every kind: documented options,
 * one output row per input row, failures that are counted and explained, the input untouched, the
 * same result for the same rows, however they are split into batches. A new operator is tested by
 * being in the registry, with bytes and no options; one that needs more gets a row in EXAMPLES. */
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/element.h"
#include "core/wire/sample.h"
#include "preprocess/operators/operator.h"
#include "tests/support/jpeg_picture.h"
#include "tests/support/png_picture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN WEIR_SOURCE_DIR "/tests/unit/preprocess/golden/"

enum { ROWS = 24, ROUNDS = 60, ROW_BYTES_MAX = 200, PNG_SIDE_MAX = 9 };

static const struct example {
    const char *op;
    const char *yaml;
    enum column_kind in; /* what it is fed with */
    enum weir_dtype type;
} EXAMPLES[] = {
    {"tokenize_hash", "{buckets: 1000, ngrams: 3}", COLUMN_TOKENS, 0},
    {"csv_fields", "{fields: [0, 1]}", COLUMN_BYTES, 0},
    {"csv_text", "{field: 1}", COLUMN_BYTES, 0},
    {"csv_words", "{fields: [0, 2], quotes: none}", COLUMN_BYTES, 0},
    {"json_fields", "{fields: [a, b.c]}", COLUMN_BYTES, 0},
    {"json_text", "{field: a}", COLUMN_BYTES, 0},
    {"json_words", "{fields: [a, b.c]}", COLUMN_BYTES, 0},
    {"record_fields", "{dense: [1, 2, f32], sparse: [0, 1, u8]}", COLUMN_BYTES, 0},
    {"cast", "{to: i64}", COLUMN_DENSE, WEIR_F32},
    {"standardize", "{}", COLUMN_DENSE, WEIR_F32},
    {"log1p", "{}", COLUMN_DENSE, WEIR_F32},
    {"lower_case", "{}", COLUMN_TEXT, 0},
    {"hash_mod", "{buckets: 50}", COLUMN_DENSE, WEIR_I32},
    {"grayscale", "{}", COLUMN_PICTURES, WEIR_U8},
    {"color_jitter", "{brightness: 1, contrast: [0, 3], saturation: 2, hue: 0.5}", COLUMN_PICTURES,
     WEIR_U8},
    {"blur", "{kernel_size: 7}", COLUMN_PICTURES, WEIR_U8},
    {"random_resized_crop", "{size: 5}", COLUMN_PICTURES, WEIR_U8},
    {"resize", "{size: 4}", COLUMN_PICTURES, WEIR_U8},
    {"center_crop", "{size: [3, 9]}", COLUMN_PICTURES, WEIR_U8},
    {"flip", "{vertical: 0.5}", COLUMN_PICTURES, WEIR_U8},
    {"normalize", "{mean: 0.5}", COLUMN_DENSE, WEIR_U8},
    {"to_chw", "{}", COLUMN_DENSE, WEIR_U8},
    {"tokenize_words", "{}", COLUMN_TEXT, 0},
    {"filter", "{max: 5e5, element: 1}", COLUMN_DENSE, WEIR_F32},
    {"concat", "{on: [in, other]}", COLUMN_RAGGED, WEIR_I32},
    {"clamp", "{min: 1, max: 3e5}", COLUMN_RAGGED, WEIR_F32},
    {"fill_missing", "{value: 7, missing: 3}", COLUMN_RAGGED, WEIR_I32},
    {"sigrid_hash", "{max_value: 1000}", COLUMN_RAGGED, WEIR_I64},
    {"bucketize", "{borders: [1, 1, 2e5, 5e5]}", COLUMN_DENSE, WEIR_F32},
    {"first_x", "{count: 2}", COLUMN_RAGGED, WEIR_I64},
    {"one_hot", "{classes: 1000, unknown: fail}", COLUMN_RAGGED, WEIR_I32},
    {"ngram", "{n: 2, buckets: 100}", COLUMN_RAGGED, WEIR_U32},
    {"vocab", "{size: 5}", COLUMN_TOKENS, 0},
    {"truncate", "{length: 3, keep: last}", COLUMN_TOKENS, 0},
    {"pad", "{length: 4, side: start, lengths: true}", COLUMN_RAGGED, WEIR_I64},
    {"bucket_by_length", "{borders: [2, 5]}", COLUMN_TOKENS, 0},
    {"wordpiece", "{begin: \"[CLS]\", vocabulary: " GOLDEN "wordpiece.vocab}", COLUMN_BYTES, 0},
    {"bpe", "{vocabulary: " GOLDEN "bpe.vocab, merges: " GOLDEN "bpe.merges}", COLUMN_BYTES, 0},
    {"pack", "{length: 24, too_long: fail}", COLUMN_RAGGED, WEIR_I64},
    {"exec", "{program: numbers, width: 3}", COLUMN_BYTES, 0},
    {"to_ragged", "{}", COLUMN_PICTURES, WEIR_U8},
    {"boxcox", "{lambda: 0.5}", COLUMN_DENSE, WEIR_F32},
    {"target_encode", "{folds: 2, smooth: 1}", COLUMN_BYTES, 0},
    {"math", "{function: signed_log1p}", COLUMN_RAGGED, WEIR_F32},
    {"ratio", "{pairs: [[0, 1], [2, 2]]}", COLUMN_DENSE, WEIR_F32},
    {"modulo", "{by: 7}", COLUMN_RAGGED, WEIR_I64},
    {"map_ids", "{from: [1, 2], to: [5, -6], other: 0}", COLUMN_RAGGED, WEIR_I64},
    {"cartesian", "{on: [in, other], buckets: 100}", COLUMN_RAGGED, WEIR_I32},
    {"overlap", "{on: [in, other], measures: [count, jaccard, cosine]}", COLUMN_RAGGED, WEIR_I32},
    {"calendar", "{fields: [hour, year], cyclic: month, zone: Europe/Berlin}", COLUMN_BYTES, 0},
};

static const struct column_about DENSE_PICTURES = {
    .name = "in", .kind = COLUMN_DENSE, .type = WEIR_U8, .width = 60, .shape = {4, 5, 3}};

/* An operator planned by itself. */
struct planned {
    const struct preprocess_operator *op;
    struct weir_yaml *document;
    void *options, *state;
    struct weir_arena *arena;
    struct operator_plan plan;
    struct column in, out[OPERATOR_OUTPUTS_MAX];
};

static struct example example_of(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        if (strcmp(EXAMPLES[i].op, name) == 0)
            return EXAMPLES[i];
    }
    return (struct example){name, "{}", COLUMN_BYTES, 0};
}

static void draw_dense(struct weir_rng *rng, struct column *in)
{
    for (size_t i = 0; i < in->about.width; i++) {
        float value = (float)weir_rng_unit(rng) * 1e6f;
        if (in->about.type == WEIR_U8)
            weir_buf_append(&in->values, &(uint8_t){(uint8_t)(uint32_t)value}, 1);
        else
            weir_buf_append(&in->values, &value, sizeof(value));
    }
}

/* One of no pixels has failed before. */
static void draw_picture(struct weir_rng *rng, struct column *in)
{
    uint32_t height = (uint32_t)weir_rng_below(rng, 12);
    uint32_t width = height > 0 ? 1 + (uint32_t)weir_rng_below(rng, 12) : 0;
    const struct picture_place place = {.height = height,
                                        .width = width,
                                        .whole_height = height,
                                        .whole_width = width,
                                        .eighths = 8};
    weir_buf_append(&in->pictures, &place, sizeof(place));
    for (size_t i = 0; i < height * (size_t)width * in->about.width; i++)
        weir_buf_append(&in->values, &(uint8_t){(uint8_t)weir_rng_next(rng)}, 1);
    preprocess_column_end_row(in);
}

/* Some of them are damaged. */
static void draw_jpeg(struct weir_rng *rng, struct weir_buf *out)
{
    const struct jpeg_picture picture = {.height = 9 + (uint32_t)weir_rng_below(rng, 20),
                                         .width = 7 + (uint32_t)weir_rng_below(rng, 20),
                                         .seed = weir_rng_next(rng),
                                         .quality = 80,
                                         .components = weir_rng_below(rng, 3) == 0 ? 1 : 3};
    size_t start = out->size;
    jpeg_picture_write(&picture, out);
    if (weir_rng_below(rng, 2) == 0)
        out->at[start + weir_rng_below(rng, out->size - start)] ^= 0x55;
}

static void draw_png(struct weir_rng *rng, struct weir_buf *out)
{
    uint8_t pixels[PNG_SIDE_MAX * PNG_SIDE_MAX * 3];
    uint32_t height = 1 + (uint32_t)weir_rng_below(rng, PNG_SIDE_MAX);
    uint32_t width = 1 + (uint32_t)weir_rng_below(rng, PNG_SIDE_MAX);
    size_t start = out->size;
    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)weir_rng_next(rng);
    png_picture_write(pixels, height, width, weir_rng_below(rng, 3) == 0 ? 1 : 3, out);
    if (weir_rng_below(rng, 2) == 0)
        out->at[start + weir_rng_below(rng, out->size - start)] ^= 0x55;
}

/* Sometimes right, sometimes noise. */
static void draw_bytes(struct weir_rng *rng, struct column *in)
{
    static const char *const GOOD[] = {"{\"a\": 1, \"b\": {\"c\": 2}}", "1,2,3",
                                       "{\"a\": \"some words\"}", "Some TEXT, with words",
                                       "2002-08-22T11:36:23Z"};
    uint64_t choice = weir_rng_below(rng, 2 * WEIR_COUNT(GOOD) + 4);
    if (choice < WEIR_COUNT(GOOD)) {
        weir_buf_append_text(&in->values, GOOD[choice]);
    } else if (in->about.kind != COLUMN_TEXT && choice < WEIR_COUNT(GOOD) + 2) {
        draw_jpeg(rng, &in->values);
    } else if (in->about.kind != COLUMN_TEXT && choice < WEIR_COUNT(GOOD) + 4) {
        draw_png(rng, &in->values);
    } else if (in->about.kind != COLUMN_TEXT) {
        for (size_t left = weir_rng_below(rng, ROW_BYTES_MAX); left > 0; left--)
            weir_buf_append(&in->values, &(uint8_t){(uint8_t)weir_rng_next(rng)}, 1);
    }
}

static void draw_row(struct weir_rng *rng, struct column *in)
{
    uint32_t start = (uint32_t)in->values.size;
    if (in->about.kind == COLUMN_DENSE) {
        draw_dense(rng, in);
        return;
    }
    if (in->about.kind == COLUMN_RAGGED) {
        for (size_t left = weir_rng_below(rng, 20) * weir_dtype_bytes(in->about.type); left > 0;
             left--)
            weir_buf_append(&in->values, &(uint8_t){(uint8_t)weir_rng_next(rng)}, 1);
        preprocess_column_end_row(in);
        return;
    }
    if (in->about.kind == COLUMN_PICTURES) {
        draw_picture(rng, in);
        return;
    }
    draw_bytes(rng, in);
    for (uint32_t at = start; in->about.kind == COLUMN_TOKENS && at < in->values.size; at++) {
        struct weir_span span = {at, 1};
        weir_buf_append(&in->spans, &span, sizeof(span));
    }
    preprocess_column_end_row(in);
}

/* Draws rows first … first + count - 1 of the sequence that `seed` names. */
static void draw_rows(struct planned *planned, uint64_t seed, size_t first, size_t count)
{
    preprocess_column_begin(&planned->in);
    for (size_t i = first; i < first + count; i++) {
        struct weir_rng rng;
        weir_rng_init(&rng, seed * 1000 + i);
        draw_row(&rng, &planned->in);
    }
}

static void fit_on_nothing_much(struct planned *planned)
{
    struct weir_error err;
    WEIR_AUTO_BUF partial = {0};
    WEIR_AUTO_BUF fitted = {0};
    uint8_t failed[2] = {0};
    draw_rows(planned, 3, 0, 2);
    const int64_t labels[2] = {0, 1};
    const struct operator_batch batch = {.rows = 2, .labels = labels, .label_kind = WEIR_LABEL_INT};
    struct operator_call call = {.rows = 2, .in = &planned->in, .failed = failed, .batch = &batch};
    const struct operator_fit *fit = planned->op->fit;
    if (fit->fold != NULL) {
        fit->fold(planned->state, &call, &partial);
        assert_int_equal(fit->merge(planned->state, weir_buf_view(&partial), &err), WEIR_OK);
    }
    if (fit->finish(planned->state, &fitted, &err) != WEIR_OK)
        fail_msg("%s: %s", planned->op->name, err.text);
    assert_int_equal(fit->load(planned->state, weir_buf_view(&fitted), &err), WEIR_OK);
}

static void plan(struct planned *planned, size_t index)
{
    struct weir_error err;
    *planned = (struct planned){.op = operator_at(index)};
    const struct example example = example_of(planned->op->name);
    planned->in.about = preprocess_column_about("in", example.in, example.type, 3);
    if (planned->in.about.kind == COLUMN_DENSE && planned->in.about.type == WEIR_U8)
        planned->in.about = DENSE_PICTURES;
    struct column_about other = planned->in.about;
    snprintf(other.name, sizeof(other.name), "other");
    planned->arena = weir_arena_new();
    struct operator_schema schema = {
        .count = 2, .column = {other, planned->in.about}, .arena = planned->arena};
    planned->options = weir_calloc(1, planned->op->options_size);
    planned->state = weir_calloc(1, planned->op->state_size + 1);
    struct weir_bytes text = weir_bytes_of(example.yaml);
    assert_int_equal(weir_yaml_parse("example", text, &planned->document, &err), WEIR_OK);
    enum weir_status status =
        cfg_read(planned->op->options, CFG_CLOSED, weir_yaml_root(planned->document), "example",
                 NULL, planned->options, &err);
    if (status == WEIR_OK)
        status = planned->op->plan(planned->state, planned->options, &schema, &planned->plan, &err);
    if (status != WEIR_OK)
        fail_msg("%s: %s (one that needs options, or more than bytes, gets a row in EXAMPLES)",
                 planned->op->name, err.text);
    for (size_t i = 0; i < planned->plan.outputs; i++)
        planned->out[i].about = planned->plan.output[i];
    if (planned->op->fit != NULL)
        fit_on_nothing_much(planned);
}

static void end(struct planned *planned)
{
    if (planned->op->fini != NULL)
        planned->op->fini(planned->state);
    free(planned->options);
    free(planned->state);
    preprocess_column_fini(&planned->in);
    for (size_t i = 0; i < OPERATOR_OUTPUTS_MAX; i++)
        preprocess_column_fini(&planned->out[i]);
    weir_yaml_free(planned->document);
    weir_arena_free(planned->arena);
}

/* Rows first … first + rows - 1 of a batch: each has its number as id. Operators that take several
 * columns are given the same rows in all of them. */
static void append(struct planned *planned, const struct column *in, size_t first, size_t rows,
                   uint8_t *flags)
{
    const struct column *more[COLUMNS_MAX];
    uint64_t ids[ROWS];
    int64_t times[ROWS];
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        more[i] = in;
    for (size_t i = 0; i < rows; i++)
        times[i] = (int64_t)(ids[i] = first + i) * 1000000;
    const struct operator_batch batch = {
        .rows = rows, .ids = ids, .times = times, .seed = 5, .trains = true};
    struct operator_call call = {
        .rows = rows,
        .in = in,
        .more = more,
        .more_count = planned->plan.more_count,
        .out = planned->out,
        .failed = flags,
        .batch = &batch,
        .ids = ids,
    };
    planned->op->apply(planned->state, &call);
    for (; call.waits; planned->op->apply(planned->state, &call)) {
        call.waits = false;
        for (size_t i = 0; i < planned->plan.outputs; i++)
            preprocess_column_begin(&planned->out[i]);
    }
    if (call.failures > 0 && call.reason[0] == '\0')
        fail_msg("%s: a row failed without a reason", planned->op->name);
    uint64_t counts[OPERATOR_ROW_FILTERED + 1] = {0};
    for (size_t row = 0; row < rows; row++)
        counts[flags[row]]++;
    assert_int_equal(call.failures, counts[OPERATOR_ROW_FAILED]);
    assert_int_equal(call.filtered, counts[OPERATOR_ROW_FILTERED]);
    unsigned traits = planned->op->traits | planned->plan.traits;
    if ((traits & OPERATOR_TOTAL) != 0 && counts[OPERATOR_ROW_OK] + call.warnings != rows)
        fail_msg("%s: has marked a row, or warned, though it declares to be total",
                 planned->op->name);
    if ((traits & OPERATOR_DROPS) != 0 && call.failures + call.warnings > 0)
        fail_msg("%s: has failed a row, though it declares to drop alone", planned->op->name);
}

static void apply(struct planned *planned, size_t first, size_t rows, uint8_t *flags)
{
    for (size_t i = 0; i < planned->plan.outputs; i++)
        preprocess_column_begin(&planned->out[i]);
    append(planned, &planned->in, first, rows, flags);
}

static struct weir_bytes spanned(const struct column *column, uint32_t first, uint32_t end)
{
    if (first == end)
        return weir_bytes(NULL, 0);
    const struct weir_span *from = &column_spans(column)[first];
    const struct weir_span *to = &column_spans(column)[end - 1];
    return weir_bytes(column->values.at + from->start, to->start + to->size - from->start);
}

/* The bytes of one row of an output. */
static struct weir_bytes row_of(const struct column *column, size_t row)
{
    size_t unit = weir_dtype_bytes(column->about.type);
    if (column->about.kind == COLUMN_DENSE)
        return weir_bytes(column->values.at + row * column->about.width * unit,
                          column->about.width * unit);
    const uint32_t *offsets = column_offsets(column);
    if (column->about.kind == COLUMN_TOKENS) /* the text from the first span to the last */
        return spanned(column, offsets[row], offsets[row + 1]);
    unit = column->about.kind == COLUMN_RAGGED ? unit : 1;
    return weir_bytes(column->values.at + offsets[row] * unit,
                      (offsets[row + 1] - offsets[row]) * unit);
}

static void expect_whole(const struct planned *planned, size_t rows)
{
    for (size_t i = 0; i < planned->plan.outputs; i++) {
        const struct column *out = &planned->out[i];
        if (out->about.kind == COLUMN_DENSE) {
            assert_int_equal(out->values.size,
                             rows * out->about.width * weir_dtype_bytes(out->about.type));
            continue;
        }
        assert_int_equal(out->offsets.size, (rows + 1) * sizeof(uint32_t));
        const uint32_t *offsets = column_offsets(out);
        for (size_t row = 0; row < rows; row++)
            assert_true(offsets[row] <= offsets[row + 1]);
    }
}

static void every_operator_is_named_and_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < operator_count(); i++) {
        const struct preprocess_operator *op = operator_at(i);
        assert_ptr_equal(operator_find(op->name), op);
        assert_true(op->summary != NULL && op->summary[0] != '\0');
        assert_true(op->plan != NULL && op->apply != NULL);
        if (op->fit != NULL) {
            assert_true(op->fit->finish != NULL && op->fit->load != NULL);
            assert_int_equal(op->fit->fold != NULL, op->fit->merge != NULL);
        }
        if (op->absorbs != NULL)
            assert_true(op->by_row && op->absorbs->by_row);
        for (const struct cfg_key *key = op->options; key->name != NULL; key++) {
            if (key->doc == NULL || key->doc[0] == '\0')
                fail_msg("%s.%s: has no sentence", op->name, key->name);
        }
    }
}

static void every_row_has_a_result_or_is_a_counted_hole(void **state)
{
    (void)state;
    for (size_t i = 0; i < operator_count(); i++) {
        struct planned planned;
        size_t results = 0;
        plan(&planned, i);
        for (uint64_t seed = 0; seed < ROUNDS; seed++) {
            uint8_t flags[ROWS] = {0};
            draw_rows(&planned, seed, 0, ROWS);
            struct weir_digest before = weir_digest_of(weir_buf_view(&planned.in.values));
            apply(&planned, 0, ROWS, flags);
            struct weir_digest after = weir_digest_of(weir_buf_view(&planned.in.values));
            assert_memory_equal(&before, &after, sizeof(before));
            expect_whole(&planned, ROWS);
            for (size_t row = 0; row < ROWS; row++)
                results += flags[row] == OPERATOR_ROW_OK;
        }
        if (results == 0)
            fail_msg("%s: has read no row: feed it what it can read", planned.op->name);
        end(&planned);
    }
}

static void a_row_does_not_depend_on_its_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < operator_count(); i++) {
        struct planned whole, alone;
        if (operator_at(i)->by_batch)
            continue;
        plan(&whole, i);
        plan(&alone, i);
        uint8_t all[ROWS] = {0};
        draw_rows(&whole, 77, 0, ROWS);
        apply(&whole, 0, ROWS, all);
        for (size_t row = 0; row < ROWS; row++) {
            uint8_t one[1] = {0};
            draw_rows(&alone, 77, row, 1);
            apply(&alone, row, 1, one);
            assert_int_equal(one[0], all[row]);
            for (size_t k = 0; k < whole.plan.outputs && one[0] == 0; k++)
                assert_true(weir_bytes_equal(row_of(&whole.out[k], row), row_of(&alone.out[k], 0)));
        }
        end(&whole);
        end(&alone);
    }
}

/* Moves the bytes of each row to `elsewhere`, and leaves others where they were. */
static void move_rows(struct column *in, size_t rows, struct weir_buf *elsewhere)
{
    weir_buf_append(elsewhere, in->values.at, in->values.size);
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *place = elsewhere->at + column_offsets(in)[row];
        weir_buf_append(&in->places, &place, sizeof(place));
    }
    memset(in->values.at, 'x', in->values.size);
}

static bool has_words(const struct planned *planned)
{
    bool has = planned->in.about.kind == COLUMN_TOKENS;
    for (size_t i = 0; i < planned->plan.outputs; i++)
        has = has || planned->out[i].about.kind == COLUMN_TOKENS;
    return has;
}

/* The same rows of one column, handed over in pieces that are looked at where they lie. */
static void expect_same_in_pieces(struct planned *whole, struct planned *pieces)
{
    enum { PIECE = 3 };
    uint8_t flags[2][ROWS] = {0};
    draw_rows(whole, 91, 0, ROWS);
    draw_rows(pieces, 91, 0, ROWS);
    apply(whole, 0, ROWS, flags[0]);
    for (size_t i = 0; i < pieces->plan.outputs; i++)
        preprocess_column_begin(&pieces->out[i]);
    for (size_t row = 0; row < ROWS; row += PIECE) {
        size_t rows = ROWS - row < PIECE ? ROWS - row : PIECE;
        struct column view = preprocess_column_view(&pieces->in, row, rows);
        append(pieces, &view, row, rows, flags[1] + row);
    }
    assert_memory_equal(flags[0], flags[1], ROWS);
    for (size_t i = 0; i < whole->plan.outputs; i++) {
        const struct column *one = &whole->out[i], *other = &pieces->out[i];
        if (!weir_bytes_equal(weir_buf_view(&one->values), weir_buf_view(&other->values)) ||
            !weir_bytes_equal(weir_buf_view(&one->offsets), weir_buf_view(&other->offsets)))
            fail_msg("%s: makes something else of pieces of a batch", whole->op->name);
    }
}

static void what_takes_rows_takes_them_in_pieces(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < operator_count(); i++) {
        struct planned whole, pieces;
        plan(&whole, i);
        plan(&pieces, i);
        bool takes_pieces = whole.op->by_row && !has_words(&whole);
        if (takes_pieces)
            expect_same_in_pieces(&whole, &pieces);
        found += takes_pieces;
        end(&whole);
        end(&pieces);
    }
    assert_true(found > 30);
}

static void a_row_that_is_read_in_place_may_lie_anywhere(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < operator_count(); i++) {
        struct planned here, there;
        WEIR_AUTO_BUF elsewhere = {0};
        uint8_t flags[ROWS] = {0}, flags_there[ROWS] = {0};
        if (!operator_at(i)->in_place)
            continue;
        found++;
        plan(&here, i);
        plan(&there, i);
        draw_rows(&here, 78, 0, ROWS);
        draw_rows(&there, 78, 0, ROWS);
        move_rows(&there.in, ROWS, &elsewhere);
        apply(&here, 0, ROWS, flags);
        apply(&there, 0, ROWS, flags_there);
        assert_memory_equal(flags, flags_there, ROWS);
        for (size_t row = 0; row < ROWS; row++) {
            for (size_t k = 0; k < here.plan.outputs && flags[row] == OPERATOR_ROW_OK; k++)
                assert_true(
                    weir_bytes_equal(row_of(&here.out[k], row), row_of(&there.out[k], row)));
        }
        end(&here);
        end(&there);
    }
    assert_true(found > 0);
}

/* ---- traits ---- */

/* Size in bytes of an element: a number, a pixel, or a byte of a text. */
static size_t element_of(const struct column *column)
{
    const struct column_about *about = &column->about;
    size_t channels = about->kind == COLUMN_PICTURES ? about->width : about->shape[2];
    bool is_number = about->kind == COLUMN_DENSE || about->kind == COLUMN_RAGGED;
    return (is_number ? weir_dtype_bytes(about->type) : 1) * (channels > 0 ? channels : 1);
}

/* Puts every element of `in` whose number is odd in the place of those of `other`. */
static void mix(const struct column *other, struct column *in)
{
    size_t size = element_of(in);
    for (size_t i = 1; i < in->values.size / size; i += 2)
        memcpy(in->values.at + i * size, other->values.at + i * size, size);
}

/* Three columns of the same rows: the elements of the third are those of the first and of the second in turns. So is
 * what an element-wise operator makes of them. */
static bool is_elementwise(struct planned planned[3])
{
    uint8_t flags[ROWS] = {0};
    for (size_t i = 0; i < 3; i++) {
        draw_rows(&planned[i], 79, 0, ROWS);
        if (planned[i].in.about.kind == COLUMN_TEXT) /* a byte is a character then */
            for (size_t at = 0; at < planned[i].in.values.size; at++)
                planned[i].in.values.at[at] &= 0x7f;
    }
    for (size_t i = 0; i < planned[0].in.values.size; i++)
        planned[1].in.values.at[i] ^= (uint8_t)(i % 3);
    memcpy(planned[2].in.values.at, planned[0].in.values.at, planned[0].in.values.size);
    mix(&planned[1].in, &planned[2].in);
    for (size_t i = 0; i < 3; i++)
        apply(&planned[i], 0, ROWS, flags);
    if (planned[0].out[0].values.size / element_of(&planned[0].out[0]) !=
        planned[0].in.values.size / element_of(&planned[0].in))
        return false;
    mix(&planned[1].out[0], &planned[0].out[0]);
    return weir_bytes_equal(weir_buf_view(&planned[0].out[0].values),
                            weir_buf_view(&planned[2].out[0].values));
}

static void what_declares_to_be_elementwise_is_so(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < operator_count(); i++) {
        struct planned planned[3];
        if ((operator_at(i)->traits & OPERATOR_ELEMENTWISE) == 0)
            continue;
        found++;
        for (size_t k = 0; k < 3; k++)
            plan(&planned[k], i);
        if (!is_elementwise(planned))
            fail_msg("%s: an element depends on others", operator_at(i)->name);
        for (size_t k = 0; k < 3; k++)
            end(&planned[k]);
    }
    assert_true(found > 5);
}

/* Each number is the sum of all before it in its column. */
static void expect_bounded(const struct planned *planned, const struct column *out, uint64_t below)
{
    enum weir_dtype type = out->about.type;
    for (size_t i = 0; i < out->values.size / weir_dtype_bytes(type); i++) {
        int64_t number = weir_element_get_integer(type, out->values.at, i);
        if (number < 0 || (uint64_t)number >= below)
            fail_msg("%s: made %ld, expected numbers from 0, below %lu", planned->op->name, number,
                     below);
    }
}

/* Whatever was known of what it reads. */
static void integers_lie_below_the_bound_that_is_declared(void **state)
{
    (void)state;
    size_t bounded = 0;
    for (size_t i = 0; i < PREPROCESS_OPERATORS.count; i++) {
        struct planned planned;
        uint8_t flags[ROWS] = {0};
        plan(&planned, i);
        draw_rows(&planned, 11, 0, ROWS);
        apply(&planned, 0, ROWS, flags);
        for (size_t k = 0; k < planned.plan.outputs; k++) {
            const struct column *out = &planned.out[k];
            bool is_fitted = k == 0 && planned.op->fit != NULL && planned.op->fit->bound != NULL;
            uint64_t below = is_fitted ? planned.op->fit->bound(planned.state) : out->about.below;
            if (below == 0)
                continue;
            bounded++;
            expect_bounded(&planned, out, below);
        }
        end(&planned);
    }
    assert_true(bounded >= 8);
}

static void lie(void *state, struct operator_call *call)
{
    (void)state;
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    float sum = 0;
    for (size_t i = 0; i < made.count; i++)
        ((float *)made.to)[i] = sum += ((const float *)made.from)[i];
}

static void a_declaration_that_lies_is_found(void **state)
{
    (void)state;
    struct preprocess_operator liar = {0};
    struct planned planned[3];
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < operator_count(); i++) {
            if (strcmp(operator_at(i)->name, "log1p") != 0)
                continue;
            plan(&planned[k], i);
            liar = *operator_at(i);
        }
        liar.apply = lie;
        planned[k].op = &liar;
    }
    assert_false(is_elementwise(planned));
    for (size_t k = 0; k < 3; k++)
        end(&planned[k]);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as every service does */
    (void)setenv("WEIR_PROGRAMS",
                 "{numbers: {command: [/usr/bin/python3, " WEIR_SOURCE_DIR
                 "/docs/guides/programs/text_numbers.py]}}",
                 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_named_and_documented),
        cmocka_unit_test(every_row_has_a_result_or_is_a_counted_hole),
        cmocka_unit_test(a_row_does_not_depend_on_its_batch),
        cmocka_unit_test(what_takes_rows_takes_them_in_pieces),
        cmocka_unit_test(a_row_that_is_read_in_place_may_lie_anywhere),
        cmocka_unit_test(what_declares_to_be_elementwise_is_so),
        cmocka_unit_test(integers_lie_below_the_bound_that_is_declared),
        cmocka_unit_test(a_declaration_that_lies_is_found),
    };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
