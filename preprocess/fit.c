/* Partial fits on their way from worker to dispatcher. */
#include "preprocess/fit.h"

enum { HEAD_BYTES = 32 };

void preprocess_fit_pack(const struct preprocess_fit *fit, struct weir_buf *out)
{
    uint8_t head[HEAD_BYTES];
    weir_put_u64(head, fit->job);
    weir_put_u64(head + 8, fit->group);
    weir_put_u64(head + 16, fit->fence);
    weir_put_u64(head + 24, fit->partial.size);
    weir_buf_append(out, head, sizeof(head));
    weir_buf_append(out, fit->partial.at, fit->partial.size);
}

bool preprocess_fit_take(struct weir_bytes *rest, struct preprocess_fit *ret_fit)
{
    if (rest->size < HEAD_BYTES || weir_get_u64(rest->at + 24) > rest->size - HEAD_BYTES)
        return false;
    size_t size = weir_get_u64(rest->at + 24);
    *ret_fit = (struct preprocess_fit){
        .job = weir_get_u64(rest->at),
        .group = weir_get_u64(rest->at + 8),
        .fence = weir_get_u64(rest->at + 16),
        .partial = weir_bytes(rest->at + HEAD_BYTES, size),
    };
    *rest = weir_bytes(rest->at + HEAD_BYTES + size, rest->size - HEAD_BYTES - size);
    return true;
}
