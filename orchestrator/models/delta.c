/* Layout of a delta, and the threads that fill it. Nothing of a delta is believed before its two
 * checksums, and its sizes are checked even then. The base is not checked for itself: another one
 * gives another model, and that is noticed; so it is read once, while the pieces are put
 * together. */
#include "orchestrator/models/delta.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/model_file.h"
#include "orchestrator/models/planes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 64,
    SECTION_BYTES = 24,
    SUM_BYTES = 8,
    ENTRY_BYTES = MODEL_PLANES * sizeof(uint32_t),
    SECTIONS_MAX = 3, /* description, parameters, optimizer state */
    THREADS = 2,      /* the machine is there for training */
    ROUND = 8,        /* pieces in work at a time, while as many are written */
};
static const char MAGIC[8] = {'W', 'E', 'I', 'R', 'D', 'L', 'T', '1'};

/* ---- what is compared with what ---- */

struct section {
    struct weir_bytes model; /* of a reader: where it goes */
    struct weir_bytes base;
};

struct plan {
    struct section sections[SECTIONS_MAX];
    size_t count;
    size_t pieces;
};

static size_t pieces_of(size_t bytes)
{
    return (bytes + MODEL_BLOCK_BYTES - 1) / MODEL_BLOCK_BYTES;
}

static void plan_add(struct plan *plan, struct weir_bytes model, struct weir_bytes base)
{
    plan->sections[plan->count++] = (struct section){model, base};
    plan->pieces += pieces_of(model.size);
}

static struct weir_bytes cut(struct weir_bytes bytes, size_t from, size_t to)
{
    return from == to ? weir_bytes(NULL, 0) : weir_bytes(bytes.at + from, to - from);
}

static struct plan make_plan(struct weir_bytes model, struct weir_bytes base)
{
    struct plan plan = {.count = 0};
    struct weir_model_layout now, then;
    struct weir_error err;
    if (weir_model_file_layout(model, &now, &err) != WEIR_OK ||
        weir_model_file_layout(base, &then, &err) != WEIR_OK) {
        plan_add(&plan, model, base);
        return plan;
    }
    size_t now_end = now.state_at > 0 ? now.state_at : model.size;
    size_t then_end = then.state_at > 0 ? then.state_at : base.size;
    plan_add(&plan, cut(model, 0, now.parameters_at), cut(base, 0, then.parameters_at));
    plan_add(&plan, cut(model, now.parameters_at, now_end),
             cut(base, then.parameters_at, then_end));
    if (now.state_at > 0)
        plan_add(&plan, cut(model, now_end, model.size), cut(base, then_end, base.size));
    return plan;
}

/* Piece `index` of all sections in a row. */
static struct section piece_at(const struct plan *plan, size_t index)
{
    size_t s = 0;
    while (index >= pieces_of(plan->sections[s].model.size))
        index -= pieces_of(plan->sections[s++].model.size);
    struct section piece = plan->sections[s];
    struct weir_bytes *parts[] = {&piece.model, &piece.base};
    for (size_t p = 0; p < WEIR_COUNT(parts); p++) {
        size_t from = index * MODEL_BLOCK_BYTES;
        from = from < parts[p]->size ? from : parts[p]->size;
        size_t left = parts[p]->size - from;
        *parts[p] = weir_bytes(left > 0 ? parts[p]->at + from : NULL,
                               left < MODEL_BLOCK_BYTES ? left : MODEL_BLOCK_BYTES);
    }
    return piece;
}

/* ---- threads ---- */

/* Calls `work` once for each index below `count`; no two calls with the same `planes` overlap. */
struct thread_pool {
    void (*work)(void *owner, size_t index, struct model_planes *planes);
    void *owner;
    size_t count;
    struct hand {
        const struct thread_pool *pool;
        struct model_planes *planes;
        size_t first;
        pthread_t thread;
        bool is_thread;
    } hands[THREADS];
};

static void thread_pool_init(struct thread_pool *pool, void *owner)
{
    pool->owner = owner;
    for (size_t t = 0; t < THREADS; t++)
        pool->hands[t] =
            (struct hand){.pool = pool, .planes = orchestrator_model_planes_new(), .first = t};
}

static void thread_pool_fini(struct thread_pool *pool)
{
    for (size_t t = 0; t < THREADS; t++)
        orchestrator_model_planes_free(pool->hands[t].planes);
}

static void *lend(void *argument)
{
    const struct hand *hand = argument;
    for (size_t i = hand->first; i < hand->pool->count; i += THREADS)
        hand->pool->work(hand->pool->owner, i, hand->planes);
    return NULL;
}

