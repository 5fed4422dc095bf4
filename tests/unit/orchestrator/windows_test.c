/* Parts of policies that measure: windows that neither double nor drop samples, checks that
 * come due where they are said to, areas and counts that can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "orchestrator/triggers/window.h"
#include "tests/support/yaml.h"

#include <stdlib.h>
#include <string.h>

static const int64_t SECOND_US = 1000000;

static void add(struct window *window, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        const struct window_sample sample = {
            .id = i, .number = i + 1, .time_us = (int64_t)i * SECOND_US, .label = (int64_t)(i % 3)};
        orchestrator_window_add(window, &sample);
    }
    orchestrator_window_slide(window, first + count);
}

static void assert_holds(const struct window *window, uint64_t first, size_t count)
{
    assert_int_equal(window->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(window->at[i].id, first + i);
}

static void a_window_of_samples_holds_the_newest_of_them_once(void **state)
{
    (void)state;
    struct window window = {.length = {.samples = 2000}, .room = 4000};
    for (uint64_t chunk = 0; chunk < 4; chunk++)
        add(&window, chunk * 100, 100);
    assert_holds(&window, 0, 400); /* not full: nothing is doubled to fill it */
    add(&window, 400, 10000);      /* a chunk larger than the window */
    assert_holds(&window, 8400, 2000);
    orchestrator_window_fini(&window);
}

static void a_window_of_time_holds_what_is_younger(void **state)
{
    (void)state;
    struct window window = {.length = {.us = 60 * SECOND_US}, .room = 1000};
    add(&window, 0, 500);
    assert_holds(&window, 440, 60);
    const struct window_sample late = {.id = 9999, .number = 501, .time_us = 450 * SECOND_US};
    const struct window_sample too_late = {.id = 9998, .number = 502, .time_us = 3 * SECOND_US};
    orchestrator_window_add(&window, &late);
    orchestrator_window_add(&window, &too_late);
    orchestrator_window_slide(&window, 502);
    assert_int_equal(window.count, 61);
    orchestrator_window_fini(&window);
}

static void a_window_with_too_little_room_is_a_random_sample_of_itself(void **state)
{
    (void)state;
    struct window window = {.length = {.samples = 100000}, .room = 1000};
    struct window again = window;
    size_t late = 0, drawn = 0, same = 0;
    add(&window, 0, 200000);
    for (uint64_t i = 0; i < 200000; i += 1000)
        add(&again, i, 1000);
    assert_true(window.count > 300 && window.count <= 1000);
    for (size_t i = 0; i < window.count; i++) {
        assert_true(window.at[i].id >= 100000);
        late += window.at[i].id >= 150000;
    }
    assert_true(late > window.count / 3 && late < window.count * 2 / 3);
    WEIR_AUTO_FREE uint64_t *ids = orchestrator_window_draw(&window, 100, &drawn);
    WEIR_AUTO_FREE uint64_t *others = orchestrator_window_draw(&again, 100, &same);
    assert_int_equal(drawn, 100);
    assert_memory_equal(ids, others, sizeof(*ids) * 100); /* however the stream is cut */
    for (size_t i = 1; i < drawn; i++)
        assert_true(ids[i - 1] < ids[i]);
    orchestrator_window_fini(&window);
    orchestrator_window_fini(&again);
}

static void lengths_are_numbers_or_times(void **state)
{
    (void)state;
    struct window_length length;
    struct weir_error err;
    assert_int_equal(orchestrator_window_length_read("1000", NULL, &length, &err), WEIR_OK);
    assert_int_equal(length.samples, 1000);
    assert_int_equal(orchestrator_window_length_read("2w", NULL, &length, &err), WEIR_OK);
    assert_int_equal(length.samples, 0);
    assert_int_equal(length.us, 14 * 86400 * SECOND_US);
    static const char *const WRONG[] = {"", "0", "-5", "ten", "10 samples", "1 moon"};
    for (size_t i = 0; i < WEIR_COUNT(WRONG); i++)
        assert_int_equal(orchestrator_window_length_read(WRONG[i], NULL, &length, &err),
                         WEIR_INVALID);
}

/* ---- cost and performance, by hand ---- */

