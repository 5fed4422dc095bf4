/* See planner.h. */
#include "benchmarks/pool/planner.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "preprocess/scale/model.h"

#include <math.h>
#include <string.h>

enum {
    READING = 0, /* stage; operator i is stage i + 1 */
    STAGES_MAX = 1 + PLANNER_OPERATORS_MAX,
    REPORT_BATCHES = 100,
    MEASURED_BATCHES = 5000,
    REPORTS_MAX = 6,
};

/* ---- pipelines ---- */

static double gauss(struct weir_rng *rng)
{
    double radius = sqrt(-2 * log(1 - weir_rng_unit(rng)));
    return radius * cos(2 * M_PI * weir_rng_unit(rng));
}

static bool happens(struct weir_rng *rng, double chance)
{
    return weir_rng_unit(rng) < chance;
}

static void draw_reading(struct weir_rng *rng, struct planner_pipeline *pipeline)
{
    pipeline->read_s = 0.004 * exp(gauss(rng));
    pipeline->read_bytes = 1;
    if (!happens(rng, 0.3))
        return;
    double most = (2 + 10 * weir_rng_unit(rng)) / pipeline->read_s; /* readers that it bears */
    pipeline->pieces[0] = (struct optimum_piece){.slope = 1 / pipeline->read_s};
    pipeline->pieces[1] = (struct optimum_piece){.base = most};
    pipeline->piece_count = 2;
}

void planner_draw(uint64_t seed, struct planner_pipeline *ret_pipeline)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    *ret_pipeline = (struct planner_pipeline){
        .cores = 2 + (double)weir_rng_below(&rng, 63),
        .operator_count = 2 + weir_rng_below(&rng, PLANNER_OPERATORS_MAX - 1),
    };
    draw_reading(&rng, ret_pipeline);
    for (size_t i = 0; i < ret_pipeline->operator_count; i++) {
        ret_pipeline->seconds[i] = 0.005 * exp(gauss(&rng));
        ret_pipeline->is_sequential[i] = happens(&rng, 0.1);
    }
}

double planner_bound(const struct planner_pipeline *pipeline)
{
    struct optimum_problem problem = {
        .cores = pipeline->cores,
        .stages = {{.seconds = pipeline->read_s,
                    .only_waits = true,
                    .bytes = pipeline->read_bytes,
                    .piece_count = pipeline->piece_count}},
        .stage_count = 1 + pipeline->operator_count,
    };
    struct optimum optimum;
    memcpy(problem.stages[READING].pieces, pipeline->pieces, sizeof(pipeline->pieces));
    for (size_t i = 0; i < pipeline->operator_count; i++) {
        problem.stages[1 + i] = (struct optimum_stage){.seconds = pipeline->seconds[i],
                                                       .most = pipeline->is_sequential[i] ? 1 : 0};
    }
    preprocess_optimum_solve(&problem, &optimum);
    return optimum.rate;
}

/* ---- workers ---- */

struct worker {
    size_t stage;
    double left; /* seconds of work in it */
    bool is_queued;
    uint64_t ticket; /* place in the queue of a sequential operator */
};

struct run {
    const struct planner_pipeline *pipeline;
    struct weir_rng rng;
    struct worker workers[PLANNER_WORKERS_MAX];
    uint32_t count;
    bool is_held[STAGES_MAX]; /* a sequential operator has a worker */
    uint64_t tickets;
    double now_s;
    uint64_t made;
    double spent_s[STAGES_MAX]; /* of cores; of reading by the clock */
};

static bool is_sequential(const struct run *run, size_t stage)
{
    return stage != READING && run->pipeline->is_sequential[stage - 1];
}

static void start_work(struct run *run, struct worker *worker)
{
    double seconds = worker->stage == READING ? run->pipeline->read_s
                                              : run->pipeline->seconds[worker->stage - 1];
    worker->left = seconds * (0.8 + 0.4 * weir_rng_unit(&run->rng));
    worker->is_queued = false;
    run->is_held[worker->stage] = true;
}

