/* Promises of every trigger policy, looped over the registry: the same samples fire the same
 * triggers, a saved state goes on where it was, and bytes that are none do no harm. A new policy
 * needs a row in EXAMPLES and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/rng.h"
#include "orchestrator/triggers/trigger.h"
#include "tests/support/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 500, CHANGE = 250, CHECKS_MAX = 64, HOSTILE = 400 };

static const struct {
    const char *policy, *yaml;
} EXAMPLES[] = {
    {"amount", "{policy: amount, samples: 7}"},
    {"time", "{policy: time, every: 1 month, from: 1970-02-01, to: 2100-01-01}"},
    {"ensemble",
     "{policy: ensemble, all: [{policy: time, every: 1w}, {policy: amount, samples: 11}]}"},
    {"deletion", "{policy: deletion, samples: 3}"},
    {"drift", "{policy: drift, on: labels, samples: 20, reference: 60, current: 40, statistics: "
              "[{name: psi, criterion: {policy: threshold, value: 0.3}}]}"},
    {"drift",
     "{policy: drift, on: embeddings, every: 1 month, reference: 90d, current: 30d, "
     "after_trigger: slide, sample_size: 10, warmup: 3, warmup_policy: {policy: amount, "
     "samples: 9}, votes: 1, statistics: [{name: mmd, criterion: {policy: quantile, window: "
     "5}}, {name: ks, criterion: {policy: rolling_average, window: 5}}]}"},
    {"performance", "{policy: performance, samples: 25, avoidable: 5, expected_accuracy: 0.9, "
                    "criteria: [{policy: threshold, value: 0.5}]}"},
    {"performance",
     "{policy: performance, samples: 40, metric: {name: roc_auc}, detectors: [{policy: "
     "ddm}, {policy: adwin}, {policy: kswin}]}"},
    {"cost", "{policy: cost, samples: 20, per_training_second: 1e9, seconds_per_sample: 0.01}"},
    {"cost", "{policy: cost, of: misclassifications, every: 1 month, expected_accuracy: 0.9, "
             "per_training_second: 1e6}"},
    {"ensemble",
     "{policy: ensemble, of: [{policy: amount, samples: 90}, {policy: performance, samples: 30, "
     "criteria: [{policy: quantile, window: 4}]}, {policy: ensemble, any: [{policy: drift, on: features, "
     "samples: 30, reference: 30, current: 30, statistics: [ks]}]}], at_least: 2}"},
};

static struct trigger *open_trigger(const struct weir_yaml *document)
{
    struct trigger *trigger = NULL;
    struct weir_error err = {0};
    if (orchestrator_trigger_open(weir_yaml_root(document), "trigger", &trigger, &err) != WEIR_OK) {
        fail_msg("%s", err.text);
    }
    return trigger;
}

static void note(struct trigger *trigger, size_t taken, struct weir_buf *out)
{
    weir_buf_printf(out, "%zu:", taken);
    orchestrator_trigger_explain(trigger, out);
    weir_buf_append_text(out, ";");
    orchestrator_trigger_fired(trigger);
    orchestrator_trigger_trained(trigger, taken, 0.5 + (double)taken / 100);
}

/* Outputs of a model for a stream that changes half-way. */
static struct trigger_points measure(struct weir_u64s ids, int64_t *labels, float *values)
{
    for (size_t i = 0; i < ids.count; i++) {
        uint64_t draw = weir_mix64(ids.at[i]);
        labels[i] = (int64_t)(draw & 1);
        values[i] = (ids.at[i] < CHANGE ? 0.25F : 0.6F) * (float)(draw >> 40) / (float)(1 << 24);
    }
    return (struct trigger_points){
        .ids = ids.at, .labels = labels, .values = values, .count = ids.count, .width = 1};
}

