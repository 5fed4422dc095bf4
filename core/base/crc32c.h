/* CRC-32C (Castagnoli), as RFC 3720 describes it, by the processor's instruction where there is one. */
#ifndef WEIR_BASE_CRC32C_H
#define WEIR_BASE_CRC32C_H

#include "core/base/bytes.h"

uint32_t weir_crc32c(struct weir_bytes bytes);
/* The same "masked", as TensorFlow's records have it, so that a CRC of bytes that hold CRCs stays useful: rotated by
 * 15, plus a constant. */
uint32_t weir_crc32c_masked(struct weir_bytes bytes);
/* weir_crc32c() without the instruction: for processors that lack it, and to test one by the other. */
uint32_t weir_crc32c_portable(struct weir_bytes bytes);

#endif