static void enter(struct run *run, struct worker *worker, size_t stage)
{
    worker->stage = stage;
    if (!is_sequential(run, stage) || !run->is_held[stage]) {
        start_work(run, worker);
        return;
    }
    worker->is_queued = true;
    worker->ticket = run->tickets++;
}

/* Lets the next worker have a sequential operator. */
static void release(struct run *run, size_t stage)
{
    struct worker *next = NULL;
    run->is_held[stage] = false;
    for (uint32_t i = 0; i < run->count && is_sequential(run, stage); i++) {
        struct worker *worker = &run->workers[i];
        if (worker->is_queued && worker->stage == stage &&
            (next == NULL || worker->ticket < next->ticket))
            next = worker;
    }
    if (next != NULL)
        start_work(run, next);
}

static void end_work(struct run *run, struct worker *worker)
{
    size_t stage = worker->stage;
    bool is_last = stage == run->pipeline->operator_count;
    run->made += is_last;
    enter(run, worker, is_last ? READING : stage + 1);
    release(run, stage);
}

/* Work a second of those that read, and of those that compute. */
struct speeds {
    double reading, computing;
};

static struct speeds speeds_of(const struct run *run)
{
    const struct planner_pipeline *pipeline = run->pipeline;
    double readers = 0, computing = 0, bandwidth = INFINITY;
    for (uint32_t i = 0; i < run->count; i++) {
        readers += run->workers[i].stage == READING;
        computing += run->workers[i].stage != READING && !run->workers[i].is_queued;
    }
    for (size_t i = 0; i < pipeline->piece_count; i++)
        bandwidth = fmin(bandwidth, pipeline->pieces[i].base + pipeline->pieces[i].slope * readers);
    double alone = pipeline->read_bytes / pipeline->read_s;
    return (struct speeds){
        .reading = readers > 0 ? fmin(1, bandwidth / alone / readers) : 1,
        .computing = computing > 0 ? fmin(1, pipeline->cores / computing) : 1,
    };
}

static double speed_of(const struct speeds *speeds, const struct worker *worker)
{
    return worker->stage == READING ? speeds->reading : speeds->computing;
}

/* Until somebody is done with a stage. */
static void pass(struct run *run)
{
    struct speeds speeds = speeds_of(run);
    struct worker *first = NULL;
    double span_s = INFINITY;
    for (uint32_t i = 0; i < run->count; i++) {
        struct worker *worker = &run->workers[i];
        double needs_s = worker->left / speed_of(&speeds, worker);
        if (worker->is_queued || needs_s >= span_s)
            continue;
        span_s = needs_s;
        first = worker;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        struct worker *worker = &run->workers[i];
        double done = worker->is_queued ? 0 : span_s * speed_of(&speeds, worker);
        worker->left -= done;
        run->spent_s[worker->stage] += worker->stage == READING ? span_s : done;
    }
    run->now_s += span_s;
    end_work(run, first);
}

static void begin_run(struct run *run, const struct planner_pipeline *pipeline, uint32_t workers,
                      uint64_t seed)
{
    *run = (struct run){.pipeline = pipeline, .count = workers};
    weir_rng_init(&run->rng, seed);
    for (uint32_t i = 0; i < workers; i++)
        enter(run, &run->workers[i], READING);
    for (uint64_t begun = 5 * workers + 20; run->made < begun;)
        pass(run);
    run->now_s = 0;
    run->made = 0;
    memset(run->spent_s, 0, sizeof(run->spent_s));
}

static double rate_until(struct run *run, uint64_t batches)
{
    while (run->made < batches)
        pass(run);
    return (double)run->made / run->now_s;
}

double planner_rate(const struct planner_pipeline *pipeline, uint32_t workers, uint64_t seed)
{
    WEIR_AUTO_FREE struct run *run = weir_calloc(1, sizeof(*run));
    begin_run(run, pipeline, workers, seed);
    return rate_until(run, MEASURED_BATCHES);
}