/* Whatever is due is measured, one check after the other. */
static void check(struct trigger *trigger, size_t taken, struct weir_buf *out)
{
    static int64_t labels[2][SAMPLES];
    static float values[2][SAMPLES];
    for (int checks = 0; orchestrator_trigger_is_due(trigger); checks++) {
        struct trigger_request request, again;
        assert_true(checks < CHECKS_MAX);
        orchestrator_trigger_request(trigger, &request);
        assert_true(request.reference.count <= SAMPLES && request.current.count <= SAMPLES);
        struct trigger_measured measured = {
            .has_model = true,
            .reference = measure(request.reference, labels[0], values[0]),
            .current = measure(request.current, labels[1], values[1]),
        };
        size_t requested = request.current.count;
        for (size_t i = 1; i < requested; i++)
            assert_true(request.current.at[i - 1] < request.current.at[i]);
        orchestrator_trigger_request(trigger, &again);
        assert_int_equal(again.current.count, requested);
        measured.reference.ids = again.reference.at;
        measured.current.ids = again.current.at;
        json_t *decision = json_object();
        bool fires = orchestrator_trigger_measured(trigger, &measured, decision);
        assert_non_null(json_object_get(decision, "policy"));
        assert_non_null(json_object_get(decision, "verdict"));
        assert_true(strlen(json_string_value(json_object_get(decision, "because"))) > 0);
        char *text = json_dumps(decision, JSON_COMPACT);
        weir_buf_printf(out, "%zu:%s;", taken, text);
        free(text);
        json_decref(decision);
        if (fires)
            note(trigger, taken, out);
    }
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
        struct trigger_sample sample = {
            .id = i, .time_us = time_us, .label = (int64_t)(weir_mix64(i) % (i < CHANGE ? 2 : 5))};
        if (orchestrator_trigger_before(trigger, &sample)) {
            note(trigger, i, out);
            assert_false(orchestrator_trigger_before(trigger, &sample));
        }
        check(trigger, i, out);
        if (orchestrator_trigger_observe(trigger, &sample)) {
            note(trigger, i + 1, out);
        }
        check(trigger, i + 1, out);
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

static void the_same_samples_fire_the_same_triggers(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(EXAMPLES[i].yaml);
        WEIR_AUTO_BUF straight = {0};
        walk(document, 0, &straight);
        assert_non_null(strchr(weir_buf_text(&straight), ';'));
        for (size_t save_every = 0; save_every < 4; save_every += 1 + save_every) {
            WEIR_AUTO_BUF again = {0};
            walk(document, save_every, &again);
            assert_string_equal(weir_buf_text(&straight), weir_buf_text(&again));
        }
    }
}

static void every_policy_has_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_trigger_count(); i++) {
        bool found = false;
        for (size_t k = 0; k < WEIR_COUNT(EXAMPLES); k++)
            found |= strcmp(EXAMPLES[k].policy, orchestrator_trigger_at(i)->name) == 0;
        if (!found)
            fail_msg("trigger policy '%s' has no example in this test",
                     orchestrator_trigger_at(i)->name);
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
        assert_true(policy->before != NULL || policy->observe != NULL ||
                    (policy->events != NULL && policy->events->erased != NULL));
        if (policy->measuring != NULL) {
            assert_non_null(policy->measuring->subject);
            assert_non_null(policy->measuring->is_due);
            assert_non_null(policy->measuring->request);
            assert_non_null(policy->measuring->measured);
            assert_non_null(policy->measuring->forget);
        }
        for (const struct cfg_key *key = policy->options; key->name != NULL; key++) {
            assert_non_null(key->doc);
        }
    }
}

/* A state in the middle of the stream. */
static void save_amidst(const struct weir_yaml *document, struct weir_buf *saved)
{
    WEIR_AUTO(trigger) trigger = open_trigger(document);
    WEIR_AUTO_BUF out = {0};
    for (size_t i = 0; i < 100; i++) {
        struct trigger_sample sample = {
            .id = i, .time_us = (int64_t)i * INT64_C(86400000000), .label = (int64_t)(i % 2)};
        if (orchestrator_trigger_before(trigger, &sample) ||
            orchestrator_trigger_observe(trigger, &sample))
            orchestrator_trigger_fired(trigger);
        check(trigger, i, &out);
    }
    orchestrator_trigger_save(trigger, saved);
}

