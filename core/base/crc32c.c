/* CRC-32C: see crc32c.h. The polynomial is 0x1edc6f41, reflected. */
#include "core/base/crc32c.h"

#include <string.h>

/* The remainder that four bits shift in. */
static const uint32_t NIBBLES[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t weir_crc32c_portable(struct weir_bytes bytes)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= bytes.at[i];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_instruction(struct weir_bytes bytes)
{
    uint64_t crc = UINT32_MAX, eight;
    size_t i = 0;

    for (; bytes.size - i >= sizeof(eight); i += sizeof(eight)) {
        memcpy(&eight, bytes.at + i, sizeof(eight));
        crc = __builtin_ia32_crc32di(crc, eight);
    }
    for (; i < bytes.size; i++)
        crc = __builtin_ia32_crc32qi((uint32_t)crc, bytes.at[i]);
    return ~(uint32_t)crc;
}

uint32_t weir_crc32c(struct weir_bytes bytes)
{
    return __builtin_cpu_supports("sse4.2") ? by_instruction(bytes) : weir_crc32c_portable(bytes);
}

#else

uint32_t weir_crc32c(struct weir_bytes bytes)
{
    return weir_crc32c_portable(bytes);
}

#endif

uint32_t weir_crc32c_masked(struct weir_bytes bytes)
{
    uint32_t crc = weir_crc32c(bytes);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
