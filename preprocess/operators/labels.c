/* Labels as numbers. */
#include "preprocess/operators/labels.h"

#include "core/wire/sample.h"

#include <math.h>
#include <string.h>

bool preprocess_label_read(const struct operator_batch *batch, size_t row, bool takes_classes,
                           double *ret_label)
{
    if (batch->labels == NULL)
        return false;
    int64_t bits = batch->labels[row];
    switch (batch->label_kind) {
    case WEIR_LABEL_INT:
        *ret_label = (double)bits;
        return true;
    case WEIR_LABEL_FLOAT:
        memcpy(ret_label, &bits, sizeof(*ret_label));
        return isfinite(*ret_label);
    case WEIR_LABEL_CLASS:
        *ret_label = (double)bits;
        return takes_classes && (bits == 0 || bits == 1);
    default:
        return false;
    }
}
