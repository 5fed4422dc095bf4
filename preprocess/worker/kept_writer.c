/* Writing segments of the cache: see kept_writer.h. */
#include "preprocess/worker/kept_writer.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_MS = 200,
    SEGMENTS_PER_DOUBLING = 128,
    DOUBLINGS_MAX = 9, /* some 100 s */
    COMPLAIN_MS = 60 * 1000,
};

/* A row among those that were gathered. */
struct gathered {
    uint64_t id, key;
    size_t offset, size;
    uint64_t made_ns;
};

/* Rows end to end, as they lie in a segment. */
struct heap {
    struct weir_buf bytes;
    struct weir_buf rows; /* struct gathered */
};

struct kept_writer {
    struct weir_loop *loop;
    struct kept_folder folder;
    struct heap open, writing;
    size_t good_bytes, good_rows; /* of `open`: sizes of its buffers */
    int64_t since_ms;             /* the first of them came; 0: none has */
    struct weir_work *work;       /* NULL: nothing is being written */
    bool is_finished;             /* since the last step */
    /* Of the thread, while it runs: */
    uint64_t epoch;
    char *path;
    enum weir_status status;
    struct weir_error err;

    int64_t complain_ms;
};

static size_t rows_of(const struct heap *heap)
{
    return heap->rows.size / sizeof(struct gathered);
}

static void heap_fini(struct heap *heap)
{
    weir_buf_fini(&heap->bytes);
    weir_buf_fini(&heap->rows);
}

/* ---- room ---- */

/* A segment that nobody has used lately. */
struct candidate {
    char name[NAME_MAX + 1];
    uint64_t bytes;
    time_t unused_s;
};

/* The segments of a folder, as far as eviction goes: some of the candidates, each as likely. */
struct listed {
    uint64_t bytes;
    size_t candidates;
    struct candidate sampled[KEPT_SAMPLED];
};

static void add_candidate(struct listed *listed, const char *name, const struct stat *about,
                          time_t now)
{
    size_t place = listed->candidates++;
    if (place >= KEPT_SAMPLED)
        place = weir_random_u64() % listed->candidates;
    if (place >= KEPT_SAMPLED)
        return;
    struct candidate *candidate = &listed->sampled[place];
    candidate->bytes = (uint64_t)about->st_size;
    candidate->unused_s = now - about->st_mtime;
    memcpy(candidate->name, name, strlen(name) + 1);
}

static void list_entry(int folder, const char *name, time_t now, struct listed *listed)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode))
        return;
    bool is_unused = now - about.st_mtime > KEPT_UNUSED_S;
    if (!weir_cache_is_segment(name)) { /* a draft: its writer was killed, if it is old */
        if (is_unused)
            (void)unlinkat(folder, name, 0);
        return;
    }
    listed->bytes += (uint64_t)about.st_size;
    if (is_unused)
        add_candidate(listed, name, &about, now);
}

static void list(DIR *directory, struct listed *ret_listed)
{
    const struct dirent *entry;
    time_t now = time(NULL);
    ret_listed->bytes = ret_listed->candidates = 0;
    rewinddir(directory);
    while ((entry = readdir(directory)) != NULL)
        list_entry(dirfd(directory), entry->d_name, now, ret_listed);
}

/* Returns what a byte of it spares, of the time to make its rows again, by how long that was not wanted. A nanosecond
 * more tells those apart whose writer has not said what they took. */
static double worth(int folder, const struct candidate *candidate)
{
    double made_ns = 1 + (double)weir_cache_segment_made_ns(folder, candidate->name);
    return made_ns / (double)candidate->bytes / (double)candidate->unused_s;
}

