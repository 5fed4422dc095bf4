/* Lending memory: to whom a client lends which memory, and when it has it back. */
#include "core/base/memory.h"
#include "trainer_client/lending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 1 << 20, WINDOW = 4 * MANY };

struct fixture {
    struct weir_loop *loop;
    struct weir_borrowed *borrowed;
    struct lending lending;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->loop = weir_loop_new();
    fixture->borrowed = weir_borrowed_new(fixture->loop);
    fixture->lending.window_bytes = WINDOW;
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    trainer_lending_fini(&fixture->lending);
    weir_borrowed_free(fixture->borrowed);
    weir_loop_free(fixture->loop);
    free(fixture);
    return 0;
}

/* A worker with the loans of its newest credit. */
struct worker {
    uint32_t number;
    uint8_t loans[WEIR_BATCH_LOANS_MAX][WEIR_LOAN_BYTES];
    size_t count;
};

static void give_credit(struct fixture *fixture, struct worker *worker, int64_t now_ms)
{
    struct weir_bytes loans = trainer_lending_to(&fixture->lending, worker->number, now_ms);
    assert_int_equal(loans.size % WEIR_LOAN_BYTES, 0);
    worker->count = loans.size / WEIR_LOAN_BYTES;
    if (loans.size > 0)
        memcpy(worker->loans, loans.at, loans.size);
}

/* So many batches of that size come in frames. */
static void miss(struct fixture *fixture, size_t batches, size_t bytes)
{
    for (size_t i = 0; i < batches; i++)
        trainer_lending_missed(&fixture->lending, bytes);
}

static struct weir_bytes loan_of(const struct worker *worker, size_t i)
{
    return weir_bytes(worker->loans[i], WEIR_LOAN_BYTES);
}

static bool write_batch(struct fixture *fixture, const struct worker *worker, size_t i)
{
    struct weir_loan loan;
    if (!weir_loan_claim(fixture->borrowed, loan_of(worker, i), &loan))
        return false;
    weir_loan_end(&loan, true);
    return true;
}

static int take(struct fixture *fixture, const struct worker *worker, size_t i)
{
    struct weir_bytes bytes;
    return trainer_lending_take(&fixture->lending, worker->number, loan_of(worker, i), MANY,
                                &bytes);
}

static void nothing_is_lent_before_a_large_batch_has_come_in_frames(void **state)
{
    struct fixture *fixture = *state;
    struct worker worker = {.number = 3};
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 0);
    miss(fixture, 4, WEIR_LENT_BATCH_BYTES_MIN - 1);
    miss(fixture, 1, WEIR_SEGMENT_BYTES_MAX);
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 0);
    trainer_lending_saw(&fixture->lending, MANY);
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 1);
}

static void each_batch_that_came_in_frames_is_reason_for_one_slot(void **state)
{
    struct fixture *fixture = *state;
    struct worker worker = {.number = 3};
    trainer_lending_saw(&fixture->lending, MANY);
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 0);
    assert_false(trainer_lending_due(&fixture->lending, worker.number));
    miss(fixture, 1, MANY);
    assert_true(trainer_lending_due(&fixture->lending, worker.number));
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 1);
    miss(fixture, 4, MANY);
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 4);
    struct worker other = {.number = 4};
    give_credit(fixture, &other, 0); /* the window is lent */
    assert_int_equal(other.count, 0);
}

static void a_slot_goes_round_under_ever_new_loans(void **state)
{
    struct fixture *fixture = *state;
    struct worker worker = {.number = 0}, before;
    miss(fixture, 4, MANY);
    give_credit(fixture, &worker, 0);
    assert_int_equal(take(fixture, &worker, 0), -1); /* nothing is written yet */
    assert_true(write_batch(fixture, &worker, 0));
    struct worker thief = worker;
    thief.number = 1;
    assert_int_equal(take(fixture, &thief, 0), -1);
    int slot = take(fixture, &worker, 0);
    assert_true(slot >= 0);
    assert_int_equal(take(fixture, &worker, 0), -1); /* a second copy of the message */
    before = worker;
    give_credit(fixture, &worker, 1);
    assert_int_equal(worker.count, 3); /* the batch holds one */
    assert_false(write_batch(fixture, &before, 0));
    trainer_lending_give_back(&fixture->lending, slot);
    give_credit(fixture, &worker, 2);
    assert_int_equal(worker.count, 4);
    assert_false(write_batch(fixture, &before, 0)); /* an old fence, say */
    assert_int_equal(take(fixture, &before, 0), -1);
    for (size_t i = 0; i < 4; i++)
        assert_true(write_batch(fixture, &worker, i));
}

static void what_brings_nothing_is_lent_to_others(void **state)
{
    struct fixture *fixture = *state;
    struct worker idle = {.number = 0}, busy = {.number = 1};
    miss(fixture, 4, MANY);
    give_credit(fixture, &idle, 0);
    assert_true(write_batch(fixture, &idle, 0)); /* and the message is lost */
    give_credit(fixture, &busy, LENDING_MS - 1);
    assert_int_equal(busy.count, 0);
    give_credit(fixture, &busy, LENDING_MS);
    assert_int_equal(busy.count, 3); /* nobody will write to these */
    assert_false(write_batch(fixture, &idle, 1));
    give_credit(fixture, &busy, LENDING_LOST_MS);
    assert_int_equal(busy.count, 4);
    assert_int_equal(take(fixture, &idle, 0), -1); /* it was only late: made again */
}

