/* See lookup.h. */
#include "benchmarks/reuse/lookup.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 1 << 20,
    SEGMENT_ROWS = 1 << 15, /* some 4 MiB, as workers write them */
    ROW_BYTES = 100,
    BATCH = 4096,
    BATCHES = 100,
    KEY = 3,
};

static enum weir_status write_segment(const struct lookup *lookup, uint64_t first,
                                      struct weir_error *err)
{
    static const uint8_t ROW[ROW_BYTES] = {WEIR_CACHE_PLAIN};
    WEIR_AUTO_FREE char *path =
        weir_format("%s/%016lx" WEIR_CACHE_SUFFIX, lookup->folder, first + 1);
    WEIR_AUTO_FREE struct weir_cache_row *rows = weir_calloc(SEGMENT_ROWS, sizeof(*rows));
    for (size_t i = 0; i < SEGMENT_ROWS; i++)
        rows[i] = (struct weir_cache_row){
            .id = lookup->ids[first + i], .key = KEY, .bytes = weir_bytes(ROW, sizeof(ROW))};
    return weir_cache_segment_write(path, 0, rows, SEGMENT_ROWS, WEIR_COMPRESSION_NONE, err);
}

static void shuffle(struct lookup *lookup, uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    for (size_t i = lookup->rows; i > 1; i--) {
        size_t other = weir_rng_below(&rng, i);
        uint64_t id = lookup->ids[i - 1];
        lookup->ids[i - 1] = lookup->ids[other];
        lookup->ids[other] = id;
    }
}

static bool is_nobody(const void *owner, uint64_t id)
{
    (void)owner;
    (void)id;
    return false;
}

static void begin(struct lookup *lookup, const char *directory, double scale)
{
    uint64_t rows = (uint64_t)(ROWS * scale) / SEGMENT_ROWS * SEGMENT_ROWS;
    lookup->rows = rows > SEGMENT_ROWS ? rows : SEGMENT_ROWS;
    lookup->folder = weir_format("%s/lookup", directory);
    lookup->ids = weir_calloc(lookup->rows, sizeof(*lookup->ids));
    for (uint64_t i = 0; i < lookup->rows; i++)
        lookup->ids[i] = 7 + 3 * i;
    shuffle(lookup, 1);
}

enum weir_status lookup_open(struct lookup *lookup, const char *directory, double scale,
                             struct weir_error *err)
{
    const struct kept_erased nobody = {.is_erased = is_nobody};
    if (lookup->folder != NULL)
        return WEIR_OK;
    begin(lookup, directory, scale);
    enum weir_status status = weir_make_directories(lookup->folder, 0700, err);
    for (uint64_t first = 0; status == WEIR_OK && first < lookup->rows; first += SEGMENT_ROWS)
        status = write_segment(lookup, first, err);
    if (status != WEIR_OK)
        return status;
    shuffle(lookup, 2);
    lookup->store.folder = weir_strdup(lookup->folder);
    preprocess_kept_store_scan(&lookup->store, &nobody);
    return WEIR_OK;
}

void lookup_close(struct lookup *lookup)
{
    preprocess_kept_store_fini(&lookup->store);
    free(lookup->folder);
    free(lookup->ids);
    *lookup = (struct lookup){0};
}

double lookup_rate(struct lookup *lookup)
{
    struct kept_place places[BATCH];
    int64_t begun_ns = weir_cpu_thread_ns();
    for (size_t batch = 0; batch < BATCHES; batch++) {
        preprocess_kept_store_find(&lookup->store, KEY, lookup->ids + lookup->next, BATCH, places);
        for (size_t i = 0; i < BATCH; i++)
            weir_require(places[i].segment != UINT32_MAX);
        lookup->next = (lookup->next + BATCH) % lookup->rows;
    }
    return BATCHES * (double)BATCH * 1e9 / (double)(weir_cpu_thread_ns() - begun_ns);
}
