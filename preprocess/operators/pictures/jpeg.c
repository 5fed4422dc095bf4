/* JPEG by libjpeg-turbo. libjpeg leaves a failed call by longjmp(): the two functions that set the
 * way back call nothing that owns anything. */
#include "preprocess/operators/pictures/jpeg.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum {
    JPEG_SOI = 0xd8, /* the marker that a file begins with */
    EIGHTHS = 8,
    MARGIN = 2, /* pixels around the window, so that colours are interpolated as in the whole */
    ENOUGH = 2, /* pixels a side for each one wanted: with fewer the resampled picture is blurred */
    CMYK = 4,
};

struct jpeg {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    struct weir_buf line; /* one row of CMYK */
    char reason[OPERATOR_REASON_MAX];
    bool is_cut_off;
};

/* ---- what libjpeg calls ---- */

static WEIR_NORETURN void leave(j_common_ptr info)
{
    struct jpeg *jpeg = info->client_data;
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    snprintf(jpeg->reason, sizeof(jpeg->reason), "%.80s", text);
    longjmp(jpeg->back, 1);
}

static void note(j_common_ptr info, int level)
{
    struct jpeg *jpeg = info->client_data;
    if (level >= 0) /* a trace */
        return;
    info->err->num_warnings++;
    jpeg->is_cut_off |= info->err->msg_code == JWRN_JPEG_EOF;
}

/* The second picture in a small file may be a thousand passes over the first. */
static void count_scans(j_common_ptr info)
{
    struct jpeg *jpeg = info->client_data;
    if (jpeg->info.input_scan_number <= JPEG_SCANS_MAX)
        return;
    snprintf(jpeg->reason, sizeof(jpeg->reason), "more than %d scans", JPEG_SCANS_MAX);
    longjmp(jpeg->back, 1);
}

struct jpeg *preprocess_jpeg_new(void)
{
    struct jpeg *jpeg = weir_calloc(1, sizeof(*jpeg));
    jpeg->info.err = jpeg_std_error(&jpeg->errors);
    jpeg->errors.error_exit = leave;
    jpeg->errors.emit_message = note;
    jpeg->progress.progress_monitor = count_scans;
    jpeg_create_decompress(&jpeg->info); /* fails only when compiled against another version */
    jpeg->info.client_data = jpeg;
    jpeg->info.progress = &jpeg->progress;
    return jpeg;
}

void preprocess_jpeg_free(struct jpeg *jpeg)
{
    if (jpeg == NULL)
        return;
    jpeg_destroy_decompress(&jpeg->info);
    weir_buf_fini(&jpeg->line);
    free(jpeg);
}

uint32_t preprocess_jpeg_height(const struct jpeg *jpeg)
{
    return jpeg->info.image_height;
}

uint32_t preprocess_jpeg_width(const struct jpeg *jpeg)
{
    return jpeg->info.image_width;
}

unsigned preprocess_jpeg_warnings(const struct jpeg *jpeg)
{
    return (unsigned)jpeg->errors.num_warnings;
}

const char *preprocess_jpeg_reason(const struct jpeg *jpeg)
{
    return jpeg->reason;
}

/* ---- opening ---- */

static bool has_beginning(struct weir_bytes bytes)
{
    return bytes.size >= 2 && bytes.at[0] == 0xff && bytes.at[1] == JPEG_SOI;
}

/* A file that was cut off has lost its last marker. After it there may be anything. */
static bool has_end(struct weir_bytes bytes)
{
    const uint8_t *end = bytes.at + bytes.size;
    while (end - bytes.at >= 2) {
        const uint8_t *mark = memrchr(bytes.at, 0xff, (size_t)(end - bytes.at) - 1);
        if (mark == NULL)
            return false;
        if (mark[1] == JPEG_EOI)
            return true;
        end = mark + 1;
    }
    return false;
}

static bool is_bounded(struct jpeg *jpeg, uint64_t pixels_max)
{
    uint64_t pixels = (uint64_t)jpeg->info.image_width * jpeg->info.image_height;
    if (pixels <= pixels_max)
        return true;
    snprintf(jpeg->reason, sizeof(jpeg->reason), "%u x %u pixels, expected at most %lu in all",
             jpeg->info.image_width, jpeg->info.image_height, pixels_max);
    return false;
}

bool preprocess_jpeg_open(struct jpeg *jpeg, struct weir_bytes bytes, uint64_t pixels_max)
{
    jpeg_abort_decompress(&jpeg->info); /* whatever the one before left open */
    jpeg->errors.num_warnings = 0;
    jpeg->is_cut_off = false;
    snprintf(jpeg->reason, sizeof(jpeg->reason), "cut off: the end of the picture is missing");
    bool is_cut_off = bytes.size < 2 || (has_beginning(bytes) && !has_end(bytes));
    if (is_cut_off)
        return false;
    if (setjmp(jpeg->back) != 0)
        return false;
    jpeg_mem_src(&jpeg->info, bytes.at, bytes.size);
    jpeg_read_header(&jpeg->info, TRUE);
    return is_bounded(jpeg, pixels_max);
}

/* ---- reading ---- */

static bool is_enough(uint32_t size, uint32_t out_size, unsigned eighths)
{
    return (uint64_t)size * eighths >= (uint64_t)out_size * ENOUGH * EIGHTHS;
}

