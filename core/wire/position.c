/* The position of a consumer and the tally that travels with it, as bytes and as bits.
 *
 *     tally:     0  u32 version      4  u64 delivered, filtered, failed, erased, gone, fingerprint
 *               52  version 1: end; version 2, where batch digests are kept: u64 count, their sum
 *     position:  0  the tally       then  u64 oldest, u32 size of the bits, bits, trailing zeros dropped
 */
#include "core/wire/position.h"

#include "core/base/rng.h"

#include <assert.h>
#include <string.h>

enum {
    VERSION = 1,
    VERSION_WITH_DIGESTS = 2,
    TALLY_BYTES = 52,
    DIGESTS_BYTES = 8 + WEIR_DIGEST_BYTES,
    OLDEST_AND_SIZE_BYTES = 12,
    AHEAD_BYTES_MAX = WEIR_AHEAD_MAX / 8,
};
static_assert(TALLY_BYTES + DIGESTS_BYTES + OLDEST_AND_SIZE_BYTES + AHEAD_BYTES_MAX <=
                  WEIR_POSITION_BYTES_MAX,
              "fits a checkpoint");

uint64_t weir_fingerprints(const uint64_t *ids, size_t count, uint64_t epoch)
{
    /* The constant keeps epoch 0 from leaving ids as they are: weir_mix64(0) is 0. */
    uint64_t mixed = weir_mix64(epoch + 0x9e3779b97f4a7c15u), sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += weir_mix64(ids[i] ^ mixed);
    return sum;
}

uint64_t weir_fingerprint(uint64_t id, uint64_t epoch)
{
    return weir_fingerprints(&id, 1, epoch);
}

void weir_digest_sum_add(struct weir_digest_sum *to, const struct weir_digest_sum *more)
{
    unsigned carry = 0;

    to->count += more->count;
    for (size_t i = WEIR_DIGEST_BYTES; i-- > 0; carry >>= 8) {
        carry += (unsigned)to->digest.bytes[i] + more->digest.bytes[i];
        to->digest.bytes[i] = (uint8_t)carry;
    }
}

void weir_position_fini(struct weir_position *position)
{
    weir_bits_fini(&position->ahead);
    *position = (struct weir_position){0};
}

void weir_position_copy(struct weir_position *to, const struct weir_position *from)
{
    to->oldest = from->oldest;
    to->tally = from->tally;
    weir_bits_copy(&to->ahead, &from->ahead);
}

void weir_tally_add(struct weir_tally *to, const struct weir_tally *more)
{
    to->delivered += more->delivered;
    to->filtered += more->filtered;
    to->failed += more->failed;
    to->erased += more->erased;
    to->gone += more->gone;
    to->fingerprint += more->fingerprint;
    weir_digest_sum_add(&to->digests, &more->digests);
}

void weir_tally_pack(const struct weir_tally *tally, struct weir_buf *out)
{
    bool has_digests = tally->digests.count > 0;
    weir_buf_append_u32(out, has_digests ? VERSION_WITH_DIGESTS : VERSION);
    weir_buf_append_u64(out, tally->delivered);
    weir_buf_append_u64(out, tally->filtered);
    weir_buf_append_u64(out, tally->failed);
    weir_buf_append_u64(out, tally->erased);
    weir_buf_append_u64(out, tally->gone);
    weir_buf_append_u64(out, tally->fingerprint);
    if (!has_digests)
        return;
    weir_buf_append_u64(out, tally->digests.count);
    weir_buf_append(out, tally->digests.digest.bytes, WEIR_DIGEST_BYTES);
}

/* `size` bytes as check_tally() gives them. */
static void read_tally(const uint8_t *at, size_t size, struct weir_tally *ret_tally)
{
    *ret_tally = (struct weir_tally){
        .delivered = weir_get_u64(at + 4),
        .filtered = weir_get_u64(at + 12),
        .failed = weir_get_u64(at + 20),
        .erased = weir_get_u64(at + 28),
        .gone = weir_get_u64(at + 36),
        .fingerprint = weir_get_u64(at + 44),
    };
    if (size == TALLY_BYTES)
        return;
    ret_tally->digests.count = weir_get_u64(at + TALLY_BYTES);
    memcpy(ret_tally->digests.digest.bytes, at + TALLY_BYTES + 8, WEIR_DIGEST_BYTES);
}

/* Bytes of the tally that `bytes` begin with, by its version; `more` bytes at least follow it. */
static enum weir_status check_tally(struct weir_bytes bytes, const char *what, size_t more,
                                    size_t *ret_size, struct weir_error *err)
{
    uint32_t version = bytes.size < TALLY_BYTES ? 0 : weir_get_u32(bytes.at);
    size_t size = version == VERSION_WITH_DIGESTS ? TALLY_BYTES + DIGESTS_BYTES : TALLY_BYTES;

    if (bytes.size < size + more)
        return weir_fail(err, WEIR_INVALID, "%s: %zu bytes, expected at least %zu", what,
                         bytes.size, size + more);
    if (version != VERSION && version != VERSION_WITH_DIGESTS)
        return weir_fail(err, WEIR_INVALID, "%s: version %u, expected %d or %d", what, version,
                         VERSION, VERSION_WITH_DIGESTS);
    if (version == VERSION_WITH_DIGESTS && weir_get_u64(bytes.at + TALLY_BYTES) == 0)
        return weir_fail(err, WEIR_INVALID, "%s: version %u without a digest", what, version);
    *ret_size = size;
    return WEIR_OK;
}

