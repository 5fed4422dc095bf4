/* How unsure a model is of a sample, by its prediction (Settles, Active Learning Literature Survey, 2009, §3.1). */
#ifndef WEIR_BASE_DOUBT_H
#define WEIR_BASE_DOUBT_H

#include <stddef.h>

enum weir_doubt {
    WEIR_DOUBT_LEAST_CONFIDENCE, /* of the best class */
    WEIR_DOUBT_ENTROPY,          /* of all */
    WEIR_DOUBT_MARGIN,           /* between the two best */
};
/* "least_confidence", …, NULL-terminated, in their order. */
extern const char *const WEIR_DOUBT_NAMES[];
/* The same for the documentation of an option. */
#define WEIR_DOUBT_DOC \
    "least_confidence: of the best class; entropy: of all; margin: between the two best"

/* `prediction`: (width) probabilities, or with width 1 that of the second of two classes; NaN counts as 0. A larger
 * value is less sure. */
double weir_doubt_of(const float *prediction, size_t width, enum weir_doubt metric);

#endif
