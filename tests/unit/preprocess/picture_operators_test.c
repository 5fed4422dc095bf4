/* Operators on pictures: what is decoded, what is refused, and that doing less work changes nothing.
 * tests/contract/pictures_test.py compares them with Pillow. */
#include "core/base/file.h"
#include "preprocess/operators/pictures/picture.h"
#include "tests/support/chain.h"
#include "tests/support/jpeg_picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { HEIGHT = 93, WIDTH = 131, SIZE = 48, IDS = 60 };

static const struct jpeg_picture COLOURS = {
    .height = HEIGHT, .width = WIDTH, .seed = 1, .quality = 85, .components = 3, .noise = 30};

/* Runs the chain over copies of one file, one for each id. */
struct pictures {
    struct test_chain test;
    uint64_t ids[IDS];
};

static void run(struct pictures *pictures, const char *operators, const struct weir_buf *file,
                struct operator_batch batch)
{
    struct weir_bytes rows[IDS];
    test_chain_open(&pictures->test, operators);
    for (size_t i = 0; i < IDS; i++) {
        pictures->ids[i] = i;
        rows[i] = weir_buf_view(file);
    }
    batch.rows = IDS;
    batch.ids = pictures->ids;
    test_chain_fill(&pictures->test, rows, IDS);
    pictures->test.failed = preprocess_chain_run(pictures->test.chain, &batch);
}

static const struct column *output(const struct pictures *pictures)
{
    return preprocess_chain_output(pictures->test.chain, 0);
}

static const uint8_t *row_of(const struct pictures *pictures, size_t row)
{
    const struct column *column = output(pictures);
    return column->values.at + row * column->about.width * weir_dtype_bytes(column->about.type);
}

static int furthest(const uint8_t *a, const uint8_t *b, size_t size)
{
    int far = 0;
    for (size_t i = 0; i < size; i++)
        far = abs(a[i] - b[i]) > far ? abs(a[i] - b[i]) : far;
    return far;
}

/* One operator by itself: nobody tells it what comes next. */
struct alone {
    const struct preprocess_operator *op;
    struct weir_yaml *document;
    uint8_t options[256], state[512];
    struct column out;
};

static void plan_alone(struct alone *alone, const char *yaml, const struct column_about *in)
{
    struct weir_error err;
    struct operator_plan plan = {0};
    struct operator_schema schema = {.count = 1, .column = {*in}};
    *alone = (struct alone){0};
    assert_int_equal(weir_yaml_parse("alone.yaml", weir_bytes_of(yaml), &alone->document, &err),
                     WEIR_OK);
    const struct weir_yaml_node *node = weir_yaml_root(alone->document);
    alone->op = operator_find(weir_yaml_text(weir_yaml_get(node, "op")));
    assert_true(alone->op->options_size <= sizeof(alone->options) &&
                alone->op->state_size <= sizeof(alone->state));
    assert_int_equal(
        cfg_read(alone->op->options, CFG_CLOSED, node, "alone", "op", alone->options, &err),
        WEIR_OK);
    assert_int_equal(alone->op->plan(alone->state, alone->options, &schema, &plan, &err), WEIR_OK);
    alone->out.about = plan.output[0];
}

static void apply_alone(struct alone *alone, const struct column *in, uint32_t step,
                        const struct operator_batch *batch)
{
    uint8_t failed[IDS] = {0};
    preprocess_column_begin(&alone->out);
    struct operator_call call = {.rows = batch->rows,
                                 .in = in,
                                 .out = &alone->out,
                                 .failed = failed,
                                 .batch = batch,
                                 .ids = batch->ids,
                                 .step = step};
    alone->op->apply(alone->state, &call);
    assert_int_equal(call.failures, 0);
}

static void end_alone(struct alone *alone)
{
    if (alone->op->fini != NULL)
        alone->op->fini(alone->state);
    preprocess_column_fini(&alone->out);
    weir_yaml_free(alone->document);
}

