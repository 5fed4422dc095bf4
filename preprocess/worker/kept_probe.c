/* See kept_probe.h. */
#include "preprocess/worker/kept_probe.h"

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/cache_segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PIECE = 256 << 10, /* bytes: a row that is no longer in the first caches */
    ROWS = 16,         /* of a batch */
    TIMES = 5,
    FOLDER_MODE = 0700
};

static double each(int64_t ns)
{
    return (double)ns / KEPT_PROBE_BYTES;
}

/* Numbers that no disk makes smaller. */
static uint8_t *random_bytes(void)
{
    struct weir_rng rng;
    uint8_t *bytes = weir_calloc(KEPT_PROBE_BYTES, 1);
    weir_rng_init(&rng, 1);
    for (size_t i = 0; i < KEPT_PROBE_BYTES; i += sizeof(uint64_t))
        weir_put_u64(bytes + i, weir_rng_next(&rng));
    return bytes;
}

/* Writes as rows are written: packed, gathered in memory that the last segment had, summed, and handed to the kernel
 * for an empty file. */
static bool write_pieces(int fd, uint8_t *bytes, double *ret_ns)
{
    WEIR_AUTO_BUF row = {0};
    WEIR_AUTO_BUF gathered = {0};
    uint64_t sum = 0;
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return false;
    memset(weir_buf_extend(&gathered, KEPT_PROBE_BYTES), 0, KEPT_PROBE_BYTES);
    weir_buf_clear(&gathered);
    int64_t begun_ns = weir_cpu_thread_ns();
    for (size_t at = 0; at < KEPT_PROBE_BYTES; at += PIECE) {
        weir_buf_clear(&row);
        weir_buf_append(&row, bytes + at, PIECE);
        weir_buf_append(&gathered, row.at, PIECE);
    }
    for (size_t at = 0; at < KEPT_PROBE_BYTES; at += PIECE) {
        struct weir_bytes piece = weir_bytes(gathered.at + at, PIECE);
        sum ^= weir_hash64(piece, 0);
        if (!weir_write_all(fd, piece))
            return false;
    }
    *ret_ns = each(weir_cpu_thread_ns() - begun_ns);
    return sum != 0;
}

/* A file that is mapped, and rows that are read of it. */
struct reading {
    int fd;
    const uint8_t *mapped;
    uint8_t *room; /* of the column of a batch */
    struct weir_rng rng;
};

/* Has every page looked at once: a page that is mapped but was never read costs the host of a virtual machine a fault,
 * which a segment that is read again and again has behind it. */
static uint64_t touch(const struct reading *reading)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < KEPT_PROBE_BYTES; at += PAGE)
        sum += reading->mapped[at];
    return sum;
}

static void draw(struct reading *reading, size_t ret_places[ROWS])
{
    for (size_t i = 0; i < ROWS; i++)
        ret_places[i] = weir_rng_below(&reading->rng, KEPT_PROBE_BYTES / PIECE) * PIECE;
}

/* Reads the rows of a batch as they are read there: summed, and copied to their column. Returns nanoseconds a byte. */
static double read_batch(const struct reading *reading, const size_t places[ROWS],
                         int64_t (*now_ns)(void))
{
    volatile uint64_t sum = 0;
    int64_t begun_ns = now_ns();
    for (size_t i = 0; i < ROWS; i++) {
        const uint8_t *row = reading->mapped + places[i];
        sum ^= weir_hash64(weir_bytes(row, PIECE), 0);
        memcpy(reading->room + i * PIECE, row, PIECE);
    }
    (void)sum;
    return (double)(now_ns() - begun_ns) / (ROWS * PIECE);
}

/* Nothing is waited for then but the processor, which operators are not charged for either. */
static bool read_from_cache(struct reading *reading, double *ret_ns)
{
    size_t places[ROWS];
    draw(reading, places);
    *ret_ns = read_batch(reading, places, weir_cpu_thread_ns);
    return true;
}

