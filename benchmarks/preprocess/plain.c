/* A loop as somebody would write it who needs no more than this. */
#include "benchmarks/preprocess/plain.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "preprocess/operators/chain.h"
#include "preprocess/operators/pictures/flip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum { FILE_BYTES_MAX = 1 << 24, OPTIONS_MAX = 256, STATE_MAX = 512, CROP_STEP = 1, FLIP_STEP = 2 };

const char PLAIN_OPERATORS[] =
    "[{op: decode_jpeg}, {op: random_resized_crop, size: 224}, {op: flip}, {op: normalize, mean: "
    "[0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}, {op: to_chw}]";

/* An operator of Weir, of which only the draws are used. */
struct drawn {
    const struct preprocess_operator *op;
    _Alignas(16) uint8_t options[OPTIONS_MAX];
    _Alignas(16) uint8_t state[STATE_MAX];
};

struct plain {
    uint64_t seed;
    struct weir_yaml *document;
    struct chain *chain;
    struct drawn crop, flip;
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct resampler resampler;
    struct weir_buf file, pixels;
    float *batch;
};

/* Operators 1 and 2 of the list, planned by themselves. */
static void plan_draws(struct plain *plain, struct drawn *drawn, size_t index)
{
    struct weir_error err;
    struct operator_plan plan = {0};
    const struct operator_schema schema = {
        .count = 1, .column = {preprocess_column_about("picture", COLUMN_PICTURES, WEIR_U8, 3)}};
    const struct weir_yaml_node *node = weir_yaml_at(weir_yaml_root(plain->document), index);
    drawn->op = operator_find(weir_yaml_text(weir_yaml_get(node, "op")));
    weir_require(drawn->op->options_size <= OPTIONS_MAX && drawn->op->state_size <= STATE_MAX);
    enum weir_status status =
        cfg_read(drawn->op->options, CFG_CLOSED, node, "plain", "op", drawn->options, &err);
    if (status == WEIR_OK)
        status = drawn->op->plan(drawn->state, drawn->options, &schema, &plan, &err);
    weir_require(status == WEIR_OK);
}

struct plain *plain_new(uint64_t seed)
{
    struct weir_error err;
    struct plain *plain = weir_calloc(1, sizeof(*plain));
    plain->seed = seed;
    weir_require(weir_yaml_parse("plain", weir_bytes_of(PLAIN_OPERATORS), &plain->document, &err) ==
                 WEIR_OK);
    weir_require(preprocess_chain_new(weir_yaml_root(plain->document), NULL, &plain->chain, &err) ==
                 WEIR_OK);
    plan_draws(plain, &plain->crop, CROP_STEP);
    plan_draws(plain, &plain->flip, FLIP_STEP);
    plain->info.err = jpeg_std_error(&plain->errors);
    jpeg_create_decompress(&plain->info);
    plain->batch = weir_calloc((size_t)PLAIN_BATCH * PLAIN_ROW, sizeof(*plain->batch));
    return plain;
}

void plain_free(struct plain *plain)
{
    if (plain == NULL)
        return;
    plain->crop.op->fini(plain->crop.state);
    jpeg_destroy_decompress(&plain->info);
    preprocess_chain_free(plain->chain);
    weir_yaml_free(plain->document);
    preprocess_resampler_fini(&plain->resampler);
    weir_buf_fini(&plain->file);
    weir_buf_fini(&plain->pixels);
    free(plain->batch);
    free(plain);
}

const float *plain_row(const struct plain *plain, size_t row)
{
    return plain->batch + row * PLAIN_ROW;
}

