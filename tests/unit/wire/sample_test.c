/* Sample ids, and the numbers of states and element types that travel on the wire. */
#include "core/base/attributes.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_id_is_dataset_block_and_row_in_that_order(void **state)
{
    (void)state;
    assert_true(weir_sample_id(1, 2, 3) == 0x0000100000020003);
    assert_true(weir_sample_id(0xfffff, 0xfffffff, 0xffff) == UINT64_MAX);
    assert_true(weir_sample_id(0, 0, 0xffff) < weir_sample_id(0, 1, 0));
    assert_true(weir_sample_id(0, 0xfffffff, 0xffff) < weir_sample_id(1, 0, 0));
}

static void the_parts_of_an_id_come_back(void **state)
{
    (void)state;
    static const uint32_t PARTS[][3] = {
        {0, 0, 0}, {1, 2, 3}, {0xfffff, 0, 0}, {0, 0xfffffff, 0}, {0, 0, 0xffff}};
    for (size_t i = 0; i < WEIR_COUNT(PARTS); i++) {
        uint64_t id = weir_sample_id(PARTS[i][0], PARTS[i][1], PARTS[i][2]);
        assert_int_equal(weir_sample_dataset(id), PARTS[i][0]);
        assert_int_equal(weir_sample_block(id), PARTS[i][1]);
        assert_int_equal(weir_sample_row(id), PARTS[i][2]);
    }
}

static void states_keep_their_wire_numbers(void **state)
{
    (void)state;
    assert_int_equal(WEIR_SAMPLE_LIVE, 0);
    assert_int_equal(WEIR_SAMPLE_ERASED, 1);
    assert_int_equal(WEIR_SAMPLE_GONE, 2);
    assert_int_equal(WEIR_SAMPLE_FILTERED, 3);
    assert_int_equal(WEIR_SAMPLE_FAILED, 4);
    assert_int_equal(WEIR_SAMPLE_STATES, 5);
}

static void element_types_have_sizes_and_names(void **state)
{
    (void)state;
    static const struct {
        enum weir_dtype type;
        int number;
        size_t bytes;
        const char *name;
    } CASES[] = {
        {WEIR_U8, 1, 1, "u8"},   {WEIR_I32, 2, 4, "i32"}, {WEIR_I64, 3, 8, "i64"},
        {WEIR_F32, 4, 4, "f32"}, {WEIR_F64, 5, 8, "f64"}, {WEIR_U32, 6, 4, "u32"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        assert_int_equal(CASES[i].type, CASES[i].number);
        assert_int_equal(weir_dtype_bytes(CASES[i].type), CASES[i].bytes);
        assert_string_equal(weir_dtype_name(CASES[i].type), CASES[i].name);
    }
}

static void an_unknown_element_type_has_no_size(void **state)
{
    (void)state;
    assert_int_equal(weir_dtype_bytes((enum weir_dtype)0), 0);
    assert_int_equal(weir_dtype_bytes((enum weir_dtype)4711), 0);
    assert_string_equal(weir_dtype_name((enum weir_dtype)4711), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_dataset_block_and_row_in_that_order),
        cmocka_unit_test(the_parts_of_an_id_come_back),
        cmocka_unit_test(states_keep_their_wire_numbers),
        cmocka_unit_test(element_types_have_sizes_and_names),
        cmocka_unit_test(an_unknown_element_type_has_no_size),
    };
    return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