/* Decodes everything, then takes the window: the same draws as in a chain, for it stands at step 1. */
static int furthest_from_whole(const struct pictures *pictures, const struct weir_buf *file,
                               const char *second, const struct operator_batch *batch)
{
    struct alone decode, crop;
    struct column in = {.about = preprocess_column_about("payload", COLUMN_BYTES, 0, 0)};
    preprocess_column_begin(&in);
    for (size_t i = 0; i < batch->rows; i++) {
        weir_buf_append(&in.values, file->at, file->size);
        preprocess_column_end_row(&in);
    }
    plan_alone(&decode, "{op: decode_jpeg}", &in.about);
    apply_alone(&decode, &in, 0, batch);
    plan_alone(&crop, second, &decode.out.about);
    apply_alone(&crop, &decode.out, 1, batch);
    assert_int_equal(crop.out.values.size, output(pictures)->values.size);
    int far = furthest(crop.out.values.at, output(pictures)->values.at, crop.out.values.size);
    end_alone(&decode);
    end_alone(&crop);
    preprocess_column_fini(&in);
    return far;
}

static void expect_no_difference(const struct jpeg_picture *picture, const char *second)
{
    WEIR_AUTO_BUF file = {0};
    WEIR_AUTO_FREE char *operators = weir_format("[{op: decode_jpeg}, %s]", second);
    struct pictures pictures;
    struct operator_batch batch = {.seed = 3, .epoch = 2, .trains = true};
    jpeg_picture_write(picture, &file);
    run(&pictures, operators, &file, batch);
    batch.rows = IDS;
    batch.ids = pictures.ids;
    int far = furthest_from_whole(&pictures, &file, second, &batch);
    if (far != 0)
        fail_msg("%s of a picture of %d components, progressive %d: up to %d of 255 apart", second,
                 picture->components, picture->progressive, far);
    test_chain_close(&pictures.test);
}

static void what_a_crop_reads_is_the_same_whether_all_is_decoded_or_only_that(void **state)
{
    (void)state;
    static const struct {
        bool full_colour, progressive;
        int components;
    } KINDS[] = {{false, false, 3},
                 {true, false, 3},
                 {false, true, 3},
                 {false, false, 1},
                 {false, false, 4}};
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++) {
        struct jpeg_picture picture = COLOURS;
        picture.full_colour = KINDS[i].full_colour;
        picture.progressive = KINDS[i].progressive;
        picture.components = KINDS[i].components;
        /* Larger than any window, so that nothing is scaled while it is decoded. */
        expect_no_difference(&picture, "{op: random_resized_crop, size: 140, scale: [0.05, 1]}");
        expect_no_difference(&picture, "{op: center_crop, size: [40, 30]}");
        expect_no_difference(&picture, "{op: center_crop, size: [100, 30]}");
        expect_no_difference(&picture, "{op: resize, size: [90, 200]}");
    }
}

/* The pictures that the column holds already are never touched, and take no memory. */
static void a_picture_that_grows_beyond_the_room_of_a_batch_fails(void **state)
{
    (void)state;
    enum { LEFT = 3 * 7 * 7 };
    struct alone resize;
    struct column in = {.about = preprocess_column_about("image", COLUMN_PICTURES, WEIR_U8, 3)};
    uint8_t failed[2] = {0};
    preprocess_column_begin(&in);
    memset(preprocess_picture_add(&in, 1, 1), 7, 3);
    memset(preprocess_picture_add(&in, 1, 1), 7, 3);
    plan_alone(&resize, "{op: resize, size: 7}", &in.about);
    weir_buf_reserve(&resize.out.values, PICTURE_COLUMN_BYTES_MAX);
    resize.out.values.size = PICTURE_COLUMN_BYTES_MAX - LEFT;
    struct operator_batch batch = {.rows = 2};
    struct operator_call call = {
        .rows = 2, .in = &in, .out = &resize.out, .failed = failed, .batch = &batch};
    resize.op->apply(resize.state, &call);
    assert_int_equal(call.failures, 1);
    assert_int_equal(failed[0], OPERATOR_ROW_OK);
    assert_int_equal(failed[1], OPERATOR_ROW_FAILED);
    assert_string_equal(call.reason, "more than 1073741824 bytes of pixels in a batch");
    assert_int_equal(resize.out.values.size, PICTURE_COLUMN_BYTES_MAX);
    end_alone(&resize);
    preprocess_column_fini(&in);
}

