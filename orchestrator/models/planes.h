/* A block of 32-bit words as four planes of bytes: the lowest bytes of all words, then the next. Of the difference of
 * two similar floats the high bytes are mostly zeros and compress well, the low ones are noise and are left alone:
 * together they would only be noise. Pure. */
#ifndef ORCHESTRATOR_MODELS_PLANES_H
#define ORCHESTRATOR_MODELS_PLANES_H

#include "core/base/bytes.h"

enum {
    MODEL_BLOCK_BYTES = 1 << 20,
    MODEL_PLANES = 4,
    MODEL_PLANE_BYTES = MODEL_BLOCK_BYTES / MODEL_PLANES,
};

/* Room and a compressor for one block at a time. */
struct model_planes;
struct model_planes *orchestrator_model_planes_new(void);
void orchestrator_model_planes_free(struct model_planes *planes);

/* The stored form of a plane: 0 bytes when it is all zeros; otherwise a zstd frame, or the plane as it is. */
#define MODEL_PLANE_PLAIN UINT32_C(0x80000000)

/* Writes the planes of `block` XOR `base` end to end to `out` (at least MODEL_BLOCK_BYTES) and their sizes, with
 * MODEL_PLANE_PLAIN where it applies, to `sizes`. `base` may be shorter: zeros follow. Returns the bytes written. */
size_t orchestrator_model_planes_encode(struct model_planes *planes, struct weir_bytes block,
                                        struct weir_bytes base, uint8_t *out,
                                        uint32_t sizes[MODEL_PLANES]);
/* The way back into `block` (`size` bytes). False when `stored` is no such encoding. */
bool orchestrator_model_planes_decode(struct model_planes *planes, struct weir_bytes stored,
                                      const uint32_t sizes[MODEL_PLANES], struct weir_bytes base,
                                      uint8_t *block, size_t size);

#endif
