/* Separable resampling: rows first, which are contiguous, then the columns of the one new row. */
#include "preprocess/operators/pictures/resample.h"

#include <math.h>

enum { LANES = 4, COLOURS = 3, WHOLE_EIGHTHS = 8 };

/* Four channels that need not be aligned: the fourth belongs to the next pixel, or to nobody. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* In one direction: where the old pixels begin and end that the new ones are made of. */
struct span {
    double start, end;
};

/* One direction: new pixel i is the sum of `reach` old ones from first[i], times weights[i * reach] and so on. */
struct axis {
    uint32_t size, reach;
    uint32_t *first;
    float *weights;
};

/* ---- weights ---- */

/* Returns the distance from its centre that a new pixel depends on, in old pixels. */
static double support_of(struct span span, uint32_t size)
{
    double scale = (span.end - span.start) / size;
    return scale > 1 ? scale : 1;
}

static uint32_t reach_of(struct span span, uint32_t size)
{
    double reach = ceil(2 * support_of(span, size)), all = ceil(span.end) - floor(span.start);
    return (uint32_t)(reach < all ? reach : all);
}

/* Returns the weight of the old pixel at `at`, by a triangle around `centre`. */
static double weight_of(uint32_t at, double centre, double support)
{
    double weight = 1 - fabs(at + 0.5 - centre) / support;
    return weight > 0 ? weight : 0;
}

static void weigh(const struct axis *axis, uint32_t index, double centre, double support)
{
    uint32_t first = axis->first[index];
    float *weights = axis->weights + (size_t)index * axis->reach;
    double sum = 0;
    for (uint32_t k = 0; k < axis->reach; k++)
        sum += weight_of(first + k, centre, support);
    for (uint32_t k = 0; k < axis->reach; k++)
        weights[k] = (float)(weight_of(first + k, centre, support) / sum);
}

/* A mirrored picture is made of the same sums in the other order. */
static void fill_axis(struct axis *axis, struct span span, bool is_mirrored)
{
    double scale = (span.end - span.start) / axis->size, support = support_of(span, axis->size);
    double least = floor(span.start), most = ceil(span.end) - axis->reach;
    for (uint32_t i = 0; i < axis->size; i++) {
        uint32_t index = is_mirrored ? axis->size - 1 - i : i;
        double centre = span.start + (i + 0.5) * scale, first = floor(centre - support + 0.5);
        first = first < most ? first : most;
        axis->first[index] = (uint32_t)(first > least ? first : least);
        weigh(axis, index, centre, support);
    }
}

static struct span span_of(uint32_t start, uint32_t size, uint32_t part_start, uint32_t part_size,
                           uint32_t eighths)
{
    double scale = (double)eighths / WHOLE_EIGHTHS;
    return (struct span){.start = fmax(start * scale - part_start, 0),
                         .end = fmin((start + size) * scale - part_start, part_size)};
}

/* Places for `size` numbers of four bytes. */
static void *take(struct weir_buf *buf, size_t size)
{
    void *at = buf->at + buf->size;
    buf->size += size * sizeof(float);
    return at;
}

/* ---- sums ---- */

/* Some old rows, `stride` bytes apart, and what each counts for. */
struct rows {
    const uint8_t *at;
    size_t stride;
    const float *weights;
    size_t count;
};

/* Inlined with a `count` that is a constant there, so that the sum of a number stays in a register. */
static WEIR_ALWAYS_INLINE void sum_rows(const struct rows *rows, size_t count, float *restrict to,
                                        size_t size)
{
    for (size_t i = 0; i < size; i++) {
        float sum = rows->weights[0] * rows->at[i];
        for (size_t k = 1; k < count; k++)
            sum += rows->weights[k] * rows->at[k * rows->stride + i];
        to[i] = sum;
    }
}

/* to = the weighted sum of the first `size` bytes of the rows. */
WEIR_CLONES
static void blend_rows(const struct rows *rows, float *restrict to, size_t size)
{
    switch (rows->count) {
    case 1:
        sum_rows(rows, 1, to, size);
        break;
    case 2:
        sum_rows(rows, 2, to, size);
        break;
    case 3:
        sum_rows(rows, 3, to, size);
        break;
    case 4:
        sum_rows(rows, 4, to, size);
        break;
    default:
        sum_rows(rows, 4, to, size);
        for (size_t k = 4; k < rows->count; k++) {
            const uint8_t *row = rows->at + k * rows->stride;
            float weight = rows->weights[k];
            for (size_t i = 0; i < size; i++)
                to[i] += weight * row[i];
        }
    }
}