static void a_picture_that_shrinks_is_decoded_smaller_and_looks_the_same(void **state)
{
    (void)state;
    struct jpeg_picture picture = COLOURS;
    picture.noise = 0;
    WEIR_AUTO_BUF file = {0};
    struct pictures pictures;
    struct operator_batch batch = {0};
    jpeg_picture_write(&picture, &file);
    run(&pictures, "[{op: decode_jpeg}, {op: resize, size: [11, 16]}]", &file, batch);
    batch.rows = IDS;
    double sum = 0;
    struct alone decode, resize;
    struct column in = {.about = preprocess_column_about("payload", COLUMN_BYTES, 0, 0)};
    preprocess_column_begin(&in);
    weir_buf_append(&in.values, file.at, file.size);
    preprocess_column_end_row(&in);
    batch.rows = 1;
    plan_alone(&decode, "{op: decode_jpeg}", &in.about);
    apply_alone(&decode, &in, 0, &batch);
    plan_alone(&resize, "{op: resize, size: [11, 16]}", &decode.out.about);
    apply_alone(&resize, &decode.out, 1, &batch);
    for (size_t i = 0; i < resize.out.values.size; i++)
        sum += abs(resize.out.values.at[i] - row_of(&pictures, 0)[i]);
    assert_true(sum > 0); /* an eighth of the size was decoded indeed */
    assert_true(sum / (double)resize.out.values.size < 3);
    end_alone(&decode);
    end_alone(&resize);
    preprocess_column_fini(&in);
    test_chain_close(&pictures.test);
}

/* ---- chance ---- */

static const char TRAINING[] =
    "[{op: decode_jpeg}, {op: random_resized_crop, size: 48}, {op: flip}]";

static struct weir_buf copy_of(const struct column *column)
{
    struct weir_buf copy = {0};
    weir_buf_append(&copy, column->values.at, column->values.size);
    return copy;
}

static struct weir_buf made_with(const char *operators, struct operator_batch batch)
{
    struct pictures pictures;
    WEIR_AUTO_BUF file = {0};
    jpeg_picture_write(&COLOURS, &file);
    run(&pictures, operators, &file, batch);
    struct weir_buf copy = copy_of(output(&pictures));
    test_chain_close(&pictures.test);
    return copy;
}

static bool same(struct weir_buf a, struct weir_buf b)
{
    bool is_same = weir_bytes_equal(weir_buf_view(&a), weir_buf_view(&b));
    weir_buf_fini(&a);
    weir_buf_fini(&b);
    return is_same;
}

static void chance_is_the_same_for_the_same_seed_sample_and_epoch_only(void **state)
{
    (void)state;
    const struct operator_batch one = {.seed = 1, .epoch = 1, .trains = true};
    struct operator_batch other = one;
    assert_true(same(made_with(TRAINING, one), made_with(TRAINING, one)));
    other.epoch = 2;
    assert_false(same(made_with(TRAINING, one), made_with(TRAINING, other)));
    other = one;
    other.seed = 2;
    assert_false(same(made_with(TRAINING, one), made_with(TRAINING, other)));
}

static void nothing_is_left_to_chance_outside_of_training(void **state)
{
    (void)state;
    const struct operator_batch one = {.seed = 1, .epoch = 1}, other = {.seed = 7, .epoch = 4};
    assert_true(same(made_with(TRAINING, one), made_with(TRAINING, other)));
}

static void a_mirrored_crop_is_the_crop_mirrored(void **state)
{
    (void)state;
    const struct operator_batch batch = {.seed = 5, .trains = true};
    struct weir_buf plain =
        made_with("[{op: decode_jpeg}, {op: random_resized_crop, size: 48}]", batch);
    struct weir_buf mirrored = made_with("[{op: decode_jpeg}, {op: random_resized_crop, size: 48}, "
                                         "{op: flip, horizontal: 1, vertical: 1}]",
                                         batch);
    size_t pixels = SIZE * SIZE;
    for (size_t row = 0; row < IDS; row++) {
        const uint8_t *a = plain.at + row * pixels * 3, *b = mirrored.at + row * pixels * 3;
        for (size_t i = 0; i < pixels; i++)
            assert_memory_equal(a + 3 * i, b + 3 * (pixels - 1 - i), 3);
    }
    weir_buf_fini(&plain);
    weir_buf_fini(&mirrored);
}

