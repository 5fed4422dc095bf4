/* Models as safetensors, and how far two of them are apart. What is written is read again by the
 * published layout of the format: u64 size, JSON, tensors end to end. */
#include "core/base/file.h"
#include "core/wire/model_file.h"
#include "orchestrator/models/difference.h"
#include "orchestrator/models/export.h"
#include "tests/support/temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 1 << 20 };

static struct temp_dir dir;

static int make_dir(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_dir_remove(&dir);
    return 0;
}

static void make_model(const struct weir_model_file *file, struct weir_buf *out)
{
    struct weir_error err;
    assert_int_equal(weir_model_file_write(temp_path(&dir, "model"), file, &err), WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(&dir, "model"), BYTES_MAX, out, &err), WEIR_OK);
}

/* ---- safetensors ---- */

/* The bytes of a tensor, whose shape and type are as expected. */
static const uint8_t *tensor(const json_t *header, const char *name, const char *type,
                             const struct weir_buf *file, size_t data)
{
    const json_t *one = json_object_get(header, name);
    const json_t *offsets = json_object_get(one, "data_offsets");
    assert_string_equal(json_string_value(json_object_get(one, "dtype")), type);
    size_t end = (size_t)json_integer_value(json_array_get(offsets, 1));
    assert_true(data + end <= file->size);
    return file->at + data + json_integer_value(json_array_get(offsets, 0));
}

static void the_tensors_of_a_model_are_found_by_their_header(void **unused)
{
    (void)unused;
    static const float PARAMETERS[] = {1, 2, 3, 4, 5, 6};
    static const float STATE[] = {6, 5, 4, 3, 2, 1, 1, 1, 2, 2, 3, 3};
    static const char *const CLASSES[] = {"ham", "s\"pam"};
    const struct weir_model_file file = {.model = "linear",
                                         .options = "",
                                         .loss = "logistic",
                                         .optimizer = "adagrad",
                                         .rows = 3,
                                         .width = 2,
                                         .classes = {CLASSES, 2},
                                         .fitted = weir_bytes("fit", 3),
                                         .parameters = PARAMETERS,
                                         .optimizer_state = STATE,
                                         .state_blocks = 2};
    struct weir_error err;
    WEIR_AUTO_BUF model = {0};
    WEIR_AUTO_BUF out = {0};
    json_t *facts = json_pack("{ss}", "model", "m-1");
    make_model(&file, &model);
    assert_int_equal(orchestrator_model_export_safetensors(
                         temp_path(&dir, "out"), weir_buf_view(&model), NULL, facts, &err),
                     WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(&dir, "out"), BYTES_MAX, &out, &err), WEIR_OK);
    size_t size = (size_t)weir_get_u64(out.at);
    assert_int_equal(size % 8, 0);
    json_t *header = json_loadb((const char *)out.at + 8, size, 0, NULL);
    assert_non_null(header);
    assert_memory_equal(tensor(header, "parameters", "F32", &out, 8 + size), PARAMETERS,
                        sizeof(PARAMETERS));
    assert_memory_equal(tensor(header, "optimizer_state", "F32", &out, 8 + size), STATE,
                        sizeof(STATE));
    assert_memory_equal(tensor(header, "fitted_state", "U8", &out, 8 + size), "fit", 3);
    assert_int_equal(out.size, 8 + size + sizeof(PARAMETERS) + sizeof(STATE) + 3);
    const json_t *metadata = json_object_get(header, "__metadata__");
    assert_string_equal(json_string_value(json_object_get(metadata, "model")), "m-1");
    assert_string_equal(json_string_value(json_object_get(metadata, "kind")), "linear");
    assert_string_equal(json_string_value(json_object_get(metadata, "classes")),
                        "[\"ham\",\"s\\\"pam\"]");
    json_decref(header);
    json_decref(facts);
}

static void bytes_of_another_format_are_refused(void **unused)
{
    (void)unused;
    struct weir_error err;
    struct tensor_difference found[MODEL_DIFFERENCES];
    size_t count = 0;
    static const char OTHER[256] = "PK";
    struct weir_bytes other = weir_bytes(OTHER, sizeof(OTHER));
    assert_int_equal(
        orchestrator_model_export_safetensors(temp_path(&dir, "none"), other, NULL, NULL, &err),
        WEIR_CORRUPT);
    assert_int_equal(orchestrator_model_difference(other, other, found, &count, &err),
                     WEIR_CORRUPT);
}

/* ---- the difference ---- */

/* Compares two models of so many tensors in both. */
static void compare(const struct weir_buf *before, const struct weir_model_file *file,
                    size_t expected, struct tensor_difference found[MODEL_DIFFERENCES])
{
    struct weir_error err;
    size_t count = 0;
    WEIR_AUTO_BUF after = {0};
    make_model(file, &after);
    assert_int_equal(orchestrator_model_difference(weir_buf_view(before), weir_buf_view(&after),
                                                   found, &count, &err),
                     WEIR_OK);
    assert_int_equal(count, expected);
}

