/* Pictures in another size: bilinear, antialiased. Each new pixel is the mean of the old ones around its
 * place, weighted by a triangle that is as wide as the picture shrinks; at the edges of the window it
 * is cut off. This is what Pillow and torchvision (antialias) make of a crop that is resized, to one
 * step of 255 (they round once more, between the two directions). The same to the bit on any
 * machine. */
#ifndef WEIR_PREPROCESS_OPERATORS_PICTURES_RESAMPLE_H
#define WEIR_PREPROCESS_OPERATORS_PICTURES_RESAMPLE_H

#include "preprocess/operators/pictures/picture.h"

/* Scratch that grows to the largest picture and is kept. Zero-initialised is empty. */
struct resampler {
    /* weights of rows and columns; one new row, as wide as the old ones, and as the new */
    struct weir_buf numbers;
};

struct mirror {
    bool horizontal, vertical;
};

/* Makes the `window` of the whole picture that `from` is a part of (at any scale; the part must cover
 * the window) into window->out_height x window->out_width pixels at `to`. */
void preprocess_resample(struct resampler *resampler, const struct picture *from,
                         const struct picture_window *window, struct mirror mirror, uint8_t *to);
void preprocess_resampler_fini(struct resampler *resampler);

#endif
