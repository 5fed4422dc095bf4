/* Gains of facility location, panel by panel: see facility.h. */
#include "selector/scoring/facility.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = VECTORS_LANES * VECTORS_AT_ONCE,
    PANELS_PER_SUM = 64, /* they stay in the cache while all queries pass over them */
    QUERIES_MAX = 64,
};

static float farthest(const struct vectors *vectors)
{
    float square = 0;
    for (size_t i = 0; i < vectors->count; i++)
        square = vectors->squares[i] > square ? vectors->squares[i] : square;
    return 2 * sqrtf(square); /* by way of the origin */
}

void selector_scoring_facility_init(struct facility *facility, const struct vectors *vectors,
                                    enum facility_similarity similarity)
{
    size_t padded = vectors->panels * VECTORS_LANES;
    *facility = (struct facility){
        .vectors = vectors,
        .similarity = similarity,
        .limit = farthest(vectors),
        .best = weir_aligned_alloc((padded + 1) * sizeof(float)),
        .queries = weir_aligned_alloc((vectors->width + 1) * QUERIES_MAX * sizeof(float)),
    };
    for (size_t i = 0; i < padded; i++)
        facility->best[i] = i < vectors->count ? 0 : INFINITY;
}

void selector_scoring_facility_fini(struct facility *facility)
{
    free(facility->best);
    free(facility->queries);
    *facility = (struct facility){0};
}

/* Up to VECTORS_AT_ONCE rows side by side. */
struct queries {
    const float *at;
    float squares[VECTORS_AT_ONCE]; /* of their lengths */
};

/* Similarities of the rows of a panel with the queries. */
static WEIR_ALWAYS_INLINE void similarities(const struct facility *facility, size_t panel,
                                            const struct queries *queries, float *ret_tile)
{
    const float *rows = facility->vectors->squares + panel * VECTORS_LANES;
    const float *squares = queries->squares;
    scoring_vectors_multiply(facility->vectors, panel, queries->at, ret_tile);
    for (size_t c = 0; c < VECTORS_AT_ONCE; c++) {
        float *tile = ret_tile + c * VECTORS_LANES;
        if (facility->similarity == FACILITY_COSINE)
            for (size_t r = 0; r < VECTORS_LANES; r++)
                tile[r] = 0.5F + 0.5F * tile[r];
        else if (facility->similarity == FACILITY_LOSS)
            for (size_t r = 0; r < VECTORS_LANES; r++)
                tile[r] = 2 * tile[r] - squares[c];
        else
            for (size_t r = 0; r < VECTORS_LANES; r++) {
                float apart = rows[r] + squares[c] - 2 * tile[r];
                tile[r] = facility->limit - sqrtf(apart > 0 ? apart : 0);
            }
    }
}

/* Adds up what the panels from `first` on gain, at most PANELS_PER_SUM of them. Floats add up over
 * few panels, doubles over the rest: exact to about 1e-7 of the sum, and never more than an earlier
 * sum over larger terms, which is what makes the lazy method right. */
WEIR_CLONES static void add_gains(const struct facility *facility, const struct queries *queries,
                                  size_t first, double *sums)
{
    _Alignas(64) float tile[TILE];
    _Alignas(64) float part[TILE] = {0};
    size_t left = facility->vectors->panels - first;
    size_t end = first + (left < PANELS_PER_SUM ? left : PANELS_PER_SUM);
    for (size_t panel = first; panel < end; panel++) {
        const float *best = facility->best + panel * VECTORS_LANES;
        similarities(facility, panel, queries, tile);
        for (size_t c = 0; c < VECTORS_AT_ONCE; c++)
            for (size_t r = 0; r < VECTORS_LANES; r++) {
                float more = tile[c * VECTORS_LANES + r] - best[r];
                part[c * VECTORS_LANES + r] += more > 0 ? more : 0;
            }
    }
    for (size_t i = 0; i < TILE; i++)
        sums[i] += (double)part[i];
}

WEIR_CLONES static void raise_best(struct facility *facility, const struct queries *queries)
{
    _Alignas(64) float tile[TILE];
    for (size_t panel = 0; panel < facility->vectors->panels; panel++) {
        float *best = facility->best + panel * VECTORS_LANES;
        similarities(facility, panel, queries, tile);
        for (size_t r = 0; r < VECTORS_LANES; r++)
            best[r] = tile[r] > best[r] ? tile[r] : best[r];
    }
}

