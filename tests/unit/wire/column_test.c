/* Packed columns: every shape comes back, in as few bytes as it needs. */
#include "core/wire/column.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
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

        weir_column_pack(CASES[i].values, COUNT, &packed);
        assert_int_equal(packed.size, WEIR_COLUMN_HEADER_BYTES + COUNT * CASES[i].bytes);
        assert_int_equal(weir_column_unpack(weir_buf_view(&packed), back, COUNT, &err), WEIR_OK);
        assert_memory_equal(back, CASES[i].values, sizeof(back));
    }
}

static void a_column_of_another_length_is_corrupt(void **state)
{
    static const int64_t VALUES[COUNT] = {1, 9, 2, 5};
    WEIR_AUTO_BUF packed = {0};
    int64_t back[COUNT + 1];
    struct weir_error err;

    (void)state;
    weir_column_pack(VALUES, COUNT, &packed);
    assert_int_equal(weir_column_unpack(weir_buf_view(&packed), back, COUNT + 1, &err),
                     WEIR_CORRUPT);
    assert_int_equal(weir_column_unpack(weir_bytes(packed.at, 5), back, COUNT, &err), WEIR_CORRUPT);
    packed.at[0] = 3; /* no such width */
    assert_int_equal(weir_column_unpack(weir_buf_view(&packed), back, COUNT, &err), WEIR_CORRUPT);
}

static void a_value_is_read_where_it_lies(void **state)
{
    static const int64_t CASES[][COUNT] = {
        {7, 7, 7, 7},          {-3, -2, -1, 0},
        {0, 3, 6, 9},          {1000, 1256, 1001, 1000},
        {-40000, 40000, 0, 1}, {INT64_MIN, INT64_MAX, 0, -1},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF packed = {0};
        struct weir_column_view view;
        int64_t middle[2];
        struct weir_error err;

        weir_column_pack(CASES[i], COUNT, &packed);
        weir_buf_reserve(&packed, WEIR_COLUMN_PADDING);
        memset(packed.at + packed.size, 0xff, WEIR_COLUMN_PADDING); /* belongs to no value */
        assert_int_equal(weir_column_view(weir_buf_view(&packed), COUNT, &view, &err), WEIR_OK);
        for (size_t row = 0; row < COUNT; row++)
            assert_int_equal(weir_column_at(&view, row), CASES[i][row]);
        weir_column_range(&view, 1, 2, middle);
        assert_memory_equal(middle, &CASES[i][1], sizeof(middle));
    }
}

static void long_columns_come_back_from_memory_without_padding(void **state)
{
    enum { MANY = 1000 };
    static const int64_t SPREADS[] = {1, 200, 60000, 1 << 20, INT64_C(1) << 40};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(SPREADS); i++) {
        WEIR_AUTO_BUF packed = {0};
        int64_t values[MANY], back[MANY];
        struct weir_error err;
        uint8_t *exact;

        for (int64_t row = 0; row < MANY; row++)
            values[row] = row * row * 7919 % SPREADS[i] - 5;
        weir_column_pack(values, MANY, &packed);
        exact = malloc(packed.size); /* what lies after belongs to nobody */
        assert_non_null(exact);
        memcpy(exact, packed.at, packed.size);
        assert_int_equal(weir_column_unpack(weir_bytes(exact, packed.size), back, MANY, &err),
                         WEIR_OK);
        free(exact);
        assert_memory_equal(back, values, sizeof(values));
    }
}

/* A column that is packed once is read for ever. */
static void frames_are_laid_out_as_documented(void **state)
{
    static const uint8_t SECONDS[] = {254,  0x40, 0x42, 0x0f, 0,    0,    0,   0,
                                      0,                                          /* base 1000000 */
                                      0,    0,    0,    0,    0,    0,    0,   0, /* no slope */
                                      0x40, 0x42, 0x0f, 0,    0,    0,    0,   0, /* unit 1000000 */
                                      4,    0x40, 0x21, 0x30, 0x14, 0xcb, 0xda};
    static const int64_t VALUES[] = {1, 5, 2, 3, 1, 4, 5, 2, 12, 13, 11, 14};
    enum { MANY = 12 };
    int64_t values[MANY];
    WEIR_AUTO_BUF packed = {0};

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        values[i] = VALUES[i] * 1000000;
    weir_column_pack(values, MANY, &packed);
    assert_int_equal(packed.size, sizeof(SECONDS));
    assert_memory_equal(packed.at, SECONDS, sizeof(SECONDS));
}

/* A shape of data, and the bytes a value of it may take. */
struct shape {
    int64_t unit, slope;
    uint64_t noise;
    double bytes_max;
};

static void data_with_a_pattern_takes_few_bytes(void **state)
{
    enum { MANY = 65536 };
    static const struct shape SHAPES[] = {
        {1, 0, 2, 0.13},          /* a click or none */
        {1, 0, 10, 0.51},         /* ten classes */
        {1000000, 0, 86400, 3.1}, /* seconds of a day, in any order */
        {1000000, 3, 200, 1.01},  /* seconds, one after the other */
        {1, 57, 8000, 2.01},      /* where lines of about 57 bytes begin */
        {160, 1, 1, 0.01},        /* where records begin */
        {1, -7, 100, 1.01},       /* newest first */
        {1, 0, UINT64_C(1) << 40, 6.01},
    };
    static int64_t values[MANY], back[MANY];
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 1);
    for (size_t i = 0; i < WEIR_COUNT(SHAPES); i++) {
        const struct shape *shape = &SHAPES[i];
        WEIR_AUTO_BUF packed = {0};
        struct weir_error err;

        for (int64_t row = 0; row < MANY; row++)
            values[row] = shape->unit * (1030000000 + row * shape->slope +
                                         (int64_t)weir_rng_below(&rng, shape->noise));
        weir_column_pack(values, MANY, &packed);
        assert_true((double)packed.size <= MANY * shape->bytes_max);
        assert_int_equal(weir_column_unpack(weir_buf_view(&packed), back, MANY, &err), WEIR_OK);
        assert_memory_equal(back, values, sizeof(values));
    }
}

static void any_values_come_back(void **state)
{
    enum { MANY = 200, ROUNDS = 3000 };
    int64_t values[MANY], back[MANY];
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 4711);
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = weir_rng_below(&rng, MANY + 1);
        unsigned shift = (unsigned)weir_rng_below(&rng, 64);
        uint64_t unit = 1 + weir_rng_below(&rng, 3) * weir_rng_below(&rng, 1000000);
        uint64_t slope = weir_rng_next(&rng) >> weir_rng_below(&rng, 64);
        WEIR_AUTO_BUF packed = {0};
        struct weir_error err;

        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)(unit * ((weir_rng_next(&rng) >> shift) + i * slope) - slope);
        weir_column_pack(values, count, &packed);
        assert_true(packed.size <= WEIR_COLUMN_HEADER_BYTES + 8 * count);
        assert_int_equal(weir_column_unpack(weir_buf_view(&packed), back, count, &err), WEIR_OK);
        assert_memory_equal(back, values, count * sizeof(*values));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_takes_as_few_bytes_as_it_needs),
        cmocka_unit_test(a_value_is_read_where_it_lies),
        cmocka_unit_test(long_columns_come_back_from_memory_without_padding),
        cmocka_unit_test(frames_are_laid_out_as_documented),
        cmocka_unit_test(data_with_a_pattern_takes_few_bytes),
        cmocka_unit_test(any_values_come_back),
        cmocka_unit_test(a_column_of_another_length_is_corrupt),
    };
    return cmocka_run_group_tests_name("storage: columns", tests, NULL, NULL);
}
