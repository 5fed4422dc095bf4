/* Sums of labels by category, and by the fold that each sample belongs to: what target encodings are made of. Folds
 * are drawn from the ids of samples, so that a sample is in the same one whenever it is met.
 *
 * As they travel and are stored: u64 labels that were none, u64 elements left out, a sum per fold over all samples,
 * u64 bytes of the categories, these (vocabulary.h), a sum per category and fold; a sum is f64 and u64 count. */
#ifndef WEIR_PREPROCESS_OPERATORS_TARGET_SUMS_H
#define WEIR_PREPROCESS_OPERATORS_TARGET_SUMS_H

#include "preprocess/operators/vocabulary.h"

enum { TARGET_FOLDS_MAX = 16 };

struct target_sum {
    double sum;
    uint64_t count;
};

/* Zeroed but for `folds` and `columns` is empty. */
struct target_sums {
    uint32_t folds, columns;
    uint64_t refused;  /* labels that were no numbers */
    uint64_t left_out; /* elements for whose category there was no room */
    struct target_sum all[TARGET_FOLDS_MAX];
    struct vocabulary categories;
    struct weir_buf sums; /* struct target_sum per category and fold */
};

void preprocess_target_sums_fini(struct target_sums *sums);
/* Empties them, keeping memory. */
void preprocess_target_sums_clear(struct target_sums *sums);

/* Returns the fold of a sample. */
uint32_t preprocess_target_fold(const struct target_sums *sums, uint64_t id);
/* The sums of a category, one per fold, for which it makes room; NULL when it is longer than a key may be, or there is
 * no room within `bytes_max`. */
struct target_sum *preprocess_target_sums_of(struct target_sums *sums, uint32_t column,
                                             struct weir_bytes category, size_t bytes_max);
/* Adds all of the other, which has as many folds and columns. */
void preprocess_target_sums_add(struct target_sums *sums, const struct target_sums *other,
                                size_t bytes_max);
/* Keeps the `size` categories that the most samples have, of equal ones those that came first. */
void preprocess_target_sums_keep(struct target_sums *sums, size_t size);

/* Appends them as they travel. */
void preprocess_target_sums_pack(const struct target_sums *sums, struct weir_buf *out);
/* Takes them from there. False, and empty, when the bytes are not whole sums of as many folds and columns. */
bool preprocess_target_sums_take(struct target_sums *sums, struct weir_bytes bytes);

/* Writes the encodings of each category, and in the last row those of one that nothing is known of: (categories + 1,
 * folds + 1), by all folds without each, then by all. An encoding is the category's mean label, drawn to that of all
 * samples by as much as `smooth` samples of it weigh. With n samples of sum s and the mean m of all,
 * (s + smooth * m) / (n + smooth): Micci-Barreca (2001), A preprocessing scheme for high-cardinality categorical
 * attributes, by his empirical Bayes estimate, whose weight is n / (n + smooth). */
void preprocess_target_encodings(const struct target_sums *sums, double smooth, float *to);

#endif
