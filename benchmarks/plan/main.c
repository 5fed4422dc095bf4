/* bench_plan: what it takes to make the same batches better, and to prove that they are the same (C15, C18): the order
 * of operators, and the place of the last, both ends of a job, and digests. Jobs are those of `slice.batches.records`.
 */
#include "benchmarks/harness.h"
#include "benchmarks/plan/fused.h"
#include "benchmarks/plan/orders.h"
#include "benchmarks/plan/place.h"
#include "benchmarks/slice/workload.h"

#include "core/base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS = 1000000, WORKERS = 2 };
static const double ENDS_S_MAX = 0.015;

struct plan {
    double scale;
    struct rig *rig;
    struct corpus corpus;
    struct workload workload;
    uint64_t jobs;         /* opened so far */
    struct orders *orders; /* NULL: not wanted yet */
    struct fused *fused;   /* the same */
    char *directory;
    struct place *place; /* the same */
};

static void close_plan(void *state)
{
    struct plan *plan = state;
    if (plan == NULL)
        return;
    if (plan->orders != NULL)
        orders_close(plan->orders);
    free(plan->orders);
    if (plan->fused != NULL)
        fused_close(plan->fused);
    free(plan->fused);
    if (plan->place != NULL)
        place_close(plan->place);
    free(plan->place);
    free(plan->directory);
    workload_fini(&plan->workload);
    corpus_fini(&plan->corpus);
    rig_stop(plan->rig);
    free(plan);
}

static enum weir_status open_plan(const char *directory, double scale, void **ret_state,
                                  struct weir_error *err)
{
    struct plan *plan = weir_calloc(1, sizeof(*plan));
    WEIR_AUTO_FREE char *records = weir_format("%s/records", directory);
    plan->scale = scale;
    plan->directory = weir_strdup(directory);
    enum weir_status status = rig_start(directory, WORKERS, &plan->rig, err);
    if (status == WEIR_OK)
        status = corpus_make_records(records, (size_t)(RECORDS * scale), &plan->corpus, err);
    plan->workload.corpus = &plan->corpus;
    if (status == WEIR_OK)
        status = workload_prepare_records(&plan->workload, plan->rig, err);
    if (status != WEIR_OK) {
        close_plan(plan);
        return status;
    }
    *ret_state = plan;
    return WEIR_OK;
}

static enum weir_status run(struct plan *plan, bool keep_digests, struct workload_run *ret_run,
                            struct weir_error *err)
{
    *ret_run = (struct workload_run){.job = ++plan->jobs, .keep_digests = keep_digests};
    enum weir_status status = workload_run_there(&plan->workload, plan->rig, ret_run, err);
    return status == WEIR_OK ? workload_check(&plan->workload, &ret_run->tally, err) : status;
}

/* ---- both ends of a job ---- */

static enum weir_status ends(void *state, double *ret_rate, struct weir_error *err)
{
    struct workload_run of;
    enum weir_status status = run(state, false, &of, err);
    *ret_rate = 1 / (of.first_s + of.audited_s - of.seconds);
    return status;
}

static enum weir_status start(void *state, double *ret_rate, struct weir_error *err)
{
    struct workload_run of;
    enum weir_status status = run(state, false, &of, err);
    *ret_rate = 1 / of.first_s;
    return status;
}

static enum weir_status end(void *state, double *ret_rate, struct weir_error *err)
{
    struct workload_run of;
    enum weir_status status = run(state, false, &of, err);
    *ret_rate = 1 / (of.audited_s - of.seconds);
    return status;
}

static enum weir_status allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1 / ENDS_S_MAX;
    return WEIR_OK;
}

/* ---- digests ---- */

static enum weir_status deliver(struct plan *plan, bool keep_digests, double *ret_rate,
                                struct weir_error *err)
{
    struct workload_run of;
    enum weir_status status = run(plan, keep_digests, &of, err);
    *ret_rate = (double)plan->workload.samples / of.seconds;
    return status;
}

