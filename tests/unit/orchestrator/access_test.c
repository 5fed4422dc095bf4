/* The table of topics: what each role may ask, and in which words the others are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "orchestrator/topics/access.h"

#include <string.h>

/* All that a key of each role may ask, as an operator would write it down. */
static const char *const VIEWER_ASKS[] = {
    "status",      "list",       "standing",     "events",     "report",       "plan",
    "select",      "models",     "model",        "model_diff", "lineage",      "datasets",
    "comparisons", "comparison", "sets",         "exports",    "feed_list",    "workers",
    "cache",       "doctor",     "erase_status", "erase_list", "erase_verify", "erase_key",
    "webhooks",    NULL,
};
static const char *const SUBMITTER_ASKS[] = {
    "status",         "list",         "standing",   "events",
    "report",         "plan",         "select",     "models",
    "model",          "model_diff",   "lineage",    "datasets",
    "compare",        "comparisons",  "comparison", "comparison_remove",
    "sets",           "exports",      "workers",    "cache",
    "erase_key",      "output",       "submit",     "apply",
    "pause",          "resume",       "stop",       "remove",
    "rerun",          "evaluate",     "predict",    "predict_open",
    "predict_rows",   "model_export", "push",       "model_promote",
    "model_rollback", NULL,
};
static const char *const PRIVACY_ASKS[] = {
    "status",       "list",          "standing",       "events",
    "report",       "plan",          "select",         "models",
    "model",        "model_diff",    "lineage",        "datasets",
    "sets",         "exports",       "workers",        "cache",
    "doctor",       "erase_request", "erase_requests", "erase_plan",
    "erase_status", "erase_list",    "erase_receipt",  "erase_verify",
    "erase_key",    "audit",         "comparisons",    "comparison",
    NULL,
};
/* Everything but these. */
static const char *const OPERATOR_LACKS[] = {"erase_request", "erase_requests", "erase_plan", NULL};
/* Topics that a key of a tenant may not ask, whatever its role. */
static const char *const TENANT_LACKS[] = {
    "lineage",        "dataset_remove", "materialize",  "exports",
    "exports_drop",   "feed_list",      "feed_forget",  "workers_set",
    "cache",          "cache_drop",     "doctor",       "erase_request",
    "erase_requests", "erase_plan",     "erase_status", "erase_receipt",
    "erase_verify",   "erase_key",      "webhooks",     "keys_list",
    "keys_allow",     "keys_revoke",    "keys_rotate",  "tokens_list",
    "tokens_add",     "tokens_revoke",  "audit",        NULL,
};

static bool is_among(const char *const *list, const char *topic)
{
    while (*list != NULL && strcmp(*list, topic) != 0)
        list++;
    return *list != NULL;
}

static bool may_ask(enum weir_role role, const char *tenant, const struct topic_access *topic)
{
    struct weir_error err;
    const struct weir_sender sender = {role, "alice", tenant};
    enum weir_status status = orchestrator_topic_check(topic, &sender, &err);
    assert_true(status == WEIR_OK || status == WEIR_DENIED);
    return status == WEIR_OK;
}

static void each_role_may_ask_what_is_declared_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_topic_count(); i++) {
        const struct topic_access *topic = orchestrator_topic_at(i);
        print_message("%s\n", topic->name);
        assert_true(may_ask(WEIR_ROLE_PLATFORM, "", topic));
        assert_false(may_ask(WEIR_ROLE_TRAINER, "", topic));
        assert_false(may_ask(WEIR_ROLE_PROGRAM, "", topic));
        assert_false(may_ask(WEIR_ROLE_WORKER, "", topic));
        assert_int_equal(may_ask(WEIR_ROLE_VIEWER, "", topic), is_among(VIEWER_ASKS, topic->name));
        assert_int_equal(may_ask(WEIR_ROLE_SUBMITTER, "", topic),
                         is_among(SUBMITTER_ASKS, topic->name));
        assert_int_equal(may_ask(WEIR_ROLE_PRIVACY, "", topic),
                         is_among(PRIVACY_ASKS, topic->name));
        assert_int_equal(may_ask(WEIR_ROLE_OPERATOR, "", topic),
                         !is_among(OPERATOR_LACKS, topic->name));
    }
}

static void erasing_is_left_to_privacy_and_the_platform_itself(void **state)
{
    static const enum weir_role ROLES[] = {WEIR_ROLE_TRAINER,   WEIR_ROLE_PROGRAM,
                                           WEIR_ROLE_WORKER,    WEIR_ROLE_OPERATOR,
                                           WEIR_ROLE_SUBMITTER, WEIR_ROLE_VIEWER};
    static const char *const TOPICS[] = {"erase_request", "erase_requests"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TOPICS); i++) {
        const struct topic_access *topic = orchestrator_topic_named(TOPICS[i]);
        assert_non_null(topic);
        assert_true(topic->is_order);
        assert_true(may_ask(WEIR_ROLE_PRIVACY, "", topic));
        assert_true(may_ask(WEIR_ROLE_PLATFORM, "", topic));
        for (size_t j = 0; j < WEIR_COUNT(ROLES); j++)
            assert_false(may_ask(ROLES[j], "", topic));
    }
}

static void a_key_of_a_tenant_may_not_ask_about_the_whole_platform(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_topic_count(); i++) {
        const struct topic_access *topic = orchestrator_topic_at(i);
        bool is_declared = may_ask(WEIR_ROLE_SUBMITTER, "", topic);
        print_message("%s\n", topic->name);
        assert_int_equal(may_ask(WEIR_ROLE_SUBMITTER, "red", topic),
                         is_declared && !is_among(TENANT_LACKS, topic->name));
    }
}

static void a_refusal_names_the_key_its_role_and_the_roles_that_may(void **state)
{
    struct weir_error err;
    const struct weir_sender alice = {WEIR_ROLE_SUBMITTER, "alice", ""};
    const struct weir_sender rosa = {WEIR_ROLE_SUBMITTER, "rosa", "red"};
    (void)state;
    assert_int_equal(
        orchestrator_topic_check(orchestrator_topic_named("erase_request"), &alice, &err),
        WEIR_DENIED);
    assert_string_equal(err.text, "key 'alice' is of role submitter: 'erase_request' is for keys "
                                  "of role privacy, and for the platform's own host");
    assert_int_equal(orchestrator_topic_check(orchestrator_topic_named("doctor"), &alice, &err),
                     WEIR_DENIED);
    assert_non_null(strstr(err.text, "role operator, privacy or viewer"));
    assert_int_equal(orchestrator_topic_check(orchestrator_topic_named("cache"), &rosa, &err),
                     WEIR_DENIED);
    assert_string_equal(err.text,
                        "key 'rosa' is of tenant red: 'cache' is about the whole platform");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_may_ask_what_is_declared_and_nothing_else),
        cmocka_unit_test(erasing_is_left_to_privacy_and_the_platform_itself),
        cmocka_unit_test(a_key_of_a_tenant_may_not_ask_about_the_whole_platform),
        cmocka_unit_test(a_refusal_names_the_key_its_role_and_the_roles_that_may),
    };
    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
