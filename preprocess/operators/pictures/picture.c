/* Rows that are pictures, and the options that speak of their size. */
#include "preprocess/operators/pictures/picture.h"

#include "preprocess/operators/number.h"

#include <string.h>

enum { CHANNELS_GREY = 1, CHANNELS_RGB = 3 };

static bool holds_pictures(const struct column_about *about)
{
    uint32_t channels = about->shape[2];
    return about->kind == COLUMN_PICTURES ||
           (about->kind == COLUMN_DENSE && about->type == WEIR_U8 &&
            (channels == CHANNELS_GREY || channels == CHANNELS_RGB));
}

enum weir_status preprocess_picture_pick(const struct operator_schema *schema, const char *on,
                                         int *ret_column, struct weir_error *err)
{
    for (size_t i = schema->count; i-- > 0;) {
        const struct column_about *about = &schema->column[i];
        if ((on == NULL || weir_str_equal(on, about->name)) && holds_pictures(about)) {
            *ret_column = (int)i;
            return WEIR_OK;
        }
    }
    weir_ignore(
        preprocess_operator_schema_pick(schema, on, 1u << COLUMN_PICTURES, ret_column, err));
    return weir_error_wrap(err, WEIR_INVALID, "pixels are u8, in rows of one or three channels");
}

enum weir_status preprocess_picture_dense(const struct column_about *in, uint32_t height,
                                          uint32_t width, struct column_about *ret_about,
                                          struct weir_error *err)
{
    uint32_t channels = in->kind == COLUMN_DENSE ? in->shape[2] : in->width;
    uint64_t elements = (uint64_t)height * width * channels;
    if (elements > COLUMN_WIDTH_MAX)
        return weir_fail(err, WEIR_LIMIT, "%u x %u x %u numbers a row, expected at most %d", height,
                         width, channels, COLUMN_WIDTH_MAX);
    *ret_about = preprocess_column_about(in->name, COLUMN_DENSE, WEIR_U8, (uint32_t)elements);
    ret_about->shape[0] = height;
    ret_about->shape[1] = width;
    ret_about->shape[2] = channels;
    return WEIR_OK;
}

static struct picture_place whole(uint32_t height, uint32_t width)
{
    return (struct picture_place){.height = height,
                                  .width = width,
                                  .whole_height = height,
                                  .whole_width = width,
                                  .eighths = 8};
}

struct picture preprocess_picture_at(const struct column *column, size_t row)
{
    if (column->about.kind == COLUMN_DENSE)
        return (struct picture){.at = column->values.at + row * column->about.width,
                                .channels = column->about.shape[2],
                                .place = whole(column->about.shape[0], column->about.shape[1])};
    const struct picture_place *places =
        (const struct picture_place *)(const void *)column->pictures.at;
    return (struct picture){.at = column->values.at + column_offsets(column)[row],
                            .channels = column->about.width,
                            .place = places[row]};
}

static size_t channels_of(const struct column *column)
{
    return column->about.kind == COLUMN_DENSE ? column->about.shape[2] : column->about.width;
}

bool preprocess_picture_fits(struct operator_call *call, size_t row, uint32_t height,
                             uint32_t width)
{
    const struct column *out = &call->out[0];
    if ((uint64_t)height * width * channels_of(out) <= PICTURE_COLUMN_BYTES_MAX - out->values.size)
        return true;
    preprocess_operator_fail_row(call, row, "more than %d bytes of pixels in a batch",
                                 PICTURE_COLUMN_BYTES_MAX);
    return false;
}

uint8_t *preprocess_picture_add(struct column *column, uint32_t height, uint32_t width)
{
    bool is_dense = column->about.kind == COLUMN_DENSE;
    size_t bytes = height * (size_t)width * channels_of(column), start = column->values.size;
    weir_require(!is_dense || bytes == column->about.width);
    weir_buf_reserve(&column->values, bytes);
    column->values.size += bytes;
    if (!is_dense) {
        const struct picture_place place = whole(height, width);
        weir_buf_append(&column->pictures, &place, sizeof(place));
        preprocess_column_end_row(column);
    }
    return column->values.at + start;
}

uint8_t *preprocess_picture_add_same(struct column *column, const struct picture *from)
{
    size_t height = from->place.height, width = from->place.width;
    uint8_t *to = preprocess_picture_add(column, from->place.height, from->place.width);
    if (height > 0)
        memcpy(to, from->at, height * width * from->channels);
    return to;
}

void preprocess_picture_copy(const uint8_t *from, size_t pixels, uint32_t channels, uint8_t *to)
{
    if (channels == CHANNELS_RGB) {
        memcpy(to, from, pixels * CHANNELS_RGB);
        return;
    }
    for (size_t i = 0; i < pixels; i++)
        to[i] = picture_grey(from + i * CHANNELS_RGB);
}

void preprocess_picture_add_none(struct column *column)
{
    const struct column_about *about = &column->about;
    bool is_dense = about->kind == COLUMN_DENSE;
    uint8_t *at = preprocess_picture_add(column, is_dense ? about->shape[0] : 0,
                                         is_dense ? about->shape[1] : 0);
    memset(at, 0, is_dense ? about->width : 0);
}

enum weir_status preprocess_picture_read_numbers(const struct picture_numbers *from,
                                                 double *ret_values, struct weir_error *err)
{
    size_t found = from->texts.count;
    bool is_right = found == 1 || found == from->count;
    for (size_t i = 0; is_right && i < from->count; i++) {
        const char *text = weir_yaml_text(weir_yaml_at(from->texts.node, found == 1 ? 0 : i));
        is_right = text != NULL && preprocess_number_read(weir_bytes_of(text), &ret_values[i]) &&
                   ret_values[i] >= from->min && ret_values[i] <= from->max;
    }
    if (is_right)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s: expected one number or %zu, each from %g to %g",
                     from->name, from->count, from->min, from->max);
}

enum weir_status preprocess_picture_read_range(const struct picture_numbers *from,
                                               struct picture_range *range, struct weir_error *err)
{
    double ends[2];
    weir_require(from->count == 2);
    if (from->texts.count == 0)
        return WEIR_OK;
    enum weir_status status = preprocess_picture_read_numbers(from, ends, err);
    if (status != WEIR_OK)
        return status;
    if (ends[0] > ends[1])
        return weir_fail(err, WEIR_INVALID, "%s: found [%g, %g], expected the least first",
                         from->name, ends[0], ends[1]);
    *range = (struct picture_range){ends[0], ends[1]};
    return WEIR_OK;
}

double preprocess_picture_draw(struct weir_rng *rng, struct picture_range range)
{
    return range.least + weir_rng_unit(rng) * (range.most - range.least);
}

enum weir_status preprocess_picture_read_size(struct cfg_texts texts, uint32_t ret_size[2],
                                              struct weir_error *err)
{
    double sides[2];
    const struct picture_numbers from = {"size", texts, 2, 1, PICTURE_SIDE_MAX};
    enum weir_status status = preprocess_picture_read_numbers(&from, sides, err);
    if (status != WEIR_OK)
        return status;
    ret_size[0] = (uint32_t)sides[0];
    ret_size[1] = (uint32_t)sides[1];
    return WEIR_OK;
}
