/* The limit of this machine: click records taken from mapped files at known places,
 * each number written once and read once, by a thread on each core. No order to work out, no messages, no
 * other process, batches that never leave the cache. A figure of preprocess.clicks lies below it. */
#include "benchmarks/preprocess/bench.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, ROUNDS = 4, AHEAD = 16, THREADS = BENCH_WORKERS };
enum { DENSE_AT = 4, DENSE_BYTES = 52, SPARSE_AT = 56, SPARSE_BYTES = 104, LINE_BYTES = 64 };

struct limit {
    const uint8_t **records; /* of the set, shuffled */
    size_t count;
};

/* Every THREADS-th batch. */
struct limit_thread {
    pthread_t thread;
    const struct limit *limit;
    size_t first;
    int64_t cpu_ns;
    struct tally tally;
    uint8_t dense[BATCH * DENSE_BYTES], sparse[BATCH * SPARSE_BYTES];
};

static void take(struct limit_thread *thread, const uint8_t *const *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; i + AHEAD < count && at < CORPUS_RECORD_BYTES; at += LINE_BYTES)
            __builtin_prefetch(records[i + AHEAD] + at);
        memcpy(thread->dense + i * DENSE_BYTES, records[i] + DENSE_AT, DENSE_BYTES);
        memcpy(thread->sparse + i * SPARSE_BYTES, records[i] + SPARSE_AT, SPARSE_BYTES);
    }
    tally_begin(&thread->tally, 0, count);
    tally_bytes(&thread->tally, thread->dense, count * DENSE_BYTES);
    tally_bytes(&thread->tally, thread->sparse, count * SPARSE_BYTES);
    tally_end(&thread->tally);
}

static void *run_thread(void *argument)
{
    struct limit_thread *thread = argument;
    const struct limit *limit = thread->limit;
    int64_t before_ns = weir_cpu_thread_ns();
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = thread->first * BATCH; i < limit->count; i += (size_t)THREADS * BATCH)
            take(thread, limit->records + i, limit->count - i < BATCH ? limit->count - i : BATCH);
    }
    thread->cpu_ns = weir_cpu_thread_ns() - before_ns;
    return NULL;
}

static void shuffle(const struct corpus *corpus, struct limit *limit)
{
    struct weir_rng rng;
    weir_rng_init(&rng, WORKLOAD_SEED);
    for (size_t i = 0; i < limit->count; i++) {
        size_t sample = i * WORKLOAD_STRIDE, other = weir_rng_below(&rng, i + 1);
        limit->records[i] = limit->records[other];
        limit->records[other] = corpus_sample(corpus, sample).at;
    }
}

enum weir_status prepare_gather(void *state, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    enum weir_status status = tabular_need(bench, CLICKS_EXACT, err);
    if (status != WEIR_OK || bench->limit != NULL)
        return status;
    bench->limit = weir_calloc(1, sizeof(*bench->limit));
    bench->limit->count = bench->corpora[CORPUS_CLICKS].samples / WORKLOAD_STRIDE;
    bench->limit->records = weir_calloc(bench->limit->count, sizeof(*bench->limit->records));
    shuffle(&bench->corpora[CORPUS_CLICKS], bench->limit);
    return WEIR_OK;
}

enum weir_status prepare_limit(void *state, struct weir_error *err)
{
    enum weir_status status = prepare_clicks_vectorised(state, err);
    return status == WEIR_OK ? prepare_gather(state, err) : status;
}

void limit_fini(struct preprocess_bench *bench)
{
    if (bench->limit != NULL)
        free(bench->limit->records);
    free(bench->limit);
}

/* Gathers on all threads; returns the CPU time of these together. */
static enum weir_status gather(const struct limit *limit, int64_t *ret_cpu_ns,
                               struct weir_error *err)
{
    WEIR_AUTO_FREE struct limit_thread *threads = weir_calloc(THREADS, sizeof(*threads));
    uint64_t samples = 0;
    *ret_cpu_ns = 0;
    for (size_t i = 0; i < THREADS; i++) {
        threads[i].limit = limit;
        threads[i].first = i;
        weir_require(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        weir_require(pthread_join(threads[i].thread, NULL) == 0);
        samples += threads[i].tally.samples;
        *ret_cpu_ns += threads[i].cpu_ns;
    }
    return samples == ROUNDS * limit->count
               ? WEIR_OK
               : weir_fail(err, WEIR_INTERNAL, "found %llu samples, expected %zu",
                           (unsigned long long)samples, ROUNDS * limit->count);
}

enum weir_status clicks_limit(void *state, double *ret_rate, struct weir_error *err)
{
    const struct limit *limit = ((struct preprocess_bench *)state)->limit;
    int64_t started = weir_now_ns(), cpu_ns;
    enum weir_status status = gather(limit, &cpu_ns, err);
    *ret_rate = (double)(ROUNDS * limit->count) * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status clicks_gather_by_cpu(void *state, double *ret_rate, struct weir_error *err)
{
    const struct limit *limit = ((struct preprocess_bench *)state)->limit;
    int64_t cpu_ns;
    enum weir_status status = gather(limit, &cpu_ns, err);
    *ret_rate = (double)(ROUNDS * limit->count) * 1e9 / (double)cpu_ns;
    return status;
}
