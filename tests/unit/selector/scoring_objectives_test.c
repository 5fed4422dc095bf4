/* The set functions that are maximised, and what they stand on, against their definitions. */
#include "core/base/memory.h"
#include "selector/scoring/facility.h"
#include "selector/scoring/graph_cut.h"
#include "selector/scoring/log_determinant.h"
#include "tests/unit/selector/points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS = 12 };

static const size_t SET[MEMBERS] = {3, 149, 50, 7, 99, 121, 0, 64, 15, 16, 31, 80};

static void add_all(const struct objective *objective)
{
    for (size_t n = 0; n < MEMBERS; n++)
        objective->add(objective->state, SET[n]);
}

static double likeness(const float *values, size_t i, size_t j)
{
    return 0.5 + 0.5 * cosine(values, i, j);
}

static double value_of(const struct facility *facility)
{
    double value = 0;
    for (size_t i = 0; i < facility->vectors->count; i++)
        value += (double)facility->best[i];
    return value;
}

static void facility_location_is_the_sum_of_the_nearest(void **state)
{
    float values[POINTS * WIDTH];
    struct vectors vectors;
    struct facility facility;
    double expected = 0;
    (void)state;
    draw_points(values, POINTS, 4);
    selector_scoring_vectors_init(&vectors, values, POINTS, WIDTH, VECTORS_UNIT_LENGTH);
    selector_scoring_facility_init(&facility, &vectors, FACILITY_COSINE);
    const struct objective objective = selector_scoring_facility_objective(&facility);
    add_all(&objective);
    for (size_t i = 0; i < POINTS; i++) {
        double best = 0;
        for (size_t n = 0; n < MEMBERS; n++)
            best = fmax(best, likeness(values, i, SET[n]));
        expected += best;
    }
    assert_true(fabs(value_of(&facility) - expected) < 1e-6 * expected);
    selector_scoring_facility_fini(&facility);
    selector_scoring_vectors_fini(&vectors);
}

static void a_graph_cut_is_what_is_like_all_less_what_is_like_each_other(void **state)
{
    float values[POINTS * WIDTH];
    struct vectors vectors;
    struct graph_cut cut;
    double expected = 0;
    (void)state;
    draw_points(values, POINTS, 5);
    selector_scoring_vectors_init(&vectors, values, POINTS, WIDTH, VECTORS_UNIT_LENGTH);
    selector_scoring_graph_cut_init(&cut, &vectors, 0.4);
    const struct objective objective = selector_scoring_graph_cut_objective(&cut);
    add_all(&objective);
    for (size_t n = 0; n < MEMBERS; n++) {
        for (size_t i = 0; i < POINTS; i++)
            expected += likeness(values, i, SET[n]);
        for (size_t m = 0; m < MEMBERS; m++)
            expected -= 0.4 * likeness(values, SET[m], SET[n]);
    }
    assert_true(fabs(cut.value - expected) < 1e-6 * expected);
    selector_scoring_graph_cut_fini(&cut);
    selector_scoring_vectors_fini(&vectors);
}

/* By Gauss' elimination; the matrix is positive definite. */
static double log_determinant_of(double matrix[MEMBERS][MEMBERS])
{
    double sum = 0;
    for (size_t k = 0; k < MEMBERS; k++) {
        sum += log(matrix[k][k]);
        for (size_t i = k + 1; i < MEMBERS; i++) {
            double share = matrix[i][k] / matrix[k][k];
            for (size_t j = k; j < MEMBERS; j++)
                matrix[i][j] -= share * matrix[k][j];
        }
    }
    return sum;
}

static void the_log_determinant_is_that_of_the_chosen(void **state)
{
    float values[POINTS * WIDTH];
    double matrix[MEMBERS][MEMBERS];
    struct vectors vectors;
    struct log_determinant determinant;
    (void)state;
    draw_points(values, POINTS, 6);
    selector_scoring_vectors_init(&vectors, values, POINTS, WIDTH, VECTORS_UNIT_LENGTH);
    selector_scoring_log_determinant_init(&determinant, &vectors, 0.2);
    const struct objective objective = selector_scoring_log_determinant_objective(&determinant);
    add_all(&objective);
    for (size_t n = 0; n < MEMBERS; n++)
        for (size_t m = 0; m < MEMBERS; m++)
            matrix[n][m] = cosine(values, SET[n], SET[m]) / 0.2 + (n == m);
    double expected = log_determinant_of(matrix);
    assert_true(fabs(determinant.value - expected) < 1e-6 * expected);
    selector_scoring_log_determinant_fini(&determinant);
    selector_scoring_vectors_fini(&vectors);
}

static void a_row_that_came_and_went_leaves_no_trace(void **state)
{
    static const double FIRST[] = {1, -2, 0.5}, SECOND[] = {0.25, 3, 1};
    struct inverse once, twice;
    double applied[3];
    (void)state;
    selector_scoring_inverse_init(&once, 3, 0.5);
    selector_scoring_inverse_init(&twice, 3, 0.5);
    double product = selector_scoring_inverse_apply(&once, FIRST, applied);
    selector_scoring_inverse_update(&once, applied, 0.5 + product);
    selector_scoring_inverse_update(&twice, applied, 0.5 + product);
    product = selector_scoring_inverse_apply(&twice, SECOND, applied);
    selector_scoring_inverse_update(&twice, applied, 0.5 + product);
    product = selector_scoring_inverse_apply(&twice, SECOND, applied);
    selector_scoring_inverse_update(&twice, applied, product - 0.5);
    for (size_t i = 0; i < 9; i++)
        assert_true(fabs(once.at[i] - twice.at[i]) < 1e-12);
    selector_scoring_inverse_fini(&once);
    selector_scoring_inverse_fini(&twice);
}

static void a_product_does_not_depend_on_its_company(void **state)
{
    float values[POINTS * WIDTH];
    _Alignas(64) float together[64], alone[64];
    float queries[WIDTH * VECTORS_AT_ONCE];
    static const size_t FOUR[] = {3, 50, 99, 121};
    struct vectors vectors;
    (void)state;
    draw_points(values, POINTS, 1);
    selector_scoring_vectors_init(&vectors, values, POINTS, WIDTH, VECTORS_AS_THEY_ARE);
    for (size_t panel = 0; panel < vectors.panels; panel++) {
        for (size_t c = 0; c < 4; c++) {
            selector_scoring_vectors_gather(&vectors, FOUR, 4, queries);
            scoring_vectors_multiply(&vectors, panel, queries, together);
            selector_scoring_vectors_gather(&vectors, &FOUR[c], 1, queries);
            scoring_vectors_multiply(&vectors, panel, queries, alone);
            assert_memory_equal(&together[c * VECTORS_LANES], alone,
                                VECTORS_LANES * sizeof(*alone));
        }
    }
    selector_scoring_vectors_fini(&vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facility_location_is_the_sum_of_the_nearest),
        cmocka_unit_test(a_graph_cut_is_what_is_like_all_less_what_is_like_each_other),
        cmocka_unit_test(the_log_determinant_is_that_of_the_chosen),
        cmocka_unit_test(a_row_that_came_and_went_leaves_no_trace),
        cmocka_unit_test(a_product_does_not_depend_on_its_company),
    };
    return cmocka_run_group_tests_name("selector: set functions", tests, NULL, NULL);
}