static void half_of_the_pictures_are_mirrored(void **state)
{
    (void)state;
    const struct operator_batch batch = {.seed = 11, .trains = true};
    struct weir_buf plain = made_with("[{op: decode_jpeg}, {op: resize, size: [93, 131]}, "
                                      "{op: center_crop, size: [93, 131]}]",
                                      batch);
    struct weir_buf mirrored = made_with("[{op: decode_jpeg}, {op: center_crop, size: [93, 131]}, "
                                         "{op: flip}]",
                                         batch);
    size_t bytes = HEIGHT * WIDTH * 3, changed = 0;
    for (size_t row = 0; row < IDS; row++)
        changed += memcmp(plain.at + row * bytes, mirrored.at + row * bytes, bytes) != 0;
    assert_in_range(changed, IDS / 4, IDS * 3 / 4);
    weir_buf_fini(&plain);
    weir_buf_fini(&mirrored);
}

/* ---- planes and numbers ---- */

static void numbers_in_planes_are_the_pixels_scaled(void **state)
{
    (void)state;
    static const double MEAN[] = {0.485, 0.456, 0.406}, STD[] = {0.229, 0.224, 0.225};
    const struct operator_batch batch = {0};
    struct weir_buf pixels = made_with("[{op: decode_jpeg}, {op: center_crop, size: 48}]", batch);
    static const char *const BOTH[] = {
        "[{op: decode_jpeg}, {op: center_crop, size: 48}, {op: normalize, "
        "mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}, {op: to_chw}]",
        "[{op: decode_jpeg}, {op: center_crop, size: 48}, {op: normalize, "
        "mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}]"};
    for (size_t k = 0; k < 2; k++) {
        struct weir_buf made = made_with(BOTH[k], batch);
        const float *numbers = (const float *)(const void *)made.at;
        for (size_t i = 0; i < SIZE * SIZE * 3; i++) {
            size_t at = k == 0 ? i % 3 * SIZE * SIZE + i / 3 : i;
            double expected = (pixels.at[i] / 255.0 - MEAN[i % 3]) / STD[i % 3];
            assert_true(fabs(numbers[at] - expected) < 1e-5);
        }
        weir_buf_fini(&made);
    }
    weir_buf_fini(&pixels);
}

static void planes_of_bytes_are_the_same_bytes(void **state)
{
    (void)state;
    const struct operator_batch batch = {0};
    struct weir_buf pixels = made_with("[{op: decode_jpeg}, {op: center_crop, size: 48}]", batch);
    struct weir_buf planes =
        made_with("[{op: decode_jpeg}, {op: center_crop, size: 48}, {op: to_chw}]", batch);
    for (size_t i = 0; i < SIZE * SIZE * 3; i++)
        assert_int_equal(planes.at[i % 3 * SIZE * SIZE + i / 3], pixels.at[i]);
    weir_buf_fini(&pixels);
    weir_buf_fini(&planes);
}

/* The column describes its rows as a trainer sees the tensor. */
static void numbers_have_the_shape_of_their_picture_until_some_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *operators;
        uint32_t width, height; /* 0: no shape */
    } CASES[] = {
        {"{op: cast, to: f32}", SIZE * SIZE * 3, SIZE},
        {"{op: cast, to: i32}, {op: hash_mod, buckets: 9}", SIZE * SIZE * 3, SIZE},
        {"{op: bucketize, borders: [9, 99]}", SIZE * SIZE * 3, SIZE},
        {"{op: clamp, max: 9}", SIZE * SIZE * 3, SIZE},
        {"{op: first_x, count: 5}", 5, 0},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct pictures pictures = {0};
        WEIR_AUTO_BUF file = {0};
        WEIR_AUTO_FREE char *operators = weir_format(
            "[{op: decode_jpeg}, {op: center_crop, size: %d}, %s]", SIZE, CASES[i].operators);
        jpeg_picture_write(&COLOURS, &file);
        run(&pictures, operators, &file, (struct operator_batch){0});
        const struct column *column = output(&pictures);
        assert_int_equal(column->about.width, CASES[i].width);
        assert_int_equal(column->about.shape[0], CASES[i].height);
        assert_int_equal(column->values.size,
                         IDS * CASES[i].width * weir_dtype_bytes(column->about.type));
        test_chain_close(&pictures.test);
    }
}

