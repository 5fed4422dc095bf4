/* CRC-32C (Castagnoli), as RFC 3720 describes it, by the processor's instruction where there is one. */
#ifndef WEIR_STORAGE_FORMATS_CRC32C_H
#define WEIR_STORAGE_FORMATS_CRC32C_H

#include "core/base/bytes.h"

uint32_t storage_crc32c(struct weir_bytes bytes);
/* The same without the instruction: for processors that lack it, and to test one by the other. */
uint32_t storage_crc32c_portable(struct weir_bytes bytes);

#endif
