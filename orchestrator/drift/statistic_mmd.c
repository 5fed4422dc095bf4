/* mmd: the squared maximum mean discrepancy under a Gaussian kernel, without bias (Gretton et al., A Kernel
 * Two-Sample Test, JMLR 2012, lemma 6), k(x, y) = exp(-|x - y|² / s), s the median of |x - y|² (pairs.h).
 *
 * The permutations are one product of the kernel matrix with their indicator vectors, made tile by tile, and
 * with the method of the four Russians (Arlazarov et al., 1970): the sums of all 256 subsets of eight rows are
 * put in a table, which every permutation then looks its own up in. The kernel is kept in fixed point, so
 * sums are exact and come out alike in any order. Memory: a tile, 64 bytes a permutation, and one bit a row
 * and permutation. */
#include "core/base/memory.h"
#include "core/loop/work.h"
#include "orchestrator/drift/pairs.h"
#include "orchestrator/drift/permutations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUBSETS = 256, SCALE_BITS_MAX = 24 };

struct mmd_options {
    uint64_t permutations, rows;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct mmd_options, permutations, .fallback = "100", .min = 1, .max = PERMUTATIONS_MAX,
            .doc = "random divisions that the p-value is counted from, where it is asked for"),
    CFG_U64(struct mmd_options, rows, .fallback = "2000", .min = 2, .max = 100000,
            .doc =
                "maximum number of rows that are compared, evenly spaced in a longer window: time "
                "grows with their square"),
    CFG_END,
};

typedef uint32_t sums __attribute__((vector_size(PAIRS_LANES * sizeof(uint32_t)), __may_alias__));
typedef int32_t signs __attribute__((vector_size(PAIRS_LANES * sizeof(int32_t)), __may_alias__));

struct mmd {
    struct drift_pairs pairs;
    struct drift_permutations permutations;
    float scale;       /* of the fixed point; no sum over all rows overflows 32 bits */
    float exponent;    /* of two, by square: -log2(e) / s */
    uint64_t *of_rows; /* each row with all others */
    uint64_t *within;  /* pairs inside the first group, by permutation */
    pairs_floats *squares;
    sums *kernel; /* of the tile; 0 where the column is not below the row */
    sums *looked_up;
};

/* 2^x for x <= 0, to 2e-7, the same bits everywhere: Taylor's polynomial between -1/2 and 1/2. */
static WEIR_ALWAYS_INLINE void power_of_two(pairs_floats *x)
{
    const pairs_floats least = (*x - *x) - 100.0F;
    const float magic = 12582912; /* 1.5 * 2^23: what is added to it is rounded to an integer */
    signs below = *x < least;
    pairs_floats bounded = (pairs_floats)(((signs)*x & ~below) | ((signs)least & below));
    pairs_floats whole = bounded + magic;
    pairs_floats f = bounded - (whole - magic);
    pairs_floats sum = f * 1.5403530e-4F + 1.3333558e-3F;
    sum = sum * f + 9.6181291e-3F;
    sum = sum * f + 5.5504109e-2F;
    sum = sum * f + 2.4022651e-1F;
    sum = sum * f + 6.9314718e-1F;
    sum = sum * f + 1.0F;
    *x = (pairs_floats)((sums)sum + ((sums)whole << 23));
}

/* Rows are padded to whole blocks with zeroes. */
WEIR_CLONES static void fill_kernel(struct mmd *mmd, size_t tile)
{
    size_t first = tile * PAIRS_LANES;
    size_t count = mmd->pairs.count - first;
    for (size_t j = 0; j < count; j++) {
        pairs_floats value = mmd->squares[j] * mmd->exponent;
        power_of_two(&value);
        value = value * mmd->scale + 0.5F;
        mmd->kernel[j] = (sums) __builtin_convertvector(value, signs);
    }
    memset(mmd->kernel + count, 0, 8 * sizeof(*mmd->kernel));
    for (size_t j = 0; j < PAIRS_LANES && j < count; j++)
        for (size_t lane = j; lane < PAIRS_LANES; lane++)
            mmd->kernel[j][lane] = 0;
}

static void add_rows(struct mmd *mmd, size_t tile)
{
    size_t first = tile * PAIRS_LANES;
    uint64_t columns[PAIRS_LANES] = {0};
    for (size_t j = 0; j < mmd->pairs.count - first; j++) {
        const uint32_t *row = (const uint32_t *)&mmd->kernel[j];
        uint64_t sum = 0;
        for (size_t lane = 0; lane < PAIRS_LANES; lane++) {
            sum += row[lane];
            columns[lane] += row[lane];
        }
        mmd->of_rows[first + j] += sum;
    }
    for (size_t lane = 0; lane < PAIRS_LANES && first + lane < mmd->pairs.count; lane++)
        mmd->of_rows[first + lane] += columns[lane];
}

static WEIR_ALWAYS_INLINE void tabulate(const sums *rows, sums *table)
{
    table[0] = rows[0] ^ rows[0];
    for (size_t row = 0; row < 8; row++)
        for (size_t subset = 0; subset < (size_t)1 << row; subset++)
            table[subset + ((size_t)1 << row)] = table[subset] + rows[row];
}