static void pictures_of_any_size_keep_their_pixels_and_shapes(void **state)
{
    (void)state;
    struct test_chain test = {0};
    struct jpeg_picture grey = {
        .height = 7, .width = 20, .seed = 4, .quality = 90, .components = 1};
    WEIR_AUTO_BUF one = {0};
    WEIR_AUTO_BUF other = {0};
    jpeg_picture_write(&COLOURS, &one);
    jpeg_picture_write(&grey, &other);
    const struct weir_bytes rows[] = {weir_buf_view(&one), weir_bytes_of("no picture"),
                                      weir_buf_view(&other)};
    test_chain_open(&test, "[{op: decode_jpeg}, {op: to_ragged}]");
    test_chain_run(&test, rows, 3);
    static const uint8_t FAILED[] = {0, 1, 0};
    static const int32_t SHAPES[] = {HEIGHT, WIDTH, 3, 0, 0, 3, 7, 20, 3};
    assert_memory_equal(test.failed, FAILED, 3);
    assert_memory_equal(test_chain_ints(&test, 1), SHAPES, sizeof(SHAPES));
    const uint32_t *offsets = column_offsets(preprocess_chain_output(test.chain, 0));
    assert_int_equal(offsets[1], HEIGHT * WIDTH * 3);
    assert_int_equal(offsets[2], offsets[1]);
    assert_int_equal(offsets[3], offsets[2] + 7 * 20 * 3);
    test_chain_close(&test);
}

static void pictures_that_are_left_over_are_refused_with_what_to_do(void **state)
{
    (void)state;
    struct weir_error err;
    struct chain *chain = NULL;
    WEIR_AUTO(weir_yaml) document = NULL;
    assert_int_equal(
        weir_yaml_parse("p.yaml", weir_bytes_of("[{op: decode_jpeg}]"), &document, &err), WEIR_OK);
    assert_int_equal(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err),
                     WEIR_INVALID);
    assert_non_null(
        strstr(err.text, "p.yaml:1:1: preprocess.operators: the last one leaves column"));
    assert_non_null(
        strstr(err.text, "resize or a crop gives them one size, to_ragged keeps theirs"));
}

/* ---- pictures of strangers ---- */

static void expect_failure(const struct weir_buf *file, const char *options, const char *reason)
{
    WEIR_AUTO_FREE char *operators =
        weir_format("[{op: decode_jpeg%s}, {op: center_crop, size: 48}]", options);
    struct test_chain test;
    struct weir_bytes row = weir_buf_view(file);
    test_chain_open(&test, operators);
    test_chain_run(&test, &row, 1);
    assert_int_equal(test.failed[0], OPERATOR_ROW_FAILED);
    assert_int_equal(preprocess_chain_cost(test.chain, 0).failed, 1);
    if (strstr(preprocess_chain_cost(test.chain, 0).reason, reason) == NULL)
        fail_msg("found '%s', expected '%s'", preprocess_chain_cost(test.chain, 0).reason, reason);
    assert_int_equal(preprocess_chain_output(test.chain, 0)->values.size, SIZE * SIZE * 3);
    test_chain_close(&test);
}

static void what_is_no_picture_or_only_a_part_of_one_fails(void **state)
{
    (void)state;
    WEIR_AUTO_BUF file = {0};
    WEIR_AUTO_BUF text = {0};
    jpeg_picture_write(&COLOURS, &file);
    weir_buf_append_text(&text, "no picture");
    expect_failure(&text, "", "Not a JPEG file");
    weir_buf_append_text(&text, "\xff\xd9");
    expect_failure(&text, "", "Not a JPEG file");
    expect_failure(&file, ", pixels_max: 12182", "131 x 93 pixels, expected at most 12182");
    file.size -= 2;
    expect_failure(&file, "", "cut off");
    file.size /= 2;
    expect_failure(&file, "", "cut off");
    weir_buf_append(&file, "\xff\xd9", 2); /* cut off, and closed again */
    expect_failure(&file, ", strict: true", "guessed");
    file.size = 0;
    expect_failure(&file, "", "cut off");
}

