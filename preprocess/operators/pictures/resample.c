/* Separable resampling: rows first, which are contiguous, then the columns of the one new row. */
#include "preprocess/operators/pictures/resample.h"

#include <math.h>

enum { LANES = 4, WHOLE_EIGHTHS = 8 };

/* Four channels that need not be aligned: the fourth belongs to the next pixel, or to nobody. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef int32_t whole_lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The old pixels that a new one is made of: `count` from `first`, their weights at `weights`. */
struct taps {
    uint32_t first, count;
    size_t weights;
};

/* One direction: `size` new pixels from old ones between `start` and `end`. */
struct axis {
    double start, end;
    uint32_t size;
};

/* Of the source pixel at `at`, by a triangle around `centre`. */
static double weight_of(uint32_t at, double centre, double support)
{
    return fmax(0, 1 - fabs(at + 0.5 - centre) / support);
}

static struct taps add_taps(const struct axis *axis, uint32_t index, struct weir_buf *weights)
{
    double scale = (axis->end - axis->start) / axis->size;
    double support = scale > 1 ? scale : 1;
    double centre = axis->start + (index + 0.5) * scale;
    uint32_t first = (uint32_t)fmax(floor(centre - support + 0.5), floor(axis->start));
    uint32_t end = (uint32_t)fmin(floor(centre + support + 0.5), ceil(axis->end));
    struct taps taps = {.first = first, .weights = weights->size / sizeof(float)};
    double sum = 0;
    for (uint32_t at = first; at < end; at++)
        sum += weight_of(at, centre, support);
    for (uint32_t at = first; at < end; at++, taps.count++) {
        float weight = (float)(weight_of(at, centre, support) / sum);
        weir_buf_append(weights, &weight, sizeof(weight));
    }
    return taps;
}

static void add_axis(struct resampler *resampler, const struct axis *axis)
{
    for (uint32_t i = 0; i < axis->size; i++) {
        struct taps taps = add_taps(axis, i, &resampler->weights);
        weir_buf_append(&resampler->taps, &taps, sizeof(taps));
    }
}

/* to = the weighted sum of `count` rows of `size` bytes, `stride` bytes apart. */
WEIR_CLONES
static void blend_rows(const uint8_t *from, size_t stride, const float *weights, size_t count,
                       float *restrict to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = weights[0] * from[i];
    for (size_t k = 1; k < count; k++) {
        const uint8_t *row = from + k * stride;
        float weight = weights[k];
        for (size_t i = 0; i < size; i++)
            to[i] += weight * row[i];
    }
}

static void blend_colours(const float *line, const struct taps *taps, const float *weights,
                          uint32_t size, uint8_t *to, ptrdiff_t step)
{
    for (uint32_t x = 0; x < size; x++, to += step) {
        const float *from = line + taps[x].first * (size_t)3;
        const float *weight = weights + taps[x].weights;
        lanes sum = {0.5f, 0.5f, 0.5f, 0};
        for (uint32_t k = 0; k < taps[x].count; k++)
            sum += weight[k] * *(const lanes *)(const void *)(from + k * (size_t)3);
        whole_lanes rounded = __builtin_convertvector(sum, whole_lanes);
        to[0] = (uint8_t)rounded[0];
        to[1] = (uint8_t)rounded[1];
        to[2] = (uint8_t)rounded[2];
    }
}

static void blend_greys(const float *line, const struct taps *taps, const float *weights,
                        uint32_t size, uint8_t *to, ptrdiff_t step)
{
    for (uint32_t x = 0; x < size; x++, to += step) {
        float sum = 0.5f;
        for (uint32_t k = 0; k < taps[x].count; k++)
            sum += weights[taps[x].weights + k] * line[taps[x].first + k];
        *to = (uint8_t)sum;
    }
}

static struct axis axis_of(uint32_t start, uint32_t size, uint32_t part_start, uint32_t part_size,
                           uint32_t eighths)
{
    double scale = (double)eighths / WHOLE_EIGHTHS;
    return (struct axis){.start = fmax(start * scale - part_start, 0),
                         .end = fmin((start + size) * scale - part_start, part_size)};
}

void resample(struct resampler *resampler, const struct picture *from,
              const struct picture_window *window, struct mirror mirror, uint8_t *to)
{
    const struct picture_place *place = &from->place;
    uint32_t height = window->out_height, width = window->out_width;
    struct axis rows =
        axis_of(window->top, window->height, place->top, place->height, place->eighths);
    struct axis columns =
        axis_of(window->left, window->width, place->left, place->width, place->eighths);
    rows.size = height;
    columns.size = width;
    weir_buf_clear(&resampler->taps);
    weir_buf_clear(&resampler->weights);
    add_axis(resampler, &rows);
    add_axis(resampler, &columns);
    size_t pixel = from->channels, stride = place->width * pixel;
    weir_buf_reserve(&resampler->line, (stride + LANES) * sizeof(float));
    float *line = (float *)(void *)resampler->line.at;
    for (size_t i = 0; i < LANES; i++)
        line[stride + i] = 0; /* read behind the last pixel, and not used */
    const struct taps *taps = (const struct taps *)(const void *)resampler->taps.at;
    const float *weights = (const float *)(const void *)resampler->weights.at;
    ptrdiff_t step = mirror.horizontal ? -(ptrdiff_t)pixel : (ptrdiff_t)pixel;
    for (uint32_t y = 0; y < height; y++) {
        size_t row = mirror.vertical ? height - 1 - y : y;
        uint8_t *at = to + (row * width + (mirror.horizontal ? width - 1 : 0)) * pixel;
        blend_rows(from->at + taps[y].first * stride, stride, weights + taps[y].weights,
                   taps[y].count, line, stride);
        if (pixel == 1)
            blend_greys(line, taps + height, weights, width, at, step);
        else
            blend_colours(line, taps + height, weights, width, at, step);
    }
}

void resampler_fini(struct resampler *resampler)
{
    weir_buf_fini(&resampler->taps);
    weir_buf_fini(&resampler->weights);
    weir_buf_fini(&resampler->line);
}
