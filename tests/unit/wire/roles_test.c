/* Messages by role: what a key is for. */
#include "core/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Messages of a role, all others being refused. */
static void assert_may_send_just(enum weir_role role, const char *const *names, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        bool is_listed = false;
        for (size_t k = 0; k < count; k++)
            is_listed |= strcmp(names[k], info->name) == 0;
        if (((info->roles & role) != 0) != is_listed)
            fail_msg("%s: %s", weir_role_name(role), info->name);
        found += is_listed;
    }
    assert_int_equal(found, count);
}
#define ASSERT_MAY_SEND_JUST(role, ...)                         \
    do {                                                        \
        static const char *const NAMES[] = {__VA_ARGS__};       \
        assert_may_send_just((role), NAMES, WEIR_COUNT(NAMES)); \
    } while (0)

static void a_worker_beats_reads_and_holds_and_nothing_else(void **state)
{
    (void)state;
    ASSERT_MAY_SEND_JUST(WEIR_ROLE_WORKER, "health", "worker_beat", "worker_leave", "job_describe",
                         "locate", "locate_chunks", "read", "grant", "authority", "set_read",
                         "hold", "hold_end");
}

static void a_trainer_serves_its_run_and_takes_its_batches_and_nothing_else(void **state)
{
    (void)state;
    ASSERT_MAY_SEND_JUST(WEIR_ROLE_TRAINER, "health", "hold", "hold_end", "client_open",
                         "client_beat", "client_commit", "credit", "run_request", "run_beat",
                         "run_done", "run_next");
}

static void people_command_and_some_of_them_push(void **state)
{
    (void)state;
    ASSERT_MAY_SEND_JUST(WEIR_ROLE_OPERATOR, "health", "command", "push", "rows_lend",
                         "rows_return");
    ASSERT_MAY_SEND_JUST(WEIR_ROLE_SUBMITTER, "health", "command", "push", "rows_lend",
                         "rows_return");
    ASSERT_MAY_SEND_JUST(WEIR_ROLE_PRIVACY, "health", "command");
    ASSERT_MAY_SEND_JUST(WEIR_ROLE_VIEWER, "health", "command");
}

static void the_orders_of_the_platform_are_nobody_elses(void **state)
{
    static const enum weir_message ORDERS[] = {
        MSG_wipe,           MSG_keys_set,     MSG_dataset_declare,
        MSG_dataset_remove, MSG_erase_accept, MSG_erase_search,
        MSG_job_open,       MSG_job_close,    MSG_pool_order,
        MSG_selection_open, MSG_select,       MSG_jobs_purge,
        MSG_feed_read,      MSG_list,         MSG_find,
        MSG_worker_hint,
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(ORDERS); i++)
        assert_int_equal(weir_message_info(ORDERS[i])->roles, WEIR_ROLE_PLATFORM);
}

static void a_key_has_a_role_by_its_name(void **state)
{
    (void)state;
    for (unsigned role = 1; role != 0 && role <= WEIR_ROLE_VIEWER; role <<= 1) {
        const char *name = weir_role_name((enum weir_role)role);
        bool is_keyed = (role & WEIR_ROLES_KEYED) != 0;
        assert_int_equal(weir_role_of_name(name), is_keyed ? role : 0);
    }
    assert_int_equal(weir_role_of_name("platform"), 0);
    assert_int_equal(weir_role_of_name("program"), 0);
    assert_int_equal(weir_role_of_name(""), 0);
    assert_string_equal(weir_role_name((enum weir_role)3), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_beats_reads_and_holds_and_nothing_else),
        cmocka_unit_test(a_trainer_serves_its_run_and_takes_its_batches_and_nothing_else),
        cmocka_unit_test(people_command_and_some_of_them_push),
        cmocka_unit_test(the_orders_of_the_platform_are_nobody_elses),
        cmocka_unit_test(a_key_has_a_role_by_its_name),
    };
    return cmocka_run_group_tests_name("wire_roles", tests, NULL, NULL);
}
