/* Gains of facility location, panel by panel: see facility.h. */
#include "selector/scoring/facility.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = VECTORS_LANES * VECTORS_AT_ONCE, PANELS_PER_SUM = 64 };

static float farthest(const struct vectors *vectors)
{
    float square = 0;
    for (size_t i = 0; i < vectors->count; i++)
        square = vectors->squares[i] > square ? vectors->squares[i] : square;
    return 2 * sqrtf(square); /* by way of the origin */
}

void scoring_facility_init(struct facility *facility, const struct vectors *vectors,
                           enum facility_similarity similarity)
{
    size_t padded = vectors->panels * VECTORS_LANES;
    *facility = (struct facility){
        .vectors = vectors,
        .similarity = similarity,
        .limit = farthest(vectors),
        .best = weir_aligned_alloc((padded + 1) * sizeof(float)),
        .queries = weir_aligned_alloc((vectors->width + 1) * VECTORS_AT_ONCE * sizeof(float)),
    };
    for (size_t i = 0; i < padded; i++)
        facility->best[i] = i < vectors->count ? 0 : INFINITY;
}

void scoring_facility_fini(struct facility *facility)
{
    free(facility->best);
    free(facility->queries);
    *facility = (struct facility){0};
}

/* Similarities of the rows of a panel with the queries, whose squared lengths are `squares`. */
static WEIR_ALWAYS_INLINE void similarities(const struct facility *facility, size_t panel,
                                            const float *squares, float *ret_tile)
{
    const float *rows = facility->vectors->squares + panel * VECTORS_LANES;
    scoring_vectors_multiply(facility->vectors, panel, facility->queries, ret_tile);
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

/* Floats add up over few panels, doubles over the rest: exact to about 1e-7 of the sum, and never
 * more than an earlier sum over larger terms, which is what makes the lazy method right. */
WEIR_CLONES static void sum_gains(const struct facility *facility, const float *squares,
                                  double *ret_sums)
{
    _Alignas(64) float tile[TILE];
    _Alignas(64) float part[TILE] = {0};
    double sums[TILE] = {0};
    for (size_t panel = 0; panel < facility->vectors->panels; panel++) {
        const float *best = facility->best + panel * VECTORS_LANES;
        similarities(facility, panel, squares, tile);
        for (size_t c = 0; c < VECTORS_AT_ONCE; c++)
            for (size_t r = 0; r < VECTORS_LANES; r++) {
                float more = tile[c * VECTORS_LANES + r] - best[r];
                part[c * VECTORS_LANES + r] += more > 0 ? more : 0;
            }
        if (panel % PANELS_PER_SUM != PANELS_PER_SUM - 1 && panel + 1 < facility->vectors->panels)
            continue;
        for (size_t i = 0; i < TILE; i++) {
            sums[i] += (double)part[i];
            part[i] = 0;
        }
    }
    for (size_t c = 0; c < VECTORS_AT_ONCE; c++) {
        ret_sums[c] = 0;
        for (size_t r = 0; r < VECTORS_LANES; r++)
            ret_sums[c] += sums[c * VECTORS_LANES + r];
    }
}

WEIR_CLONES static void raise_best(struct facility *facility, const float *squares)
{
    _Alignas(64) float tile[TILE];
    for (size_t panel = 0; panel < facility->vectors->panels; panel++) {
        float *best = facility->best + panel * VECTORS_LANES;
        similarities(facility, panel, squares, tile);
        for (size_t r = 0; r < VECTORS_LANES; r++)
            best[r] = tile[r] > best[r] ? tile[r] : best[r];
    }
}

static void gather(struct facility *facility, const size_t *rows, size_t count, float *ret_squares)
{
    scoring_vectors_gather(facility->vectors, rows, count, facility->queries);
    for (size_t c = 0; c < VECTORS_AT_ONCE; c++)
        ret_squares[c] = c < count ? facility->vectors->squares[rows[c]] : 0;
}

static void gains(void *state, const size_t *candidates, size_t count, double *ret_gains)
{
    struct facility *facility = state;
    for (size_t at = 0; at < count; at += VECTORS_AT_ONCE) {
        size_t some = count - at < VECTORS_AT_ONCE ? count - at : VECTORS_AT_ONCE;
        float squares[VECTORS_AT_ONCE];
        double sums[VECTORS_AT_ONCE];
        gather(facility, candidates + at, some, squares);
        sum_gains(facility, squares, sums);
        memcpy(ret_gains + at, sums, some * sizeof *sums);
    }
}

static void add(void *state, size_t chosen)
{
    struct facility *facility = state;
    float squares[VECTORS_AT_ONCE];
    gather(facility, &chosen, 1, squares);
    raise_best(facility, squares);
}

struct objective scoring_facility_objective(struct facility *facility)
{
    return (struct objective){
        .state = facility, .count = facility->vectors->count, .gains = gains, .add = add};
}

double scoring_facility_value(const struct facility *facility)
{
    double value = 0;
    for (size_t i = 0; i < facility->vectors->count; i++)
        value += (double)facility->best[i];
    return value;
}

WEIR_CLONES static void claim(struct facility *facility, const float *squares, size_t member,
                              size_t *owners)
{
    _Alignas(64) float tile[TILE];
    for (size_t panel = 0; panel < facility->vectors->panels; panel++) {
        similarities(facility, panel, squares, tile);
        for (size_t r = 0; r < VECTORS_LANES; r++) {
            size_t i = panel * VECTORS_LANES + r;
            if (i < facility->vectors->count && owners[i] == SIZE_MAX &&
                tile[r] >= facility->best[i])
                owners[i] = member;
        }
    }
}

bool scoring_facility_sizes(struct facility *facility, const size_t *members, size_t count,
                            const struct progress *progress, float *ret_sizes)
{
    WEIR_AUTO_FREE size_t *owners = weir_calloc(facility->vectors->count + 1, sizeof *owners);
    float squares[VECTORS_AT_ONCE];
    size_t all = facility->vectors->count + count; /* the choice is made: no way to go is told */
    memset(owners, 0xff, facility->vectors->count * sizeof *owners);
    for (size_t m = 0; m < count; m++)
        owners[members[m]] = m;
    for (size_t m = 0; m < count; m++) {
        if (!scoring_goes_on(progress, all, all))
            return false;
        gather(facility, &members[m], 1, squares);
        claim(facility, squares, m, owners);
        ret_sizes[m] = 0;
    }
    for (size_t i = 0; i < facility->vectors->count; i++)
        if (owners[i] != SIZE_MAX)
            ret_sizes[owners[i]]++;
    return true;
}