/* All rows of the batch are asked for before the first is waited for. */
static bool read_past_cache(struct reading *reading, double *ret_ns)
{
    size_t places[ROWS];
    uint8_t *mapped = (uint8_t *)(uintptr_t)reading->mapped;
    if (madvise(mapped, KEPT_PROBE_BYTES, MADV_DONTNEED) != 0 ||
        posix_fadvise(reading->fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        return false;
    draw(reading, places);
    int64_t begun_ns = weir_now_ns();
    for (size_t i = 0; i < ROWS; i++)
        (void)madvise(mapped + places[i], PIECE, MADV_WILLNEED);
    *ret_ns = (double)(weir_now_ns() - begun_ns) / (ROWS * PIECE) +
              read_batch(reading, places, weir_now_ns);
    return true;
}

typedef bool read_fn(struct reading *reading, double *ret_ns);

/* The best of several times: others may have had the processor meanwhile. */
static bool best_of(read_fn *read, struct reading *reading, double *ret_ns)
{
    double ns = 0;
    for (int i = 0; i < TIMES; i++) {
        if (!read(reading, &ns))
            return false;
        *ret_ns = i == 0 || ns < *ret_ns ? ns : *ret_ns;
    }
    return true;
}

static bool read_all(int fd, uint8_t *room, struct kept_speed *speed)
{
    struct reading reading = {.fd = fd, .room = room};
    void *mapped = mmap(NULL, KEPT_PROBE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return false;
    reading.mapped = mapped;
    weir_rng_init(&reading.rng, 1);
    bool is_good = madvise(mapped, KEPT_PROBE_BYTES, MADV_RANDOM) == 0 &&
                   best_of(read_past_cache, &reading, &speed->cold_ns) && touch(&reading) != 0 &&
                   best_of(read_from_cache, &reading, &speed->warm_ns);
    (void)munmap(mapped, KEPT_PROBE_BYTES);
    return is_good;
}

static bool measure(int fd, uint8_t *bytes, struct kept_speed *speed)
{
    double ns = 0;
    for (int i = 0; i < TIMES; i++) {
        if (!write_pieces(fd, bytes, &ns))
            return false;
        speed->write_ns = i == 0 || ns < speed->write_ns ? ns : speed->write_ns;
    }
    if (fdatasync(fd) != 0 || !read_all(fd, bytes, speed))
        return false;
    /* a disk in memory, or noise */
    if (speed->cold_ns < speed->warm_ns)
        speed->cold_ns = speed->warm_ns;
    return true;
}

bool preprocess_kept_measure(const char *folder, struct kept_speed *ret_speed)
{
    WEIR_AUTO_FREE char *path =
        weir_format("%s/probe-%016lx" WEIR_CACHE_DRAFT, folder, weir_random_u64());
    WEIR_AUTO_FREE uint8_t *bytes = random_bytes();
    WEIR_AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool is_good = measure(fd, bytes, ret_speed);
    (void)unlink(path);
    return is_good;
}

/* Returns the bytes of memory that the page cache may take on this host; 0: not known. */
static uint64_t memory_of_host(void)
{
    char line[128];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && kilobytes == 0 && fgets(line, sizeof(line), file) != NULL)
        (void)!sscanf(line, "MemAvailable: %lu kB", &kilobytes);
    if (file != NULL)
        (void)fclose(file);
    return (uint64_t)kilobytes * 1024;
}

/* ---- on a thread ---- */

static void run(struct weir_work *work, void *owner)
{
    struct kept_probe *probe = owner;
    struct weir_error err;
    (void)work;
    probe->is_good = weir_make_directories(probe->folder, FOLDER_MODE, &err) == WEIR_OK &&
                     preprocess_kept_measure(probe->folder, &probe->speed);
}

static void on_done(void *owner)
{
    struct kept_probe *probe = owner;
    probe->work = NULL;
    probe->is_done = true;
}

void preprocess_kept_probe_init(struct kept_probe *probe, struct weir_loop *loop,
                                const char *data_dir, uint64_t bytes_max)
{
    *probe = (struct kept_probe){.loop = loop,
                                 .folder = weir_format("%s/" WEIR_CACHE_FOLDER, data_dir),
                                 .bytes_max = bytes_max};
}

void preprocess_kept_probe_fini(struct kept_probe *probe)
{
    weir_work_stop(probe->work);
    free(probe->folder);
    *probe = (struct kept_probe){0};
}

void preprocess_kept_probe_begin(struct kept_probe *probe)
{
    struct weir_error err;
    if (probe->bytes_max == 0 || probe->is_done || probe->work != NULL)
        return;
    if (weir_work_start(probe->loop, run, on_done, probe, &probe->work, &err) != WEIR_OK)
        probe->work = NULL; /* no thread is to be had now */
}

void preprocess_kept_probe_tell(const struct kept_probe *probe, struct msg_worker_beat *beat)
{
    beat->keep_bytes = probe->is_done && !probe->is_good ? 0 : probe->bytes_max;
    if (!probe->is_done || !probe->is_good)
        return;
    beat->keep_write_ns = probe->speed.write_ns;
    beat->keep_warm_ns = probe->speed.warm_ns;
    beat->keep_cold_ns = probe->speed.cold_ns;
    beat->keep_memory = memory_of_host();
}
