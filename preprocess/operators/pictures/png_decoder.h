/* PNG pictures of strangers. Whatever the bytes, a call returns: libpng's way out of an error ends inside the call, and
 * sizes are bounded before memory is taken. Not shared between threads. */
#ifndef WEIR_PREPROCESS_OPERATORS_PICTURES_PNG_DECODER_H
#define WEIR_PREPROCESS_OPERATORS_PICTURES_PNG_DECODER_H

#include "preprocess/operators/pictures/picture.h"

enum { PNG_DECODER_COLOURS = 3 };

struct png_decoder;
struct png_decoder *preprocess_png_decoder_new(void);
void preprocess_png_decoder_free(struct png_decoder *decoder); /* NULL is fine */

/* Reads everything before the pixels. False: not a PNG file, or more than `pixels_max` pixels. `bytes` must stay until
 * preprocess_png_decoder_read() has returned. */
bool preprocess_png_decoder_open(struct png_decoder *decoder, struct weir_bytes bytes,
                                 uint64_t pixels_max);
uint32_t preprocess_png_decoder_height(const struct png_decoder *decoder); /* of the open picture */
uint32_t preprocess_png_decoder_width(const struct png_decoder *decoder);

/* Decodes the open picture, once, into height x width x PNG_DECODER_COLOURS bytes at `ret_pixels`: transparency is left
 * out, 16-bit colours lose their lower half. False: damaged or cut off, and the bytes there are undefined. */
bool preprocess_png_decoder_read(struct png_decoder *decoder, uint8_t *ret_pixels);
const char *preprocess_png_decoder_reason(
    const struct png_decoder *decoder); /* for the last false */

#endif