static enum weir_status with_digests(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, true, ret_rate, err);
}

static enum weir_status without_digests(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, false, ret_rate, err);
}

static enum weir_status digested_bytes(void *state, double *ret_rate, struct weir_error *err)
{
    struct workload_run of;
    enum weir_status status = run(state, true, &of, err);
    *ret_rate = (double)of.batch_bytes * 1e9 / (double)of.digest_ns;
    return status;
}

/* As many bytes as a batch has, again and again. */
static enum weir_status copied_bytes(void *state, double *ret_rate, struct weir_error *err)
{
    enum { SIZE = 768 << 10, COPIES = 1000 };
    (void)state, (void)err;
    WEIR_AUTO_FREE char *from = weir_calloc(1, SIZE), *to = weir_calloc(1, SIZE);
    int64_t begun_ns = weir_now_ns();
    for (size_t i = 0; i < COPIES; i++) {
        memcpy(to, from, SIZE);
        __asm__ volatile("" ::"r"(to) : "memory"); /* each of them counts */
    }
    *ret_rate = (double)SIZE * COPIES * 1e9 / (double)(weir_now_ns() - begun_ns);
    return WEIR_OK;
}

/* ---- the place of the last operators ---- */

static enum weir_status open_place(void *state, struct weir_error *err)
{
    struct plan *plan = state;
    if (plan->place != NULL)
        return WEIR_OK;
    plan->place = weir_calloc(1, sizeof(*plan->place));
    return place_open(plan->place, plan->directory, plan->scale, err);
}

/* DEFINE_PLACE(name, member): samples for each second, byte, … of either side. */
#define DEFINE_PLACE_SIDE(name, side, member)                                                  \
    static enum weir_status name(void *state, double *ret_rate, struct weir_error *err)        \
    {                                                                                          \
        struct place_taken taken;                                                              \
        enum weir_status status = place_run(((struct plan *)state)->place, side, &taken, err); \
        *ret_rate = 1 / taken.member;                                                          \
        return status;                                                                         \
    }
