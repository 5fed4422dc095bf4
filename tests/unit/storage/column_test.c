/* Packed columns: every shape comes back, in as few bytes as it needs. */
#include "storage/column.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4 };

static void each_shape_takes_as_few_bytes_as_it_needs(void **state)
{
    static const struct {
        int64_t values[COUNT];
        size_t bytes; /* per value */
    } CASES[] = {
        {{7, 7, 7, 7}, 0},
        {{-3, -2, -1, 0}, 1},
        {{-300000, -200000, -100000, 0}, 2}, /* steps: 8 bytes, not 16 */
        {{0, INT64_C(1) << 40, INT64_C(2) << 40, INT64_C(3) << 40}, 2},
        {{0, INT64_MIN, 0, INT64_MIN}, 8},
        {{INT64_MAX - 1, INT64_MAX, INT64_MIN, INT64_MIN + 1}, 8},
        {{1000, 1255, 1001, 1000}, 1},
        {{1000, 1256, 1001, 1000}, 2},
        {{-40000, 20000, 0, 1}, 2},
        {{-40000, 40000, 0, 1}, 4},
        {{0, INT64_C(1) << 40, 0, 1}, 8},
        {{INT64_MIN, INT64_MAX, 0, -1}, 8},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF packed = {0};
        int64_t back[COUNT];
        struct weir_error err;

        storage_column_pack(CASES[i].values, COUNT, &packed);
        assert_int_equal(packed.size, COLUMN_HEADER_BYTES + COUNT * CASES[i].bytes);
        assert_int_equal(storage_column_unpack(weir_buf_view(&packed), back, COUNT, &err), WEIR_OK);
        assert_memory_equal(back, CASES[i].values, sizeof back);
    }
}

static void a_column_of_another_length_is_corrupt(void **state)
{
    static const int64_t VALUES[COUNT] = {1, 9, 2, 5};
    WEIR_AUTO_BUF packed = {0};
    int64_t back[COUNT + 1];
    struct weir_error err;

    (void)state;
    storage_column_pack(VALUES, COUNT, &packed);
    assert_int_equal(storage_column_unpack(weir_buf_view(&packed), back, COUNT + 1, &err),
                     WEIR_CORRUPT);
    assert_int_equal(storage_column_unpack(weir_bytes(packed.at, 5), back, COUNT, &err),
                     WEIR_CORRUPT);
    packed.at[0] = 3; /* no such width */
    assert_int_equal(storage_column_unpack(weir_buf_view(&packed), back, COUNT, &err),
                     WEIR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_takes_as_few_bytes_as_it_needs),
        cmocka_unit_test(a_column_of_another_length_is_corrupt),
    };
    return cmocka_run_group_tests_name("storage: columns", tests, NULL, NULL);
}
