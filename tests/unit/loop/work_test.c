/* Work beside the loop: its end is heard on the loop, what it has done is seen there, and it can be given up. */
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/rng.h"
#include "core/loop/work_sort.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct job {
    struct weir_work *work;
    size_t counted;
    bool waits; /* goes on until it is given up */
    bool was_given_up;
    bool done, was_abandoned;
};

static int set_up(void **state)
{
    *state = weir_loop_new();
    return 0;
}

static int tear_down(void **state)
{
    weir_loop_free(*state);
    return 0;
}

static void count(struct weir_work *work, void *owner)
{
    struct job *job = owner;
    while (weir_work_goes_on(work, job->counted, 1000))
        if (!job->waits && job->counted++ == 1000)
            return;
    job->was_given_up = true;
}

static void on_done(void *owner)
{
    struct job *job = owner;
    job->done = true;
}

static void start(struct weir_loop *loop, struct job *job)
{
    struct weir_error err;
    assert_int_equal(weir_work_start(loop, count, on_done, job, &job->work, &err), WEIR_OK);
}

static void its_end_is_heard_on_the_loop(void **state)
{
    struct job one = {0}, other = {0};
    start(*state, &one);
    start(*state, &other);
    test_loop_until(*state, &one.done);
    test_loop_until(*state, &other.done);
    assert_int_equal(one.counted, 1001);
    assert_int_equal(other.counted, 1001);
    assert_false(one.was_given_up);
}

static void what_is_cancelled_is_heard_of_too(void **state)
{
    struct job job = {.waits = true, .counted = 7};
    start(*state, &job);
    while (weir_work_progress(job.work).total == 0)
        weir_loop_step(*state, 1);
    assert_int_equal(weir_work_progress(job.work).done, 7);
    assert_false(job.done);
    weir_work_cancel(job.work);
    test_loop_until(*state, &job.done);
    assert_true(job.was_given_up);
}

static void what_is_stopped_is_over_and_not_heard_of(void **state)
{
    struct job job = {.waits = true};
    start(*state, &job);
    weir_work_stop(job.work);
    weir_work_stop(NULL);
    assert_true(job.was_given_up);
    test_loop_rounds(*state, 3);
    assert_false(job.done);
}

/* ---- sorting ---- */

enum { NUMBERS = 10 * WEIR_WORK_SORT_PIECE + 77, COMPARISONS_MAX = 20 * WEIR_WORK_SORT_PIECE };

static struct sorting {
    struct weir_work *work;
    uint64_t *numbers;
    size_t count;
    size_t cancelled_at, compared; /* comparisons */
    bool is_sorted, done;
} sorting;

static int compare_and_cancel(const void *a, const void *b)
{
    if (++sorting.compared == sorting.cancelled_at)
        weir_work_cancel(sorting.work);
    return weir_order_u64(a, b);
}

static void sort(struct weir_work *work, void *owner)
{
    (void)owner;
    sorting.work = work;
    sorting.is_sorted = weir_work_sort(work, sorting.numbers, sorting.count,
                                       sizeof(*sorting.numbers), compare_and_cancel);
}

static void on_sorted(void *owner)
{
    (void)owner;
    sorting.done = true;
}

/* Draws as many numbers, and sorts them in a work that is given up at that comparison; 0: it is not. */
static void sort_numbers(struct weir_loop *loop, size_t count, size_t cancelled_at)
{
    struct weir_error err;
    struct weir_rng rng;
    struct weir_work *work;
    weir_rng_init(&rng, count);
    free(sorting.numbers);
    sorting = (struct sorting){.numbers = weir_calloc(count + 1, sizeof(*sorting.numbers)),
                               .count = count,
                               .cancelled_at = cancelled_at};
    for (size_t i = 0; i < count; i++)
        sorting.numbers[i] = weir_rng_below(&rng, count);
    assert_int_equal(weir_work_start(loop, sort, on_sorted, NULL, &work, &err), WEIR_OK);
    test_loop_until(loop, &sorting.done);
}

