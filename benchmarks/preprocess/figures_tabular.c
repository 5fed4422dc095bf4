/* Click records of 160 bytes and lines of text, as tensors in the trainer: against the same operators in
 * one process, and against PyTorch; and what a promise about delivery or order costs. */
#include "benchmarks/peers/peer.h"
#include "benchmarks/preprocess/bench.h"
#include "core/base/clock.h"
#include "core/base/memory.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    RECORDS = 1000000,
    LINES = 1000000,
    UNEVEN = 200000,
    BATCH = 4096,
    UNEVEN_BATCH = 256,
    FEW = 4000,
    FEW_BATCH = 4,
    THREADS = BENCH_WORKERS,
    CLICK_CPU_NS = 120, /* of workers and client together, a record */
};

static const char SOURCE[] = "    source: {path: %s, %s, import: reference, settle: 0s}\n"
                             "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n%s";
static const char RECORD_FORMAT[] = "format: binary, record_bytes: 160";
static const char LINE_FORMAT[] = "format: csv, header: false";
static const char LABEL[] = "    label: {offset: 0, type: i32}\n";

static const char CLICKS[] = "{op: record_fields, dense: [4, 13, f32], sparse: [56, 26, i32]}";
static const char NGRAMS[] =
    "{op: tokenize_words}, {op: tokenize_hash, ngrams: 2, buckets: 262144}";

#define UNEVEN_HASHES "{op: tokenize_hash, buckets: 262144}"
static const char UNEVEN_AS_DRAWN[] = "{op: tokenize_words}, " UNEVEN_HASHES;
static const char UNEVEN_OF_LIKE_LENGTH[] =
    "{op: tokenize_words}, {op: bucket_by_length, borders: [13, 18, 25, 35, 48, 66, 100, 150]}, " UNEVEN_HASHES;

static const char IN_TWELVE_CLASSES[] =
    "{op: tokenize_words}, {op: bucket_by_length, classes: 12}, " UNEVEN_HASHES;

static const struct {
    const char *name;
    size_t samples;
    uint32_t epochs; /* in one job: so that its start is little of it, and noise */
    enum weir_status (*make)(const char *directory, size_t samples, struct corpus *ret_corpus,
                             struct weir_error *err);
} CORPORA[TABULAR_CORPORA] = {
    [CORPUS_CLICKS] = {"clicks", RECORDS, 16, corpus_make_records},
    [CORPUS_LINES] = {"lines", LINES, 16, corpus_make_lines},
    [CORPUS_UNEVEN] = {"uneven", UNEVEN, 4, corpus_make_uneven_lines},
    [CORPUS_FEW] = {"few", FEW, 4, corpus_make_lines},
};

/* A kind of workload: its operators, and the form of its batches. `label` is a line of the
 * dataset. */
struct workload_spec {
    const char *name;
    enum tabular_corpus corpus;
    const char *format, *label, *operators;
    int batch; /* samples */
    const char *how;
};

