/* adwin: a window that grows as long as nothing changes, and loses its older part when the means of two parts differ by
 * more than chance allows (Bifet & Gavaldà, Learning from Time-Changing Data with Adaptive Windowing, SDM 2007,
 * (3.1) for ε and §4 for the histogram: five buckets at most of 1, 2, 4, … values, so 2^30 values take a few
 * hundred numbers). */
#include "core/base/elementary.h"
#include "orchestrator/drift/detector.h"

#include <math.h>
#include <string.h>

enum { ROWS = 30, BUCKETS = 5, PART_MIN = 5 };

struct adwin_options {
    double delta;
    uint64_t every;
};

/* Bucket 0 of a row is its newest; row r holds buckets of 2^r values. */
struct adwin_row {
    uint64_t count;
    double sums[BUCKETS + 1],
        squares[BUCKETS + 1]; /* squares: of the distances from the bucket's mean */
};

struct adwin {
    uint64_t count, ticks;
    double sum, squares;
    struct adwin_row rows[ROWS];
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct adwin_options, delta, .fallback = "0.002", .min = 1e-12, .max = 0.5,
            .doc = "largest probability of a false alarm"),
    CFG_U64(struct adwin_options, every, .fallback = "32", .min = 1, .max = 1000000,
            .doc = "values from one look to the next"),
    CFG_END,
};

static size_t words(const void *options)
{
    (void)options;
    return sizeof(struct adwin) / 8;
}

/* The squares of two parts put together. */
static double joined(double squares, double n, double mean, double m, double other_mean)
{
    return squares + n * m / (n + m) * (mean - other_mean) * (mean - other_mean);
}

static void put_newest(struct adwin_row *row, double sum, double squares)
{
    memmove(row->sums + 1, row->sums, BUCKETS * sizeof(*row->sums));
    memmove(row->squares + 1, row->squares, BUCKETS * sizeof(*row->squares));
    row->sums[0] = sum;
    row->squares[0] = squares;
    row->count++;
}

/* Two buckets too old for their row become one of the next. The last row forgets instead. */
static void compress(struct adwin *adwin)
{
    for (size_t r = 0; r + 1 < ROWS && adwin->rows[r].count > BUCKETS; r++) {
        struct adwin_row *row = &adwin->rows[r];
        double size = ldexp(1, (int)r);
        double newer = row->sums[BUCKETS - 1], older = row->sums[BUCKETS];
        double squares = row->squares[BUCKETS - 1] + row->squares[BUCKETS];
        row->count -= 2;
        put_newest(&adwin->rows[r + 1], newer + older,
                   joined(squares, size, newer / size, size, older / size));
    }
}

static size_t oldest_row(const struct adwin *adwin)
{
    size_t row = ROWS - 1;
    while (row > 0 && adwin->rows[row].count == 0)
        row--;
    return row;
}

/* Others are left: a cut has PART_MIN newer values, and a full last row is not all. */
static void drop_oldest(struct adwin *adwin)
{
    size_t r = oldest_row(adwin);
    struct adwin_row *row = &adwin->rows[r];
    double size = ldexp(1, (int)r);
    double sum = row->sums[--row->count];
    adwin->count -= (uint64_t)size;
    adwin->sum -= sum;
    double n = (double)adwin->count;
    adwin->squares = fmax(
        0, adwin->squares - joined(row->squares[row->count], n, adwin->sum / n, size, sum / size));
}

static void add(struct adwin *adwin, double value)
{
    double n = (double)adwin->count;
    if (adwin->rows[ROWS - 1].count > BUCKETS)
        drop_oldest(adwin);
    if (adwin->count > 0)
        adwin->squares = joined(adwin->squares, n, adwin->sum / n, 1, value);
    adwin->count++;
    adwin->sum += value;
    put_newest(&adwin->rows[0], value, 0);
    compress(adwin);
}

/* A cut of the window: `base` is the mean of the older part, `found` that of the newer one less it, `limit` what chance
 * allows. False: a part is too small. */
static bool look_at(const struct adwin *adwin, double delta, double older, double older_sum,
                    struct detector_seen *ret_cut)
{
    double n = (double)adwin->count;
    double newer = n - older;
    if (older < PART_MIN || newer < PART_MIN)
        return false;
    double inverse = 1 / older + 1 / newer;
    double doubt = weir_ln(2 * weir_ln(n) / delta);
    double variance = adwin->squares / n;
    *ret_cut = (struct detector_seen){
        .values = adwin->count,
        .base = older_sum / older,
        .found = (adwin->sum - older_sum) / newer - older_sum / older,
        .limit = sqrt(2 * inverse * variance * doubt) + 2.0 / 3 * inverse * doubt,
        .warning = NAN,
    };
    return true;
}

/* Returns true when the window can be cut; `*ret_cut` is where, or else where it has risen most. */
static bool can_cut(const struct adwin *adwin, double delta, struct detector_seen *ret_cut)
{
    struct detector_seen cut;
    double older = 0, sum = 0;
    for (size_t r = oldest_row(adwin) + 1; r-- > 0;) {
        for (size_t b = adwin->rows[r].count; b-- > 0;) {
            older += ldexp(1, (int)r);
            sum += adwin->rows[r].sums[b];
            if (!look_at(adwin, delta, older, sum, &cut))
                continue;
            bool is_apart = fabs(cut.found) > cut.limit;
            if (is_apart || isnan(ret_cut->found) ||
                cut.found - cut.limit > ret_cut->found - ret_cut->limit)
                *ret_cut = cut;
            if (is_apart)
                return true;
        }
    }
    return false;
}

static enum detector_verdict take(const void *options, void *state, double value,
                                  struct detector_seen *ret_seen)
{
    const struct adwin_options *limits = options;
    struct adwin *adwin = state;
    bool changed = false;
    add(adwin, value);
    if (++adwin->ticks % limits->every != 0)
        return DETECTOR_STABLE;
    struct detector_seen cut = *ret_seen;
    while (can_cut(adwin, limits->delta, &cut)) {
        if (!changed)
            *ret_seen = cut;
        changed = changed || cut.found > 0;
        drop_oldest(adwin);
    }
    if (isnan(ret_seen->found))
        *ret_seen = cut;
    return changed ? DETECTOR_CHANGE : DETECTOR_STABLE;
}

const struct detector_kind orchestrator_detector_adwin = {
    .name = "adwin",
    .summary = "the mean of a window that adapts itself has risen; a fall only shortens the window",
    .found = "rise of the mean",
    .base = "from",
    .options = OPTIONS,
    .options_size = sizeof(struct adwin_options),
    .words = words,
    .take = take,
};
