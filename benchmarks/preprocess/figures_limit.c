/* What nobody can do faster on this machine: click records taken from mapped files where they are known to lie,
 * each number written once and read once, by a thread on each core. No order to work out, nobody to tell, no
 * other process, batches that never leave the cache. What a figure of preprocess.clicks may be is below it. */
#include "benchmarks/preprocess/bench.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BATCH = 4096, ROUNDS = 4, AHEAD = 16, LANES = BENCH_WORKERS };
enum { DENSE_AT = 4, DENSE_BYTES = 52, SPARSE_AT = 56, SPARSE_BYTES = 104, LINE_BYTES = 64 };

struct limit {
    uint8_t *mapped[CORPUS_FILES];
    size_t bytes[CORPUS_FILES];
    const uint8_t **records; /* of the set, shuffled */
    size_t count;
};

/* Every LANES-th batch. */
struct limit_lane {
    pthread_t thread;
    const struct limit *limit;
    size_t first;
    struct tally tally;
    uint8_t dense[BATCH * DENSE_BYTES], sparse[BATCH * SPARSE_BYTES];
};

static void take(struct limit_lane *lane, const uint8_t *const *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; i + AHEAD < count && at < CORPUS_RECORD_BYTES; at += LINE_BYTES)
            __builtin_prefetch(records[i + AHEAD] + at);
        memcpy(lane->dense + i * DENSE_BYTES, records[i] + DENSE_AT, DENSE_BYTES);
        memcpy(lane->sparse + i * SPARSE_BYTES, records[i] + SPARSE_AT, SPARSE_BYTES);
    }
    tally_begin(&lane->tally, 0, count);
    tally_bytes(&lane->tally, lane->dense, count * DENSE_BYTES);
    tally_bytes(&lane->tally, lane->sparse, count * SPARSE_BYTES);
    tally_end(&lane->tally);
}

static void *run_lane(void *argument)
{
    struct limit_lane *lane = argument;
    const struct limit *limit = lane->limit;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = lane->first * BATCH; i < limit->count; i += (size_t)LANES * BATCH)
            take(lane, limit->records + i, limit->count - i < BATCH ? limit->count - i : BATCH);
    }
    return NULL;
}

static enum weir_status map_files(const struct corpus *corpus, struct limit *limit,
                                  struct weir_error *err)
{
    for (size_t i = 0; i < corpus->samples; i++)
        limit->bytes[corpus->files[i]] = corpus->offsets[i] + corpus->lengths[i];
    for (size_t i = 0; i < CORPUS_FILES; i++) {
        limit->mapped[i] =
            mmap(NULL, limit->bytes[i], PROT_READ, MAP_SHARED | MAP_POPULATE, corpus->fds[i], 0);
        if (limit->mapped[i] == MAP_FAILED)
            return weir_fail(err, WEIR_IO, "records cannot be mapped: %s", strerror(errno));
    }
    return WEIR_OK;
}

static void shuffle(const struct corpus *corpus, struct limit *limit)
{
    struct weir_rng rng;
    weir_rng_init(&rng, WORKLOAD_SEED);
    for (size_t i = 0; i < limit->count; i++) {
        size_t sample = i * WORKLOAD_STRIDE, other = weir_rng_below(&rng, i + 1);
        limit->records[i] = limit->records[other];
        limit->records[other] = limit->mapped[corpus->files[sample]] + corpus->offsets[sample];
    }
}

enum weir_status prepare_limit(void *state, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    enum weir_status status = prepare_clicks_vectorised(state, err);
    if (status != WEIR_OK || bench->limit != NULL)
        return status;
    bench->limit = weir_calloc(1, sizeof *bench->limit);
    bench->limit->count = bench->corpora[CORPUS_CLICKS].samples / WORKLOAD_STRIDE;
    bench->limit->records = weir_calloc(bench->limit->count, sizeof *bench->limit->records);
    status = map_files(&bench->corpora[CORPUS_CLICKS], bench->limit, err);
    if (status == WEIR_OK)
        shuffle(&bench->corpora[CORPUS_CLICKS], bench->limit);
    return status;
}

void limit_fini(struct preprocess_bench *bench)
{
    struct limit *limit = bench->limit;
    for (size_t i = 0; limit != NULL && i < CORPUS_FILES; i++) {
        if (limit->mapped[i] != NULL && limit->mapped[i] != MAP_FAILED)
            munmap(limit->mapped[i], limit->bytes[i]);
    }
    if (limit != NULL)
        free(limit->records);
    free(limit);
}

enum weir_status clicks_limit(void *state, double *ret_rate, struct weir_error *err)
{
    const struct limit *limit = ((struct preprocess_bench *)state)->limit;
    WEIR_AUTO_FREE struct limit_lane *lanes = weir_calloc(LANES, sizeof *lanes);
    uint64_t samples = 0;
    int64_t started = weir_now_ns();
    for (size_t i = 0; i < LANES; i++) {
        lanes[i].limit = limit;
        lanes[i].first = i;
        weir_require(pthread_create(&lanes[i].thread, NULL, run_lane, &lanes[i]) == 0);
    }
    for (size_t i = 0; i < LANES; i++) {
        weir_require(pthread_join(lanes[i].thread, NULL) == 0);
        samples += lanes[i].tally.samples;
    }
    *ret_rate = (double)samples * 1e9 / (double)(weir_now_ns() - started);
    return samples == ROUNDS * limit->count
               ? WEIR_OK
               : weir_fail(err, WEIR_INTERNAL, "found %llu samples, expected %zu",
                           (unsigned long long)samples, ROUNDS * limit->count);
}
