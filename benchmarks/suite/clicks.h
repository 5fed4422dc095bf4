/* A made-up stream of clicks in the shape of Criteo's: 13 counts, 26 categories, clicked or not. What
 * a row is follows from the seed, its number and the length of a period alone, so that a stream can
 * be made in parts and is the same however many rows are asked for.
 *
 *   u, u'…      drawn in [0, 1) by xoshiro256** from mix64(seed) + row
 *   count j     floor(e^(6u)), which counts as (ln(count) / 3 - 1) sqrt(3) c_j
 *   category f  of V_f = 4 · 2^floor(f/3) values: rank k = floor((V_f + 1)^u) - 1, so that
 *               P(k) = ln((k + 2) / (k + 1)) / ln(V_f + 1); value (k + p (3 V_f / 8 + 1)) mod V_f
 *   weight w    of a value, of a count (c_j): 2 (u + u' + u'' - 3/2), a deviation of 1, from a hash
 *   chance      1 / (1 + e^-x), x = bias + 1.5 sum w_f / sqrt(26) + 0.5 sum (counts) / sqrt(13)
 *
 * At the end of each period the stream changes, in turn by one of three:
 *   concept     half of the fields, in turn the even and the odd ones, get other weights
 *   popularity  p grows by one: other values are frequent
 *   prior       bias goes from -2 to -1, or back
 */
#ifndef BENCHMARKS_SUITE_CLICKS_H
#define BENCHMARKS_SUITE_CLICKS_H

#include <stdint.h>

enum { CLICK_COUNTS = 13, CLICK_CATEGORIES = 26 };

/* A record of the file, little-endian as the hosts that Weir runs on. */
struct click {
    int64_t time; /* microseconds since 1970 */
    int32_t label;
    float counts[CLICK_COUNTS];
    int32_t categories[CLICK_CATEGORIES];
};
_Static_assert(sizeof(struct click) == 168, "no holes: it is written as it is");

struct clicks {
    uint64_t seed;
    uint64_t period;      /* rows from one change to the next; 0: nothing changes */
    int64_t start, every; /* time of row 0, and from a row to the next; microseconds */
};

/* How often each kind of change has happened. */
struct clicks_age {
    uint32_t concept, popularity, prior;
};

struct clicks_age clicks_age(const struct clicks *clicks, uint64_t row);
struct click clicks_row(const struct clicks *clicks, uint64_t row);
/* The chance that such a row is clicked at that age: its own one's is the truth. */
double clicks_chance(const struct clicks *clicks, const struct click *click, struct clicks_age age);

#endif