#define DEFINE_PLACE(name, member)                     \
    DEFINE_PLACE_SIDE(name##_host, PLACE_HOST, member) \
    DEFINE_PLACE_SIDE(name##_pool, PLACE_POOL, member)
DEFINE_PLACE(place, seconds)
DEFINE_PLACE(place_bytes, bytes)
DEFINE_PLACE(place_cpu, cpu_s)

/* ---- the order of operators ---- */

static enum weir_status open_orders(void *state, struct weir_error *err)
{
    struct plan *plan = state;
    if (plan->orders != NULL)
        return WEIR_OK;
    plan->orders = weir_calloc(1, sizeof(*plan->orders));
    return orders_open(plan->orders, err);
}

/* DEFINE_SIDE(name, family, case, side): rows a second of CPU time, of one of two families. */
#define DEFINE_SIDE(name, family, which, side)                                          \
    static enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                   \
        (void)err;                                                                      \
        *ret_rate = family##_rate(&((struct plan *)state)->family->of[which], side);    \
        return WEIR_OK;                                                                 \
    }
#define DEFINE_SIDES(name, which)                              \
    DEFINE_SIDE(name##_written, orders, which, ORDERS_WRITTEN) \
    DEFINE_SIDE(name##_chosen, orders, which, ORDERS_CHOSEN)   \
    DEFINE_SIDE(name##_best, orders, which, ORDERS_BEST)
DEFINE_SIDES(text, ORDERS_TEXT)
DEFINE_SIDES(table, ORDERS_TABLE)
DEFINE_SIDES(pictures, ORDERS_PICTURES)

/* ---- fusion ---- */

static enum weir_status open_fused(void *state, struct weir_error *err)
{
    struct plan *plan = state;
    if (plan->fused != NULL)
        return WEIR_OK;
    plan->fused = weir_calloc(1, sizeof(*plan->fused));
    return fused_open(plan->fused, err);
}

DEFINE_SIDE(table_loops, fused, FUSED_TABLE, FUSED_LOOPS)
DEFINE_SIDE(table_batches, fused, FUSED_TABLE, FUSED_BATCHES)
DEFINE_SIDE(text_loops, fused, FUSED_TEXT, FUSED_LOOPS)
DEFINE_SIDE(text_batches, fused, FUSED_TEXT, FUSED_BATCHES)
DEFINE_SIDE(pictures_loops, fused, FUSED_PICTURES, FUSED_LOOPS)
DEFINE_SIDE(pictures_batches, fused, FUSED_PICTURES, FUSED_BATCHES)

#define NOISE 0.97 /* two runs of one chain differ by so much */

// clang-format off
#define ORDER(of, about, gain)                                                                     \
    {.name = "plan.order." #of, .against = "the best of all legal orders, " about,               \
     .unit = "rows/s of CPU", .bar = NOISE, .prepare = open_orders,                                \
     .ours = of##_chosen, .theirs = of##_best},                                                \
    {.name = "plan.order." #of ".gain", .against = "the order as written, " about,               \
     .unit = "rows/s of CPU", .bar = gain, .prepare = open_orders,                                 \
     .ours = of##_chosen, .theirs = of##_written}

#define FUSION(of, least, about)                                                                          \
    {.name = "plan.fusion." #of, .against = "each operator over the whole batch, " about,         \
     .unit = "rows/s of CPU", .bar = least, .prepare = open_fused,                                     \
     .ours = of##_loops, .theirs = of##_batches}

static const struct bench_figure FIGURES[] = {
    ORDER(text, "lower case before 128 bytes of 1.5 kB are kept", 1),
    ORDER(table, "a cast before a filter that keeps a fifth", 1),
    ORDER(pictures, "colours of 500 x 375 changed before 96 x 96 are made (approximate)", 1.8),
    FUSION(table, 1, "four element-wise operators on 256 rows of 4096 numbers"),
    FUSION(text, NOISE, "normalised, lowered and cut, 256 rows of 1.5 kB"),
    FUSION(pictures, NOISE, "500 x 375 decoded, cropped to 224 x 224, normalised"),
    {.name = "plan.place", .against = "the same pictures finished by workers, over TCP",
     .unit = "samples/s", .bar = 1, .prepare = open_place, .ours = place_host, .theirs = place_pool},
    {.name = "plan.place.bytes", .against = "the same, by bytes on the way; ids and labels are not fewer",
     .unit = "samples/byte", .bar = 3.99, .runs_max = 1, .tolerance = BENCH_REPEATABLE,
     .prepare = open_place,
     .ours = place_bytes_host, .theirs = place_bytes_pool},
    {.name = "plan.place.cpu", .against = "the same, by CPU time of the trainer's process",
     .unit = "samples/s of CPU", .prepare = open_place,
     .ours = place_cpu_host, .theirs = place_cpu_pool},
    {.name = "plan.ends",
     .against = "15 ms, from job_open to the first batch and from the last batch to the audit, together",
     .unit = "1/s", .bar = 1, .ours = ends, .theirs = allowed},
    {.name = "plan.ends.start", .against = "15 ms, from job_open to the first batch",
     .unit = "1/s", .ours = start, .theirs = allowed},
    {.name = "plan.ends.end", .against = "15 ms, from the last batch to the audit",
     .unit = "1/s", .ours = end, .theirs = allowed},
    {.name = "plan.digests", .against = "the same job without digests",
     .unit = "samples/s", .ours = with_digests, .theirs = without_digests},
    {.name = "plan.digests.bytes", .against = "memcpy() of as many bytes at a time",
     .unit = "bytes/s", .ours = digested_bytes, .theirs = copied_bytes},
};
// clang-format on

static const struct bench PLAN = {
    .name = "plan",
    .summary = "what it takes to make the same batches better, and to prove it",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_plan,
    .close = close_plan,
};

int main(int argc, char **argv)
{
    return bench_main(&PLAN, argc, argv);
}
