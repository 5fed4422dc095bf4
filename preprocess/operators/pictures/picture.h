/* Rows that are pictures: u8 pixels, row by row (HWC), in a column of PICTURES of any size, or in a
 * DENSE one whose pictures are all of one size. Operators on pictures take both kinds. A row that has
 * failed is empty, or all zeroes. */
#ifndef WEIR_PREPROCESS_OPERATORS_PICTURES_PICTURE_H
#define WEIR_PREPROCESS_OPERATORS_PICTURES_PICTURE_H

#include "preprocess/operators/operator.h"

enum { PICTURE_SIDE_MAX = 16384, PICTURE_COLUMN_BYTES_MAX = 1 << 30 };

struct picture {
    const uint8_t *at;
    uint32_t channels;
    /* place.height x place.width pixels are here; 0 x 0: it has failed */
    struct picture_place place;
};

/* The column `on`, or the newest one that holds pictures when it is NULL. */
enum weir_status preprocess_picture_pick(const struct operator_schema *schema, const char *on,
                                         int *ret_column, struct weir_error *err) WEIR_MUST_USE;
/* A column of the same name whose pictures are all height x width. LIMIT when a row would be wider
 * than COLUMN_WIDTH_MAX. */
enum weir_status preprocess_picture_dense(const struct column_about *in, uint32_t height,
                                          uint32_t width, struct column_about *ret_about,
                                          struct weir_error *err) WEIR_MUST_USE;
struct picture preprocess_picture_at(const struct column *column, size_t row);
/* True when the output has room for a picture of this size; else the row has failed. */
bool preprocess_picture_fits(struct operator_call *call, size_t row, uint32_t height,
                             uint32_t width);
/* Appends a picture whose pixels are for the caller to fill in; they do not move until the next one. */
uint8_t *preprocess_picture_add(struct column *column, uint32_t height, uint32_t width);
/* Returns the brightness of a pixel of three channels (ITU-R BT.601). */
static inline uint8_t picture_grey(const uint8_t *pixel)
{
    return (uint8_t)((19595u * pixel[0] + 38470u * pixel[1] + 7471u * pixel[2] + 32768u) >> 16);
}
/* `pixels` of three channels into three, or into one that is their grey. */
void preprocess_picture_copy(const uint8_t *from, size_t pixels, uint32_t channels, uint8_t *to);
/* Appends a copy of `from`, to be changed in place. */
uint8_t *preprocess_picture_add_same(struct column *column, const struct picture *from);
/* Ends a row that has failed. */
void preprocess_picture_add_none(struct column *column);

/* `count` numbers of an option, each from min to max; one number stands for all of them. INVALID names
 * the option. */
struct picture_numbers {
    const char *name;
    struct cfg_texts texts;
    size_t count;
    double min, max;
};
enum weir_status preprocess_picture_read_numbers(const struct picture_numbers *from,
                                                 double *ret_values,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* Range of a uniform draw. */
struct picture_range {
    double least, most;
};
/* The same for two of them, the least first; an option that is absent leaves `*range` as it is. */
enum weir_status preprocess_picture_read_range(const struct picture_numbers *from,
                                               struct picture_range *range,
                                               struct weir_error *err) WEIR_MUST_USE;
double preprocess_picture_draw(struct weir_rng *rng, struct picture_range range);
/* `size: 224` or `size: [height, width]`. */
enum weir_status preprocess_picture_read_size(struct cfg_texts texts, uint32_t ret_size[2],
                                              struct weir_error *err) WEIR_MUST_USE;

#endif