/* looked_up[p] = the sum of the rows of the tile that are in the first group of division p. */
WEIR_CLONES static void look_up(struct mmd *mmd, size_t tile)
{
    size_t divisions = mmd->permutations.count;
    size_t block = tile * PAIRS_LANES / 8;
    const sums *rows = mmd->kernel;
    sums table[SUBSETS];
    memset(mmd->looked_up, 0, divisions * sizeof(*mmd->looked_up));
    for (; block < mmd->permutations.blocks; block++, rows += 8) {
        const uint8_t *subsets = mmd->permutations.bits + block * divisions;
        tabulate(rows, table);
        for (size_t p = 0; p < divisions; p++)
            mmd->looked_up[p] += table[subsets[p]];
    }
}

static void add_within(struct mmd *mmd, size_t tile)
{
    size_t divisions = mmd->permutations.count;
    for (size_t lane = 0; lane < PAIRS_LANES; lane++) {
        size_t row = tile * PAIRS_LANES + lane;
        if (row >= mmd->pairs.count)
            return;
        const uint8_t *bits = mmd->permutations.bits + row / 8 * divisions;
        for (size_t p = 0; p < divisions; p++)
            mmd->within[p] += (bits[p] >> row % 8 & 1U) * (uint64_t)mmd->looked_up[p][lane];
    }
}

/* Pairs that have a row in the first group: those with both are in it twice. */
static uint64_t touching(const struct mmd *mmd, size_t division)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < mmd->pairs.count; i++)
        sum += orchestrator_permutations_has(&mmd->permutations, division, i) * mmd->of_rows[i];
    return sum;
}

static double statistic_of(const struct mmd *mmd, size_t division, uint64_t all)
{
    double m = (double)mmd->permutations.first;
    double n = (double)mmd->pairs.count - m;
    uint64_t within = mmd->within[division];
    uint64_t across = touching(mmd, division) - 2 * within;
    uint64_t second = all - within - across;
    double sum = 2 * (double)within / (m * (m - 1)) + 2 * (double)second / (n * (n - 1)) -
                 2 * (double)across / (m * n);
    return sum / (double)mmd->scale;
}

static void open_mmd(struct mmd *mmd, const struct drift_input *input,
                     const struct mmd_options *options)
{
    int bits = SCALE_BITS_MAX;
    const struct drift_draws draws = {.drawn = input->p_value ? options->permutations : 0,
                                      .seed = input->seed,
                                      .work = input->work};
    orchestrator_pairs_init(&mmd->pairs, input, options->rows);
    orchestrator_permutations_init(&mmd->permutations, mmd->pairs.first,
                                   mmd->pairs.count - mmd->pairs.first, &draws);
    while ((uint64_t)mmd->pairs.count << bits > UINT32_MAX)
        bits--;
    mmd->scale = ldexpf(1, bits);
    float median = orchestrator_pairs_median(&mmd->pairs);
    mmd->exponent = median > 0 ? -1.44269504F / median : 0;
    size_t room = orchestrator_pairs_room(&mmd->pairs) + 8;
    mmd->of_rows = weir_calloc(mmd->pairs.count, sizeof(*mmd->of_rows));
    mmd->within = weir_calloc(mmd->permutations.count, sizeof(*mmd->within));
    mmd->squares = weir_aligned_alloc(room * sizeof(*mmd->squares));
    mmd->kernel = weir_aligned_alloc(room * sizeof(*mmd->kernel));
    mmd->looked_up = weir_aligned_alloc(mmd->permutations.count * sizeof(*mmd->looked_up));
}

static void close_mmd(struct mmd *mmd)
{
    orchestrator_pairs_fini(&mmd->pairs);
    orchestrator_permutations_fini(&mmd->permutations);
    free(mmd->of_rows);
    free(mmd->within);
    free(mmd->squares);
    free(mmd->kernel);
    free(mmd->looked_up);
}

static void compare(struct mmd *mmd, const struct drift_input *input,
                    struct drift_distance *ret_distance)
{
    struct weir_work *work = input->work;
    WEIR_AUTO_FREE double *statistics = weir_calloc(mmd->permutations.count, sizeof(*statistics));
    uint64_t all = 0;
    for (size_t tile = 0; tile < mmd->pairs.tiles && weir_work_goes_on(work, 0, 0); tile++) {
        orchestrator_pairs_tile(&mmd->pairs, tile, mmd->squares);
        fill_kernel(mmd, tile);
        add_rows(mmd, tile);
        look_up(mmd, tile);
        add_within(mmd, tile);
    }
    for (size_t i = 0; i < mmd->pairs.count; i++)
        all += mmd->of_rows[i];
    for (size_t p = 0; p < mmd->permutations.count && weir_work_goes_on(work, 0, 0); p++)
        statistics[p] = statistic_of(mmd, p, all / 2);
    ret_distance->distance = statistics[0];
    if (input->p_value)
        ret_distance->p_value =
            orchestrator_permutations_p_value(statistics, mmd->permutations.count);
}

static bool measure(const void *options, const struct drift_input *input,
                    struct drift_distance *ret_distance)
{
    struct mmd mmd = {0};
    if (input->reference.count < 2 || input->current.count < 2)
        return false;
    open_mmd(&mmd, input, options);
    compare(&mmd, input, ret_distance);
    close_mmd(&mmd);
    return true;
}

const struct drift_statistic orchestrator_statistic_mmd = {
    .name = "mmd",
    .summary = "maximum mean discrepancy, squared: how far apart the means are under a Gaussian "
               "kernel whose width is the median distance; about 0 when nothing has changed",
    .options = OPTIONS,
    .options_size = sizeof(struct mmd_options),
    .has_p_value = true,
    .measure = measure,
};