static void a_picture_of_too_many_scans_fails(void **state)
{
    (void)state;
    struct jpeg_picture picture = COLOURS;
    WEIR_AUTO_BUF file = {0};
    WEIR_AUTO_BUF scans = {0};
    picture.progressive = true;
    jpeg_picture_write(&picture, &file);
    /* The last scan, again and again: from its marker to the end of the picture. */
    const uint8_t *last = NULL;
    for (size_t i = 0; i + 1 < file.size; i++)
        last = file.at[i] == 0xff && file.at[i + 1] == 0xda ? file.at + i : last;
    assert_non_null(last);
    size_t scan = (size_t)(file.at + file.size - 2 - last);
    weir_buf_append(&scans, file.at, file.size - 2);
    for (int i = 0; i < 200; i++)
        weir_buf_append(&scans, last, scan);
    weir_buf_append(&scans, "\xff\xd9", 2);
    expect_failure(&scans, "", "more than 100 scans");
}

static void one_bad_picture_costs_itself_only(void **state)
{
    (void)state;
    WEIR_AUTO_BUF good = {0};
    WEIR_AUTO_BUF bad = {0};
    struct test_chain test;
    jpeg_picture_write(&COLOURS, &good);
    weir_buf_append(&bad, good.at, good.size / 3);
    const struct weir_bytes rows[] = {weir_buf_view(&good), weir_buf_view(&bad),
                                      weir_buf_view(&good)};
    test_chain_open(&test,
                    "[{op: decode_jpeg}, {op: resize, size: 48}, {op: center_crop, size: 48}, "
                    "{op: normalize}, {op: to_chw}]");
    test_chain_run(&test, rows, 3);
    static const uint8_t FAILED[] = {0, 1, 0};
    assert_memory_equal(test.failed, FAILED, 3);
    const float *numbers = test_chain_floats(&test, 0);
    size_t width = SIZE * SIZE * 3;
    assert_memory_equal(numbers, numbers + 2 * width, width * sizeof(float));
    /* The files, and then each picture as the one before left it; normalize does the work of to_chw. */
    assert_int_equal(preprocess_chain_cost(test.chain, 0).taken,
                     2 * good.size + bad.size + 4 * sizeof(uint32_t));
    assert_in_range(preprocess_chain_cost(test.chain, 1).taken,
                    preprocess_chain_cost(test.chain, 0).bytes,
                    preprocess_chain_cost(test.chain, 0).bytes + 3 * sizeof(uint32_t));
    assert_int_equal(preprocess_chain_cost(test.chain, 3).taken, 3 * width);
    assert_int_equal(preprocess_chain_cost(test.chain, 4).taken, 0);
    test_chain_close(&test);
}

static void run_file(struct test_chain *test, const char *name, const char *operators)
{
    struct weir_error err;
    WEIR_AUTO_BUF file = {0};
    WEIR_AUTO_FREE char *path = weir_format("%s/tests/fuzz/corpus/%s", WEIR_SOURCE_DIR, name);
    assert_int_equal(weir_file_read(path, 1 << 20, &file, &err), WEIR_OK);
    struct weir_bytes row = weir_buf_view(&file);
    test_chain_open(test, operators);
    test_chain_run(test, &row, 1);
}

/* Without Pillow at hand, what it made once. */
static void a_picture_is_what_pillow_made_of_it(void **state)
{
    (void)state;
    static const uint8_t EXPECTED[] = {
        75,  137, 184, 133, 186, 128, 183, 123, 74, 113, 70, 119, 122, 178, 145, 176, 159, 67,
        143, 75,  107, 66,  105, 164, 163, 189, 70, 176, 79, 86,  76,  91,  150, 88,  150, 205,
    };
    struct test_chain test;
    /* A crop of the whole in between: what is resized at once would be decoded smaller. */
    run_file(&test, "jpeg/colour",
             "[{op: decode_jpeg}, {op: center_crop, size: [29, 37]}, {op: resize, size: [3, 4]}]");
    assert_int_equal(test.failed[0], OPERATOR_ROW_OK);
    assert_true(furthest(preprocess_chain_output(test.chain, 0)->values.at, EXPECTED,
                         sizeof(EXPECTED)) <= 1);
    test_chain_close(&test);
}

