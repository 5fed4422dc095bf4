/* Partial fits on their way from worker to dispatcher. */
#include "preprocess/plan/fit.h"

enum { HEAD_BYTES = 32 };

void preprocess_fit_pack(uint64_t job, uint64_t group, uint64_t fence,
                         const struct chain_partial *partial, struct weir_buf *out)
{
    size_t place = out->size;
    uint8_t head[HEAD_BYTES] = {0};
    weir_put_u64(head, job);
    weir_put_u64(head + 8, group);
    weir_put_u64(head + 16, fence);
    weir_buf_append(out, head, sizeof(head));
    preprocess_chain_partial_pack(partial, out);
    weir_put_u64(out->at + place + 24, out->size - place - HEAD_BYTES);
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
