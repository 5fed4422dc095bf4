/* Bytes that belong to nobody, record by record. */
#include "storage/intake/unclaimed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct unclaimed unclaimed;

static int begin(void **state)
{
    (void)state;
    unclaimed = (struct unclaimed){.is_by_record = false};
    return 0;
}

static int end(void **state)
{
    (void)state;
    storage_unclaimed_fini(&unclaimed);
    return 0;
}

/* "offset+length …" */
static void assert_ranges(const char *expected)
{
    char text[256] = "";

    for (size_t i = 0; i < unclaimed.count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d+%d", i > 0 ? " " : "",
                 (int)unclaimed.at[i].offset, (int)unclaimed.at[i].length);
    assert_string_equal(text, expected);
}

static void a_file_of_samples_has_none(void **state)
{
    (void)state;
    storage_unclaimed_end(&unclaimed, 10);
    storage_unclaimed_end(&unclaimed, 20);
    storage_unclaimed_pause(&unclaimed, 30);
    assert_ranges("");
}

static void records_that_follow_each_other_are_one_range(void **state)
{
    (void)state;
    storage_unclaimed_end(&unclaimed, 10);
    storage_unclaimed_record(&unclaimed, 20);
    storage_unclaimed_record(&unclaimed, 30);
    storage_unclaimed_end(&unclaimed, 45);
    storage_unclaimed_record(&unclaimed, 50);
    storage_unclaimed_pause(&unclaimed, 60);
    assert_ranges("20+25 50+10");
}

static void each_is_one_where_the_format_makes_it_anew(void **state)
{
    (void)state;
    unclaimed.is_by_record = true;
    storage_unclaimed_record(&unclaimed, 20);
    storage_unclaimed_record(&unclaimed, 30);
    storage_unclaimed_end(&unclaimed, 45);
    assert_ranges("20+10 30+15");
}

static void what_follows_in_the_next_window_belongs_to_the_record(void **state)
{
    (void)state;
    storage_unclaimed_record(&unclaimed, 20);
    storage_unclaimed_pause(&unclaimed, 40);
    storage_unclaimed_pause(&unclaimed, 60);
    storage_unclaimed_end(&unclaimed, 70);
    storage_unclaimed_pause(&unclaimed, 90);
    assert_ranges("20+20 40+20 60+10");
}

static void an_end_that_waits_for_its_rest_is_not_told(void **state)
{
    (void)state;
    storage_unclaimed_record(&unclaimed, 50); /* refused, and left for later */
    storage_unclaimed_pause(&unclaimed, 50);
    storage_unclaimed_pause(&unclaimed, 40);
    assert_ranges("");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_file_of_samples_has_none),
        CASE(records_that_follow_each_other_are_one_range),
        CASE(each_is_one_where_the_format_makes_it_anew),
        CASE(what_follows_in_the_next_window_belongs_to_the_record),
        CASE(an_end_that_waits_for_its_rest_is_not_told),
    };

    return cmocka_run_group_tests_name("unclaimed bytes", tests, NULL, NULL);
}