/* Rows top … top + height of columns left … left + width, or of a few more columns. */
static struct picture read_rows(struct plain *plain, JDIMENSION left, JDIMENSION width,
                                JDIMENSION top, JDIMENSION height)
{
    struct jpeg_decompress_struct *info = &plain->info;
    struct picture_place place = {.whole_height = info->image_height,
                                  .whole_width = info->image_width,
                                  .top = top,
                                  .height = height,
                                  .eighths = 8};
    info->out_color_space = JCS_RGB;
    jpeg_start_decompress(info);
    if (width < info->output_width)
        jpeg_crop_scanline(info, &left, &width);
    if (top > 0)
        jpeg_skip_scanlines(info, top);
    place.left = left;
    place.width = info->output_width;
    weir_buf_clear(&plain->pixels);
    weir_buf_reserve(&plain->pixels, (size_t)place.width * place.height * 3);
    for (JDIMENSION y = 0; y < height; y++)
        jpeg_read_scanlines(info, &(JSAMPROW){plain->pixels.at + (size_t)y * place.width * 3}, 1);
    jpeg_abort_decompress(info);
    return (struct picture){.at = plain->pixels.at, .channels = 3, .place = place};
}

static void normalise(const uint8_t *from, float *to)
{
    static const float MEAN[] = {0.485f, 0.456f, 0.406f}, STD[] = {0.229f, 0.224f, 0.225f};
    const size_t pixels = (size_t)PLAIN_SIZE * PLAIN_SIZE;
    for (size_t c = 0; c < 3; c++) {
        float factor = 1 / 255.0f / STD[c], offset = -MEAN[c] / STD[c];
        for (size_t i = 0; i < pixels; i++)
            to[c * pixels + i] = from[3 * i + c] * factor + offset;
    }
}

enum weir_status plain_make(struct plain *plain, const struct plain_picture *picture, size_t row,
                            struct weir_error *err)
{
    struct jpeg_decompress_struct *info = &plain->info;
    const struct operator_batch batch = {
        .rows = 1, .ids = &picture->id, .seed = plain->seed, .trains = true};
    const struct operator_call call = {
        .rows = 1, .batch = &batch, .ids = &picture->id, .step = CROP_STEP};
    weir_buf_clear(&plain->file);
    enum weir_status status = weir_file_read(picture->path, FILE_BYTES_MAX, &plain->file, err);
    if (status != WEIR_OK)
        return status;
    jpeg_mem_src(info, plain->file.at, plain->file.size);
    jpeg_read_header(info, TRUE);
    struct picture_window window =
        plain->crop.op->window(plain->crop.state, &call, 0, info->image_height, info->image_width);
    struct picture from =
        picture->region ? read_rows(plain, window.left, window.width, window.top, window.height)
                        : read_rows(plain, 0, info->image_width, 0, info->image_height);
    uint8_t pixels[PLAIN_ROW];
    preprocess_resample(&plain->resampler, &from, &window,
                        preprocess_flip_draw(plain->flip.state, &call, 0, FLIP_STEP), pixels);
    normalise(pixels, plain->batch + row * PLAIN_ROW);
    return WEIR_OK;
}

enum weir_status plain_compare(struct plain *plain, const struct plain_picture *picture, size_t row,
                               double *ret_apart, struct weir_error *err)
{
    enum weir_status status = plain_make(plain, picture, row, err);
    if (status != WEIR_OK)
        return status;
    const struct operator_batch batch = {
        .rows = 1, .ids = &picture->id, .seed = plain->seed, .trains = true};
    struct column *payload = preprocess_chain_begin(plain->chain);
    weir_buf_append(&payload->values, plain->file.at, plain->file.size);
    preprocess_column_end_row(payload);
    const uint8_t *failed = preprocess_chain_run(plain->chain, &batch);
    if (failed[0] != OPERATOR_ROW_OK)
        return weir_fail(err, WEIR_INTERNAL, "%s: an operator failed", picture->path);
    const float *ours =
        (const float *)(const void *)preprocess_chain_output(plain->chain, 0)->values.at;
    *ret_apart = 0;
    for (size_t i = 0; i < PLAIN_ROW; i++)
        *ret_apart = fmax(*ret_apart, fabs((double)ours[i] - plain_row(plain, row)[i]));
    return WEIR_OK;
}
