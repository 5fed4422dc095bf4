/* See optimum.h. */
#include "preprocess/scale/optimum.h"

#include <math.h>

/* ---- one stage ---- */

static double most_of(const struct optimum_stage *stage)
{
    return stage->most > 0 ? stage->most : INFINITY;
}

/* Units that a rate needs, and how that grows with it. */
struct need {
    double units, growth;
};

static struct need need_of(const struct optimum_stage *stage, double rate)
{
    struct need need = {rate * stage->seconds, stage->seconds};
    for (size_t i = 0; i < stage->piece_count && stage->bytes > 0; i++) {
        const struct optimum_piece *piece = &stage->pieces[i];
        if (piece->slope <= 0)
            continue; /* a bound of the rate alone */
        double units = (rate * stage->bytes - piece->base) / piece->slope;
        if (units > need.units)
            need = (struct need){units, stage->bytes / piece->slope};
    }
    return need;
}

/* The rate that a stage has with so many units. */
struct ceiling {
    double rate;
    bool is_bandwidth; /* more units would bring nothing */
};

static struct ceiling ceiling_of(const struct optimum_stage *stage, double units)
{
    struct ceiling ceiling = {stage->seconds > 0 ? units / stage->seconds : INFINITY, false};
    for (size_t i = 0; i < stage->piece_count && stage->bytes > 0; i++) {
        const struct optimum_piece *piece = &stage->pieces[i];
        double rate = piece->slope > 0 ? (piece->base + piece->slope * units) / stage->bytes
                                       : piece->base / stage->bytes;
        if (rate < ceiling.rate)
            ceiling = (struct ceiling){rate, piece->slope <= 0};
    }
    return ceiling;
}

/* ---- all of them ---- */

/* The highest rate with any number of cores. */
static void begin(const struct optimum_problem *problem, struct optimum *optimum)
{
    *optimum = (struct optimum){.rate = INFINITY, .limit = OPTIMUM_NOTHING};
    if (problem->consumers > 0) {
        optimum->rate = problem->consumers;
        optimum->limit = OPTIMUM_CONSUMERS;
    }
    for (size_t i = 0; i < problem->stage_count; i++) {
        struct ceiling ceiling = ceiling_of(&problem->stages[i], most_of(&problem->stages[i]));
        if (ceiling.rate >= optimum->rate)
            continue;
        optimum->rate = ceiling.rate;
        optimum->limit = ceiling.is_bandwidth ? OPTIMUM_BANDWIDTH : OPTIMUM_STAGE;
        optimum->stage = i;
    }
}

static struct need need_of_all(const struct optimum_problem *problem, double rate)
{
    struct need sum = {0};
    for (size_t i = 0; i < problem->stage_count; i++) {
        if (problem->stages[i].only_waits)
            continue;
        struct need need = need_of(&problem->stages[i], rate);
        sum.units += need.units;
        sum.growth += need.growth;
    }
    return sum;
}

/* A rate that the cores hardly allow: each stage has all of them. */
static double from_above(const struct optimum_problem *problem, double rate)
{
    for (size_t i = 0; i < problem->stage_count; i++) {
        if (!problem->stages[i].only_waits)
            rate = fmin(rate, ceiling_of(&problem->stages[i], problem->cores).rate);
    }
    return rate;
}

static void meet_cores(const struct optimum_problem *problem, struct optimum *optimum)
{
    enum { STEPS_MAX = OPTIMUM_STAGES_MAX * (OPTIMUM_PIECES_MAX + 1) };
    double rate = from_above(problem, optimum->rate);
    bool is_less = rate < optimum->rate;
    for (size_t i = 0; i < STEPS_MAX && isfinite(rate); i++) {
        struct need need = need_of_all(problem, rate);
        if (need.units <= problem->cores * (1 + 1e-12) || need.growth <= 0)
            break;
        rate -= (need.units - problem->cores) / need.growth;
        is_less = true;
    }
    optimum->rate = rate;
    if (is_less)
        optimum->limit = OPTIMUM_CORES;
}

static void give_units(const struct optimum_problem *problem, struct optimum *optimum)
{
    double largest = -1;
    for (size_t i = 0; i < problem->stage_count && isfinite(optimum->rate); i++) {
        const struct optimum_stage *stage = &problem->stages[i];
        optimum->units[i] = need_of(stage, optimum->rate).units;
        if (optimum->limit != OPTIMUM_CORES || stage->only_waits || optimum->units[i] <= largest)
            continue;
        largest = optimum->units[i];
        optimum->stage = i;
    }
}

void preprocess_optimum_solve(const struct optimum_problem *problem, struct optimum *ret_optimum)
{
    begin(problem, ret_optimum);
    meet_cores(problem, ret_optimum);
    give_units(problem, ret_optimum);
}

const char *preprocess_optimum_limit_name(enum optimum_limit limit)
{
    static const char *const NAMES[] = {"cores", "stage", "bandwidth", "consumers", "nothing"};
    return NAMES[limit];
}

/* ---- if one thing were otherwise ---- */

static double rate_of(const struct optimum_problem *problem)
{
    struct optimum optimum;
    preprocess_optimum_solve(problem, &optimum);
    return optimum.rate;
}

static double with_faster_reads(const struct optimum_problem *problem)
{
    struct optimum_problem other = *problem;
    for (size_t i = 0; i < other.stage_count; i++) {
        struct optimum_stage *stage = &other.stages[i];
        if (stage->bytes <= 0)
            continue;
        stage->seconds /= 2;
        stage->bytes /= 2;
    }
    return rate_of(&other);
}

static double with_cache(const struct optimum_problem *problem, size_t behind,
                         const struct optimum_stage *cache)
{
    struct optimum_problem other = *problem;
    other.stage_count = problem->stage_count - behind;
    other.stages[0] = *cache;
    for (size_t i = 1; i < other.stage_count; i++)
        other.stages[i] = problem->stages[behind + i];
    return rate_of(&other);
}

void preprocess_optimum_otherwise(const struct optimum_problem *problem,
                                  const struct optimum_stage *cache,
                                  struct optimum_otherwise *ret_otherwise)
{
    struct optimum_problem more = *problem;
    more.cores++;
    *ret_otherwise = (struct optimum_otherwise){
        .one_more_core = rate_of(&more),
        .reads_twice_as_fast = with_faster_reads(problem),
    };
    for (size_t i = 0; i < problem->stage_count; i++)
        ret_otherwise->cached[i] = with_cache(problem, i, &cache[i]);
}