/* Returns NULL where there is no candidate. */
static const struct candidate *least_worth(int folder, const struct listed *listed)
{
    const struct candidate *least = NULL;
    double least_worth = 0;
    for (size_t i = 0; i < listed->candidates && i < KEPT_SAMPLED; i++) {
        double here = worth(folder, &listed->sampled[i]);
        if (least != NULL && here >= least_worth)
            continue;
        least = &listed->sampled[i];
        least_worth = here;
    }
    return least;
}

static bool evict(DIR *directory, const struct kept_folder *folder, uint64_t bytes,
                  uint64_t *ret_evicted)
{
    WEIR_AUTO_FREE struct listed *listed = weir_calloc(1, sizeof(*listed));
    list(directory, listed);
    while (listed->bytes + bytes > folder->bytes_max) {
        const struct candidate *least = least_worth(dirfd(directory), listed);
        if (least == NULL || unlinkat(dirfd(directory), least->name, 0) != 0)
            return false;
        (*ret_evicted)++;
        list(directory, listed);
    }
    return true;
}

/* One worker at a time. */
bool preprocess_kept_make_room(const struct kept_folder *folder, uint64_t bytes,
                               uint64_t *ret_evicted)
{
    DIR *directory = opendir(folder->path);
    *ret_evicted = 0;
    if (directory == NULL)
        return false;
    bool has_room = bytes <= folder->bytes_max && flock(dirfd(directory), LOCK_EX) == 0 &&
                    evict(directory, folder, bytes, ret_evicted);
    (void)closedir(directory);
    return has_room;
}

/* ---- writing ---- */

