/* Format `csv`: places of bad records, headers or none, and what stands for nothing. */
#include "core/base/memory.h"
#include "tests/support/format_run.h"

static struct format_run run;

static void index_text(const char *options, const char *time, const char *label, const char *text)
{
    const struct format_fields fields = {.time = {.from = FORMAT_NAMED, .name = time},
                                         .label = {.from = FORMAT_NAMED, .name = label}};
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_FREE void *read = format_run_options(format_find("csv"), &fields, options, &document);

    format_run(&run, format_find("csv"), read, &fields, weir_bytes_of(text), 7);
}

static void bad_records_are_refused_by_line_and_the_good_ones_kept(void **state)
{
    (void)state;
    index_text("{}", "at", "y",
               "at,y\r\n1,\"two\nlines\"\r\n2,b,c\n3,\"open\n4,d\n\n5,e\"e\n6,f\n");
    assert_int_equal(run.status, WEIR_OK);
    assert_int_equal(run.count, 3);
    assert_int_equal(run.samples[0].record, 2);
    assert_string_equal(run.samples[0].values[FORMAT_LABEL], "t:two\nlines");
    assert_string_equal(run.samples[1].values[FORMAT_TIME], "t:4");
    assert_string_equal(run.samples[2].values[FORMAT_LABEL], "t:f");
    assert_int_equal(run.refused, 3);
    assert_int_equal(run.refusals[0].record, 4);
    assert_int_equal(run.refusals[1].record, 5);
    assert_int_equal(run.refusals[2].record, 8);
}

static void columns_without_a_header_have_numbers_or_given_names(void **state)
{
    (void)state;
    index_text("{header: false, delimiter: ;}", "1", "3", "7;x;a\n8;y;b\n");
    assert_int_equal(run.count, 2);
    assert_int_equal(run.samples[0].record, 1);
    assert_string_equal(run.samples[0].values[FORMAT_TIME], "t:7");
    assert_string_equal(run.samples[1].values[FORMAT_LABEL], "t:b");
    index_text("{header: false}", "1", "3", "7,x\n");
    assert_int_equal(run.status, WEIR_INVALID);
    assert_non_null(strstr(run.err.text, "found no column '3' among 2"));
    index_text("{header: false, columns: [at, y]}", "at", "y", "7,x\n8,y\n");
    assert_int_equal(run.count, 2);
    assert_string_equal(run.samples[0].values[FORMAT_TIME], "t:7");
    assert_string_equal(run.samples[1].values[FORMAT_LABEL], "t:y");
}

static void missing_values_are_absent_unless_quoted(void **state)
{
    (void)state;
    index_text("{missing: [NA, \"-\"]}", "at", "y", "at,y\nNA,-\n,\"NA\"\n3,NAN\n");
    assert_int_equal(run.count, 3);
    assert_string_equal(run.samples[0].values[FORMAT_TIME], "-");
    assert_string_equal(run.samples[0].values[FORMAT_LABEL], "-");
    assert_string_equal(run.samples[1].values[FORMAT_TIME], "-");
    assert_string_equal(run.samples[1].values[FORMAT_LABEL], "t:NA");
    assert_string_equal(run.samples[2].values[FORMAT_LABEL], "t:NAN");
}

static void quotes_may_be_characters_like_any_other(void **state)
{
    (void)state;
    index_text("{header: false, delimiter: \"\\t\", quotes: none}", "1", "2",
               "1\tso-called \"noise\"\n2\t\"open\n3\t\"\"\n4\t\"a\"b\tc\n");
    assert_int_equal(run.count, 3);
    assert_string_equal(run.samples[0].values[FORMAT_LABEL], "t:so-called \"noise\"");
    assert_string_equal(run.samples[1].values[FORMAT_LABEL], "t:\"open");
    assert_string_equal(run.samples[2].values[FORMAT_LABEL], "t:\"\"");
    assert_int_equal(run.refused, 1); /* of three fields */
    assert_int_equal(run.refusals[0].record, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_records_are_refused_by_line_and_the_good_ones_kept),
        cmocka_unit_test(columns_without_a_header_have_numbers_or_given_names),
        cmocka_unit_test(missing_values_are_absent_unless_quoted),
        cmocka_unit_test(quotes_may_be_characters_like_any_other),
    };
    return cmocka_run_group_tests_name("storage: csv", tests, NULL, NULL);
}