/* ---- the planner ---- */

struct planner {
    struct scale_model model;
    struct scale_surroundings surroundings;
    struct scale_counters counters;
    struct weir_rng rng;
    double noise;
};

static void count(struct planner *planner, const struct run *run)
{
    struct scale_counters *counters = &planner->counters;
    double rows = (double)run->made;
    counters->read_ns += run->spent_s[READING] * 1e9 * exp(planner->noise * gauss(&planner->rng));
    for (size_t i = 0; i < counters->operator_count; i++) {
        struct ordering_cost *cost = &counters->operators[i];
        cost->ns += run->spent_s[1 + i] * 1e9 * exp(planner->noise * gauss(&planner->rng));
        cost->rows += rows;
        cost->kept += rows;
        cost->taken += rows;
        cost->made += rows;
    }
    preprocess_model_counters(&planner->model, counters);
}

/* Has so many workers make batches for a report. Returns what it says that they have made a second. */
static double report(struct planner *planner, const struct planner_pipeline *pipeline,
                     uint32_t workers, uint64_t seed)
{
    WEIR_AUTO_FREE struct run *run = weir_calloc(1, sizeof(*run));
    begin_run(run, pipeline, workers, seed);
    double rate = rate_until(run, REPORT_BATCHES) * exp(planner->noise * gauss(&planner->rng));
    double span_s = REPORT_BATCHES / rate;
    struct scale_maker maker = {SCALE_POOL, REPORT_BATCHES, workers * span_s};
    struct scale_taker taker = {REPORT_BATCHES, span_s, 0};
    struct scale_report report = {.span_s = span_s,
                                  .workers = {workers, 0},
                                  .makers = &maker,
                                  .maker_count = 1,
                                  .takers = &taker,
                                  .taker_count = 1};
    preprocess_model_report(&planner->model, &report);
    count(planner, run);
    return rate;
}

/* Workers that are busy with the optimum, if each brings its batches through all stages, one after another (Little, "A
 * proof for the queuing formula L = λW", 1961). */
static double busy_workers(const struct optimum_problem *problem, const struct optimum *optimum)
{
    double seconds = 0;
    for (size_t i = 0; i < problem->stage_count; i++)
        seconds += problem->stages[i].seconds;
    return optimum->rate * seconds;
}

static uint32_t planned(const struct planner *planner)
{
    static const double SPARE = 1.25; /* queues of sequential operators are not to run empty */
    struct optimum_problem problem;
    struct optimum optimum;
    if (!preprocess_model_problem(&planner->model, &planner->surroundings, &problem))
        return 1;
    preprocess_optimum_solve(&problem, &optimum);
    double workers = ceil(SPARE * busy_workers(&problem, &optimum)) + 1;
    return (uint32_t)fmax(1, fmin(workers, PLANNER_WORKERS_MAX));
}

uint32_t planner_choose(const struct planner_pipeline *pipeline, double noise, uint64_t seed)
{
    struct planner planner = {.surroundings.cores = pipeline->cores, .noise = noise};
    uint32_t best = 1, workers = 1;
    double best_rate = 0;
    weir_rng_init(&planner.rng, seed);
    planner.counters.operator_count = pipeline->operator_count;
    for (size_t i = 0; i < pipeline->operator_count; i++)
        planner.surroundings.sequential |= (uint32_t)pipeline->is_sequential[i] << i;
    preprocess_model_counters(&planner.model, &planner.counters);
    for (size_t i = 0; i < REPORTS_MAX; i++) {
        double rate = report(&planner, pipeline, workers, seed + i);
        if (rate > best_rate) {
            best_rate = rate;
            best = workers;
        }
        uint32_t next = planned(&planner);
        if (next == workers)
            break;
        workers = next;
    }
    return best;
}
