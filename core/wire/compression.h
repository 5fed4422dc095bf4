/* Compression of the frames of a batch on their way over TCP. Who receives one knows how large it was before it
 * takes memory for it: nothing here allocates by what a peer says. */
#ifndef WEIR_WIRE_COMPRESSION_H
#define WEIR_WIRE_COMPRESSION_H

#include "core/base/bytes.h"

/* Numbers on the wire. */
enum weir_compression {
    WEIR_COMPRESSION_NONE = 0,
    WEIR_COMPRESSION_LZ4 = 1,  /* block format */
    WEIR_COMPRESSION_ZSTD = 2, /* one frame */
};

/* Terminated by NULL, in the order of the numbers: "none", "lz4", "zstd". */
extern const char *const WEIR_COMPRESSIONS[];

/* Frames below are not worth it. */
enum { WEIR_COMPRESSED_BYTES_MIN = 4096 };

/* Compresses `in` if that pays: by an eighth at the least, which the beginning of it is asked about first. Returns a
 * block of *ret_size bytes, to be given to free(); NULL when it does not pay, is too small, or for NONE. */
void *weir_compress(enum weir_compression how, struct weir_bytes in, size_t *ret_size);

/* Expands `in` to the `size` bytes of `out`. False, with any content in `out`, when it does not become exactly so many,
 * or is not what `how` says. */
bool weir_expand(uint32_t how, struct weir_bytes in, void *out, size_t size);

/* True when `in` may become `size` bytes: asked before memory is taken for them. */
bool weir_may_expand(uint32_t how, struct weir_bytes in, size_t size);

#endif
