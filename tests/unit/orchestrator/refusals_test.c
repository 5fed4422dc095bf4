/* Refusals of a minute: told one by one, then counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "orchestrator/audit/refusals.h"

#include <stdio.h>
#include <string.h>

static void the_first_refusals_of_a_sender_are_told_and_the_others_counted(void **state)
{
    struct audit_refusals refusals = {.count = 0};
    (void)state;
    for (int i = 0; i < AUDIT_REFUSED_FIRST; i++)
        assert_int_equal(orchestrator_refusals_note(&refusals, "eve", "viewer", "submit")->counted,
                         0);
    assert_int_equal(orchestrator_refusals_note(&refusals, "eve", "viewer", "stop")->counted, 1);
    assert_int_equal(orchestrator_refusals_note(&refusals, "eve", "viewer", "stop")->counted, 2);
    assert_int_equal(orchestrator_refusals_note(&refusals, "ben", "viewer", "stop")->counted, 0);
    assert_int_equal(refusals.count, 2);
    assert_string_equal(refusals.at[0].what, "stop");
}

static void senders_beyond_the_bound_are_counted_together(void **state)
{
    struct audit_refusals refusals = {.count = 0};
    const struct audit_refused *refused = NULL;
    char who[16];
    (void)state;
    for (int i = 0; i < 100 * AUDIT_REFUSED_MAX; i++) {
        (void)snprintf(who, sizeof(who), "key-%d", i);
        refused = orchestrator_refusals_note(&refusals, who, "viewer", "stop");
    }
    assert_int_equal(refusals.count, AUDIT_REFUSED_MAX + 1);
    assert_string_equal(refused->who, "others");
    assert_int_equal(refused->told, AUDIT_REFUSED_FIRST);
    assert_int_equal(refused->counted, 99 * AUDIT_REFUSED_MAX - AUDIT_REFUSED_FIRST);
}

static void strangers_leave_room_for_those_who_have_names(void **state)
{
    struct audit_refusals refusals = {.count = 0};
    char who[16];
    (void)state;
    for (int i = 0; i < 100 * AUDIT_REFUSED_MAX; i++) {
        (void)snprintf(who, sizeof(who), "key-%d", i);
        (void)orchestrator_refusals_note(&refusals, who, "", "handshake");
    }
    assert_int_equal(refusals.count, AUDIT_STRANGERS_MAX + 1);
    const struct audit_refused *refused =
        orchestrator_refusals_note(&refusals, "ben", "viewer", "erase");
    assert_string_equal(refused->who, "ben");
    assert_int_equal(refused->counted, 0);
}

static void texts_that_are_too_long_are_cut(void **state)
{
    struct audit_refusals refusals = {.count = 0};
    char text[4096];
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const struct audit_refused *refused = orchestrator_refusals_note(&refusals, text, text, text);
    assert_int_equal(strlen(refused->who), AUDIT_WHO_MAX - 1);
    assert_ptr_equal(orchestrator_refusals_note(&refusals, text, "", ""), refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_refusals_of_a_sender_are_told_and_the_others_counted),
        cmocka_unit_test(senders_beyond_the_bound_are_counted_together),
        cmocka_unit_test(strangers_leave_room_for_those_who_have_names),
        cmocka_unit_test(texts_that_are_too_long_are_cut),
    };
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
