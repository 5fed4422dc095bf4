/* Format `tfrecord`: what a damaged record costs, and what is said of it. */
#include "core/base/memory.h"
#include "tests/support/format_run.h"

/* Beginning of every event file of TensorBoard: the length 24 and its checksum. */
static const uint8_t EVENT_FILE[] = {24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22};
/* Three records "one", "two", "three", their checksums by a program that shifts bit by bit. */
static const char THREE[] = "0300000000000000b099490e6f6e6501405508"
                            "0300000000000000b099490e74776f8990c909"
                            "0500000000000000eab2043e74687265656023fb45";
enum { FIRST = 19, SECOND = 38 };

static struct format_run run;

static void read_hex(struct weir_buf *out)
{
    for (const char *at = THREE; *at; at += 2) {
        char two[3] = {at[0], at[1], 0};

        weir_buf_append(out, &(uint8_t){(uint8_t)strtoul(two, NULL, 16)}, 1);
    }
}

static void index_bytes(struct weir_bytes file, const struct format_fields *fields)
{
    format_run(&run, format_find("tfrecord"), NULL, fields, file, FORMAT_WINDOW_BYTES);
    assert_int_equal(run.status, WEIR_OK);
}

static const struct format_fields NONE;

static void records_are_found_between_their_checksums(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    read_hex(&file);
    index_bytes(weir_buf_view(&file), &NONE);
    assert_int_equal(run.count, 3);
    assert_int_equal(run.refused, 0);
    assert_memory_equal(file.at + run.samples[2].payload.offset, "three", 5);
    assert_int_equal(run.samples[2].payload.length, 5);
}

static void the_checksum_of_a_length_is_that_of_event_files(void **state)
{
    (void)state;
    index_bytes(weir_bytes(EVENT_FILE, sizeof(EVENT_FILE)), &NONE);
    assert_int_equal(run.refused, 1);
    assert_non_null(strstr(run.refusals[0].reason, "found half a record"));
}

static void wrong_data_costs_one_record(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    read_hex(&file);
    file.at[FIRST + 12] ^= 1;
    index_bytes(weir_buf_view(&file), &NONE);
    assert_int_equal(run.count, 2);
    assert_int_equal(run.refused, 1);
    assert_int_equal(run.refusals[0].record, 1);
    assert_int_equal(run.refusals[0].offset, FIRST);
    assert_false(run.refusals[0].is_tail);
    assert_non_null(strstr(run.refusals[0].reason, "wrong checksum of the data"));
}

static void a_wrong_length_costs_what_follows_and_says_so(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    read_hex(&file);
    file.at[FIRST] ^= 1;
    index_bytes(weir_buf_view(&file), &NONE);
    assert_int_equal(run.count, 1);
    assert_int_equal(run.refused, 1);
    assert_int_equal(run.indexed, FIRST);
    assert_true(run.refusals[0].is_tail);
    assert_non_null(strstr(run.refusals[0].reason, "where the next record begins cannot be told"));
}

static void half_a_record_waits_for_its_rest(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    read_hex(&file);
    index_bytes(weir_bytes(file.at, file.size - 1), &NONE);
    assert_int_equal(run.count, 2);
    assert_int_equal(run.indexed, SECOND);
    assert_true(run.refusals[0].is_tail);
}

static void a_record_that_is_no_example_is_refused_where_a_field_is_declared(void **state)
{
    static const struct format_fields LABEL = {.label = {.from = FORMAT_NAMED, .name = "y"}};
    WEIR_AUTO_BUF file = {0};

    (void)state;
    read_hex(&file);
    index_bytes(weir_buf_view(&file), &LABEL);
    assert_int_equal(run.count, 0);
    assert_int_equal(run.refused, 3);
    assert_non_null(strstr(run.refusals[0].reason, "found no tf.train.Example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_found_between_their_checksums),
        cmocka_unit_test(the_checksum_of_a_length_is_that_of_event_files),
        cmocka_unit_test(wrong_data_costs_one_record),
        cmocka_unit_test(a_wrong_length_costs_what_follows_and_says_so),
        cmocka_unit_test(half_a_record_waits_for_its_rest),
        cmocka_unit_test(a_record_that_is_no_example_is_refused_where_a_field_is_declared),
    };
    return cmocka_run_group_tests_name("storage: tfrecord", tests, NULL, NULL);
}