static void thread_pool_start(struct thread_pool *pool, size_t count)
{
    pool->count = count;
    for (size_t t = 0; t < THREADS; t++) {
        struct hand *hand = &pool->hands[t];
        hand->is_thread = pthread_create(&hand->thread, NULL, lend, hand) == 0;
        if (!hand->is_thread)
            (void)lend(hand); /* no room for a thread now */
    }
}

static void thread_pool_join(struct thread_pool *pool)
{
    for (size_t t = 0; t < THREADS; t++)
        if (pool->hands[t].is_thread)
            weir_require(pthread_join(pool->hands[t].thread, NULL) == 0);
}

/* ---- writing ---- */

/* One round of pieces: made while the round before is written. */
struct round {
    size_t first, count;
    size_t sizes[ROUND];
    uint8_t *bytes; /* ROUND * MODEL_BLOCK_BYTES */
};

struct writer {
    const struct plan *plan;
    struct round rounds[2];
    struct round *making;
    uint32_t *table; /* MODEL_PLANES per piece */
    struct thread_pool pool;
    uint64_t written;
    int fd;
    const char *path;
    struct weir_digest model;
};

static enum weir_status put(struct writer *writer, const void *bytes, size_t size,
                            struct weir_error *err)
{
    writer->written += size;
    return weir_write_all(writer->fd, weir_bytes(bytes, size))
               ? WEIR_OK
               : weir_fail(err, WEIR_IO, "%s: cannot be written: %s", writer->path,
                           strerror(errno));
}

/* With the sum of it. */
static enum weir_status put_summed(struct writer *writer, struct weir_bytes bytes,
                                   struct weir_error *err)
{
    uint8_t sum[SUM_BYTES];
    weir_put_u64(sum, weir_hash64(bytes, 0));
    enum weir_status status = put(writer, bytes.at, bytes.size, err);
    return status == WEIR_OK ? put(writer, sum, sizeof(sum), err) : status;
}

static struct weir_digest put_digest(struct weir_buf *out, struct weir_bytes of)
{
    struct weir_digest digest = weir_digest_of(of);
    weir_buf_append(out, digest.bytes, sizeof(digest.bytes));
    return digest;
}

static enum weir_status put_front(struct writer *writer, struct weir_bytes model,
                                  struct weir_bytes base, struct weir_error *err)
{
    WEIR_AUTO_BUF front = {0};
    weir_buf_append(&front, MAGIC, sizeof(MAGIC));
    weir_buf_append_u64(&front, model.size);
    weir_buf_append_u64(&front, base.size);
    writer->model = put_digest(&front, model);
    put_digest(&front, base);
    weir_buf_append_u64(&front, writer->plan->count);
    for (size_t i = 0; i < writer->plan->count; i++) {
        const struct section *section = &writer->plan->sections[i];
        weir_buf_append_u64(&front, section->model.size);
        weir_buf_append_u64(&front,
                            section->base.size > 0 ? (uint64_t)(section->base.at - base.at) : 0);
        weir_buf_append_u64(&front, section->base.size);
    }
    return put_summed(writer, weir_buf_view(&front), err);
}

static void make_piece(void *owner, size_t index, struct model_planes *planes)
{
    struct writer *writer = owner;
    struct round *round = writer->making;
    struct section piece = piece_at(writer->plan, round->first + index);
    round->sizes[index] = orchestrator_model_planes_encode(
        planes, piece.model, piece.base, round->bytes + index * MODEL_BLOCK_BYTES,
        writer->table + (round->first + index) * MODEL_PLANES);
}

static void start_round(struct writer *writer, struct round *round, size_t first)
{
    size_t left = writer->plan->pieces - first;
    round->first = first;
    round->count = left < ROUND ? left : ROUND;
    writer->making = round;
    thread_pool_start(&writer->pool, round->count);
}

static enum weir_status put_round(struct writer *writer, const struct round *round,
                                  struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < round->count && status == WEIR_OK; i++)
        status = put(writer, round->bytes + i * MODEL_BLOCK_BYTES, round->sizes[i], err);
    return status;
}

static enum weir_status put_pieces(struct writer *writer, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    start_round(writer, &writer->rounds[0], 0);
    for (size_t r = 0, first = 0; first < writer->plan->pieces && status == WEIR_OK; r++) {
        const struct round *made = &writer->rounds[r % 2];
        thread_pool_join(&writer->pool);
        first = made->first + made->count;
        start_round(writer, &writer->rounds[(r + 1) % 2], first);
        status = put_round(writer, made, err);
    }
    thread_pool_join(&writer->pool);
    return status;
}