static void write_segment(struct weir_work *work, void *owner)
{
    struct kept_writer *writer = owner;
    const struct heap *heap = &writer->writing;
    const struct gathered *gathered = (const struct gathered *)(const void *)heap->rows.at;
    size_t count = rows_of(heap);
    uint64_t evicted;
    (void)work;
    if (!preprocess_kept_make_room(&writer->folder, heap->bytes.size, &evicted)) {
        writer->status = weir_fail(&writer->err, WEIR_LIMIT, "no room in %s", writer->folder.path);
        return;
    }
    WEIR_AUTO_FREE struct weir_cache_row *rows = weir_calloc(count + 1, sizeof(*rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct weir_cache_row){
            .id = gathered[i].id,
            .key = gathered[i].key,
            .made_ns = gathered[i].made_ns,
            .bytes = weir_bytes(heap->bytes.at + gathered[i].offset, gathered[i].size)};
    writer->status = weir_cache_segment_write(writer->path, writer->epoch, rows, count,
                                              writer->folder.how, &writer->err);
}

static void end_writing(struct kept_writer *writer)
{
    writer->work = NULL;
    free(writer->path);
    writer->path = NULL;
    weir_buf_clear(&writer->writing.bytes);
    weir_buf_clear(&writer->writing.rows);
}

static void on_written(void *owner)
{
    struct kept_writer *writer = owner;
    int64_t now_ms = weir_loop_now_ms(writer->loop);
    end_writing(writer);
    writer->is_finished = writer->status == WEIR_OK;
    if (writer->status == WEIR_OK || now_ms < writer->complain_ms)
        return;
    writer->complain_ms = now_ms + COMPLAIN_MS;
    weir_log(WEIR_LOG_WARN, "rows are not kept", "reason=\"%s\"", writer->err.text);
}

/* Takes the rows that were gathered to be written next. */
static void take_gathered(struct kept_writer *writer, uint64_t epoch)
{
    struct heap empty = writer->writing;
    writer->writing = writer->open;
    writer->open = empty;
    writer->good_bytes = writer->good_rows = 0;
    writer->since_ms = 0;
    writer->epoch = epoch;
    writer->path =
        weir_format("%s/%016lx" WEIR_CACHE_SUFFIX, writer->folder.path, weir_random_u64());
}

static void begin_writing(struct kept_writer *writer, uint64_t epoch)
{
    struct weir_error err;
    take_gathered(writer, epoch);
    if (weir_work_start(writer->loop, write_segment, on_written, writer, &writer->work, &err) ==
        WEIR_OK)
        return;
    writer->status = WEIR_LIMIT;
    end_writing(writer);
}

static int64_t wait_ms(size_t segments)
{
    size_t doublings = segments / SEGMENTS_PER_DOUBLING;
    return (int64_t)WAIT_MS << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

bool preprocess_kept_writer_step(struct kept_writer *writer, size_t segments, uint64_t epoch,
                                 int64_t now_ms)
{
    bool is_finished = writer->is_finished;
    bool is_due = writer->open.bytes.size >= KEPT_SEGMENT_BYTES ||
                  now_ms - writer->since_ms >= wait_ms(segments);
    writer->is_finished = false;
    if (writer->work == NULL && writer->good_rows > 0 && is_due)
        begin_writing(writer, epoch);
    return is_finished;
}

/* ---- gathering ---- */

struct kept_writer *preprocess_kept_writer_new(struct weir_loop *loop, struct kept_folder folder)
{
    struct kept_writer *writer = weir_calloc(1, sizeof(*writer));
    writer->loop = loop;
    writer->folder = folder;
    return writer;
}

void preprocess_kept_writer_add(struct kept_writer *writer, uint64_t id, uint64_t key,
                                struct weir_bytes row)
{
    struct heap *open = &writer->open;
    struct gathered gathered = {
        .id = id, .key = key, .offset = open->bytes.size, .size = row.size + 1};
    if (row.size >= KEPT_GATHERED_BYTES_MAX - open->bytes.size ||
        rows_of(open) == WEIR_CACHE_ROWS_MAX)
        return;
    weir_buf_append(&open->bytes, &(uint8_t){WEIR_CACHE_PLAIN}, 1);
    weir_buf_append(&open->bytes, row.at, row.size);
    weir_buf_append(&open->rows, &gathered, sizeof(gathered));
}

/* Each row of a batch has taken as long as the others, as far as is known. */
static void charge(struct heap *open, size_t good_rows, int64_t made_ns)
{
    size_t count = (open->rows.size - good_rows) / sizeof(struct gathered);
    if (count == 0)
        return;
    struct gathered *rows = (struct gathered *)(void *)(open->rows.at + good_rows);
    for (size_t i = 0; i < count; i++)
        rows[i].made_ns = (uint64_t)made_ns / count;
}

void preprocess_kept_writer_settle(struct kept_writer *writer, bool are_good, int64_t made_ns)
{
    struct heap *open = &writer->open;
    if (!are_good) {
        open->bytes.size = writer->good_bytes;
        open->rows.size = writer->good_rows;
        return;
    }
    if (writer->since_ms == 0)
        writer->since_ms = weir_loop_now_ms(writer->loop);
    charge(open, writer->good_rows, made_ns);
    writer->good_bytes = open->bytes.size;
    writer->good_rows = open->rows.size;
}

void preprocess_kept_writer_flush(struct kept_writer *writer, uint64_t epoch)
{
    if (writer->work != NULL) {
        weir_work_stop(writer->work);
        end_writing(writer);
    }
    if (writer->good_rows == 0)
        return;
    take_gathered(writer, epoch);
    write_segment(NULL, writer);
    end_writing(writer);
}

void preprocess_kept_writer_drop(struct kept_writer *writer)
{
    if (writer->work != NULL) {
        weir_work_stop(writer->work);
        (void)unlink(writer->path); /* if it came so far */
        writer->status = WEIR_LIMIT;
        end_writing(writer);
    }
    heap_fini(&writer->open);
    heap_fini(&writer->writing);
    writer->good_bytes = writer->good_rows = 0;
    writer->since_ms = 0;
}

void preprocess_kept_writer_free(struct kept_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->work != NULL)
        weir_work_stop(writer->work);
    free(writer->path);
    heap_fini(&writer->open);
    heap_fini(&writer->writing);
    free(writer);
}
