/* PNG files for tests, made with libpng out of given pixels. */
#ifndef WEIR_TESTS_SUPPORT_PNG_PICTURE_H
#define WEIR_TESTS_SUPPORT_PNG_PICTURE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/memory.h"

#include <png.h>

/* Appends the file of height x width pixels of three channels, or of one. */
static inline void png_picture_write(const uint8_t *pixels, uint32_t height, uint32_t width,
                                     uint32_t channels, struct weir_buf *out)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION,
        .width = width,
        .height = height,
        .format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB,
    };
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    weir_buf_reserve(out, size);
    weir_require(png_image_write_to_memory(&image, out->at + out->size, &size, 0, pixels, 0, NULL));
    out->size += size;
}

#endif
