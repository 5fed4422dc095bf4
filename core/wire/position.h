/* Position of a consumer (C8): the first batch it has not consumed, which later ones it has,
 * and what became of the samples of all consumed batches. Small enough (<= 4 kB) to live inside a
 * checkpoint, so that model state and position are durable in the same instant. */
#ifndef WEIR_WIRE_POSITION_H
#define WEIR_WIRE_POSITION_H

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/hash.h"

enum {
    WEIR_POSITION_BYTES_MAX = 4096,
    WEIR_AHEAD_MAX = 4096, /* batches a consumer may run ahead of its oldest unfinished one */
};

/* Batch digests, combined: their sum as 128-bit numbers (big-endian, modulo 2^128). A digest is of a batch number among
 * other things, so equal sums of equally many mean equal batches in whatever order, but for one chance in 2^128. After
 * M. Bellare and D. Micciancio, "A New Paradigm for Collision-Free Hashing" (1997), AdHash; not against forgers. */
struct weir_digest_sum {
    uint64_t count; /* 0: none were kept */
    struct weir_digest digest;
};

/* Sums over consumed batches. `fingerprint` adds weir_fingerprint(id, epoch) of every sample,
 * delivered or hole, so the dispatcher can check the whole set against one number without seeing an
 * id. */
struct weir_tally {
    uint64_t delivered;
    uint64_t filtered;
    uint64_t failed;
    uint64_t erased;
    uint64_t gone;
    uint64_t fingerprint; /* modulo 2^64 */
    struct weir_digest_sum digests;
};

struct weir_position {
    uint64_t oldest;        /* batch number over all epochs */
    struct weir_bits ahead; /* bit i: batch oldest + i is consumed; bit 0 is never set */
    struct weir_tally tally;
};

/* A word per (sample, epoch); equal sums mean equal multisets but for one chance in 2^64. */
uint64_t weir_fingerprint(uint64_t id, uint64_t epoch);
/* The sum over ids, modulo 2^64. */
uint64_t weir_fingerprints(const uint64_t *ids, size_t count, uint64_t epoch);

void weir_digest_sum_add(struct weir_digest_sum *to, const struct weir_digest_sum *more);

void weir_position_fini(struct weir_position *position);
void weir_position_copy(struct weir_position *to, const struct weir_position *from);
void weir_position_pack(const struct weir_position *position, struct weir_buf *out);
/* `ret_position` is zeroed or holds an older position, whose memory is used again. Empty bytes are
 * the beginning. INVALID when malformed or larger than the limits. */
enum weir_status weir_position_unpack(struct weir_bytes bytes, struct weir_position *ret_position,
                                      struct weir_error *err) WEIR_MUST_USE;
void weir_tally_add(struct weir_tally *to, const struct weir_tally *more);
/* The tally alone; empty bytes are zeros. */
void weir_tally_pack(const struct weir_tally *tally, struct weir_buf *out);
enum weir_status weir_tally_unpack(struct weir_bytes bytes, struct weir_tally *ret_tally,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Marks `batch` consumed, moving `oldest` over a finished prefix. False when it was already.
 * `batch` < oldest + WEIR_AHEAD_MAX (required). */
bool weir_position_consume(struct weir_position *position, uint64_t batch);
bool weir_position_consumed(const struct weir_position *position, uint64_t batch);
/* Number of batches that it contains. */
uint64_t weir_position_batches(const struct weir_position *position);
/* Adds the batches that `from` contains; the tally stays. */
void weir_position_unite(struct weir_position *to, const struct weir_position *from);
/* The batches below `oldest`, and those of the packed bits relative to it (bit 0 may be set here);
 * the tally stays. At most WEIR_AHEAD_MAX bits (required). */
void weir_position_set(struct weir_position *position, uint64_t oldest, struct weir_bytes bits);

#endif
