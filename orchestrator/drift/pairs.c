/* Laying rows out in lanes, and their distances: see pairs.h. */
#include "orchestrator/drift/pairs.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 4, MEDIAN_ROWS_MAX = 1024 };

static const float **take_rows(const struct drift_window *window, size_t width, size_t count,
                               const float **ret_rows)
{
    for (size_t i = 0; i < count; i++)
        *ret_rows++ = window->values + i * window->count / count * width;
    return ret_rows;
}

void orchestrator_pairs_init(struct drift_pairs *pairs, const struct drift_input *input,
                             size_t rows_max)
{
    size_t reference = input->reference.count < rows_max ? input->reference.count : rows_max;
    size_t current = input->current.count < rows_max ? input->current.count : rows_max;
    *pairs = (struct drift_pairs){
        .count = reference + current, .width = input->width, .first = reference};
    pairs->tiles = (pairs->count + PAIRS_LANES - 1) / PAIRS_LANES;
    pairs->rows = weir_calloc(pairs->count, sizeof(*pairs->rows));
    const float **rest = take_rows(&input->reference, input->width, reference, pairs->rows);
    (void)take_rows(&input->current, input->width, current, rest);
    size_t vectors = pairs->tiles * pairs->width;
    pairs->at = weir_aligned_alloc(vectors * sizeof(*pairs->at));
    memset(pairs->at, 0, vectors * sizeof(*pairs->at));
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t k = 0; k < pairs->width; k++)
            pairs->at[i / PAIRS_LANES * pairs->width + k][i % PAIRS_LANES] = pairs->rows[i][k];
}

void orchestrator_pairs_fini(struct drift_pairs *pairs)
{
    free(pairs->rows);
    free(pairs->at);
    *pairs = (struct drift_pairs){0};
}

size_t orchestrator_pairs_room(const struct drift_pairs *pairs)
{
    return pairs->count + AT_ONCE;
}

WEIR_CLONES void orchestrator_pairs_tile(const struct drift_pairs *pairs, size_t tile,
                                         pairs_floats *ret_squares)
{
    const pairs_floats *lanes = pairs->at + tile * pairs->width;
    for (size_t j = tile * PAIRS_LANES; j < pairs->count; j += AT_ONCE, ret_squares += AT_ONCE) {
        const float *rows[AT_ONCE];
        pairs_floats a = {0}, b = {0}, c = {0}, d = {0};
        for (size_t i = 0; i < AT_ONCE; i++)
            rows[i] = pairs->rows[j + i < pairs->count ? j + i : j];
        for (size_t k = 0; k < pairs->width; k++) {
            pairs_floats da = lanes[k] - rows[0][k], db = lanes[k] - rows[1][k];
            pairs_floats dc = lanes[k] - rows[2][k], dd = lanes[k] - rows[3][k];
            a += da * da;
            b += db * db;
            c += dc * dc;
            d += dd * dd;
        }
        ret_squares[0] = a;
        ret_squares[1] = b;
        ret_squares[2] = c;
        ret_squares[3] = d;
    }
}

/* ---- the median ---- */

static void swap(float *a, float *b)
{
    float kept = *a;
    *a = *b;
    *b = kept;
}

static void sort_three(float *a, float *b, float *c)
{
    if (*b < *a)
        swap(b, a);
    if (*c < *a)
        swap(c, a);
    if (*c < *b)
        swap(c, b);
}

/* All between the two is in its place. */
struct parts {
    size_t left_end, right_begin;
};

/* From `low` to `high` by the middle of three (Hoare). */
static struct parts part(float *values, size_t low, size_t high)
{
    size_t middle = low + (high - low) / 2, left = low, right = high;
    sort_three(&values[low], &values[middle], &values[high]);
    float pivot = values[middle];
    while (left <= right) {
        while (values[left] < pivot)
            left++;
        while (values[right] > pivot)
            right--;
        if (left > right)
            break;
        swap(&values[left++], &values[right]);
        if (right == 0)
            break;
        right--;
    }
    return (struct parts){right, left};
}

/* The value at `rank` of `values` in order, which are rearranged. */
static float select_rank(float *values, size_t count, size_t rank)
{
    size_t low = 0;
    size_t high = count - 1;
    while (low < high) {
        struct parts parts = part(values, low, high);
        if (rank <= parts.left_end && parts.left_end < high)
            high = parts.left_end;
        else if (rank >= parts.right_begin)
            low = parts.right_begin;
        else
            break;
    }
    return values[rank];
}

static struct drift_pairs evenly_spaced(const struct drift_pairs *pairs)
{
    struct drift_pairs few = {.count = MEDIAN_ROWS_MAX, .width = pairs->width};
    few.tiles = few.count / PAIRS_LANES;
    few.rows = weir_calloc(few.count, sizeof(*few.rows));
    few.at = weir_aligned_alloc(few.tiles * few.width * sizeof(*few.at));
    for (size_t i = 0; i < few.count; i++) {
        few.rows[i] = pairs->rows[i * pairs->count / few.count];
        for (size_t k = 0; k < few.width; k++)
            few.at[i / PAIRS_LANES * few.width + k][i % PAIRS_LANES] = few.rows[i][k];
    }
    return few;
}

static float median_of_all(const struct drift_pairs *pairs)
{
    size_t count = 0;
    WEIR_AUTO_FREE pairs_floats *tile =
        weir_aligned_alloc(orchestrator_pairs_room(pairs) * sizeof(*tile));
    WEIR_AUTO_FREE float *squares =
        weir_calloc(pairs->count * (pairs->count - 1) / 2 + 1, sizeof(*squares));
    for (size_t t = 0; t < pairs->tiles; t++) {
        orchestrator_pairs_tile(pairs, t, tile);
        for (size_t j = 1; j < pairs->count - t * PAIRS_LANES; j++)
            for (size_t lane = 0; lane < PAIRS_LANES && lane < j; lane++)
                squares[count++] = tile[j][lane];
    }
    if (count == 0)
        return 0;
    float median = select_rank(squares, count, (count - 1) / 2);
    if (median > 0)
        return median;
    size_t positive = 0;
    for (size_t i = 0; i < count; i++)
        if (squares[i] > 0)
            squares[positive++] = squares[i];
    return positive == 0 ? 0 : select_rank(squares, positive, (positive - 1) / 2);
}

float orchestrator_pairs_median(const struct drift_pairs *pairs)
{
    if (pairs->count <= MEDIAN_ROWS_MAX)
        return median_of_all(pairs);
    struct drift_pairs few = evenly_spaced(pairs);
    float median = median_of_all(&few);
    orchestrator_pairs_fini(&few);
    return median;
}
