/* JPEG pictures of strangers: a decoder object that is kept from one picture to the next. Whatever the
 * bytes, a call returns: libjpeg's way out of an error ends inside the call, and sizes are
 * bounded before memory is taken. Not shared between threads. */
#ifndef WEIR_PREPROCESS_OPERATORS_PICTURES_JPEG_H
#define WEIR_PREPROCESS_OPERATORS_PICTURES_JPEG_H

#include "preprocess/operators/pictures/picture.h"

enum { JPEG_SCANS_MAX = 100 /* of a progressive picture: each costs a pass over all of it */ };

struct jpeg;
struct jpeg *preprocess_jpeg_new(void);
void preprocess_jpeg_free(struct jpeg *jpeg); /* NULL is fine */

/* Reads the header. False: it is none, or speaks of more than `pixels_max` pixels. `bytes` must stay
 * until preprocess_jpeg_read() has returned. */
bool preprocess_jpeg_open(struct jpeg *jpeg, struct weir_bytes bytes, uint64_t pixels_max);
uint32_t preprocess_jpeg_height(const struct jpeg *jpeg); /* of the open picture */
uint32_t preprocess_jpeg_width(const struct jpeg *jpeg);

/* Decodes what covers `window` (NULL: everything), at the smallest scale (8/8, 4/8, 2/8, 1/8: those
 * are fast) that has at least twice the height and width that the window is made into, and appends it to
 * `out`, whose channels it gets. False when it cannot be decoded, or is cut off: nothing is appended. */
bool preprocess_jpeg_read(struct jpeg *jpeg, const struct picture_window *window,
                          struct column *out);
/* Returns the number of libjpeg's warnings about the picture just read: bytes that it could do without. */
unsigned preprocess_jpeg_warnings(const struct jpeg *jpeg);
const char *preprocess_jpeg_reason(const struct jpeg *jpeg); /* why it failed */

#endif