static const struct workload_spec SPECS[TABULAR_WORKLOADS] = {
    [CLICKS_EXACT] = {"clicks", CORPUS_CLICKS, RECORD_FORMAT, LABEL, CLICKS, BATCH,
                      "order: deterministic"},
    [CLICKS_AT_MOST_ONCE] = {"clicks_once", CORPUS_CLICKS, RECORD_FORMAT, LABEL, CLICKS, BATCH,
                             "order: deterministic, delivery: at_most_once"},
    [CLICKS_RELAXED] = {"clicks_relaxed", CORPUS_CLICKS, RECORD_FORMAT, LABEL, CLICKS, BATCH,
                        "order: relaxed"},
    [NGRAM_LINES] = {"lines", CORPUS_LINES, LINE_FORMAT, "", NGRAMS, BATCH, "order: deterministic"},
    [UNEVEN_DRAWN] = {"uneven", CORPUS_UNEVEN, LINE_FORMAT, "", UNEVEN_AS_DRAWN, UNEVEN_BATCH,
                      "group: 64"},
    [UNEVEN_ALIKE] = {"uneven_alike", CORPUS_UNEVEN, LINE_FORMAT, "", UNEVEN_OF_LIKE_LENGTH,
                      UNEVEN_BATCH, "group: 64"},
    [FOUR_RANKS] = {"four_ranks", CORPUS_UNEVEN, LINE_FORMAT, "", IN_TWELVE_CLASSES,
                    4 * BENCH_RANK_SAMPLES, "group: 64"},
    [EIGHT_RANKS] = {"eight_ranks", CORPUS_UNEVEN, LINE_FORMAT, "", IN_TWELVE_CLASSES,
                     8 * BENCH_RANK_SAMPLES, "group: 64"},
    [EACH_ALONE] = {"each_alone", CORPUS_UNEVEN, LINE_FORMAT, "", IN_TWELVE_CLASSES,
                    BENCH_RANK_SAMPLES, "group: 64"},
    [SLOW_UNEVEN] = {"slow_uneven", CORPUS_FEW, LINE_FORMAT, "", "{op: exec, program: uneven}",
                     FEW_BATCH, "order: relaxed"},
    [SLOW_ORDERED] = {"slow_ordered", CORPUS_FEW, LINE_FORMAT, "", "{op: exec, program: uneven}",
                      FEW_BATCH, "order: deterministic"},
    [SLOW_EVEN] = {"slow_even", CORPUS_FEW, LINE_FORMAT, "", "{op: exec, program: even}", FEW_BATCH,
                   "order: relaxed"},
};

static enum weir_status need_corpus(struct preprocess_bench *bench, enum tabular_workload which,
                                    struct weir_error *err)
{
    enum tabular_corpus kind = SPECS[which].corpus;
    struct corpus *corpus = &bench->corpora[kind];
    bench->tabular[which].corpus = corpus;
    if (corpus->samples > 0)
        return WEIR_OK;
    WEIR_AUTO_FREE char *directory = weir_format("%s/%s", bench->directory, CORPORA[kind].name);
    size_t samples = (size_t)((double)CORPORA[kind].samples * bench->scale) + WORKLOAD_STRIDE;
    return CORPORA[kind].make(directory, samples, corpus, err);
}

enum weir_status tabular_need(struct preprocess_bench *bench, enum tabular_workload which,
                              struct weir_error *err)
{
    const struct workload_spec *spec = &SPECS[which];
    struct workload *workload = &bench->tabular[which];
    if (workload->config != NULL)
        return WEIR_OK;
    workload->epochs = CORPORA[spec->corpus].epochs;
    enum weir_status status = need_corpus(bench, which, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *source =
        weir_format(SOURCE, workload->corpus->directory, spec->format, spec->label);
    WEIR_AUTO_FREE char *section = weir_format("  operators: [%s]\n"
                                               "  batch: {samples: %d, shuffle: full, %s}\n",
                                               spec->operators, spec->batch, spec->how);
    return workload_prepare(workload, bench->rig, spec->name, source, section, err);
}

/* One job; its audit, and that it made the same batches as all before, are looked at. */
static enum weir_status run_job(struct preprocess_bench *bench, enum tabular_workload which,
                                struct tally *ret_tally, double *ret_rate, struct weir_error *err)
{
    struct workload_run run = {.job = ++bench->jobs};
    struct workload *workload = &bench->tabular[which];
    enum weir_status status = workload_run_there(workload, bench->rig, &run, err);
    *ret_tally = run.tally;
    *ret_rate = (double)workload->samples / run.seconds;
    return status == WEIR_OK ? workload_check(workload, ret_tally, err) : status;
}

static enum weir_status deliver(struct preprocess_bench *bench, enum tabular_workload which,
                                double *ret_rate, struct weir_error *err)
{
    struct tally tally;
    return run_job(bench, which, &tally, ret_rate, err);
}

/* Measures the share that is filled of rectangles as wide as the longest line of their batch. */
static enum weir_status fill(struct preprocess_bench *bench, enum tabular_workload which,
                             double *ret_share, struct weir_error *err)
{
    struct tally tally;
    double rate;
    enum weir_status status = run_job(bench, which, &tally, &rate, err);
    *ret_share = (double)tally.filled / (double)tally.cells;
    return status;
}

void tabular_fini(struct preprocess_bench *bench)
{
    for (size_t i = 0; i < TABULAR_WORKLOADS; i++)
        workload_fini(&bench->tabular[i]);
    for (size_t i = 0; i < WEIR_COUNT(bench->scripts); i++)
        free(bench->scripts[i]);
    for (size_t i = 0; i < TABULAR_CORPORA; i++)
        corpus_fini(&bench->corpora[i]);
}

/* ---- the same operators in one process ---- */

struct thread {
    pthread_t thread;
    const struct workload *workload;
    struct workload_share share;
    struct tally tally;
    enum weir_status status;
    struct weir_error err;
};

static void *run_thread(void *argument)
{
    struct thread *thread = argument;
    thread->status =
        workload_run_share(thread->workload, thread->share, &thread->tally, &thread->err);
    return NULL;
}

static enum weir_status join(struct thread *threads, struct tally *sum, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < THREADS; i++) {
        weir_require(pthread_join(threads[i].thread, NULL) == 0);
        sum->samples += threads[i].tally.samples;
        sum->batches += threads[i].tally.batches;
        sum->digest += threads[i].tally.digest;
        if (threads[i].status != WEIR_OK) {
            status = threads[i].status;
            *err = threads[i].err;
        }
    }
    return status;
}

