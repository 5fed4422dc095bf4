/* Number of each class that label_balanced takes, as a table; the sizes that broke others are in it. */
#include "tests/unit/selector/choose.h"

enum { CLASSES_MAX = 64 };

/* `count` classes of `size` candidates. */
struct stretch {
    size_t count;
    size_t size;
    size_t taken; /* expected of each */
};

static const struct {
    const char *what;
    struct stretch stretches[4];
    size_t target; /* 0: not bounded */
    bool equal;
} ROWS[] = {
    {"unbounded: every class is cut to the smallest",
     {{1, 10, 10}, {1, 25, 10}, {1, 200, 10}},
     0,
     false},
    {"equal sizes are all taken", {{3, 7, 7}}, 0, false},
    {"small classes give all, the large one the rest", {{2, 10, 10}, {1, 200, 80}}, 100, false},
    {"twenty of 5 and one of 400", {{20, 5, 5}, {1, 400, 200}}, 300, false},
    {"fifty of 7 and one of 2000", {{50, 7, 7}, {1, 2000, 650}}, 1000, false},
    {"a target below the fair share of all", {{3, 50, 10}}, 30, false},
    {"a target that does not divide goes on to later labels", {{2, 50, 3}, {1, 50, 4}}, 10, false},
    {"a target smaller than the number of classes", {{3, 5, 0}, {2, 5, 1}}, 2, false},
    {"a target that takes everything", {{1, 3, 3}, {1, 5, 5}}, 8, false},
    {"equal: even where the target would allow more", {{1, 10, 10}, {1, 200, 10}}, 100, true},
    {"equal: but no more than the target", {{2, 100, 20}}, 40, true},
    {"classes of one", {{4, 1, 1}}, 0, false},
};

/* Labels dealt out in turn, so that classes are spread over the ids. */
static size_t deal(const struct stretch *stretches, int64_t *labels, size_t *expected,
                   size_t *ret_classes)
{
    size_t left[CLASSES_MAX] = {0};
    size_t classes = 0;
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < stretches[i].count; k++) {
            left[classes] = stretches[i].size;
            expected[classes++] = stretches[i].taken;
        }
    }
    size_t count = 0;
    for (bool dealt = true; dealt;) {
        dealt = false;
        for (size_t label = 0; label < classes; label++) {
            if (left[label] == 0)
                continue;
            left[label]--;
            labels[count++] = (int64_t)label;
            dealt = true;
        }
    }
    *ret_classes = classes;
    return count;
}

static void check_row(size_t row)
{
    static int64_t labels[4096];
    static size_t chosen[4096];
    size_t expected[CLASSES_MAX] = {0};
    size_t taken[CLASSES_MAX] = {0};
    size_t classes = 0;
    size_t count = deal(ROWS[row].stretches, labels, expected, &classes);
    const struct given input = {
        .labels = labels,
        .count = count,
        .target = ROWS[row].target ? ROWS[row].target : count,
        .bounded = ROWS[row].target != 0,
    };
    struct picked output = {.chosen = chosen};
    choose("label_balanced", ROWS[row].equal ? "{equal: true}" : "{}", &input, 7, &output);
    for (size_t i = 0; i < output.count; i++)
        taken[labels[chosen[i]]]++;
    for (size_t i = 0; i < classes; i++)
        if (taken[i] != expected[i])
            fail_msg("%s: class %zu: expected %zu, found %zu", ROWS[row].what, i, expected[i],
                     taken[i]);
}

static void each_class_gets_its_share(void **state)
{
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(ROWS); row++)
        check_row(row);
}

static void choose_labels(const int64_t *labels, size_t count, const char *const *classes,
                          size_t class_count, struct picked *output)
{
    const struct given input = {
        .labels = labels,
        .count = count,
        .target = count,
        .classes = classes,
        .class_count = class_count,
    };
    choose("label_balanced", "{}", &input, 7, output);
}

static void a_declared_class_without_samples_is_named(void **state)
{
    (void)state;
    static const int64_t LABELS[] = {0, 0, 0};
    static const char *const CLASSES[] = {"ham", "spam"};
    size_t chosen[3];
    struct picked output = {.chosen = chosen};
    choose_labels(LABELS, 3, CLASSES, 2, &output);
    assert_int_equal(output.count, 0);
    assert_string_equal(output.reason, "class 'spam' has no samples yet");
}

static void a_single_undeclared_class_cannot_be_balanced(void **state)
{
    (void)state;
    static const int64_t LABELS[] = {-5, -5};
    size_t chosen[2];
    struct picked output = {.chosen = chosen};
    choose_labels(LABELS, 2, NULL, 0, &output);
    assert_int_equal(output.count, 0);
    assert_string_equal(output.reason, "all samples have label -5, balancing needs two classes");
}

static void which_samples_of_a_class_are_taken_depends_on_the_seed(void **state)
{
    (void)state;
    int64_t labels[110];
    for (size_t i = 0; i < 110; i++)
        labels[i] = i < 10;
    bool first[110] = {false};
    size_t differ = 0;
    for (uint64_t seed = 0; seed < 2; seed++) {
        const struct given input = {.labels = labels, .count = 110, .target = 110};
        size_t chosen[110];
        struct picked output = {.chosen = chosen};
        choose("label_balanced", "{}", &input, seed, &output);
        assert_int_equal(output.count, 20);
        for (size_t i = 0; i < output.count; i++) {
            differ += seed == 1 && !first[chosen[i]];
            first[chosen[i]] = true;
        }
    }
    assert_true(differ > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_gets_its_share),
        cmocka_unit_test(a_declared_class_without_samples_is_named),
        cmocka_unit_test(a_single_undeclared_class_cannot_be_balanced),
        cmocka_unit_test(which_samples_of_a_class_are_taken_depends_on_the_seed),
    };
    return cmocka_run_group_tests_name("selector/policies/label_balanced", tests, NULL, NULL);
}