static enum weir_status put_all(struct writer *writer, struct weir_bytes model,
                                struct weir_bytes base, struct weir_error *err)
{
    enum weir_status status = put_front(writer, model, base, err);
    if (status == WEIR_OK)
        status = put_pieces(writer, err);
    if (status == WEIR_OK) {
        struct weir_bytes table = weir_bytes(writer->table, writer->plan->pieces * ENTRY_BYTES);
        status = put_summed(writer, table, err);
    }
    if (status == WEIR_OK && fsync(writer->fd) != 0) {
        return weir_fail(err, WEIR_IO, "%s: cannot be made durable: %s", writer->path,
                         strerror(errno));
    }
    return status;
}

static void writer_init(struct writer *writer, const struct plan *plan, const char *path)
{
    writer->plan = plan;
    writer->path = path;
    writer->table = weir_calloc(plan->pieces, ENTRY_BYTES);
    for (size_t r = 0; r < WEIR_COUNT(writer->rounds); r++)
        writer->rounds[r].bytes = weir_aligned_alloc((size_t)ROUND * MODEL_BLOCK_BYTES);
    writer->pool.work = make_piece;
    thread_pool_init(&writer->pool, writer);
}

static void writer_fini(struct writer *writer)
{
    thread_pool_fini(&writer->pool);
    for (size_t r = 0; r < WEIR_COUNT(writer->rounds); r++)
        free(writer->rounds[r].bytes);
    free(writer->table);
}

enum weir_status orchestrator_model_delta_write(const char *path, struct weir_bytes model,
                                                struct weir_bytes base,
                                                struct model_delta_written *ret_written,
                                                struct weir_error *err)
{
    struct plan plan = make_plan(model, base);
    WEIR_AUTO_FREE char *temporary = weir_format("%s.tmp", path);
    WEIR_AUTO_FD int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot be made: %s", temporary, strerror(errno));
    struct writer writer = {.fd = fd};
    writer_init(&writer, &plan, path);
    enum weir_status status = put_all(&writer, model, base, err);
    if (status == WEIR_OK && rename(temporary, path) != 0)
        status = weir_fail(err, WEIR_IO, "%s: cannot be put in place: %s", path, strerror(errno));
    if (status == WEIR_OK)
        *ret_written = (struct model_delta_written){writer.written, writer.model};
    else
        (void)unlink(temporary);
    writer_fini(&writer);
    return status == WEIR_OK ? weir_sync_parent(path, err) : status;
}

/* ---- applying ---- */

struct reader {
    struct plan plan;
    uint8_t *model;
    struct weir_bytes planes; /* of all pieces */
    struct weir_bytes table;
    size_t *offsets; /* of each piece, in `planes`, and the end */
    struct thread_pool pool;
    bool bad[THREADS]; /* one each: no two threads write the same */
};

static enum weir_status corrupt(struct weir_error *err, const char *what)
{
    return weir_fail(err, WEIR_CORRUPT, "delta: %s", what);
}

static bool digest_is(const uint8_t *expected, struct weir_bytes of)
{
    struct weir_digest digest = weir_digest_of(of);
    return memcmp(expected, digest.bytes, sizeof(digest.bytes)) == 0;
}

/* Files that are mapped are read ahead of the threads. */
static void announce(struct weir_bytes bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)bytes.at / page * page;
    (void)posix_madvise((void *)from, bytes.size + ((uintptr_t)bytes.at - from),
                        POSIX_MADV_WILLNEED);
}

static enum weir_status read_front(struct weir_bytes delta, struct weir_bytes base,
                                   size_t bytes_max, size_t *ret_sections, struct weir_error *err)
{
    if (delta.size < HEADER_BYTES || memcmp(delta.at, MAGIC, sizeof(MAGIC)) != 0)
        return corrupt(err, "expected it to begin with WEIRDLT1");
    uint64_t sections = weir_get_u64(delta.at + 56);
    size_t end = HEADER_BYTES + (size_t)(sections % (SECTIONS_MAX + 1)) * SECTION_BYTES;
    if (sections == 0 || sections > SECTIONS_MAX || delta.size < end + SUM_BYTES ||
        weir_get_u64(delta.at + end) != weir_hash64(weir_bytes(delta.at, end), 0))
        return corrupt(err, "the checksum of its header differs");
    if (weir_get_u64(delta.at + 8) > bytes_max) {
        return weir_fail(err, WEIR_LIMIT, "delta: a model of %llu bytes, expected at most %zu",
                         (unsigned long long)weir_get_u64(delta.at + 8), bytes_max);
    }
    if (weir_get_u64(delta.at + 16) != base.size)
        return corrupt(err, "it was made from another base");
    *ret_sections = (size_t)sections;
    return WEIR_OK;
}

