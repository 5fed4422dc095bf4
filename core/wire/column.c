/* Packed columns: see column.h. */
#include "core/wire/column.h"

#include "core/base/memory.h"

#include <string.h>

/* Values beyond are not put into frames: SQL adds base, steps and units up as bigint. */
#define FRAME_VALUE_MAX (INT64_C(1) << 60)

/* Differences are taken as unsigned, so that no spread overflows. */
struct spread {
    int64_t min, max;
    uint64_t range;
    uint64_t step; /* from each value to the next */
    bool steps;    /* it is the same everywhere */
};

struct frame {
    uint64_t base, step, unit;
    unsigned bits;
};

/* Division of multiples of a number without dividing: by its power of two, then times the inverse of its
 * odd part modulo 2^64 (Granlund and Montgomery 1994, section 9). */
struct exact_divisor {
    uint64_t inverse;
    unsigned shift;
};

/* ---- measuring ---- */

enum { PIECE = 1024 }; /* values that are compared without a branch */

/* Equal, or up only and never around the end of 64 bits: SQL adds the steps up as bigint. */
static bool has_steps(const int64_t *values, size_t count, uint64_t step)
{
    uint64_t expected = (uint64_t)values[0];

    if (step > (uint64_t)INT64_MAX / count || step * (count - 1) > (uint64_t)INT64_MAX - expected)
        return false;
    for (size_t i = 0; i < count; i += PIECE) {
        size_t end = count - i < PIECE ? count : i + PIECE;
        uint64_t difference = 0;

        for (size_t k = i; k < end; k++)
            difference |= (uint64_t)values[k] ^ (expected + k * step);
        if (difference != 0)
            return false;
    }
    return true;
}

static struct spread measure(const int64_t *values, size_t count)
{
    struct spread spread = {0};
    int64_t min = count > 0 ? values[0] : 0, max = min;

    spread.step = count > 1 ? (uint64_t)values[1] - (uint64_t)values[0] : 0;
    spread.steps = count > 0 && has_steps(values, count, spread.step);
    if (spread.steps) {
        max = values[count - 1];
    } else {
        for (size_t i = 0; i < count; i++) {
            min = values[i] < min ? values[i] : min;
            max = values[i] > max ? values[i] : max;
        }
    }
    spread.min = min;
    spread.max = max;
    spread.range = (uint64_t)max - (uint64_t)min;
    return spread;
}

static uint8_t width_of(uint64_t range)
{
    if (range == 0)
        return 0;
    if (range <= UINT8_MAX)
        return 1;
    if (range <= UINT16_MAX)
        return 2;
    return range <= UINT32_MAX ? 4 : 8;
}

/* ---- frames ---- */

static unsigned bits_of(uint64_t range)
{
    unsigned bits = range == 0 ? 0 : 64 - (unsigned)__builtin_clzll(range);

    if (bits > 4)
        return (bits + 7) / 8 * 8;
    return bits == 3 ? 4 : bits;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static struct exact_divisor exact_divisor(uint64_t unit)
{
    struct exact_divisor divisor = {.shift = (unsigned)__builtin_ctzll(unit)};
    uint64_t odd = unit >> divisor.shift;

    divisor.inverse = odd; /* right in the last 3 bits; each round doubles them */
    for (int i = 0; i < 5; i++)
        divisor.inverse *= 2 - odd * divisor.inverse;
    return divisor;
}

/* `multiple` is one of the unit. */
static int64_t divide(int64_t multiple, const struct exact_divisor *divisor)
{
    return (int64_t)((uint64_t)(multiple >> divisor->shift) * divisor->inverse);
}

/* Common divisor of all differences; 1 is found after a few values. */
static uint64_t unit_of(const int64_t *values, size_t count, int64_t min)
{
    uint64_t unit = 0;

    for (size_t i = 0; unit != 1 && i < count; i++) {
        uint64_t distance = (uint64_t)values[i] - (uint64_t)min;

        if (unit == 0 || distance % unit != 0)
            unit = common_divisor(distance, unit);
    }
    return unit > 0 ? unit : 1;
}

/* The line through the first and the last value, and what is left of the others. */
static struct frame along_the_slope(const int64_t *values, size_t count, uint64_t unit)
{
    const struct exact_divisor divisor = exact_divisor(unit);
    int64_t slope = divide(values[count - 1] - values[0], &divisor) / (int64_t)(count - 1);
    int64_t min = 0, max = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t left = divide(values[i] - values[0], &divisor) - (int64_t)i * slope;

        min = left < min ? left : min;
        max = left > max ? left : max;
    }
    return (struct frame){
        .base = (uint64_t)values[0] + unit * (uint64_t)min,
        .step = unit * (uint64_t)slope,
        .unit = unit,
        .bits = bits_of((uint64_t)(max - min)),
    };
}

