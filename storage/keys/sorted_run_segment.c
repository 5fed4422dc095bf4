/* Segments of sorted runs: see sorted_run_segment.h. */
#include "storage/keys/sorted_run_segment.h"

#include <string.h>

enum { HEADER_BYTES = 20, SLACK_BYTES = 8, HASH_BITS = 64 };

/* ---- bits, the lowest first ---- */

static void put_bits(uint8_t *bytes, size_t bit, unsigned width, uint64_t value)
{
    uint8_t *at = bytes + bit / 8;
    unsigned shift = bit % 8;

    weir_put_u64(at, weir_get_u64(at) | value << shift);
    if (shift > 0 && shift + width > 64)
        at[8] = (uint8_t)(value >> (64 - shift));
}

static uint64_t get_bits(const uint8_t *bytes, size_t bit, unsigned width)
{
    const uint8_t *at = bytes + bit / 8;
    unsigned shift = bit % 8;
    uint64_t value = weir_get_u64(at) >> shift;

    if (shift > 0 && shift + width > 64)
        value |= (uint64_t)at[8] << (64 - shift);
    return width == 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

static unsigned width_of(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

static size_t body_bytes(size_t count, unsigned hash_bits, unsigned id_bits)
{
    return ((count - 1) * hash_bits + count * id_bits + 7) / 8;
}

/* ---- packing ---- */

size_t storage_sorted_run_segment_pack(const struct sorted_run_entry *entries, size_t count,
                                       struct weir_buf *out)
{
    uint64_t least = entries[0].id, most = least, step = 0;
    unsigned hash_bits, id_bits;
    size_t size, bit = 0;
    uint8_t *at;

    for (size_t i = 1; i < count; i++) {
        uint64_t difference = entries[i].hash - entries[i - 1].hash;

        step |= difference;
        least = entries[i].id < least ? entries[i].id : least;
        most = entries[i].id > most ? entries[i].id : most;
    }
    hash_bits = width_of(step);
    id_bits = width_of(most - least);
    size = HEADER_BYTES + body_bytes(count, hash_bits, id_bits) + SLACK_BYTES;
    weir_buf_reserve(out, size);
    at = out->at + out->size;
    memset(at, 0, size);
    weir_put_u16(at, (uint16_t)count);
    at[2] = (uint8_t)hash_bits;
    at[3] = (uint8_t)id_bits;
    weir_put_u64(at + 4, entries[0].hash);
    weir_put_u64(at + 12, least);
    for (size_t i = 1; i < count; i++, bit += hash_bits)
        put_bits(at + HEADER_BYTES, bit, hash_bits, entries[i].hash - entries[i - 1].hash);
    for (size_t i = 0; i < count; i++, bit += id_bits)
        put_bits(at + HEADER_BYTES, bit, id_bits, entries[i].id - least);
    out->size += size;
    return size;
}

/* ---- unpacking ---- */

static bool is_ascending(const struct sorted_run_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!sorted_run_entry_before(&entries[i - 1], &entries[i]))
            return false;
    }
    return true;
}

static bool has_shape(struct weir_bytes packed)
{
    size_t count = packed.size > HEADER_BYTES ? weir_get_u16(packed.at) : 0;

    return count >= 1 && count <= SORTED_RUN_SEGMENT_ENTRIES && packed.at[2] <= HASH_BITS &&
           packed.at[3] <= SORTED_RUN_ID_BITS &&
           weir_get_u64(packed.at + 12) >> SORTED_RUN_ID_BITS == 0 &&
           packed.size ==
               HEADER_BYTES + body_bytes(count, packed.at[2], packed.at[3]) + SLACK_BYTES;
}

enum weir_status storage_sorted_run_segment_unpack(struct weir_bytes packed,
                                                   struct sorted_run_entry *entries,
                                                   size_t *ret_count, struct weir_error *err)
{
    const uint8_t *body = packed.at + HEADER_BYTES;
    size_t count, bit = 0;
    unsigned hash_bits, id_bits;
    uint64_t hash, least, all = 0;

    if (!has_shape(packed))
        return weir_fail(err, WEIR_CORRUPT, "%zu bytes are not a segment of a sorted run",
                         packed.size);
    count = weir_get_u16(packed.at);
    hash_bits = packed.at[2];
    id_bits = packed.at[3];
    hash = weir_get_u64(packed.at + 4);
    least = weir_get_u64(packed.at + 12);
    entries[0].hash = hash;
    for (size_t i = 1; i < count; i++, bit += hash_bits)
        entries[i].hash = hash += get_bits(body, bit, hash_bits);
    for (size_t i = 0; i < count; i++, bit += id_bits) {
        entries[i].id = least + get_bits(body, bit, id_bits);
        all |= entries[i].id;
    }
    if (all >> SORTED_RUN_ID_BITS != 0 || !is_ascending(entries, count))
        return weir_fail(err, WEIR_CORRUPT, "segment of %zu entries is not sorted", count);
    *ret_count = count;
    return WEIR_OK;
}