static unsigned scale_for(const struct picture_window *window)
{
    for (unsigned eighths = 1; eighths < EIGHTHS; eighths *= 2) {
        if (is_enough(window->height, window->out_height, eighths) &&
            is_enough(window->width, window->out_width, eighths))
            return eighths;
    }
    return EIGHTHS;
}

static JDIMENSION scaled_down(uint32_t at, unsigned eighths)
{
    uint32_t scaled = (uint32_t)((uint64_t)at * eighths / EIGHTHS);
    return scaled > MARGIN ? scaled - MARGIN : 0;
}

static JDIMENSION scaled_up(uint32_t at, unsigned eighths, JDIMENSION max)
{
    uint64_t scaled = ((uint64_t)at * eighths + EIGHTHS - 1) / EIGHTHS + MARGIN;
    return scaled < max ? (JDIMENSION)scaled : max;
}

static void choose_colours(struct jpeg_decompress_struct *info, uint32_t channels)
{
    bool is_cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    if (is_cmyk)
        info->out_color_space = JCS_CMYK;
    else
        info->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
}

/* Begins to decode what covers the window; *ret_place says what that is. */
static void start(struct jpeg *jpeg, const struct picture_window *window, uint32_t channels,
                  struct picture_place *ret_place)
{
    struct jpeg_decompress_struct *info = &jpeg->info;
    unsigned eighths = window != NULL ? scale_for(window) : EIGHTHS;
    choose_colours(info, channels);
    info->scale_num = eighths;
    info->scale_denom = EIGHTHS;
    jpeg_start_decompress(info);
    struct picture_place place = {.height = info->output_height,
                                  .width = info->output_width,
                                  .whole_height = info->image_height,
                                  .whole_width = info->image_width,
                                  .eighths = eighths};
    if (window != NULL) {
        JDIMENSION left = scaled_down(window->left, eighths);
        JDIMENSION width =
            scaled_up(window->left + window->width, eighths, info->output_width) - left;
        place.top = scaled_down(window->top, eighths);
        place.height =
            scaled_up(window->top + window->height, eighths, info->output_height) - place.top;
        if (width < info->output_width)
            jpeg_crop_scanline(info, &left, &width); /* to the left, to where a block begins */
        place.left = left;
        place.width = info->output_width;
        if (place.top > 0)
            jpeg_skip_scanlines(info, place.top);
    }
    *ret_place = place;
}

/* Ink to light. Adobe's programs store how much light each ink lets through, the others how much ink. */
static void mix_inks(const uint8_t *from, bool is_light, uint32_t width, uint32_t channels,
                     uint8_t *to)
{
    for (uint32_t x = 0; x < width; x++, from += CMYK, to += channels) {
        unsigned light[CMYK];
        for (int i = 0; i < CMYK; i++)
            light[i] = is_light ? from[i] : 255u - from[i];
        for (int i = 0; i < 3; i++)
            light[i] = (light[i] * light[3] + 127) / 255;
        if (channels == 1) {
            to[0] = (uint8_t)((299 * light[0] + 587 * light[1] + 114 * light[2] + 500) / 1000);
            continue;
        }
        for (int i = 0; i < 3; i++)
            to[i] = (uint8_t)light[i];
    }
}

static void read_rows(struct jpeg *jpeg, const struct picture_place *place, uint32_t channels,
                      uint8_t *to)
{
    struct jpeg_decompress_struct *info = &jpeg->info;
    bool is_cmyk = info->out_color_space == JCS_CMYK;
    if (is_cmyk)
        weir_buf_reserve(&jpeg->line, (size_t)place->width * CMYK);
    for (uint32_t y = 0; y < place->height; y++, to += (size_t)place->width * channels) {
        JSAMPROW row = is_cmyk ? jpeg->line.at : to;
        if (jpeg_read_scanlines(info, &row, 1) != 1)
            return; /* never: the source is in memory as a whole */
        if (is_cmyk)
            mix_inks(row, info->saw_Adobe_marker, place->width, channels, to);
    }
}

/* The rows below the window are not decoded: that would cost as much as the window. */
static bool decode(struct jpeg *jpeg, const struct picture_window *window, struct column *out)
{
    struct picture_place place;
    uint32_t channels = out->about.width;
    if (setjmp(jpeg->back) != 0)
        return false;
    start(jpeg, window, channels, &place);
    if ((uint64_t)place.height * place.width * channels >
        PICTURE_COLUMN_BYTES_MAX - out->values.size) {
        snprintf(jpeg->reason, sizeof(jpeg->reason), "more than %d bytes of pixels in a batch",
                 PICTURE_COLUMN_BYTES_MAX);
        return false;
    }
    uint8_t *to = preprocess_picture_add(out, place.height, place.width);
    struct picture_place *places = (struct picture_place *)(void *)out->pictures.at;
    places[out->pictures.size / sizeof(place) - 1] = place;
    read_rows(jpeg, &place, channels, to);
    jpeg_abort_decompress(&jpeg->info);
    return true;
}

bool preprocess_jpeg_read(struct jpeg *jpeg, const struct picture_window *window,
                          struct column *out)
{
    size_t values = out->values.size, offsets = out->offsets.size, pictures = out->pictures.size;
    bool is_whole = decode(jpeg, window, out);
    if (is_whole && jpeg->is_cut_off) {
        snprintf(jpeg->reason, sizeof(jpeg->reason), "cut off: pixels are missing");
        is_whole = false;
    }
    if (!is_whole) {
        out->values.size = values;
        out->offsets.size = offsets;
        out->pictures.size = pictures;
    }
    return is_whole;
}
