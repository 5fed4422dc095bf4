/* Fingerprints of passages of erased content: enough to find them again in any file, nothing to read
 * them back from. A passage is a window of 64 bytes (16 in short samples); its fingerprint is a rolling
 * polynomial keyed by the store's secret. Pure. */
#ifndef WEIR_STORAGE_FINGERPRINT_H
#define WEIR_STORAGE_FINGERPRINT_H

#include "core/base/bytes.h"
#include "storage/catalog/secret.h"

enum {
    PASSAGE_LONG = 64,
    PASSAGE_SHORT = 16, /* of samples shorter than a long one; below nothing is searched */
    PASSAGES_PER_SAMPLE = 16,
};

/* What is searched for. Zeroed is empty. */
struct fingerprints {
    uint64_t *longs, *shorts;
    size_t long_count, short_count;
};

void storage_fingerprints_fini(struct fingerprints *prints);
/* Adds passages from all over `content`; monotonous ones (padding, rulers) say nothing and are left out. */
void storage_fingerprints_add(struct fingerprints *prints, const struct storage_secret *secret,
                              struct weir_bytes content);
void storage_fingerprints_pack(const struct fingerprints *prints, struct weir_buf *out);
/* Moves `packed` behind them. False when the bytes are no packed fingerprints. */
bool storage_fingerprints_unpack(struct weir_bytes *packed, struct fingerprints *ret_prints);

/* Looks for fingerprints in a stream of bytes. */
struct matcher;

typedef void storage_match_fn(void *owner, uint64_t offset, size_t length);

struct matcher *storage_matcher_new(const struct fingerprints *prints,
                                    const struct storage_secret *secret);
void storage_matcher_free(struct matcher *matcher);
/* A new stream begins. */
void storage_matcher_reset(struct matcher *matcher);
/* The next bytes of the stream; calls `on_match` with where each found passage lies in it. */
void storage_matcher_feed(struct matcher *matcher, struct weir_bytes bytes,
                          storage_match_fn *on_match, void *owner);
/* The next `count` bytes of the stream are zero: the same, without looking at each. */
void storage_matcher_feed_zeros(struct matcher *matcher, uint64_t count, storage_match_fn *on_match,
                                void *owner);

#endif