/* Into the place of the index-th queries. */
static struct queries gather(struct facility *facility, size_t index, const size_t *rows,
                             size_t count)
{
    float *at = facility->queries + index * facility->vectors->width * VECTORS_AT_ONCE;
    struct queries queries = {.at = at};
    selector_scoring_vectors_gather(facility->vectors, rows, count, at);
    for (size_t c = 0; c < count; c++)
        queries.squares[c] = facility->vectors->squares[rows[c]];
    return queries;
}

static void sum_up(const double *sums, size_t count, double *ret_gains)
{
    for (size_t c = 0; c < count; c++) {
        ret_gains[c] = 0;
        for (size_t r = 0; r < VECTORS_LANES; r++)
            ret_gains[c] += sums[c * VECTORS_LANES + r];
    }
}

/* Computes the gains of up to QUERIES_MAX candidates. */
static void gain_together(struct facility *facility, const size_t *candidates, size_t count,
                          double *ret_gains)
{
    struct queries queries[QUERIES_MAX / VECTORS_AT_ONCE];
    double sums[QUERIES_MAX * VECTORS_LANES] = {0};
    size_t groups = (count + VECTORS_AT_ONCE - 1) / VECTORS_AT_ONCE;
    for (size_t g = 0, at = 0; g < groups; g++, at += VECTORS_AT_ONCE)
        queries[g] = gather(facility, g, candidates + at,
                            count - at < VECTORS_AT_ONCE ? count - at : VECTORS_AT_ONCE);
    for (size_t panel = 0; panel < facility->vectors->panels; panel += PANELS_PER_SUM)
        for (size_t g = 0; g < groups; g++)
            add_gains(facility, &queries[g], panel, sums + g * TILE);
    sum_up(sums, count, ret_gains);
}

static void gains(void *state, const size_t *candidates, size_t count, double *ret_gains)
{
    struct facility *facility = state;
    for (size_t at = 0; at < count; at += QUERIES_MAX) {
        size_t some = count - at < QUERIES_MAX ? count - at : QUERIES_MAX;
        gain_together(facility, candidates + at, some, ret_gains + at);
    }
}

static void add(void *state, size_t chosen)
{
    struct facility *facility = state;
    struct queries queries = gather(facility, 0, &chosen, 1);
    raise_best(facility, &queries);
}

struct objective selector_scoring_facility_objective(struct facility *facility)
{
    return (struct objective){
        .state = facility, .count = facility->vectors->count, .gains = gains, .add = add};
}

WEIR_CLONES static void claim(struct facility *facility, const struct queries *queries,
                              size_t member, size_t *owners)
{
    _Alignas(64) float tile[TILE];
    for (size_t panel = 0; panel < facility->vectors->panels; panel++) {
        similarities(facility, panel, queries, tile);
        for (size_t r = 0; r < VECTORS_LANES; r++) {
            size_t i = panel * VECTORS_LANES + r;
            if (i < facility->vectors->count && owners[i] == SIZE_MAX &&
                tile[r] >= facility->best[i])
                owners[i] = member;
        }
    }
}

bool selector_scoring_facility_sizes(struct facility *facility, const size_t *members, size_t count,
                                     const struct progress *progress, float *ret_sizes)
{
    WEIR_AUTO_FREE size_t *owners = weir_calloc(facility->vectors->count + 1, sizeof(*owners));
    size_t all =
        facility->vectors->count + count; /* the choice is made: progress is not reported */
    memset(owners, 0xff, facility->vectors->count * sizeof(*owners));
    for (size_t m = 0; m < count; m++)
        owners[members[m]] = m;
    for (size_t m = 0; m < count; m++) {
        if (!scoring_goes_on(progress, all, all))
            return false;
        struct queries queries = gather(facility, 0, &members[m], 1);
        claim(facility, &queries, m, owners);
        ret_sizes[m] = 0;
    }
    for (size_t i = 0; i < facility->vectors->count; i++)
        if (owners[i] != SIZE_MAX)
            ret_sizes[owners[i]]++;
    return true;
}