static void numbers_are_sorted_as_by_qsort(void **state)
{
    static const size_t COUNTS[] = {0,
                                    1,
                                    2,
                                    WEIR_WORK_SORT_PIECE - 1,
                                    WEIR_WORK_SORT_PIECE,
                                    WEIR_WORK_SORT_PIECE + 1,
                                    2 * WEIR_WORK_SORT_PIECE,
                                    3 * WEIR_WORK_SORT_PIECE,
                                    NUMBERS};
    for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++) {
        struct weir_rng rng;
        sort_numbers(*state, COUNTS[i], 0);
        assert_true(sorting.is_sorted);
        uint64_t *expected = weir_calloc(COUNTS[i] + 1, sizeof(*expected));
        weir_rng_init(&rng, COUNTS[i]);
        for (size_t k = 0; k < COUNTS[i]; k++)
            expected[k] = weir_rng_below(&rng, COUNTS[i]);
        qsort(expected, COUNTS[i], sizeof(*expected), weir_order_u64);
        assert_memory_equal(sorting.numbers, expected, COUNTS[i] * sizeof(*expected));
        free(expected);
    }
}

/* Among the pieces, and among the merges. */
static void a_sort_is_given_up_in_its_midst(void **state)
{
    sort_numbers(*state, NUMBERS, 0);
    size_t all = sorting.compared;
    for (size_t part = 1; part < 8; part++) {
        size_t at = all / 8 * part;
        sort_numbers(*state, NUMBERS, at);
        assert_false(sorting.is_sorted);
        assert_in_range(sorting.compared, at, at + COMPARISONS_MAX);
    }
    free(sorting.numbers);
    sorting = (struct sorting){.numbers = NULL};
}

/* ---- turns ---- */

enum { JOBS = 7, AT_ONCE = 2 };

static struct weir_work_queue *enqueue_all(struct weir_loop *loop, struct job *jobs)
{
    struct weir_work_queue *queue = weir_work_queue_new(loop, AT_ONCE);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){.waits = true, .counted = 1};
        jobs[i].work = weir_work_enqueue(queue, count, on_done, &jobs[i]);
    }
    return queue;
}

/* Those that have begun have said how far they are. */
static size_t begun(const struct job *jobs, size_t from)
{
    size_t found = 0;
    for (size_t i = from; i < JOBS; i++)
        found += weir_work_progress(jobs[i].work).total > 0;
    return found;
}

static void no_more_have_a_thread_than_may(void **state)
{
    struct job jobs[JOBS];
    struct weir_work_queue *queue = enqueue_all(*state, jobs);
    for (size_t i = 0; i < JOBS; i++) {
        size_t expected = JOBS - i < AT_ONCE ? JOBS - i : AT_ONCE;
        while (begun(jobs, i) < expected)
            weir_loop_step(*state, 1);
        test_loop_rounds(*state, 3);
        assert_int_equal(begun(jobs, i), expected);
        assert_true(weir_work_progress(jobs[i].work).total > 0); /* in their order */
        assert_false(weir_work_queue_is_idle(queue));
        weir_work_cancel(jobs[i].work);
        test_loop_until(*state, &jobs[i].done);
    }
    assert_true(weir_work_queue_is_idle(queue));
    weir_work_queue_free(queue);
}

static void on_gone(void *owner)
{
    ((struct job *)owner)->was_abandoned = true;
}

static void what_is_abandoned_makes_room_and_is_gone_in_the_end(void **state)
{
    struct job jobs[JOBS];
    struct weir_work_queue *queue = enqueue_all(*state, jobs);
    weir_work_abandon(jobs[JOBS - 1].work, on_gone);
    assert_true(jobs[JOBS - 1].was_abandoned); /* it had not begun */
    weir_work_abandon(jobs[0].work, on_gone);
    test_loop_until(*state, &jobs[0].was_abandoned);
    while (weir_work_progress(jobs[AT_ONCE].work).total == 0)
        weir_loop_step(*state, 1);
    for (size_t i = 1; i < JOBS - 1; i++)
        weir_work_abandon(jobs[i].work, on_gone);
    weir_work_queue_free(queue); /* waits */
    for (size_t i = 0; i < JOBS; i++)
        assert_true(jobs[i].was_abandoned && !jobs[i].done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_end_is_heard_on_the_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_cancelled_is_heard_of_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_stopped_is_over_and_not_heard_of, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_sorted_as_by_qsort, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sort_is_given_up_in_its_midst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_more_have_a_thread_than_may, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_abandoned_makes_room_and_is_gone_in_the_end, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
