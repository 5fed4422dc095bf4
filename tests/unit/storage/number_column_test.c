/* A column of numbers is what its numbers are one by one. */
#include "core/base/rng.h"
#include "storage/formats/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 500, STRIDE = 13, PLACE = 5 };

struct column {
    uint8_t bytes[COUNT * STRIDE];
    struct format_field field;
    struct format_records records;
};

static void draw(struct column *column, enum format_type type)
{
    struct weir_rng rng;

    weir_rng_init(&rng, 1 + (uint64_t)type);
    for (size_t i = 0; i < sizeof(column->bytes);
         i++) /* without the exponents of what is no number */
        column->bytes[i] = (uint8_t)(weir_rng_next(&rng) & (type >= FORMAT_F32 ? 0x3f : 0xff));
    column->field = (struct format_field){.from = FORMAT_AT, .offset = PLACE, .type = type};
    column->records =
        (struct format_records){.length = STRIDE, .count = COUNT, .at = column->bytes};
}

static struct format_value one(const struct column *column, size_t i)
{
    return storage_format_numbers(&column->field, FORMAT_LITTLE, column->bytes + i * STRIDE + PLACE,
                                  NULL);
}

static int64_t bits_of(struct format_value value)
{
    double real = value.kind == FORMAT_REAL  ? value.f64
                  : value.kind == FORMAT_INT ? (double)value.i64
                                             : (double)value.u64;
    int64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static void columns_of_every_type_are_their_numbers(void **state)
{
    static struct column column;
    int64_t values[COUNT];

    (void)state;
    for (enum format_type type = FORMAT_I8; type < FORMAT_TYPES; type++) {
        draw(&column, type);
        assert_int_equal(storage_format_column_integers(&column.field, &column.records, values),
                         type < FORMAT_U64);
        for (size_t i = 0; type < FORMAT_U64 && i < COUNT; i++)
            assert_int_equal(values[i], one(&column, i).i64);
        assert_int_equal(storage_format_column_reals(&column.field, &column.records, values),
                         type != FORMAT_U64);
        for (size_t i = 0; type != FORMAT_U64 && i < COUNT; i++)
            assert_int_equal(values[i], bits_of(one(&column, i)));
    }
}

static void what_is_no_number_and_what_is_a_list_go_one_by_one(void **state)
{
    static struct column column;
    const float infinite = 1.0f / 0.0f;
    int64_t values[COUNT];

    (void)state;
    draw(&column, FORMAT_F32);
    memcpy(column.bytes + 7 * STRIDE + PLACE, &infinite, sizeof(infinite));
    assert_false(storage_format_column_reals(&column.field, &column.records, values));
    draw(&column, FORMAT_I16);
    column.field.count = 3;
    assert_false(storage_format_column_integers(&column.field, &column.records, values));
    draw(&column, FORMAT_I16);
    column.records.order = FORMAT_BIG;
    assert_false(storage_format_column_integers(&column.field, &column.records, values));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_every_type_are_their_numbers),
        cmocka_unit_test(what_is_no_number_and_what_is_a_list_go_one_by_one),
    };
    return cmocka_run_group_tests_name("storage: columns of numbers", tests, NULL, NULL);
}
