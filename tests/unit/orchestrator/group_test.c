/* The processes of a run: whose end explains those of the others, and when the run is done. */
#include "orchestrator/runs/group.h"

#include "core/service/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct run_exit FAILED = {
    .code = 1, .status = "exit code 1", .why = "", .said = "NaN"};
static const struct run_exit LEFT = {.code = 0, .status = "exit code 0", .why = "", .said = ""};
static const struct run_exit KILLED = {.by_signal = true,
                                       .is_kill = true,
                                       .code = 1,
                                       .status = "killed by signal 9",
                                       .why = "",
                                       .said = ""};
static const struct run_exit UNANSWERED = {
    .code = WEIR_EXIT_UNANSWERED, .status = "exit code 75", .why = "", .said = "weir.Unavailable"};
static const struct run_exit TOLD = {
    .by_signal = true, .code = 1, .status = "killed by signal 15", .why = "", .said = ""};

static struct run_group *three(void)
{
    static struct run_group group;

    orchestrator_group_begin(&group, 3);
    return &group;
}

static void the_first_to_fail_explains_those_that_are_told_to_end(void **state)
{
    (void)state;
    struct run_group *group = three();
    orchestrator_group_exited(group, 1, 0, &FAILED, 10);
    assert_true(group->is_ending);
    orchestrator_group_exited(group, 0, 0, &TOLD, 20);
    assert_false(orchestrator_group_is_gone(group));
    orchestrator_group_exited(group, 2, 0, &FAILED, 30);
    assert_true(orchestrator_group_is_gone(group));
    assert_int_equal(group->cause.rank, 1);
    assert_string_equal(group->cause.ended.said, "NaN");
}

static void who_was_killed_explains_those_that_lost_it_and_were_seen_first(void **state)
{
    (void)state;
    struct run_group *group = three();
    orchestrator_group_exited(group, 0, 0, &FAILED, 10); /* "a rank is gone" */
    orchestrator_group_exited(group, 2, 0, &KILLED, 11);
    assert_int_equal(group->cause.rank, 2);
    assert_true(group->cause.ended.by_signal);
}

static void who_had_no_answer_explains_those_that_lost_it_and_were_seen_first(void **state)
{
    (void)state;
    struct run_group *group = three();
    orchestrator_group_exited(group, 0, 0, &FAILED, 10);       /* "connection closed by peer" */
    orchestrator_group_exited(group, 2, 0, &UNANSWERED, 2011); /* libraries take their time */
    orchestrator_group_exited(group, 1, 0, &FAILED, 2012);
    assert_int_equal(group->cause.rank, 2);
    assert_int_equal(group->cause.ended.code, WEIR_EXIT_UNANSWERED);
    assert_string_equal(group->cause.ended.said, "weir.Unavailable");
}

static void who_does_not_heed_the_end_and_is_killed_explains_nothing(void **state)
{
    (void)state;
    struct run_group *group = three();
    orchestrator_group_exited(group, 0, 0, &FAILED, 10);
    orchestrator_group_exited(group, 2, 0, &KILLED, 2011);
    assert_int_equal(group->cause.rank, 0);
}

static void who_said_nothing_explains_all(void **state)
{
    (void)state;
    struct run_group *group = three();
    orchestrator_group_exited(group, 0, 0, &TOLD, 10);
    orchestrator_group_exited(group, 1, 0, &KILLED, 11);
    orchestrator_group_exited(group, 2, 60000, &KILLED, 2010);
    assert_int_equal(group->cause.rank, 2);
    assert_int_equal(group->cause.silent_ms, 60000);
}

static void a_run_is_done_when_rank_0_is_and_nobody_is_waited_for(void **state)
{
    (void)state;
    struct run_group *group = three();
    group->members[1].is_done = true;
    assert_false(orchestrator_group_is_done(group));
    group->members[0].is_done = true;
    assert_false(orchestrator_group_is_done(group));
    orchestrator_group_exited(group, 2, 0, &KILLED,
                              10); /* its part is committed, or rank 0 waited */
    assert_true(orchestrator_group_is_done(group));
}

