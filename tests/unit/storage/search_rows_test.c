/* Rows by the places of their bytes: one look-up, however many rows the file has. */
#include "core/base/memory.h"
#include "storage/erasure/search_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 65536, ROW_BYTES = 100, PASSAGE = 32, FILE_NUMBER = 7, COMPARED_MAX = 18 };

/* A chunk of columns that are filled before it is closed. */
struct made {
    int64_t files[ROWS], offsets[ROWS], lengths[ROWS];
    struct weir_buf packed[3];
    struct chunk chunk;
};

static struct weir_column_view pack(const int64_t *values, struct weir_buf *packed)
{
    struct weir_column_view view;
    struct weir_error err;

    weir_column_pack(values, ROWS, packed);
    weir_buf_reserve(packed, WEIR_COLUMN_PADDING);
    assert_int_equal(weir_column_view(weir_buf_view(packed), ROWS, &view, &err), WEIR_OK);
    return view;
}

static void close_chunk(struct made *made)
{
    made->chunk = (struct chunk){.count = ROWS,
                                 .files = pack(made->files, &made->packed[0]),
                                 .offsets = pack(made->offsets, &made->packed[1]),
                                 .lengths = pack(made->lengths, &made->packed[2])};
}

/* Rows of the file from `first` on, up to `end`, lie end to end; others are of the file before it. */
static struct made *make(uint32_t first, uint32_t end)
{
    struct made *made = weir_calloc(1, sizeof(*made));

    for (uint32_t i = 0; i < ROWS; i++) {
        made->files[i] = i < first || i >= end ? FILE_NUMBER - 1 : FILE_NUMBER;
        made->offsets[i] = (int64_t)(i - (i < first ? 0 : first)) * ROW_BYTES;
        made->lengths[i] = ROW_BYTES;
    }
    return made;
}

static void drop(struct made *made)
{
    for (size_t i = 0; i < WEIR_COUNT(made->packed); i++)
        weir_buf_fini(&made->packed[i]);
    free(made);
}

static struct search_rows_place at(uint64_t offset)
{
    return (struct search_rows_place){.file = FILE_NUMBER, .offset = offset, .length = PASSAGE};
}

static void a_match_in_many_rows_is_judged_by_a_few_of_them(void **state)
{
    struct made *made = make(1000, ROWS - 1000);
    struct search_rows rows = {0};
    struct search_part part;

    (void)state;
    close_chunk(made);
    storage_search_part_look(&rows, &part, &made->chunk, FILE_NUMBER);
    assert_true(part.is_sorted);
    assert_int_equal(rows.compared, ROWS);
    for (uint32_t i = 0; i < ROWS - 2000; i++) {
        const struct search_rows_place inside = at((uint64_t)i * ROW_BYTES + 1);

        assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &inside, 0),
                         1000 + i);
    }
    assert_in_range(rows.compared, 0, ROWS + ROWS * COMPARED_MAX);
    drop(made);
}

static void what_lies_between_rows_or_beyond_them_is_in_none(void **state)
{
    struct made *made = make(1000, ROWS - 1000);
    const struct search_rows_place across = at(ROW_BYTES - 1), beyond = at(ROWS * ROW_BYTES);
    struct search_rows rows = {0};
    struct search_part part;

    (void)state;
    close_chunk(made);
    storage_search_part_look(&rows, &part, &made->chunk, FILE_NUMBER);
    assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &across, 0), UINT32_MAX);
    assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &beyond, 0), UINT32_MAX);
    storage_search_part_look(&rows, &part, &made->chunk, FILE_NUMBER + 1);
    assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &across, 0), UINT32_MAX);
    drop(made);
}

/* As labels that come late leave them: the same bytes under a newer id, in the order of keys. */
static void rows_in_any_order_are_found_one_after_the_other(void **state)
{
    struct made *made = make(1000, 1010);
    const struct search_rows_place third = at(2 * ROW_BYTES + 5);
    struct search_rows rows = {0};
    struct search_part part;

    (void)state;
    made->files[2000] = made->files[1900] = FILE_NUMBER;
    made->offsets[2000] = 2 * ROW_BYTES;
    made->offsets[1900] = 9 * ROW_BYTES;
    close_chunk(made);
    storage_search_part_look(&rows, &part, &made->chunk, FILE_NUMBER);
    assert_false(part.is_sorted);
    assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &third, 0), 1002);
    assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &third, 1003), 2000);
    assert_int_equal(storage_search_part_find(&rows, &part, &made->chunk, &third, 2001),
                     UINT32_MAX);
    drop(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_in_many_rows_is_judged_by_a_few_of_them),
        cmocka_unit_test(what_lies_between_rows_or_beyond_them_is_in_none),
        cmocka_unit_test(rows_in_any_order_are_found_one_after_the_other),
    };

    return cmocka_run_group_tests_name("storage/erasure/search_rows", tests, NULL, NULL);
}
