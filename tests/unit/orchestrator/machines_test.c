/* The tables of pipelines and erasures: every edge leads somewhere, every state has a way on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/attributes.h"
#include "orchestrator/erasures/machine.h"
#include "orchestrator/pipeline/machine.h"

#include <string.h>

static void a_trigger_goes_round_once(void **state)
{
    (void)state;
    static const enum pipeline_event EVENTS[] = {
        PIPELINE_ON_DECLARED, PIPELINE_ON_SCANNED,   PIPELINE_ON_TRIGGERED, PIPELINE_ON_SEALED,
        PIPELINE_ON_TRAINED,  PIPELINE_ON_STORED,    PIPELINE_ON_EVALUATED, PIPELINE_ON_TRIGGERED,
        PIPELINE_ON_SKIPPED,  PIPELINE_ON_EXHAUSTED, PIPELINE_ON_CLOSED};
    enum pipeline_state at = PIPELINE_DECLARING;
    for (size_t i = 0; i < WEIR_COUNT(EVENTS); i++)
        assert_true(orchestrator_pipeline_next_state(at, EVENTS[i], &at));
    assert_int_equal(at, PIPELINE_FINISHED);
}

/* Every pair: what the event leads to from the state; "" is nowhere. Written a second time here, on purpose. */
static void every_pair_of_state_and_event_leads_where_it_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        const char *to[PIPELINE_EVENTS];
    } PAIRS[] = {
#define TO(event, state) [PIPELINE_ON_##event] = #state
#define BETWEEN          TO(PAUSED, PAUSED), TO(APPLIED, DECLARING)
#define ALWAYS           TO(STOPPED, STOPPED), TO(FAILED, FAILED), TO(REMOVED, REMOVING)
        {"DECLARING", {TO(DECLARED, SCANNING), BETWEEN, ALWAYS}},
        {"SCANNING", {TO(SCANNED, READING), BETWEEN, ALWAYS}},
        {"READING",
         {TO(ASKED, MEASURING), TO(TRIGGERED, SELECTING), TO(EXHAUSTED, CLOSING), BETWEEN, ALWAYS}},
        {"MEASURING",
         {TO(ASKED, MEASURING), TO(MEASURED, READING), TO(TRIGGERED, SELECTING), ALWAYS}},
        {"SELECTING",
         {TO(SKIPPED, READING), TO(SEALED, TRAINING), TO(SCORES_NEEDED, SCORING),
          TO(HOLDOUT_MODEL_NEEDED, HOLDING), ALWAYS}},
        {"SCORING", {TO(SCORED, SELECTING), ALWAYS}},
        {"HOLDING", {TO(HOLDOUT_MODEL_READY, SELECTING), ALWAYS}},
        {"TRAINING",
         {TO(SKIPPED, READING), TO(ROUND_TRAINED, RENEWING), TO(TRAINED, STORING), ALWAYS}},
        {"RENEWING", {TO(RENEWED, SELECTING), ALWAYS}},
        {"STORING", {TO(STORED, EVALUATING), ALWAYS}},
        {"EVALUATING", {TO(EVALUATED, READING), TO(TRIGGERED, SELECTING), ALWAYS}},
        {"CLOSING", {TO(CLOSED, FINISHED), BETWEEN, ALWAYS}},
        {"FINISHED", {TO(APPLIED, FINISHED), TO(REMOVED, REMOVING)}},
        {"PAUSED",
         {TO(RESUMED, DECLARING), TO(STOPPED, STOPPED), TO(APPLIED, PAUSED),
          TO(REMOVED, REMOVING)}},
        {"STOPPED", {TO(RESUMED, DECLARING), TO(APPLIED, STOPPED), TO(REMOVED, REMOVING)}},
        {"FAILED", {TO(RESUMED, DECLARING), TO(APPLIED, FAILED), TO(REMOVED, REMOVING)}},
        {"REMOVING", {TO(CLEARED, REMOVED)}},
        {"REMOVED", {NULL}},
#undef ALWAYS
#undef BETWEEN
#undef TO
    };
    assert_int_equal(WEIR_COUNT(PAIRS), PIPELINE_STATES);
    for (int from = 0; from < PIPELINE_STATES; from++) {
        assert_string_equal(PAIRS[from].from,
                            orchestrator_pipeline_state_name((enum pipeline_state)from));
        for (int event = 0; event < PIPELINE_EVENTS; event++) {
            enum pipeline_state to = PIPELINE_STATES;
            bool leads = orchestrator_pipeline_next_state((enum pipeline_state)from,
                                                          (enum pipeline_event)event, &to);
            assert_int_equal(leads, PAIRS[from].to[event] != NULL);
            if (leads)
                assert_string_equal(PAIRS[from].to[event], orchestrator_pipeline_state_name(to));
        }
    }
}

