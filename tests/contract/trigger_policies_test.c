/* What every trigger policy promises, looped over the registry: the same samples fire the same triggers, and a saved
 * state goes on where it was. A new policy needs a row in EXAMPLES and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/rng.h"
#include "orchestrator/triggers/trigger.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 500 };

static const struct {
    const char *policy, *yaml;
} EXAMPLES[] = {
    {"amount", "{policy: amount, samples: 7}"},
    {"time", "{policy: time, every: 1 month}"},
    {"ensemble",
     "{policy: ensemble, all: [{policy: time, every: 1w}, {policy: amount, samples: 11}]}"},
    {"deletion", "{policy: deletion, samples: 3}"},
};

static const char *example_of(const char *policy)
{
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        if (strcmp(EXAMPLES[i].policy, policy) == 0) {
            return EXAMPLES[i].yaml;
        }
    }
    fail_msg("trigger policy '%s' has no example in this test", policy);
    return NULL;
}

static struct trigger *open_trigger(const struct weir_yaml *document)
{
    struct trigger *trigger = NULL;
    struct weir_error err = {0};
    if (orchestrator_trigger_open(weir_yaml_root(document), "trigger", &trigger, &err) != WEIR_OK) {
        fail_msg("%s", err.text);
    }
    return trigger;
}

static struct weir_yaml *parse(const char *text)
{
    struct weir_yaml *document = NULL;
    struct weir_error err = {0};
    assert_int_equal(weir_yaml_parse("t.yaml", weir_bytes_of(text), &document, &err), WEIR_OK);
    return document;
}

static void note(struct trigger *trigger, size_t taken, struct weir_buf *out)
{
    weir_buf_printf(out, "%zu:", taken);
    orchestrator_trigger_explain(trigger, out);
    weir_buf_append_text(out, ";");
    orchestrator_trigger_fired(trigger);
}

/* Walks a fixed random stream; every `save_every` samples the trigger is replaced by one restored from its state. */
static void walk(const struct weir_yaml *document, size_t save_every, struct weir_buf *out)
{
    struct trigger *trigger = open_trigger(document);
    struct weir_rng rng;
    weir_rng_init(&rng, 5);
    int64_t time_us = INT64_C(1000000000000000);
    for (size_t i = 0; i < SAMPLES; i++) {
        time_us += (int64_t)weir_rng_below(&rng, INT64_C(86400000000) * 3);
        struct trigger_sample sample = {.id = i, .time_us = time_us, .label = (int64_t)(i & 1)};
        if (orchestrator_trigger_before(trigger, &sample)) {
            note(trigger, i, out);
            assert_false(orchestrator_trigger_before(trigger, &sample));
        }
        if (orchestrator_trigger_observe(trigger, &sample)) {
            note(trigger, i + 1, out);
        }
        if (i % 50 == 49 && orchestrator_trigger_erased(trigger, 1)) {
            note(trigger, i + 1, out);
        }
        if (save_every != 0 && i % save_every == 0) {
            WEIR_AUTO_BUF saved = {0};
            struct weir_error err = {0};
            orchestrator_trigger_save(trigger, &saved);
            orchestrator_trigger_close(trigger);
            trigger = open_trigger(document);
            struct weir_bytes view = weir_buf_view(&saved);
            assert_int_equal(orchestrator_trigger_restore(trigger, &view, &err), WEIR_OK);
            assert_int_equal(view.size, 0);
        }
    }
    orchestrator_trigger_close(trigger);
}

static void check_policy(const struct trigger_policy *policy)
{
    WEIR_AUTO(weir_yaml) document = parse(example_of(policy->name));
    WEIR_AUTO_BUF straight = {0};
    WEIR_AUTO_BUF again = {0};
    WEIR_AUTO_BUF restored = {0};
    walk(document, 0, &straight);
    walk(document, 0, &again);
    walk(document, 3, &restored);
    assert_true(straight.size > 0);
    assert_string_equal(weir_buf_text(&straight), weir_buf_text(&again));
    assert_string_equal(weir_buf_text(&straight), weir_buf_text(&restored));
}

static void the_same_samples_fire_the_same_triggers(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_trigger_count(); i++) {
        check_policy(orchestrator_trigger_at(i));
    }
}

static void every_policy_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_trigger_count(); i++) {
        const struct trigger_policy *policy = orchestrator_trigger_at(i);
        assert_ptr_equal(orchestrator_trigger_find(policy->name), policy);
        assert_true(strlen(policy->summary) > 10);
        assert_non_null(policy->init);
        assert_non_null(policy->explain);
        assert_non_null(policy->save);
        assert_non_null(policy->restore);
        assert_true(policy->before != NULL || policy->observe != NULL || policy->erased != NULL);
        for (const struct cfg_key *key = policy->options; key->name != NULL; key++) {
            assert_non_null(key->doc);
        }
    }
}

static void a_short_saved_state_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_trigger_count(); i++) {
        WEIR_AUTO(weir_yaml) document = parse(example_of(orchestrator_trigger_at(i)->name));
        WEIR_AUTO(trigger) trigger = open_trigger(document);
        WEIR_AUTO_BUF saved = {0};
        struct weir_error err = {0};
        orchestrator_trigger_save(trigger, &saved);
        struct weir_bytes cut = weir_bytes(saved.at, saved.size - 1);
        assert_int_equal(orchestrator_trigger_restore(trigger, &cut, &err), WEIR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_whole),
        cmocka_unit_test(the_same_samples_fire_the_same_triggers),
        cmocka_unit_test(a_short_saved_state_is_refused),
    };
    return cmocka_run_group_tests_name("trigger_policies", tests, NULL, NULL);
}
