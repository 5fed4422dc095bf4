/* Fitted state of the operators of a job. */
#include "core/wire/fitted.h"

#include "core/base/hash.h"

#include <math.h>
#include <string.h>

bool weir_fitted_take(struct weir_bytes *rest, struct weir_bytes *ret_name,
                      struct weir_bytes *ret_state)
{
    uint64_t size;
    return weir_take(rest, WEIR_FITTED_NAME_BYTES, ret_name) && weir_take_u64(rest, &size) &&
           weir_take(rest, size, ret_state);
}

bool weir_fitted_label_scale(struct weir_bytes fitted, struct weir_label_scale *ret_scale)
{
    static const char NAME[WEIR_FITTED_NAME_BYTES] = WEIR_FITTED_LABEL;
    struct weir_bytes magic, name, state;
    if (fitted.size < WEIR_DIGEST_BYTES)
        return false;
    fitted.size -= WEIR_DIGEST_BYTES;
    if (!weir_take(&fitted, WEIR_FITTED_MAGIC_BYTES, &magic))
        return false;
    while (weir_fitted_take(&fitted, &name, &state)) {
        if (memcmp(name.at, NAME, sizeof(NAME)) != 0 || state.size != sizeof(*ret_scale))
            continue;
        memcpy(ret_scale, state.at, sizeof(*ret_scale));
        return isfinite(ret_scale->mean) && ret_scale->deviation > 0;
    }
    return false;
}