static void every_working_state_can_fail_and_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < PIPELINE_STATES; i++) {
        enum pipeline_state from = (enum pipeline_state)i, to = from;
        bool works = !orchestrator_pipeline_at_rest(from) &&
                     from != PIPELINE_REMOVING; /* it goes on for ever */
        assert_int_equal(orchestrator_pipeline_next_state(from, PIPELINE_ON_FAILED, &to), works);
        if (works)
            assert_int_equal(to, PIPELINE_FAILED);
    }
    enum pipeline_state to = PIPELINE_FAILED;
    assert_true(orchestrator_pipeline_next_state(PIPELINE_FAILED, PIPELINE_ON_RESUMED, &to));
    assert_int_equal(to, PIPELINE_DECLARING);
    assert_false(orchestrator_pipeline_next_state(PIPELINE_FINISHED, PIPELINE_ON_RESUMED, &to));
}

/* Marks where the edges of `from` lead; how many there are. */
static int follow(enum pipeline_state from, bool *reached)
{
    int ways = 0;
    for (int event = 0; event < PIPELINE_EVENTS; event++) {
        enum pipeline_state to;
        if (orchestrator_pipeline_next_state(from, (enum pipeline_event)event, &to)) {
            reached[to] = true;
            ways++;
        }
    }
    return ways;
}

static void no_state_is_a_dead_end_or_out_of_reach(void **state)
{
    (void)state;
    bool reached[PIPELINE_STATES] = {[PIPELINE_DECLARING] = true};
    for (int step = 0; step < PIPELINE_STATES * PIPELINE_STATES; step++) {
        int at = step % PIPELINE_STATES;
        if (reached[at])
            assert_true(follow((enum pipeline_state)at, reached) > 0 || at == PIPELINE_REMOVED);
    }
    for (int i = 0; i < PIPELINE_STATES; i++)
        assert_true(reached[i]);
}

static void an_erasure_goes_straight_to_its_receipt(void **state)
{
    (void)state;
    enum erasure_state at = ERASURE_ACCEPTED;
    for (int event = 0; event < ERASURE_EVENTS; event++) {
        for (int other = 0; other < ERASURE_EVENTS; other++) {
            enum erasure_state to;
            assert_int_equal(orchestrator_erasure_next_state(at, (enum erasure_event)other, &to),
                             other == event);
        }
        assert_true(orchestrator_erasure_next_state(at, (enum erasure_event)event, &at));
    }
    assert_int_equal(at, ERASURE_FINISHED);
}

static void names_read_back_as_their_states(void **state)
{
    (void)state;
    for (int i = 0; i < PIPELINE_STATES; i++) {
        enum pipeline_state back;
        assert_true(orchestrator_pipeline_state_from_name(
            orchestrator_pipeline_state_name((enum pipeline_state)i), &back));
        assert_int_equal(back, i);
    }
    for (int i = 0; i < ERASURE_STATES; i++) {
        enum erasure_state back;
        assert_true(orchestrator_erasure_state_from_name(
            orchestrator_erasure_state_name((enum erasure_state)i), &back));
        assert_int_equal(back, i);
    }
    enum pipeline_state none;
    assert_false(orchestrator_pipeline_state_from_name("ASLEEP", &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trigger_goes_round_once),
        cmocka_unit_test(every_pair_of_state_and_event_leads_where_it_is_told),
        cmocka_unit_test(every_working_state_can_fail_and_come_back),
        cmocka_unit_test(no_state_is_a_dead_end_or_out_of_reach),
        cmocka_unit_test(an_erasure_goes_straight_to_its_receipt),
        cmocka_unit_test(names_read_back_as_their_states),
    };
    return cmocka_run_group_tests_name("machines", tests, NULL, NULL);
}
