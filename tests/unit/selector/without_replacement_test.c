/* Epochs of drawing without replacement, set after set, as history sees them. */
#include "selector/pipelines/history.h"
#include "tests/unit/selector/choose.h"

enum { SAMPLES = 100, SAMPLES_MAX = 200 };

/* One pipeline's triggers, one after the other. */
struct course {
    struct selector_history history;
    uint64_t ids[SAMPLES_MAX];
    size_t count;
    uint64_t trigger;
    unsigned uses[SAMPLES_MAX];
};

static void begin(struct course *course, size_t count)
{
    *course = (struct course){0};
    course->count = count;
    for (size_t i = 0; i < SAMPLES_MAX; i++)
        course->ids[i] = UINT64_C(1) << 44 | i * 1000; /* over several blocks */
}

/* Block by block. */
static void mark(const struct course *course, uint8_t *past)
{
    for (size_t i = 0, end = 0; i < course->count; i = end) {
        while (end < course->count && course->ids[end] >> 16 == course->ids[i] >> 16)
            end++;
        selector_history_mark(&course->history, course->ids + i, end - i, past + i);
    }
}

static void draw(struct course *course, size_t target)
{
    uint8_t past[SAMPLES_MAX];
    size_t chosen[SAMPLES_MAX];
    uint64_t set[SAMPLES_MAX];
    bool taken[SAMPLES_MAX] = {false};
    mark(course, past);
    const struct given input = {
        .ids = course->ids, .past = past, .count = course->count, .target = target};
    struct picked output = {.chosen = chosen};
    choose("random_without_replacement", "{}", &input, ++course->trigger, &output);
    assert_int_equal(output.count, target);
    for (size_t i = 0; i < output.count; i++)
        taken[chosen[i]] = true;
    size_t size = 0;
    for (size_t i = 0; i < course->count; i++) {
        course->uses[i] += taken[i];
        if (taken[i])
            set[size++] = course->ids[i];
    }
    selector_history_add(&course->history, course->trigger, set, size);
}

static void check_uses(const struct course *course, unsigned least, unsigned most)
{
    for (size_t i = 0; i < course->count; i++)
        if (course->uses[i] < least || course->uses[i] > most)
            fail_msg("trigger %d: sample %zu was drawn %u times, expected %u to %u",
                     (int)course->trigger, i, course->uses[i], least, most);
}

static void every_sample_comes_once_an_epoch(void **state)
{
    (void)state;
    struct course course;
    begin(&course, SAMPLES);
    for (unsigned drawn = 0; drawn < 20 * SAMPLES;) {
        draw(&course, 30);
        drawn += 30;
        check_uses(&course, drawn / SAMPLES, (drawn + SAMPLES - 1) / SAMPLES);
    }
    selector_history_fini(&course.history);
}

static void epochs_that_divide_evenly_begin_anew_too(void **state)
{
    (void)state;
    struct course course;
    begin(&course, SAMPLES);
    for (unsigned trigger = 1; trigger <= 12; trigger++) {
        draw(&course, 50);
        check_uses(&course, trigger / 2, (trigger + 1) / 2);
    }
    selector_history_fini(&course.history);
}

static void what_arrives_joins_the_running_epoch(void **state)
{
    (void)state;
    struct course course;
    begin(&course, SAMPLES);
    draw(&course, 80);
    course.count = SAMPLES + 10; /* 30 are left in this epoch */
    draw(&course, 30);
    check_uses(&course, 1, 1);
    selector_history_fini(&course.history);
}

static void a_later_round_of_a_training_is_part_of_its_draw(void **state)
{
    (void)state;
    struct course course;
    uint8_t past[SAMPLES_MAX];
    begin(&course, SAMPLES);
    selector_history_add(&course.history, 1, course.ids, 60);
    selector_history_add(&course.history, 1, course.ids + 30, 50);
    mark(&course, past);
    for (size_t i = 0; i < SAMPLES; i++)
        assert_int_equal(past[i], i < 80 ? SELECTION_USED | SELECTION_DRAWN : 0);
    selector_history_fini(&course.history);
}

static void a_warm_up_is_no_draw(void **state)
{
    (void)state;
    struct course course;
    uint8_t past[SAMPLES_MAX];
    begin(&course, SAMPLES);
    course.history.warmup = 1;
    selector_history_add(&course.history, 1, course.ids, SAMPLES);
    mark(&course, past);
    for (size_t i = 0; i < SAMPLES; i++)
        assert_int_equal(past[i], SELECTION_USED);
    selector_history_fini(&course.history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_comes_once_an_epoch),
        cmocka_unit_test(epochs_that_divide_evenly_begin_anew_too),
        cmocka_unit_test(what_arrives_joins_the_running_epoch),
        cmocka_unit_test(a_later_round_of_a_training_is_part_of_its_draw),
        cmocka_unit_test(a_warm_up_is_no_draw),
    };
    return cmocka_run_group_tests_name("selector/without_replacement", tests, NULL, NULL);
}
