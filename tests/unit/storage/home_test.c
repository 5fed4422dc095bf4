/* Matching a data directory and a database. */
#include "storage/home.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char NOWHERE[] = "", HERE[] = "/srv/here", THERE[] = "/srv/there";
static char CLUSTER[] = "/srv/here/postgres", OTHER_CLUSTER[] = "/srv/there/postgres";

static const struct home NOTHING = {.place = NOWHERE, .cluster = NOWHERE};
static const struct home OURS = {
    .identity = "aa", .inode = 7, .changed_ns = 9, .place = HERE, .cluster = CLUSTER};

static void a_store_that_nobody_touched_is_kept(void **state)
{
    (void)state;
    assert_int_equal(storage_home_judge(&OURS, &OURS, false), HOME_KEPT);
    assert_int_equal(storage_home_judge(&OURS, &OURS, true), HOME_KEPT); /* it is the original */
}

static void a_new_one_and_one_of_before_are_taken(void **state)
{
    const struct home fresh = {.place = HERE, .cluster = CLUSTER};
    struct home old = OURS, known = OURS;

    (void)state;
    assert_int_equal(storage_home_judge(&NOTHING, &fresh, false), HOME_ELSEWHERE);
    old.identity[0] = known.identity[0] = '\0';
    known.place = known.cluster = NOWHERE;
    assert_int_equal(storage_home_judge(&known, &old, false), HOME_KEPT);
}

static void another_file_or_another_place_is_elsewhere(void **state)
{
    struct home copied = OURS, moved = OURS;

    (void)state;
    copied.inode++;
    assert_int_equal(storage_home_judge(&OURS, &copied, false), HOME_ELSEWHERE);
    moved.place = THERE;
    moved.cluster = OTHER_CLUSTER;
    assert_int_equal(storage_home_judge(&OURS, &moved, false), HOME_ELSEWHERE);
    moved.cluster = CLUSTER; /* it lies outside */
    assert_int_equal(storage_home_judge(&OURS, &moved, false), HOME_ELSEWHERE);
}

static void a_copy_that_shares_the_database_with_its_original_is_told(void **state)
{
    struct home copied = OURS;

    (void)state;
    copied.inode++;
    copied.place = THERE;
    assert_int_equal(storage_home_judge(&OURS, &copied, true), HOME_SHARED);
    copied.cluster = OTHER_CLUSTER;
    assert_int_equal(storage_home_judge(&OURS, &copied, true), HOME_ELSEWHERE);
}

static void a_database_that_does_not_know_the_directory_is_foreign(void **state)
{
    struct home other = OURS;

    (void)state;
    assert_int_equal(storage_home_judge(&NOTHING, &OURS, false), HOME_FOREIGN);
    other.identity[0] = 'b';
    assert_int_equal(storage_home_judge(&OURS, &other, false), HOME_FOREIGN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_nobody_touched_is_kept),
        cmocka_unit_test(a_new_one_and_one_of_before_are_taken),
        cmocka_unit_test(another_file_or_another_place_is_elsewhere),
        cmocka_unit_test(a_copy_that_shares_the_database_with_its_original_is_told),
        cmocka_unit_test(a_database_that_does_not_know_the_directory_is_foreign),
    };
    return cmocka_run_group_tests_name("storage: home", tests, NULL, NULL);
}