/* Runs as many threads as Weir has workers, each with every THREADS-th batch. */
static enum weir_status run_threads(struct workload *workload, double *ret_rate,
                                    struct weir_error *err)
{
    struct thread threads[THREADS] = {0};
    struct tally sum = {0};
    int64_t started = weir_now_ns();
    for (size_t i = 0; i < THREADS; i++) {
        threads[i].workload = workload;
        threads[i].share = (struct workload_share){.first = i, .step = THREADS};
        weir_require(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]) == 0);
    }
    enum weir_status status = join(threads, &sum, err);
    *ret_rate = (double)workload->samples * 1e9 / (double)(weir_now_ns() - started);
    return status == WEIR_OK ? workload_check(workload, &sum, err) : status;
}

/* ---- figures ---- */

enum weir_status prepare_clicks(void *state, struct weir_error *err)
{
    return tabular_need(state, CLICKS_EXACT, err);
}

enum weir_status prepare_at_most_once(void *state, struct weir_error *err)
{
    enum weir_status status = tabular_need(state, CLICKS_EXACT, err);
    return status == WEIR_OK ? tabular_need(state, CLICKS_AT_MOST_ONCE, err) : status;
}

enum weir_status prepare_relaxed(void *state, struct weir_error *err)
{
    enum weir_status status = tabular_need(state, CLICKS_EXACT, err);
    return status == WEIR_OK ? tabular_need(state, CLICKS_RELAXED, err) : status;
}

/* ---- the products of others ---- */

static const struct {
    enum tabular_workload workload;
    const char *product, *script, *style;
} SCRIPTS[TABULAR_SCRIPTS] = {
    [SCRIPT_MAP] = {CLICKS_EXACT, "torch", "clicks_torch.py", "map "},
    [SCRIPT_VECTORISED] = {CLICKS_EXACT, "torch", "clicks_torch.py", "vectorised "},
    [SCRIPT_MAPPED] = {CLICKS_EXACT, "torch", "clicks_torch.py", "mapped "},
    [SCRIPT_NUMPY] = {CLICKS_EXACT, "numpy", "clicks_numpy.py", ""},
    [SCRIPT_LINES] = {NGRAM_LINES, "torch", "lines_torch.py", ""},
};

static enum weir_status prepare_script(struct preprocess_bench *bench, enum tabular_script which,
                                       struct weir_error *err)
{
    enum tabular_workload workload = SCRIPTS[which].workload;
    enum weir_status status = tabular_need(bench, workload, err);
    if (status != WEIR_OK || bench->scripts[which] != NULL)
        return status;
    WEIR_AUTO_FREE char *arguments = weir_format(
        "%s%s %d", SCRIPTS[which].style, bench->corpora[SPECS[workload].corpus].directory, BATCH);
    return peer_choose(SCRIPTS[which].product, SCRIPTS[which].script, arguments,
                       &bench->scripts[which], err);
}

