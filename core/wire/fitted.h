/* Fitted state of the operators of a job (C16), as it is sealed, travels and is stored with a model:
 *
 *     "WEIRFIT2"; per fitted operator its name in 32 bytes, u64 size, its state; XXH3-128 of all before
 *
 * What a state holds is the operator's matter, but for that of scale_label: f64 mean, f64 deviation. */
#ifndef WEIR_WIRE_FITTED_H
#define WEIR_WIRE_FITTED_H

#include "core/base/bytes.h"

enum {
    WEIR_FITTED_NAME_BYTES = 32,
    WEIR_FITTED_MAGIC_BYTES = 8,
    WEIR_FITTED_MAX = 15 << 20, /* bytes of it all: it travels in headers of messages */
};
#define WEIR_FITTED_MAGIC "WEIRFIT2"
#define WEIR_FITTED_LABEL "scale_label"

/* The units of labels: a model may learn to say (label - mean) / deviation. */
struct weir_label_scale {
    double mean, deviation;
};

/* Takes the next state, and the operator's name, filled up with zeros, off `*rest`, which is what follows the magic.
 * False when there is no whole one. */
bool weir_fitted_take(struct weir_bytes *rest, struct weir_bytes *ret_name,
                      struct weir_bytes *ret_state);
/* Finds the scale of labels in fitted state whose seal has been checked. False when there is none. */
bool weir_fitted_label_scale(struct weir_bytes fitted, struct weir_label_scale *ret_scale);

#endif
