/* A job as it is stored, and as the next process takes it up. */
#include "preprocess/dispatcher/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct msg_job_open JOB = {
    .job = 1, .file = "p.yaml", .set_path = "s", .set_digest = "", .mode = "train"};

static struct dispatcher_entry *taken_up(const struct dispatcher_entry *entry)
{
    WEIR_AUTO_BUF kept = {0};
    struct msg_job_open stored = JOB;
    preprocess_entry_keep_fit(entry, &kept);
    stored.fitted = weir_buf_view(&kept);
    return preprocess_entry_reload(&stored);
}

static void fitted_state_keeps_the_bounds_by_that_it_went_on_from(void **state)
{
    (void)state;
    struct dispatcher_entry *entry = preprocess_entry_open(&JOB);
    weir_buf_append_text(&entry->fitted, "fitted");
    entry->before = (struct tensor_bounds){.count = 2, .below = {0, 8}};
    struct dispatcher_entry *next = taken_up(entry);
    assert_true(weir_bytes_equal(weir_buf_view(&next->fitted), weir_bytes_of("fitted")));
    assert_int_equal(next->before.count, 2);
    assert_int_equal(next->before.below[1], 8);
    assert_int_equal(next->base.size, 0);
    preprocess_entry_free(entry);
    preprocess_entry_free(next);
}

static void state_to_go_on_from_is_kept_until_something_is_fitted(void **state)
{
    (void)state;
    struct msg_job_open open = JOB;
    open.fitted = weir_bytes_of("base");
    struct dispatcher_entry *entry = preprocess_entry_open(&open);
    struct dispatcher_entry *next = taken_up(entry);
    assert_true(weir_bytes_equal(weir_buf_view(&next->base), weir_bytes_of("base")));
    assert_true(next->fitted.size == 0 && next->before.count == 0);
    preprocess_entry_free(entry);
    preprocess_entry_free(next);
}

/* Those who read fitted state refuse it. */
static void bounds_that_are_cut_short_are_none(void **state)
{
    (void)state;
    struct msg_job_open stored = JOB;
    stored.fitted = weir_bytes("WEIRBNDS\2\0\0\0\0\0\0\0\1", 17);
    struct dispatcher_entry *entry = preprocess_entry_reload(&stored);
    assert_int_equal(entry->before.count, 0);
    assert_int_equal(entry->fitted.size, 17);
    preprocess_entry_free(entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitted_state_keeps_the_bounds_by_that_it_went_on_from),
        cmocka_unit_test(state_to_go_on_from_is_kept_until_something_is_fitted),
        cmocka_unit_test(bounds_that_are_cut_short_are_none),
    };
    return cmocka_run_group_tests_name("entry", tests, NULL, NULL);
}