static enum weir_status restore(struct trigger *trigger, const void *bytes, size_t size)
{
    struct weir_bytes view = weir_bytes(bytes, size);
    struct weir_error err = {0};
    return orchestrator_trigger_restore(trigger, &view, &err);
}

static void a_short_saved_state_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(EXAMPLES[i].yaml);
        WEIR_AUTO_BUF saved = {0};
        save_amidst(document, &saved);
        for (size_t size = 0; size < saved.size; size++) {
            WEIR_AUTO(trigger) trigger = open_trigger(document);
            assert_int_equal(restore(trigger, saved.at, size), WEIR_INVALID);
        }
    }
}

static void decide_without_model(struct trigger *trigger)
{
    struct trigger_request request;
    json_t *decision = json_object();
    orchestrator_trigger_request(trigger, &request);
    (void)orchestrator_trigger_measured(trigger, &(struct trigger_measured){0}, decision);
    json_decref(decision);
}

static void hostile_saved_bytes_are_refused_or_taken_and_do_no_harm(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 11);
    for (size_t i = 0; i < HOSTILE; i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(EXAMPLES[i % WEIR_COUNT(EXAMPLES)].yaml);
        WEIR_AUTO(trigger) trigger = open_trigger(document);
        WEIR_AUTO_BUF saved = {0};
        save_amidst(document, &saved);
        for (uint64_t k = weir_rng_below(&rng, 4) + 1; k > 0; k--)
            saved.at[weir_rng_below(&rng, saved.size)] = (uint8_t)weir_rng_next(&rng);
        if (restore(trigger, saved.at, saved.size) != WEIR_OK)
            continue;
        for (size_t row = 0; row < 50; row++) {
            struct trigger_sample sample = {.id = SAMPLES + row,
                                            .time_us = (int64_t)weir_rng_next(&rng)};
            (void)orchestrator_trigger_before(trigger, &sample);
            if (orchestrator_trigger_observe(trigger, &sample))
                orchestrator_trigger_fired(trigger);
            if (orchestrator_trigger_is_due(trigger))
                decide_without_model(trigger);
        }
    }
}

/* Nothing that a state says differs from one that never met what it forgot. */
static void what_is_forgotten_is_in_no_window(void **state)
{
    (void)state;
    static const uint64_t FORGOTTEN[] = {3, 50, 51, 99};
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(EXAMPLES[i].yaml);
        WEIR_AUTO(trigger) trigger = open_trigger(document);
        WEIR_AUTO_BUF saved = {0};
        save_amidst(document, &saved);
        assert_int_equal(restore(trigger, saved.at, saved.size), WEIR_OK);
        orchestrator_trigger_forget(trigger, (struct weir_u64s){FORGOTTEN, WEIR_COUNT(FORGOTTEN)});
        if (!orchestrator_trigger_is_due(trigger))
            continue;
        struct trigger_request request;
        orchestrator_trigger_request(trigger, &request);
        for (size_t k = 0; k < WEIR_COUNT(FORGOTTEN); k++) {
            for (size_t at = 0; at < request.current.count; at++)
                assert_true(request.current.at[at] != FORGOTTEN[k]);
            for (size_t at = 0; at < request.reference.count; at++)
                assert_true(request.reference.at[at] != FORGOTTEN[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_has_an_example),
        cmocka_unit_test(every_policy_is_whole),
        cmocka_unit_test(the_same_samples_fire_the_same_triggers),
        cmocka_unit_test(a_short_saved_state_is_refused),
        cmocka_unit_test(hostile_saved_bytes_are_refused_or_taken_and_do_no_harm),
        cmocka_unit_test(what_is_forgotten_is_in_no_window),
    };
    return cmocka_run_group_tests_name("trigger_policies", tests, NULL, NULL);
}
