/* PNG by libpng. libpng leaves a failed call by longjmp(): the two functions that set the way back own nothing. */
#include "preprocess/operators/pictures/png_decoder.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { CHUNK_BYTES_MAX = 1 << 20 };

struct png_decoder {
    png_structp png; /* libpng has no way to use one again: a new one for each picture */
    png_infop info;
    jmp_buf back;
    struct weir_bytes left; /* of the file */
    char reason[OPERATOR_REASON_MAX];
};

/* ---- calls from libpng ---- */

static PNG_NORETURN void leave(png_structp png, png_const_charp text)
{
    struct png_decoder *decoder = png_get_error_ptr(png);
    snprintf(decoder->reason, sizeof(decoder->reason), "%.80s", text);
    longjmp(decoder->back, 1);
}

static void ignore(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void take(png_structp png, png_bytep to, size_t size)
{
    struct png_decoder *decoder = png_get_io_ptr(png);
    if (size > decoder->left.size)
        png_error(png, "the file is cut off");
    memcpy(to, decoder->left.at, size);
    decoder->left.at += size;
    decoder->left.size -= size;
}

/* ---- one picture ---- */

struct png_decoder *preprocess_png_decoder_new(void)
{
    return weir_calloc(1, sizeof(struct png_decoder));
}

static void close_picture(struct png_decoder *decoder)
{
    png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
}

void preprocess_png_decoder_free(struct png_decoder *decoder)
{
    if (decoder == NULL)
        return;
    close_picture(decoder);
    free(decoder);
}

/* Out of memory ends the process here as everywhere. */
static void begin_picture(struct png_decoder *decoder, struct weir_bytes bytes)
{
    close_picture(decoder);
    decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoder, leave, ignore);
    weir_require(decoder->png != NULL);
    decoder->info = png_create_info_struct(decoder->png);
    weir_require(decoder->info != NULL);
    decoder->left = bytes;
    png_set_read_fn(decoder->png, decoder, take);
    png_set_user_limits(decoder->png, PNG_UINT_31_MAX,
                        PNG_UINT_31_MAX); /* the caller's is smaller */
    png_set_chunk_malloc_max(decoder->png, CHUNK_BYTES_MAX);
    png_set_keep_unknown_chunks(decoder->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
}

static bool read_header(struct png_decoder *decoder)
{
    if (setjmp(decoder->back) != 0)
        return false;
    png_read_info(decoder->png, decoder->info);
    return true;
}

bool preprocess_png_decoder_open(struct png_decoder *decoder, struct weir_bytes bytes,
                                 uint64_t pixels_max)
{
    begin_picture(decoder, bytes);
    if (!read_header(decoder))
        return false;
    uint32_t width = preprocess_png_decoder_width(decoder),
             height = preprocess_png_decoder_height(decoder);
    if ((uint64_t)width * height <= pixels_max)
        return true;
    snprintf(decoder->reason, sizeof(decoder->reason),
             "%u x %u pixels, expected at most %lu in all", width, height, pixels_max);
    return false;
}

uint32_t preprocess_png_decoder_height(const struct png_decoder *decoder)
{
    return png_get_image_height(decoder->png, decoder->info);
}

uint32_t preprocess_png_decoder_width(const struct png_decoder *decoder)
{
    return png_get_image_width(decoder->png, decoder->info);
}

/* Every kind of PNG becomes rows of red, green, blue, a byte each. */
static void request_colours(struct png_decoder *decoder)
{
    png_set_expand(decoder->png);
    png_set_strip_16(decoder->png);
    png_set_strip_alpha(decoder->png);
    png_set_gray_to_rgb(decoder->png);
}

static bool read_rows(struct png_decoder *decoder, uint8_t *ret_pixels)
{
    if (setjmp(decoder->back) != 0)
        return false;
    request_colours(decoder);
    int passes = png_set_interlace_handling(decoder->png);
    png_read_update_info(decoder->png, decoder->info);
    size_t row_bytes = (size_t)preprocess_png_decoder_width(decoder) * PNG_DECODER_COLOURS;
    weir_require(png_get_rowbytes(decoder->png, decoder->info) == row_bytes);
    for (int pass = 0; pass < passes; pass++)
        for (size_t row = 0; row < preprocess_png_decoder_height(decoder); row++)
            png_read_row(decoder->png, ret_pixels + row * row_bytes, NULL);
    return true;
}

bool preprocess_png_decoder_read(struct png_decoder *decoder, uint8_t *ret_pixels)
{
    bool is_read = read_rows(decoder, ret_pixels);
    close_picture(decoder); /* its memory holds what was read last */
    return is_read;
}

const char *preprocess_png_decoder_reason(const struct png_decoder *decoder)
{
    return decoder->reason;
}
