/* Places of a receipt: counts of folders become those of what a person calls them. */
#include "orchestrator/erasures/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

#include <cmocka.h>

static void assert_places(const char *searched, const char *held, const char *stays,
                          const char *expected)
{
    json_t *there = json_loads(held, 0, NULL);
    json_t *places = orchestrator_places_json(searched, there, stays);
    WEIR_AUTO_FREE char *text = json_dumps(places, JSON_COMPACT);
    assert_string_equal(text, expected);
    json_decref(places);
    json_decref(there);
}

static void folders_of_one_place_are_added_up(void **state)
{
    (void)state;
    assert_places(
        "2 30 storage\n5 100 log\n1 7 postgres.log\n", "{}", NULL,
        "[{\"place\":\"files of samples\",\"files\":2,\"bytes\":30,\"held\":{},\"gone\":true},"
        "{\"place\":\"logs\",\"files\":6,\"bytes\":107,\"held\":{},\"gone\":true}]");
}

static void files_of_nobody_are_a_place_without_their_names(void **state)
{
    (void)state;
    assert_places("1 9 \n", "{}", NULL,
                  "[{\"place\":\"other files in the data directory\",\"files\":1,\"bytes\":9,"
                  "\"held\":{},\"gone\":true}]");
}

static void what_was_there_stands_with_its_place_and_is_gone_unless_it_stays(void **state)
{
    (void)state;
    assert_places(
        "2 30 storage\n4 8 models\n",
        "{\"storage\":{\"records\":28,\"files\":1},\"models\":{\"models\":2}}", "models",
        "[{\"place\":\"files of samples\",\"files\":2,\"bytes\":30,"
        "\"held\":{\"records\":28,\"files\":1},\"gone\":true},"
        "{\"place\":\"models\",\"files\":4,\"bytes\":8,\"held\":{\"models\":2},\"gone\":false}]");
}

static void a_place_that_was_not_searched_is_not_said_to_be_clean(void **state)
{
    (void)state;
    assert_places(
        "2 30 storage\n", "{\"postgres\":{\"samples\":3},\"scores\":{}}", NULL,
        "[{\"place\":\"files of samples\",\"files\":2,\"bytes\":30,\"held\":{},\"gone\":true},"
        "{\"place\":\"database\",\"files\":0,\"bytes\":0,\"held\":{\"samples\":3},\"gone\":false}]");
}

static void nothing_is_said_of_a_search_that_did_not_count(void **state)
{
    (void)state;
    assert_places("", "{\"storage\":{\"records\":28}}", NULL, "[]");
}

static void every_holder_is_counted_once_and_the_cluster_comes_last(void **state)
{
    (void)state;
    WEIR_AUTO_FREE char *own = orchestrator_places_searched(true);
    WEIR_AUTO_FREE char *others = orchestrator_places_searched(false);
    assert_int_equal(strncmp(own, others, strlen(others)), 0);
    assert_string_equal(own + strlen(others), "postgres");
    assert_null(strstr(strstr(others, "storage\n") + 1, "storage\n"));
    assert_null(strstr(others, "postgres\n"));
    assert_non_null(strstr(others, "\nreceipts\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_one_place_are_added_up),
        cmocka_unit_test(files_of_nobody_are_a_place_without_their_names),
        cmocka_unit_test(what_was_there_stands_with_its_place_and_is_gone_unless_it_stays),
        cmocka_unit_test(a_place_that_was_not_searched_is_not_said_to_be_clean),
        cmocka_unit_test(nothing_is_said_of_a_search_that_did_not_count),
        cmocka_unit_test(every_holder_is_counted_once_and_the_cluster_comes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