static void a_png_that_is_cut_off_or_too_large_fails(void **state)
{
    (void)state;
    static const struct {
        const char *name, *reason;
    } CASES[] = {{"png/cut_off", "the file is cut off"},
                 {"png/giant", "pixels, expected at most 67108864 in all"},
                 {"jpeg/colour", "Not a PNG file"}};
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct test_chain test;
        run_file(&test, CASES[i].name, "[{op: decode_png}, {op: center_crop, size: 4}]");
        assert_int_equal(test.failed[0], OPERATOR_ROW_FAILED);
        if (strstr(preprocess_chain_cost(test.chain, 0).reason, CASES[i].reason) == NULL)
            fail_msg("%s: found '%s'", CASES[i].name, preprocess_chain_cost(test.chain, 0).reason);
        test_chain_close(&test);
    }
}

/* ---- planning ---- */

static void what_does_not_fit_together_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *operators, *complaint;
    } CASES[] = {
        {"[{op: decode_jpeg}]", "the last one leaves column 'picture' of pictures"},
        {"[{op: decode_jpeg}, {op: normalize}]", "expected one size"},
        {"[{op: resize, size: 3}]", "expected a pictures column"},
        {"[{op: decode_jpeg}, {op: resize, size: [1, 2, 3]}]", "expected one number or 2"},
        {"[{op: decode_jpeg}, {op: center_crop, size: 2000}]", "expected at most 1048576"},
        {"[{op: decode_jpeg}, {op: random_resized_crop, size: 8, scale: [1, 0.5]}]",
         "expected the least first"},
        {"[{op: decode_jpeg}, {op: random_resized_crop, size: 8}, {op: normalize, std: 0}]",
         "std:"},
        {"[{op: decode_jpeg}, {op: to_chw}]", "expected a column of pictures"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        struct weir_yaml *document = NULL;
        struct chain *chain = NULL;
        assert_int_equal(
            weir_yaml_parse("p.yaml", weir_bytes_of(CASES[i].operators), &document, &err), WEIR_OK);
        assert_int_equal(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err),
                         WEIR_INVALID);
        if (strstr(err.text, CASES[i].complaint) == NULL || strstr(err.text, "p.yaml:1:") == NULL)
            fail_msg("%s: found '%s', expected '%s'", CASES[i].operators, err.text,
                     CASES[i].complaint);
        weir_yaml_free(document);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_crop_reads_is_the_same_whether_all_is_decoded_or_only_that),
        cmocka_unit_test(a_picture_that_grows_beyond_the_room_of_a_batch_fails),
        cmocka_unit_test(a_picture_that_shrinks_is_decoded_smaller_and_looks_the_same),
        cmocka_unit_test(chance_is_the_same_for_the_same_seed_sample_and_epoch_only),
        cmocka_unit_test(nothing_is_left_to_chance_outside_of_training),
        cmocka_unit_test(a_mirrored_crop_is_the_crop_mirrored),
        cmocka_unit_test(half_of_the_pictures_are_mirrored),
        cmocka_unit_test(numbers_in_planes_are_the_pixels_scaled),
        cmocka_unit_test(planes_of_bytes_are_the_same_bytes),
        cmocka_unit_test(numbers_have_the_shape_of_their_picture_until_some_are_left_out),
        cmocka_unit_test(pictures_of_any_size_keep_their_pixels_and_shapes),
        cmocka_unit_test(pictures_that_are_left_over_are_refused_with_what_to_do),
        cmocka_unit_test(what_is_no_picture_or_only_a_part_of_one_fails),
        cmocka_unit_test(a_picture_of_too_many_scans_fails),
        cmocka_unit_test(one_bad_picture_costs_itself_only),
        cmocka_unit_test(a_picture_is_what_pillow_made_of_it),
        cmocka_unit_test(a_png_that_is_cut_off_or_too_large_fails),
        cmocka_unit_test(what_does_not_fit_together_is_refused_with_its_place),
    };
    return cmocka_run_group_tests_name("picture_operators", tests, NULL, NULL);
}
