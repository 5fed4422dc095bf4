/* PNG files for tests, made with libspng out of given pixels. */
#ifndef WEIR_TESTS_SUPPORT_PNG_PICTURE_H
#define WEIR_TESTS_SUPPORT_PNG_PICTURE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/memory.h"

#include <stdlib.h>

#include <spng.h>

/* Appends the file of height x width pixels of three channels, or of one. */
static inline void png_picture_write(const uint8_t *pixels, uint32_t height, uint32_t width,
                                     uint32_t channels, struct weir_buf *out)
{
    struct spng_ihdr header = {
        .width = width,
        .height = height,
        .bit_depth = 8,
        .color_type = channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR,
    };
    int problem = 0;
    size_t size = 0;
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    weir_require(png != NULL);
    weir_require(spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1) == 0);
    weir_require(spng_set_ihdr(png, &header) == 0);
    weir_require(spng_encode_image(png, pixels, (size_t)height * width * channels, SPNG_FMT_PNG,
                                   SPNG_ENCODE_FINALIZE) == 0);
    WEIR_AUTO_FREE char *file = spng_get_png_buffer(png, &size, &problem);
    weir_require(file != NULL);
    weir_buf_append(out, file, size);
    spng_ctx_free(png);
}

#endif