static void who_is_done_may_leave_and_is_not_why_others_fail(void **state)
{
    (void)state;
    struct run_group *group = three();
    group->members[1].is_done = true;
    orchestrator_group_exited(group, 1, 0, &LEFT, 10);
    assert_false(group->is_ending);
    orchestrator_group_exited(group, 0, 0, &FAILED, 20);
    assert_true(group->is_ending);
    assert_int_equal(group->cause.rank, 0);
}

static void a_session_of_an_earlier_life_is_nobody_s(void **state)
{
    (void)state;
    struct run_group *group = three();
    group->members[1].session = 5;
    assert_ptr_equal(orchestrator_group_member(group, 1, 5, 0), &group->members[1]);
    assert_null(orchestrator_group_member(group, 1, 6, 0));
    assert_null(orchestrator_group_member(group, 0, 0, 0));
    assert_null(orchestrator_group_member(group, 3, 5, 0));
    orchestrator_group_begin(group, 3);
    assert_null(orchestrator_group_member(group, 1, 5, 0));
}

/* Its result may lie in a queue when it is killed: the run begins again without. */
static void the_word_of_a_process_that_is_gone_counts_no_more(void **state)
{
    (void)state;
    struct run_group *group = three();
    group->members[0].session = 5;
    orchestrator_group_exited(group, 0, 0, &KILLED, 10);
    assert_null(orchestrator_group_member(group, 0, 5, 0));
}

static void samples_and_cpu_time_add_up_and_waiting_is_a_mean(void **state)
{
    (void)state;
    struct run_group *group = three();
    for (uint32_t i = 0; i < 3; i++) {
        struct group_member *member = &group->members[i];
        member->samples = 10;
        member->cpu_ns = 30;
        member->busy_ns = 9;
        member->wait_ns = i * 3;
    }
    const struct group_member sum = orchestrator_group_sum(group);
    assert_int_equal(sum.samples, 30);
    assert_int_equal(sum.cpu_ns, 90);
    assert_int_equal(sum.busy_ns, 9);
    assert_int_equal(sum.wait_ns, 3);
}

static void assert_explained(const struct run_exit *ended, bool is_program, const char *expected)
{
    struct weir_error why;
    orchestrator_group_explain(ended, is_program, &why);
    assert_string_equal(why.text, expected);
}

static void an_end_is_explained_by_what_says_most(void **state)
{
    (void)state;
    const struct run_exit silent = {.code = 3, .status = "exit code 3", .why = "", .said = ""};
    const struct run_exit same = {.code = 3, .status = "exit code 3", .why = "", .said = "code 3"};
    const struct run_exit large = {
        .code = 1, .status = "killed by signal 9", .why = "8 GiB of 4", .said = "epoch 2"};
    const struct run_exit left = {.code = 0, .status = "exit code 0", .why = "", .said = "done"};
    assert_explained(&silent, true, "exit code 3");
    assert_explained(&silent, false, "exit code 3");
    assert_explained(&same, true,
                     "exit code 3; it said: code 3"); /* its own words, whatever they are */
    assert_explained(&same, false, "code 3");
    assert_explained(&large, true, "8 GiB of 4; it said: epoch 2");
    assert_explained(&large, false, "8 GiB of 4");
    assert_explained(&KILLED, true, "killed by signal 9");
    assert_explained(&left, false, "exit code 0, and its run was not done; it said: done");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_to_fail_explains_those_that_are_told_to_end),
        cmocka_unit_test(who_was_killed_explains_those_that_lost_it_and_were_seen_first),
        cmocka_unit_test(who_had_no_answer_explains_those_that_lost_it_and_were_seen_first),
        cmocka_unit_test(who_does_not_heed_the_end_and_is_killed_explains_nothing),
        cmocka_unit_test(who_said_nothing_explains_all),
        cmocka_unit_test(a_run_is_done_when_rank_0_is_and_nobody_is_waited_for),
        cmocka_unit_test(who_is_done_may_leave_and_is_not_why_others_fail),
        cmocka_unit_test(a_session_of_an_earlier_life_is_nobody_s),
        cmocka_unit_test(the_word_of_a_process_that_is_gone_counts_no_more),
        cmocka_unit_test(an_end_is_explained_by_what_says_most),
        cmocka_unit_test(samples_and_cpu_time_add_up_and_waiting_is_a_mean),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