static struct frame frame_of(const int64_t *values, size_t count, const struct spread *spread)
{
    struct frame flat = {.base = (uint64_t)spread->min, .unit = 1, .bits = 64};
    struct frame sloping;

    if (spread->min < -FRAME_VALUE_MAX || spread->max > FRAME_VALUE_MAX)
        return flat;
    flat.unit = unit_of(values, count, spread->min);
    flat.bits = bits_of(spread->range / flat.unit);
    if (flat.bits < 16)
        return flat;
    sloping = along_the_slope(values, count, flat.unit);
    return sloping.bits < flat.bits ? sloping : flat;
}

/* ---- packing ---- */

/* Bytes after the header. */
static size_t body_bytes(uint8_t width, size_t count)
{
    return width == WEIR_COLUMN_STEPS ? sizeof(uint64_t) : count * width;
}

static size_t frame_bytes(unsigned bits, size_t count)
{
    return WEIR_COLUMN_FRAME_BYTES + (count * bits + 7) / 8;
}

/* Eight bytes are written for each value; those that the next one overwrites do not matter. */
static void store(const int64_t *values, size_t count, uint64_t base, size_t width, uint8_t *at)
{
    for (size_t i = 0; i < count; i++)
        weir_put_u64(at + i * width, (uint64_t)values[i] - base);
}

/* Less than 2^63 units' worth: frames hold no values that are further apart. */
static uint64_t in_frame(const struct frame *frame, const struct exact_divisor *divisor,
                         const int64_t *values, size_t i)
{
    uint64_t distance = (uint64_t)values[i] - frame->base - i * frame->step;

    return (uint64_t)divide((int64_t)distance, divisor);
}

static void store_bytes(const int64_t *values, size_t count, const struct frame *frame, uint8_t *at)
{
    const struct exact_divisor divisor = exact_divisor(frame->unit);

    for (size_t i = 0; i < count; i++, at += frame->bits / 8)
        weir_put_u64(at, in_frame(frame, &divisor, values, i));
}

/* Several values a byte, the first in the lowest bits. */
static void store_bits(const int64_t *values, size_t count, const struct frame *frame, uint8_t *at)
{
    const struct exact_divisor divisor = exact_divisor(frame->unit);
    unsigned per_byte = 8 / frame->bits;

    for (size_t i = 0; i < count; i += per_byte) {
        uint64_t byte = 0;

        for (unsigned k = 0; k < per_byte && i + k < count; k++)
            byte |= in_frame(frame, &divisor, values, i + k) << k * frame->bits;
        *at++ = (uint8_t)byte;
    }
}

static void pack_frame(const int64_t *values, size_t count, const struct frame *frame, uint8_t *at)
{
    at[0] = WEIR_COLUMN_FRAME;
    weir_put_u64(at + 1, frame->base);
    weir_put_u64(at + 9, frame->step);
    weir_put_u64(at + 17, frame->unit);
    at[25] = (uint8_t)frame->bits;
    if (frame->bits >= 8)
        store_bytes(values, count, frame, at + WEIR_COLUMN_FRAME_BYTES);
    else if (frame->bits > 0)
        store_bits(values, count, frame, at + WEIR_COLUMN_FRAME_BYTES);
}

static void pack_plain(const int64_t *values, size_t count, const struct spread *spread,
                       uint8_t width, uint8_t *at)
{
    uint64_t base = width == 8 ? 0 : (uint64_t)spread->min;

    at[0] = width;
    weir_put_u64(at + 1, base);
    if (width == WEIR_COLUMN_STEPS)
        weir_put_u64(at + WEIR_COLUMN_HEADER_BYTES, spread->step);
    else if (width > 0)
        store(values, count, base, width, at + WEIR_COLUMN_HEADER_BYTES);
}

void weir_column_pack_steps(int64_t base, uint64_t step, struct weir_buf *out)
{
    uint8_t packed[WEIR_COLUMN_HEADER_BYTES + sizeof(step)] = {WEIR_COLUMN_STEPS};

    weir_put_u64(packed + 1, (uint64_t)base);
    weir_put_u64(packed + WEIR_COLUMN_HEADER_BYTES, step);
    weir_buf_append(out, packed, sizeof(packed));
}