/* Inlined with a `reach` that is a constant there, so that the inner loop is none. */
static inline __attribute__((always_inline)) void blend_lanes(const float *line,
                                                              const struct axis *columns,
                                                              uint32_t reach, float *restrict to)
{
    const float *weight = columns->weights;
    for (uint32_t x = 0; x < columns->size; x++, weight += reach, to += COLOURS) {
        const float *from = line + columns->first[x] * (size_t)COLOURS;
        lanes sum = {0.5f, 0.5f, 0.5f, 0};
        for (uint32_t k = 0; k < reach; k++)
            sum += weight[k] * *(const lanes *)(const void *)(from + k * (size_t)COLOURS);
        *(lanes *)(void *)to = sum; /* the fourth is overwritten by the next pixel */
    }
}

/* A picture that grows has a reach of two, one that halves has four. */
WEIR_CLONES
static void blend_colours(const float *line, const struct axis *columns, float *restrict to)
{
    switch (columns->reach) {
    case 2:
        blend_lanes(line, columns, 2, to);
        break;
    case 3:
        blend_lanes(line, columns, 3, to);
        break;
    case 4:
        blend_lanes(line, columns, 4, to);
        break;
    default:
        blend_lanes(line, columns, columns->reach, to);
    }
}

static void blend_greys(const float *line, const struct axis *columns, float *restrict to)
{
    const float *weight = columns->weights;
    for (uint32_t x = 0; x < columns->size; x++, weight += columns->reach) {
        to[x] = 0.5f;
        for (uint32_t k = 0; k < columns->reach; k++)
            to[x] += weight[k] * line[columns->first[x] + k];
    }
}

WEIR_CLONES
static void cut_to_bytes(const float *from, size_t count, uint8_t *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (uint8_t)(int32_t)from[i];
}

/* Old rows of no weight are not looked at. */
static size_t count_weights(const float *weights, size_t reach)
{
    while (reach > 1 && weights[reach - 1] == 0)
        reach--;
    return reach;
}

/* Old pixels that the new ones are made of, from *ret_first on, which is where axis->first counts from then. */
static uint32_t narrow(struct axis *axis, uint32_t *ret_first)
{
    uint32_t one = axis->first[0], other = axis->first[axis->size - 1];
    uint32_t least = one < other ? one : other, most = one < other ? other : one;
    for (uint32_t i = 0; i < axis->size; i++)
        axis->first[i] -= least;
    *ret_first = least;
    return most - least + axis->reach;
}

static void blend(struct resampler *resampler, const struct picture *from, const struct axis *rows,
                  struct axis *columns, uint8_t *to)
{
    uint32_t left;
    size_t pixel = from->channels, stride = from->place.width * pixel,
           width = columns->size * pixel, read = narrow(columns, &left) * pixel;
    float *line = take(&resampler->numbers, read + LANES);
    float *row = take(&resampler->numbers, width + LANES);
    for (size_t i = 0; i < LANES; i++)
        line[read + i] = 0; /* read after the last pixel, and not used */
    for (uint32_t y = 0; y < rows->size; y++, to += width) {
        const float *weights = rows->weights + (size_t)y * rows->reach;
        const struct rows old = {.at = from->at + rows->first[y] * stride + left * pixel,
                                 .stride = stride,
                                 .weights = weights,
                                 .count = count_weights(weights, rows->reach)};
        blend_rows(&old, line, read);
        if (pixel == 1)
            blend_greys(line, columns, row);
        else
            blend_colours(line, columns, row);
        cut_to_bytes(row, width, to);
    }
}

void preprocess_resample(struct resampler *resampler, const struct picture *from,
                         const struct picture_window *window, struct mirror mirror, uint8_t *to)
{
    const struct picture_place *place = &from->place;
    struct span down =
        span_of(window->top, window->height, place->top, place->height, place->eighths);
    struct span across =
        span_of(window->left, window->width, place->left, place->width, place->eighths);
    struct axis rows = {.size = window->out_height, .reach = reach_of(down, window->out_height)};
    struct axis columns = {.size = window->out_width, .reach = reach_of(across, window->out_width)};
    size_t numbers = (size_t)rows.size * (1 + rows.reach) +
                     (size_t)columns.size * (1 + columns.reach) +
                     (place->width + (size_t)columns.size) * from->channels + (size_t)2 * LANES;
    weir_buf_clear(&resampler->numbers);
    weir_buf_reserve(&resampler->numbers, numbers * sizeof(float));
    rows.first = take(&resampler->numbers, rows.size);
    rows.weights = take(&resampler->numbers, (size_t)rows.size * rows.reach);
    columns.first = take(&resampler->numbers, columns.size);
    columns.weights = take(&resampler->numbers, (size_t)columns.size * columns.reach);
    fill_axis(&rows, down, mirror.vertical);
    fill_axis(&columns, across, mirror.horizontal);
    blend(resampler, from, &rows, &columns, to);
}

void preprocess_resampler_fini(struct resampler *resampler)
{
    weir_buf_fini(&resampler->numbers);
}
