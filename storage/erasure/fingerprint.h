/* Fingerprints of passages of erased content: enough to find them again in any file, nothing to read
 * them back from. A passage is a window of 64 bytes (16 in short samples); its fingerprint is a rolling
 * polynomial keyed by the store's secret. Pure. */
#ifndef WEIR_STORAGE_FINGERPRINT_H
#define WEIR_STORAGE_FINGERPRINT_H

#include "core/base/bytes.h"
#include "storage/keys/secret.h"

enum {
    PASSAGE_LONG = 64,
    /* of samples shorter than a long one; shorter ones cannot be searched for */
    PASSAGE_SHORT = 16,
    PASSAGES_PER_SAMPLE = 16,
    PRINTS_MAX = 32 << 20,    /* of all samples of an erasure, unless one each is more */
    PRINTS_AT_ONCE = 4 << 20, /* in one matcher, of about 100 MiB */
};

/* Fingerprints to search for. Zeroed is empty. */
struct fingerprints {
    uint64_t *longs, *shorts;
    size_t long_count, short_count;
    uint64_t unsearched; /* contents that gave none; not packed */
};

void storage_fingerprints_fini(struct fingerprints *prints);
/* Adds at most `passages` from all over `content`; monotonous ones (padding, rulers) say nothing and are left
 * out. Content that gives none is counted. */
void storage_fingerprints_add(struct fingerprints *prints, const struct storage_secret *secret,
                              size_t passages, struct weir_bytes content);
/* Moves `packed` after one packed set of them, whose fingerprints are added. False when the bytes are none. */
bool storage_fingerprints_unpack(struct weir_bytes *packed, struct fingerprints *prints);
void storage_fingerprints_pack(const struct fingerprints *prints, struct weir_buf *out);

/* Looks for fingerprints in a stream of bytes. */
struct matcher;

typedef void storage_match_fn(void *owner, uint64_t offset, size_t length, uint64_t print);

/* Has room for `count` fingerprints: 16 bytes each. */
struct matcher *storage_matcher_new(size_t count, const struct storage_secret *secret);
void storage_matcher_free(struct matcher *matcher);
/* Takes the next few megabytes of its tables into memory, before anything is added: all of them at once take a tenth of
 * a second. True when nothing is left to take. */
bool storage_matcher_warm(struct matcher *matcher);
/* False, and none is added, when there is no room for them. */
bool storage_matcher_add(struct matcher *matcher, const struct fingerprints *prints);
/* A new stream begins. */
void storage_matcher_reset(struct matcher *matcher);
/* The next bytes of the stream; calls `on_match` with where each found passage lies in it. */
void storage_matcher_feed(struct matcher *matcher, struct weir_bytes bytes,
                          storage_match_fn *on_match, void *owner);
/* The next `count` bytes of the stream are zero: the same, without looking at each. */
void storage_matcher_feed_zeros(struct matcher *matcher, uint64_t count, storage_match_fn *on_match,
                                void *owner);

#endif