static enum weir_status read_sections(struct reader *reader, struct weir_bytes delta,
                                      struct weir_bytes base, size_t sections,
                                      struct weir_error *err)
{
    uint64_t bytes = weir_get_u64(delta.at + 8), total = 0;
    for (size_t i = 0; i < sections; i++) {
        const uint8_t *at = delta.at + HEADER_BYTES + i * SECTION_BYTES;
        uint64_t size = weir_get_u64(at), from = weir_get_u64(at + 8),
                 there = weir_get_u64(at + 16);
        if (size > bytes - total || from > base.size || there > base.size - from)
            return corrupt(err, "its sections do not fit");
        plan_add(&reader->plan, weir_bytes(reader->model + total, size),
                 cut(base, from, from + there));
        total += size;
    }
    return total == bytes ? WEIR_OK : corrupt(err, "its sections are not the whole model");
}

static enum weir_status read_table(struct reader *reader, struct weir_bytes delta, size_t front,
                                   struct weir_error *err)
{
    size_t table = reader->plan.pieces * ENTRY_BYTES;
    if (delta.size - front < table + SUM_BYTES)
        return corrupt(err, "it is cut short");
    size_t at = delta.size - SUM_BYTES - table;
    reader->table = weir_bytes(delta.at + at, table);
    reader->planes = weir_bytes(delta.at + front, at - front);
    if (weir_get_u64(delta.at + at + table) != weir_hash64(reader->table, 0))
        return corrupt(err, "the checksum of its table differs");
    reader->offsets = weir_calloc(reader->plan.pieces + 1, sizeof(*reader->offsets));
    size_t offset = 0;
    for (size_t i = 0; i < reader->plan.pieces * MODEL_PLANES; i++) {
        reader->offsets[i / MODEL_PLANES] =
            i % MODEL_PLANES == 0 ? offset : reader->offsets[i / MODEL_PLANES];
        offset += weir_get_u32(reader->table.at + i * sizeof(uint32_t)) & ~MODEL_PLANE_PLAIN;
    }
    reader->offsets[reader->plan.pieces] = offset;
    return offset == reader->planes.size ? WEIR_OK : corrupt(err, "its table does not fit");
}

static void undo_piece(void *owner, size_t index, struct model_planes *planes)
{
    struct reader *reader = owner;
    struct section piece = piece_at(&reader->plan, index);
    uint32_t sizes[MODEL_PLANES];
    for (size_t p = 0; p < MODEL_PLANES; p++)
        sizes[p] = weir_get_u32(reader->table.at + (index * MODEL_PLANES + p) * sizeof(uint32_t));
    struct weir_bytes stored =
        cut(reader->planes, reader->offsets[index], reader->offsets[index + 1]);
    uint8_t *to = reader->model + (piece.model.at - reader->model);
    if (!orchestrator_model_planes_decode(planes, stored, sizes, piece.base, to, piece.model.size))
        reader->bad[index % THREADS] = true;
}

static enum weir_status undo(struct reader *reader, struct weir_error *err)
{
    reader->pool.work = undo_piece;
    thread_pool_init(&reader->pool, reader);
    thread_pool_start(&reader->pool, reader->plan.pieces);
    thread_pool_join(&reader->pool);
    thread_pool_fini(&reader->pool);
    for (size_t t = 0; t < THREADS; t++)
        if (reader->bad[t])
            return corrupt(err, "a plane cannot be expanded");
    return WEIR_OK;
}

enum weir_status orchestrator_model_delta_apply(struct weir_bytes delta, struct weir_bytes base,
                                                size_t bytes_max, struct weir_buf *out,
                                                struct weir_error *err)
{
    struct reader reader = {.offsets = NULL};
    size_t sections = 0;
    announce(delta);
    announce(base);
    enum weir_status status = read_front(delta, base, bytes_max, &sections, err);
    if (status != WEIR_OK)
        return status;
    size_t bytes = (size_t)weir_get_u64(delta.at + 8);
    weir_buf_reserve(out, bytes + 1); /* some, for a model of no bytes, too */
    reader.model = out->at + out->size;
    status = read_sections(&reader, delta, base, sections, err);
    if (status == WEIR_OK) {
        size_t front = HEADER_BYTES + sections * SECTION_BYTES + SUM_BYTES;
        status = read_table(&reader, delta, front, err);
    }
    if (status == WEIR_OK)
        status = undo(&reader, err);
    free(reader.offsets);
    if (status == WEIR_OK && !digest_is(delta.at + 24, weir_bytes(reader.model, bytes))) {
        status = corrupt(err, digest_is(delta.at + 40, base) ? "what comes out is not the model"
                                                             : "it was made from another base");
    }
    if (status == WEIR_OK)
        out->size += bytes;
    return status;
}