#define SCRIPT(side, which)                                                            \
    enum weir_status prepare_##side(void *state, struct weir_error *err)               \
    {                                                                                  \
        return prepare_script(state, which, err);                                      \
    }                                                                                  \
    enum weir_status side(void *state, double *ret_rate, struct weir_error *err)       \
    {                                                                                  \
        const struct preprocess_bench *bench = state;                                  \
        return peer_run(SCRIPTS[which].product, bench->scripts[which], ret_rate, err); \
    }
SCRIPT(clicks_map, SCRIPT_MAP)
SCRIPT(clicks_vectorised, SCRIPT_VECTORISED)
SCRIPT(clicks_mapped, SCRIPT_MAPPED)
SCRIPT(clicks_numpy, SCRIPT_NUMPY)
SCRIPT(lines_torch, SCRIPT_LINES)

/* ---- lines of very different lengths, and samples that take very different times ---- */

enum weir_status prepare_uneven(void *state, struct weir_error *err)
{
    enum weir_status status = tabular_need(state, UNEVEN_DRAWN, err);
    return status == WEIR_OK ? tabular_need(state, UNEVEN_ALIKE, err) : status;
}

void slow_samples_allow(void)
{
    static const char PROGRAM[] = WEIR_SOURCE_DIR "/benchmarks/preprocess/slow_samples.py";
    WEIR_AUTO_FREE char *allowed =
        weir_format("{even: {command: [/usr/bin/python3, %s, even]},"
                    " uneven: {command: [/usr/bin/python3, %s, uneven]}}",
                    PROGRAM, PROGRAM);
    weir_require(setenv("WEIR_PROGRAMS", allowed, 1) == 0);
}

enum weir_status prepare_slow(void *state, struct weir_error *err)
{
    enum weir_status status = tabular_need(state, SLOW_UNEVEN, err);
    if (status == WEIR_OK)
        status = tabular_need(state, SLOW_ORDERED, err);
    return status == WEIR_OK ? tabular_need(state, SLOW_EVEN, err) : status;
}

enum weir_status clicks_exact(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, CLICKS_EXACT, ret_rate, err);
}

static int64_t cpu_of_both_ends(const struct preprocess_bench *bench)
{
    return rig_workers_cpu_ns(bench->rig, BENCH_WORKERS) + weir_cpu_ns();
}

enum weir_status clicks_by_cpu(void *state, double *ret_rate, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    int64_t before_ns = cpu_of_both_ends(bench);
    enum weir_status status = deliver(bench, CLICKS_EXACT, ret_rate, err);
    *ret_rate = (double)bench->tabular[CLICKS_EXACT].samples * 1e9 /
                (double)(cpu_of_both_ends(bench) - before_ns);
    return status;
}

enum weir_status clicks_a_cpu_second(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1e9 / CLICK_CPU_NS;
    return WEIR_OK;
}

enum weir_status clicks_at_most_once(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, CLICKS_AT_MOST_ONCE, ret_rate, err);
}

enum weir_status clicks_relaxed(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, CLICKS_RELAXED, ret_rate, err);
}

enum weir_status clicks_here(void *state, double *ret_rate, struct weir_error *err)
{
    return run_threads(&((struct preprocess_bench *)state)->tabular[CLICKS_EXACT], ret_rate, err);
}

enum weir_status lines_there(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, NGRAM_LINES, ret_rate, err);
}

enum weir_status uneven_drawn(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, UNEVEN_DRAWN, ret_rate, err);
}

enum weir_status uneven_alike(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, UNEVEN_ALIKE, ret_rate, err);
}

enum weir_status slow_uneven(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, SLOW_UNEVEN, ret_rate, err);
}

enum weir_status slow_ordered(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, SLOW_ORDERED, ret_rate, err);
}

enum weir_status slow_even(void *state, double *ret_rate, struct weir_error *err)
{
    return deliver(state, SLOW_EVEN, ret_rate, err);
}

enum weir_status filled_drawn(void *state, double *ret_rate, struct weir_error *err)
{
    return fill(state, UNEVEN_DRAWN, ret_rate, err);
}

enum weir_status filled_alike(void *state, double *ret_rate, struct weir_error *err)
{
    return fill(state, UNEVEN_ALIKE, ret_rate, err);
}