static void models_of_different_shapes_are_compared_where_they_overlap(void **unused)
{
    (void)unused;
    static const float BEFORE[] = {1, 2, /**/ 3, 4}, STATE[] = {0, 0, 0, 0};
    static const float AFTER[] = {1, 5, 9, /**/ 3, NAN, 9, /**/ 9, 9, 9};
    struct weir_model_file file = {.model = "linear",
                                   .options = "",
                                   .loss = "softmax",
                                   .optimizer = "sgd",
                                   .rows = 2,
                                   .width = 2,
                                   .parameters = BEFORE,
                                   .optimizer_state = STATE,
                                   .state_blocks = 1};
    struct tensor_difference found[MODEL_DIFFERENCES];
    WEIR_AUTO_BUF before = {0};
    make_model(&file, &before);
    file.rows = file.width = 3;
    file.parameters = AFTER;
    file.optimizer_state = NULL;
    file.state_blocks = 0;
    compare(&before, &file, 2, found);
    assert_int_equal(found[0].rows[0] * 10 + found[0].rows[1], 23);
    assert_int_equal(found[0].compared, 4);
    assert_int_equal(found[0].changed, 2);
    assert_int_equal(found[0].not_finite, 1);
    assert_float_equal(found[0].max_abs, 3, 0);
    assert_float_equal(found[0].rms, sqrt(9.0 / 3), 1e-12);
    assert_int_equal(found[1].compared, 0);
    assert_int_equal(found[1].rows[1], 0);
}

static void several_blocks_are_exported_and_compared_by_name(void **unused)
{
    (void)unused;
    static const float BEFORE[] = {1, 2, 3, /**/ 4, 5}, AFTER[] = {1, 2, 3, /**/ 4, 6};
    static const float STATE[] = {9, 9, 9, /**/ 8, 8};
    struct weir_model_file file = {.model = "fm",
                                   .options = "",
                                   .loss = "logistic",
                                   .optimizer = "adagrad",
                                   .width = 1,
                                   .blocks = {{"linear", 3, 1}, {"factors", 1, 2}},
                                   .block_count = 2,
                                   .parameters = BEFORE,
                                   .optimizer_state = STATE,
                                   .state_blocks = 1};
    struct tensor_difference found[MODEL_DIFFERENCES];
    struct weir_error err;
    WEIR_AUTO_BUF before = {0};
    WEIR_AUTO_BUF out = {0};
    make_model(&file, &before);
    file.parameters = AFTER;
    file.optimizer_state = NULL;
    file.state_blocks = 0;
    compare(&before, &file, 4, found);
    assert_string_equal(found[0].name, "linear");
    assert_string_equal(found[1].name, "factors");
    assert_string_equal(found[3].name, "optimizer_state.factors");
    assert_true(found[0].changed == 0 && found[1].changed == 1 && found[1].compared == 2);
    assert_int_equal(found[3].rows[1], 0);
    assert_int_equal(orchestrator_model_export_safetensors(
                         temp_path(&dir, "blocks"), weir_buf_view(&before), NULL, NULL, &err),
                     WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(&dir, "blocks"), 1 << 20, &out, &err), WEIR_OK);
    size_t size = (size_t)weir_get_u64(out.at);
    json_t *header = json_loadb((const char *)out.at + 8, size, 0, NULL);
    assert_memory_equal(tensor(header, "factors", "F32", &out, 8 + size), BEFORE + 3, 8);
    assert_memory_equal(tensor(header, "optimizer_state.linear", "F32", &out, 8 + size), STATE, 12);
    json_decref(header);
}

static void each_block_of_the_optimizer_s_state_is_compared_with_its_like(void **unused)
{
    (void)unused;
    static const float BEFORE[] = {1, 2, /**/ 3, 4}, AFTER[] = {1, 2, 9, /**/ 3, 5, 9};
    struct weir_model_file file = {.model = "linear",
                                   .options = "",
                                   .loss = "logistic",
                                   .optimizer = "adam",
                                   .rows = 2,
                                   .width = 1,
                                   .parameters = BEFORE,
                                   .optimizer_state = BEFORE,
                                   .state_blocks = 2};
    struct tensor_difference found[MODEL_DIFFERENCES];
    WEIR_AUTO_BUF before = {0};
    make_model(&file, &before);
    file.rows = 3;
    file.parameters = file.optimizer_state = AFTER;
    compare(&before, &file, 3, found);
    assert_string_equal(found[1].name, "optimizer_state");
    assert_true(found[1].compared == 2 && found[1].changed == 0);
    assert_string_equal(found[2].name, "optimizer_state.2");
    assert_int_equal(found[2].rows[0] * 10 + found[2].rows[1], 23);
    assert_true(found[2].compared == 2 && found[2].changed == 1);
    assert_float_equal(found[2].max_abs, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tensors_of_a_model_are_found_by_their_header),
        cmocka_unit_test(bytes_of_another_format_are_refused),
        cmocka_unit_test(several_blocks_are_exported_and_compared_by_name),
        cmocka_unit_test(models_of_different_shapes_are_compared_where_they_overlap),
        cmocka_unit_test(each_block_of_the_optimizer_s_state_is_compared_with_its_like),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