static void a_worker_that_leaves_gives_everything_back(void **state)
{
    struct fixture *fixture = *state;
    struct worker gone = {.number = 0}, next = {.number = 1};
    struct weir_loan loan;
    miss(fixture, 4, MANY);
    give_credit(fixture, &gone, 0);
    assert_true(weir_loan_claim(fixture->borrowed, loan_of(&gone, 0), &loan)); /* killed here */
    trainer_lending_leave(&fixture->lending, gone.number);
    give_credit(fixture, &next, 1);
    assert_int_equal(next.count, 4);
    memset(loan.at, 7, MANY); /* or it was only slow */
    assert_true(write_batch(fixture, &next, 0));
    for (size_t i = 0; i < 4; i++)
        assert_false(write_batch(fixture, &gone, i));
}

static void few_slots_are_shared_by_all_workers(void **state)
{
    struct fixture *fixture = *state;
    struct worker first = {.number = 0}, second = {.number = 1};
    fixture->lending.workers = 2;
    miss(fixture, 4, MANY);
    give_credit(fixture, &first, 0);
    assert_int_equal(first.count, 2);
    assert_false(trainer_lending_due(&fixture->lending, first.number));
    assert_true(trainer_lending_due(&fixture->lending, second.number));
    give_credit(fixture, &second, 0);
    assert_int_equal(second.count, 2);
}

static void no_more_memory_is_taken_than_a_worker_needs_soon(void **state)
{
    struct fixture *fixture = *state;
    struct worker worker = {.number = 0};
    fixture->lending.window_bytes = (size_t)200 * MANY;
    miss(fixture, 4, (size_t)20 * MANY);
    give_credit(fixture, &worker, 0);
    assert_int_equal(worker.count, 2);
    assert_false(trainer_lending_due(&fixture->lending, worker.number));
    assert_true(write_batch(fixture, &worker, 0));
    assert_true(take(fixture, &worker, 0) >= 0);
    assert_true(trainer_lending_due(&fixture->lending, worker.number));
    give_credit(fixture, &worker, 1);
    assert_int_equal(worker.count, 2);
}

static void larger_batches_make_larger_slots(void **state)
{
    struct fixture *fixture = *state;
    struct worker worker = {.number = 0};
    struct weir_loan loan;
    miss(fixture, 4, MANY);
    give_credit(fixture, &worker, 0);
    struct worker before = worker;
    miss(fixture, 2, 2 * MANY);
    assert_true(trainer_lending_due(&fixture->lending, 0));
    give_credit(fixture, &worker, 1);
    assert_in_range(worker.count, 1, 3);
    assert_false(write_batch(fixture, &before, 0)); /* that loan is over */
    assert_true(weir_loan_claim(fixture->borrowed, loan_of(&worker, 0), &loan));
    assert_in_range(loan.size, 2 * MANY, 3 * MANY);
    weir_loan_end(&loan, false);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static size_t memory_of(const struct fixture *fixture)
{
    size_t bytes = 0;
    for (size_t i = 0; i < LENDING_SLOTS_MAX; i++)
        bytes += fixture->lending.slots[i].segment != NULL ? fixture->lending.slots[i].size : 0;
    return bytes;
}

static void a_smaller_window_gives_memory_back_as_slots_become_idle(void **state)
{
    struct fixture *fixture = *state;
    struct worker worker = {.number = 1};
    miss(fixture, 4, MANY);
    give_credit(fixture, &worker, 0);
    assert_true(write_batch(fixture, &worker, 0));
    int slot = take(fixture, &worker, 0);
    size_t before = memory_of(fixture);
    trainer_lending_resize(&fixture->lending, MANY);
    assert_int_equal(memory_of(fixture), before); /* all are in use */
    trainer_lending_leave(&fixture->lending, worker.number);
    trainer_lending_resize(&fixture->lending, MANY);
    assert_true(memory_of(fixture) >= MANY && memory_of(fixture) <= 2 * MANY);
    trainer_lending_give_back(&fixture->lending, slot);
    trainer_lending_resize(&fixture->lending, 0);
    assert_int_equal(memory_of(fixture), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_lent_before_a_large_batch_has_come_in_frames),
        CASE(each_batch_that_came_in_frames_is_reason_for_one_slot),
        CASE(a_slot_goes_round_under_ever_new_loans),
        CASE(what_brings_nothing_is_lent_to_others),
        CASE(a_worker_that_leaves_gives_everything_back),
        CASE(few_slots_are_shared_by_all_workers),
        CASE(no_more_memory_is_taken_than_a_worker_needs_soon),
        CASE(larger_batches_make_larger_slots),
        CASE(a_smaller_window_gives_memory_back_as_slots_become_idle),
    };
    return cmocka_run_group_tests_name("lending", tests, NULL, NULL);
}