void weir_column_pack(const int64_t *values, size_t count, struct weir_buf *out)
{
    struct spread spread = measure(values, count);
    uint8_t width = width_of(spread.range);
    struct frame frame = {.bits = 64};
    size_t plain;

    if (spread.steps && body_bytes(width, count) > body_bytes(WEIR_COLUMN_STEPS, count))
        width = WEIR_COLUMN_STEPS;
    plain = WEIR_COLUMN_HEADER_BYTES + body_bytes(width, count);
    if (plain > WEIR_COLUMN_FRAME_BYTES)
        frame = frame_of(values, count, &spread);
    weir_buf_reserve(out, plain + WEIR_COLUMN_FRAME_BYTES);
    if (frame_bytes(frame.bits, count) < plain) {
        pack_frame(values, count, &frame, out->at + out->size);
        out->size += frame_bytes(frame.bits, count);
        return;
    }
    pack_plain(values, count, &spread, width, out->at + out->size);
    out->size += plain;
}

/* ---- reading ---- */

static bool is_width(uint8_t width)
{
    return width == 0 || width == 1 || width == 2 || width == 4 || width == 8 ||
           width == WEIR_COLUMN_STEPS;
}

static bool is_bits(uint8_t bits)
{
    return bits <= 64 && (bits % 8 == 0 || bits == 1 || bits == 2 || bits == 4);
}

static uint64_t mask_of(unsigned bits)
{
    return bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
}

static struct weir_column_view view_plain(struct weir_bytes packed, uint8_t width)
{
    struct weir_column_view view = {
        .body = packed.at, .base = weir_get_u64(packed.at + 1), .unit = 1};

    if (width == WEIR_COLUMN_STEPS) {
        view.step = weir_get_u64(packed.at + WEIR_COLUMN_HEADER_BYTES);
    } else if (width > 0) {
        view.body = packed.at + WEIR_COLUMN_HEADER_BYTES;
        view.bits = (size_t)8 * width;
        view.mask = mask_of(8u * width);
    }
    return view;
}

static struct weir_column_view view_frame(struct weir_bytes packed)
{
    return (struct weir_column_view){
        .body = packed.at + WEIR_COLUMN_FRAME_BYTES,
        .bits = packed.at[25],
        .mask = mask_of(packed.at[25]),
        .base = weir_get_u64(packed.at + 1),
        .step = weir_get_u64(packed.at + 9),
        .unit = weir_get_u64(packed.at + 17),
    };
}

enum weir_status weir_column_view(struct weir_bytes packed, size_t count,
                                  struct weir_column_view *ret_view, struct weir_error *err)
{
    uint8_t width = packed.size >= WEIR_COLUMN_HEADER_BYTES ? packed.at[0] : 3;

    if (is_width(width) && packed.size == WEIR_COLUMN_HEADER_BYTES + body_bytes(width, count))
        *ret_view = view_plain(packed, width);
    else if (width == WEIR_COLUMN_FRAME && packed.size >= WEIR_COLUMN_FRAME_BYTES &&
             is_bits(packed.at[25]) && packed.size == frame_bytes(packed.at[25], count))
        *ret_view = view_frame(packed);
    else
        return weir_fail(err, WEIR_CORRUPT, "column of %zu bytes is not one of %zu values",
                         packed.size, count);
    ret_view->packed = packed;
    return WEIR_OK;
}

void weir_column_range(const struct weir_column_view *view, size_t from, size_t count,
                       int64_t *values)
{
    const struct weir_column_view local = *view; /* `values` may alias nothing of it then */

    for (size_t i = 0; local.bits == 0 && i < count; i++)
        values[i] = (int64_t)(local.base + (from + i) * local.step);
    for (size_t i = 0; local.bits > 0 && i < count; i++)
        values[i] = weir_column_at(&local, from + i);
}

void weir_column_take(const struct weir_column_view *view, const uint32_t *rows, size_t count,
                      int64_t *values)
{
    const struct weir_column_view local = *view;

    for (size_t i = 0; local.bits == 0 && i < count; i++)
        values[i] = (int64_t)(local.base + rows[i] * local.step);
    for (size_t i = 0; local.bits > 0 && i < count; i++)
        values[i] = weir_column_at(&local, rows[i]);
}

enum weir_status weir_column_unpack(struct weir_bytes packed, int64_t *values, size_t count,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE uint8_t *padded = weir_calloc(packed.size + WEIR_COLUMN_PADDING, 1);
    struct weir_column_view view;
    enum weir_status status;

    if (packed.size > 0)
        memcpy(padded, packed.at, packed.size);
    status = weir_column_view(weir_bytes(padded, packed.size), count, &view, err);
    if (status == WEIR_OK)
        weir_column_range(&view, 0, count, values);
    return status;
}