static struct trigger *open_trigger(const struct weir_yaml *document)
{
    struct trigger *trigger = NULL;
    struct weir_error err = {0};
    if (orchestrator_trigger_open(weir_yaml_root(document), "trigger", &trigger, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return trigger;
}

/* A sample a second, from `first` on; true when the last one brings a check. */
static bool pass(struct trigger *trigger, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        const struct trigger_sample sample = {.id = i, .time_us = (int64_t)i * SECOND_US};
        assert_false(orchestrator_trigger_is_due(trigger));
        assert_false(orchestrator_trigger_before(trigger, &sample));
        assert_false(orchestrator_trigger_observe(trigger, &sample));
    }
    return orchestrator_trigger_is_due(trigger);
}

static double decide(struct trigger *trigger, const struct trigger_measured *measured,
                     const char *key, bool expected)
{
    json_t *decision = json_object();
    assert_int_equal(orchestrator_trigger_measured(trigger, measured, decision), expected);
    double value = json_number_value(json_object_get(decision, key));
    json_decref(decision);
    if (expected)
        orchestrator_trigger_fired(trigger);
    return value;
}

static void delay_is_what_all_samples_have_waited(void **state)
{
    (void)state;
    static const struct trigger_measured NOTHING = {.has_model = false};
    WEIR_AUTO(weir_yaml)
    document = yaml_of("{policy: cost, samples: 10, per_training_second: 100}");
    WEIR_AUTO(trigger) trigger = open_trigger(document);
    assert_true(pass(trigger, 0, 10)); /* no training is known: the first check fires */
    assert_true(decide(trigger, &NOTHING, "area", true) == 45.0); /* 1 + 2 + … + 9 */
    orchestrator_trigger_trained(trigger, 10, 1.0);
    assert_true(pass(trigger, 10, 10));
    assert_true(decide(trigger, &NOTHING, "area", false) ==
                45.0); /* it began again; 1 s is worth 100 */
    assert_true(pass(trigger, 20, 10));
    assert_true(decide(trigger, &NOTHING, "training_seconds", false) == 2.0); /* 190 < 200 */
    assert_true(pass(trigger, 30, 10));
    assert_true(decide(trigger, &NOTHING, "area", true) == 435.0); /* >= 3 s, worth 300 */
    orchestrator_trigger_trained(trigger, 30, 2.0);
    assert_true(pass(trigger, 40, 10));
    assert_true(decide(trigger, &NOTHING, "training_seconds", false) == 1.0); /* on the line */
}

static void avoidable_misclassifications_add_up_to_a_trigger(void **state)
{
    (void)state;
    int64_t labels[10] = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0};
    float values[10] = {0.9F, 0.9F, 0.9F, 0.1F, 0.1F, 0.9F, 0.9F, 0.1F, 0.1F, 0.1F}; /* 0.6 */
    uint64_t ids[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const struct trigger_measured measured = {
        .has_model = true,
        .current = {.ids = ids, .labels = labels, .values = values, .count = 10, .width = 1}};
    WEIR_AUTO(weir_yaml)
    document = yaml_of("{policy: performance, samples: 10, avoidable: 8, expected_accuracy: 0.9}");
    WEIR_AUTO(trigger) trigger = open_trigger(document);
    assert_true(pass(trigger, 0, 10));
    assert_true(decide(trigger, &measured, "avoidable", false) == 3.0);
    assert_true(pass(trigger, 10, 10));
    assert_true(decide(trigger, &measured, "avoidable", false) == 6.0);
    assert_true(pass(trigger, 20, 10));
    assert_true(decide(trigger, &measured, "avoidable", true) == 9.0);
    assert_true(pass(trigger, 30, 10));
    assert_true(decide(trigger, &measured, "avoidable", false) == 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_of_samples_holds_the_newest_of_them_once),
        cmocka_unit_test(a_window_of_time_holds_what_is_younger),
        cmocka_unit_test(a_window_with_too_little_room_is_a_random_sample_of_itself),
        cmocka_unit_test(lengths_are_numbers_or_times),
        cmocka_unit_test(delay_is_what_all_samples_have_waited),
        cmocka_unit_test(avoidable_misclassifications_add_up_to_a_trigger),
    };
    return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
