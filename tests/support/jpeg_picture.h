/* Pictures for tests and benchmarks, made with libjpeg: shapes with sharp edges over a gradient and
 * noise, the same for the same seed on any machine. */
#ifndef WEIR_TESTS_SUPPORT_JPEG_PICTURE_H
#define WEIR_TESTS_SUPPORT_JPEG_PICTURE_H

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum { JPEG_PICTURE_SHAPES = 24 };

struct jpeg_picture {
    uint32_t height, width;
    uint64_t seed;
    int quality;      /* of 100 */
    int components;   /* 3: RGB as YCbCr; 1: grey; 4: CMYK */
    bool full_colour; /* one colour per pixel, instead of one per four */
    bool progressive;
    unsigned noise; /* strongest, of 255 */
};

/* Discs and squares. */
struct jpeg_picture_shape {
    double x, y, radius;
    uint8_t colour[4];
};

static inline void jpeg_picture_shapes(const struct jpeg_picture *picture, struct weir_rng *rng,
                                       struct jpeg_picture_shape *shapes)
{
    for (size_t k = 0; k < JPEG_PICTURE_SHAPES; k++) {
        shapes[k].x = weir_rng_unit(rng) * picture->width;
        shapes[k].y = weir_rng_unit(rng) * picture->height;
        shapes[k].radius = weir_rng_unit(rng) * picture->width / 5;
        for (size_t c = 0; c < 4; c++)
            shapes[k].colour[c] = (uint8_t)weir_rng_below(rng, 256);
    }
}

/* Returns the colour of the last shape that covers the place, or `ground`. */
static inline const uint8_t *jpeg_picture_colour(const struct jpeg_picture_shape *shapes,
                                                 const uint8_t *ground, uint32_t x, uint32_t y)
{
    const uint8_t *colour = ground;
    for (size_t k = 0; k < JPEG_PICTURE_SHAPES; k++) {
        double across = fabs(x - shapes[k].x), down = fabs(y - shapes[k].y);
        double far = k % 2 == 0 ? hypot(across, down) : fmax(across, down);
        colour = far < shapes[k].radius ? shapes[k].colour : colour;
    }
    return colour;
}

/* height x width x components bytes. */
static inline void jpeg_picture_draw(const struct jpeg_picture *picture, uint8_t *pixels)
{
    struct jpeg_picture_shape shapes[JPEG_PICTURE_SHAPES];
    struct weir_rng rng;
    size_t components = (size_t)picture->components, i = 0;
    weir_rng_init(&rng, picture->seed);
    jpeg_picture_shapes(picture, &rng, shapes);
    for (uint32_t y = 0; y < picture->height; y++) {
        for (uint32_t x = 0; x < picture->width; x++) {
            const uint8_t gradient[4] = {(uint8_t)(x * 200 / picture->width),
                                         (uint8_t)(y * 200 / picture->height), 90, 20};
            const uint8_t *colour = jpeg_picture_colour(shapes, gradient, x, y);
            uint64_t noise = weir_rng_next(&rng);
            for (size_t c = 0; c < components; c++, noise >>= 8) {
                unsigned value = colour[c] + (unsigned)(noise & 255) * picture->noise / 256;
                pixels[i++] = (uint8_t)(value > 255 ? 255 : value);
            }
        }
    }
}

/* Appends the file. */
static inline void jpeg_picture_write(const struct jpeg_picture *picture, struct weir_buf *out)
{
    size_t stride = picture->width * (size_t)picture->components;
    WEIR_AUTO_FREE uint8_t *pixels = weir_calloc(picture->height, stride);
    jpeg_picture_draw(picture, pixels);
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *file = NULL;
    unsigned long size = 0;
    info.err = jpeg_std_error(&errors); /* leaves the process: there is no reason for one */
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &file, &size);
    info.image_height = picture->height;
    info.image_width = picture->width;
    info.input_components = picture->components;
    info.in_color_space = picture->components == 3   ? JCS_RGB
                          : picture->components == 1 ? JCS_GRAYSCALE
                                                     : JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, picture->quality, TRUE);
    if (picture->full_colour)
        info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
    if (picture->progressive)
        jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    for (uint32_t y = 0; y < picture->height; y++)
        jpeg_write_scanlines(&info, &(JSAMPROW){pixels + y * stride}, 1);
    jpeg_finish_compress(&info);
    weir_buf_append(out, file, size);
    jpeg_destroy_compress(&info);
    free(file);
}

#endif