enum weir_status weir_tally_unpack(struct weir_bytes bytes, struct weir_tally *ret_tally,
                                   struct weir_error *err)
{
    if (bytes.size == 0) {
        *ret_tally = (struct weir_tally){0};
        return WEIR_OK;
    }
    size_t size = 0;
    enum weir_status status = check_tally(bytes, "tally", 0, &size, err);
    if (status == WEIR_OK && bytes.size != size)
        status = weir_fail(err, WEIR_INVALID, "tally: %zu bytes, expected %zu", bytes.size, size);
    if (status == WEIR_OK)
        read_tally(bytes.at, size, ret_tally);
    return status;
}

void weir_position_pack(const struct weir_position *position, struct weir_buf *out)
{
    weir_tally_pack(&position->tally, out);
    weir_buf_append_u64(out, position->oldest);
    size_t size_at = out->size;
    weir_buf_append_u32(out, 0);
    weir_bits_pack(&position->ahead, out);
    size_t size = out->size - size_at - 4;
    weir_require(size <= AHEAD_BYTES_MAX); /* however it came about: see the other two */
    weir_put_u32(out->at + size_at, (uint32_t)size);
}

enum weir_status weir_position_unpack(struct weir_bytes bytes, struct weir_position *ret_position,
                                      struct weir_error *err)
{
    if (bytes.size == 0) {
        weir_position_fini(ret_position);
        return WEIR_OK;
    }
    size_t tally = 0;
    enum weir_status status = check_tally(bytes, "position", OLDEST_AND_SIZE_BYTES, &tally, err);
    if (status != WEIR_OK)
        return status;
    size_t head = tally + OLDEST_AND_SIZE_BYTES;
    struct weir_bytes bits = {bytes.at + head, weir_get_u32(bytes.at + head - sizeof(uint32_t))};
    if (bits.size > AHEAD_BYTES_MAX || bits.size != bytes.size - head)
        return weir_fail(err, WEIR_INVALID,
                         "position: %zu bytes of bits in %zu bytes, expected at most %d", bits.size,
                         bytes.size, AHEAD_BYTES_MAX);
    if (bits.size > 0 && ((bits.at[0] & 1) != 0 || bits.at[bits.size - 1] == 0))
        return weir_fail(err, WEIR_INVALID,
                         "position: the oldest batch is marked as consumed, or bits end in zeros");
    uint64_t oldest = weir_get_u64(bytes.at + tally);
    if (oldest > UINT64_MAX - WEIR_AHEAD_MAX)
        return weir_fail(err, WEIR_INVALID, "position: batch number %llu is out of range",
                         (unsigned long long)oldest);
    read_tally(bytes.at, tally, &ret_position->tally);
    ret_position->oldest = oldest;
    weir_bits_unpack(&ret_position->ahead, bits);
    return WEIR_OK;
}

/* Moves `oldest` over the batches at the front that are marked. */
static void settle(struct weir_position *position)
{
    size_t finished = 0;
    while (weir_bits_get(&position->ahead, finished))
        finished++;
    weir_bits_shift_down(&position->ahead, finished);
    position->oldest += finished;
}

bool weir_position_consume(struct weir_position *position, uint64_t batch)
{
    if (weir_position_consumed(position, batch))
        return false;
    uint64_t ahead = batch - position->oldest;
    weir_require(ahead < WEIR_AHEAD_MAX); /* delivery_window_end() */
    weir_bits_set(&position->ahead, ahead);
    if (ahead == 0)
        settle(position);
    return true;
}

bool weir_position_consumed(const struct weir_position *position, uint64_t batch)
{
    return batch < position->oldest || weir_bits_get(&position->ahead, batch - position->oldest);
}

uint64_t weir_position_batches(const struct weir_position *position)
{
    return position->oldest + weir_bits_population(&position->ahead);
}

void weir_position_unite(struct weir_position *to, const struct weir_position *from)
{
    if (from->oldest > to->oldest) {
        weir_bits_shift_down(&to->ahead, from->oldest - to->oldest);
        to->oldest = from->oldest;
    }
    uint64_t behind = to->oldest - from->oldest;
    for (size_t i = behind; i < from->ahead.count; i++) {
        if (weir_bits_get(&from->ahead, i))
            weir_bits_set(&to->ahead, i - behind);
    }
    settle(to);
}

void weir_position_set(struct weir_position *position, uint64_t oldest, struct weir_bytes bits)
{
    weir_require(bits.size <= AHEAD_BYTES_MAX); /* check_beat() */
    position->oldest = oldest;
    weir_bits_unpack(&position->ahead, bits);
    settle(position);
}
