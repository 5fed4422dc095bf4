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

/* The segments of a folder, as far as eviction goes. */
struct listed {
    uint64_t bytes;
    char oldest[NAME_MAX + 1];
    time_t used;
};

static void list_entry(int folder, const char *name, time_t now, struct listed *listed)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode))
        return;
    if (!weir_cache_is_segment(name)) { /* a draft: its writer was killed, if it is old */
        if (now - about.st_mtime > KEPT_UNUSED_S)
            (void)unlinkat(folder, name, 0);
        return;
    }
    listed->bytes += (uint64_t)about.st_size;
    if (listed->oldest[0] != '\0' && about.st_mtime >= listed->used)
        return;
    listed->used = about.st_mtime;
    memcpy(listed->oldest, name, strlen(name) + 1);
}

static struct listed list(DIR *directory, time_t now)
{
    struct listed listed = {0};
    const struct dirent *entry;
    rewinddir(directory);
    while ((entry = readdir(directory)) != NULL)
        list_entry(dirfd(directory), entry->d_name, now, &listed);
    return listed;
}

static bool evict(DIR *directory, const struct kept_folder *folder, uint64_t bytes,
                  uint64_t *ret_evicted)
{
    time_t now = time(NULL);
    struct listed listed = list(directory, now);
    while (listed.bytes + bytes > folder->bytes_max) {
        if (listed.oldest[0] == '\0' || now - listed.used <= KEPT_UNUSED_S ||
            unlinkat(dirfd(directory), listed.oldest, 0) != 0)
            return false;
        (*ret_evicted)++;
        listed = list(directory, now);
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

void preprocess_kept_writer_settle(struct kept_writer *writer, bool are_good)
{
    struct heap *open = &writer->open;
    if (!are_good) {
        open->bytes.size = writer->good_bytes;
        open->rows.size = writer->good_rows;
        return;
    }
    if (writer->since_ms == 0)
        writer->since_ms = weir_loop_now_ms(writer->loop);
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
