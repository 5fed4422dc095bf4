/* Makes up samples: every byte of sample i follows from i. */
#include "benchmarks/storage/source.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUBJECT_AT = 8,
    NOISE_AT = 16,
    SAMPLES_PER_SUBJECT = 10,
    WRITE_BYTES = 4 << 20,
    FOLDER_FILES = 1000,
    PATH_CHARS = 512,
};

static const int64_t DAY_US = INT64_C(86400000000);
static const int64_t FIRST_DAY_US = INT64_C(1767225600000000); /* 2026-01-01 */

/* A file being written. */
struct sink {
    char path[PATH_CHARS];
    int fd;
    struct weir_buf bytes;
    uint64_t written; /* to all files */
};

static enum weir_status flush(struct sink *sink, struct weir_error *err)
{
    for (size_t at = 0; at < sink->bytes.size;) {
        ssize_t done = write(sink->fd, sink->bytes.at + at, sink->bytes.size - at);
        if (done < 0)
            return weir_fail(err, WEIR_IO, "%s: %s", sink->path, strerror(errno));
        at += (size_t)done;
    }
    sink->written += sink->bytes.size;
    weir_buf_clear(&sink->bytes);
    return WEIR_OK;
}

static enum weir_status open_sink(struct sink *sink, struct weir_error *err)
{
    sink->fd = open(sink->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return sink->fd < 0 ? weir_fail(err, WEIR_IO, "%s: %s", sink->path, strerror(errno)) : WEIR_OK;
}

static enum weir_status close_sink(struct sink *sink, struct weir_error *err)
{
    enum weir_status status = flush(sink, err);
    close(sink->fd);
    return status;
}

static void begin(struct source *source, const char *directory, size_t samples, source_row_fn *row)
{
    *source = (struct source){.directory = weir_strdup(directory), .samples = samples, .row = row};
}

static int32_t label_of(size_t i)
{
    return (int32_t)(weir_mix64(i) & 1);
}

/* ---- records ---- */

/* Samples of a file; the last one has the rest. */
static size_t file_of(const struct source *source, size_t i)
{
    size_t each = source->samples / SOURCE_RECORD_FILES + 1;
    return i / each;
}

uint64_t source_subject(const struct source *source, size_t i)
{
    return weir_mix64(i ^ UINT64_C(0x5a5a5a5a)) % (source->samples / SAMPLES_PER_SUBJECT + 1);
}

static void record_row(const void *owner, size_t i, struct table_row *ret_row)
{
    const struct source *source = owner;
    size_t file = file_of(source, i);
    *ret_row = (struct table_row){.file = (int32_t)file,
                                  .label = label_of(i),
                                  .time_us = FIRST_DAY_US + (int64_t)file * DAY_US,
                                  .subject = source_subject(source, i)};
}

static void append_record(const struct source *source, size_t i, struct weir_buf *out)
{
    uint8_t record[SOURCE_RECORD_BYTES] = {0};
    weir_put_u32(record, (uint32_t)label_of(i));
    weir_put_u64(record + SUBJECT_AT, source_subject(source, i));
    for (size_t at = NOISE_AT; at < sizeof(record); at += 8)
        weir_put_u64(record + at, weir_mix64(i * sizeof(record) + at));
    weir_buf_append(out, record, sizeof(record));
}

enum weir_status source_make_records(const char *directory, size_t samples,
                                     struct source *ret_source, struct weir_error *err)
{
    struct sink sink = {.fd = -1};
    size_t i = 0;
    begin(ret_source, directory, samples, record_row);
    enum weir_status status = weir_make_directories(directory, 0755, err);
    for (size_t file = 0; status == WEIR_OK && file < SOURCE_RECORD_FILES; file++) {
        snprintf(sink.path, sizeof(sink.path), "%s/day_2026-01-%02zu", directory, file + 1);
        status = open_sink(&sink, err);
        for (; status == WEIR_OK && i < samples && file_of(ret_source, i) == file; i++) {
            append_record(ret_source, i, &sink.bytes);
            if (sink.bytes.size >= WRITE_BYTES)
                status = flush(&sink, err);
        }
        if (status == WEIR_OK)
            status = close_sink(&sink, err);
    }
    ret_source->bytes = sink.written;
    weir_buf_fini(&sink.bytes);
    return status;
}

/* ---- rows ---- */

/* Mostly ascending, as logs are, and never twice the same distance. */
static int64_t second_of(size_t i)
{
    return FIRST_DAY_US / 1000000 + (int64_t)i + (int64_t)(weir_mix64(i) % 5);
}

static void csv_row(const void *owner, size_t i, struct table_row *ret_row)
{
    (void)owner;
    *ret_row = (struct table_row){.label = label_of(i), .time_us = second_of(i) * INT64_C(1000000)};
}

enum weir_status source_make_rows(const char *directory, size_t samples, struct source *ret_source,
                                  struct weir_error *err)
{
    struct sink sink = {.fd = -1};
    begin(ret_source, directory, samples, csv_row);
    snprintf(sink.path, sizeof(sink.path), "%s/rows.csv", directory);
    enum weir_status status = weir_make_directories(directory, 0755, err);
    if (status == WEIR_OK)
        status = open_sink(&sink, err);
    weir_buf_append_text(&sink.bytes, "time,label,a,b,c\n");
    for (size_t i = 0; status == WEIR_OK && i < samples; i++) {
        uint64_t noise = weir_mix64(i);
        weir_buf_printf(&sink.bytes, "%lld,%d,%llu,0.%06llu,%llu\n", (long long)second_of(i),
                        label_of(i), (unsigned long long)(noise >> 40),
                        (unsigned long long)(noise % 1000000),
                        (unsigned long long)(noise % 1000000007));
        if (sink.bytes.size >= WRITE_BYTES)
            status = flush(&sink, err);
    }
    if (status == WEIR_OK)
        status = close_sink(&sink, err);
    ret_source->bytes = sink.written;
    weir_buf_fini(&sink.bytes);
    return status;
}

/* ---- pictures ---- */

static enum weir_status make_picture(const char *directory, size_t i, struct sink *sink,
                                     struct weir_error *err)
{
    snprintf(sink->path, sizeof(sink->path), "%s/%03zu", directory, i / FOLDER_FILES);
    enum weir_status status =
        i % FOLDER_FILES == 0 ? weir_make_directories(sink->path, 0755, err) : WEIR_OK;
    snprintf(sink->path, sizeof(sink->path), "%s/%03zu/%03zu.jpg", directory, i / FOLDER_FILES,
             i % FOLDER_FILES);
    if (status == WEIR_OK)
        status = open_sink(sink, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_reserve(&sink->bytes, SOURCE_PICTURE_BYTES);
    for (size_t at = 0; at < SOURCE_PICTURE_BYTES; at += 8)
        weir_put_u64(sink->bytes.at + at, weir_mix64(i * SOURCE_PICTURE_BYTES + at));
    sink->bytes.size = SOURCE_PICTURE_BYTES;
    return close_sink(sink, err);
}

enum weir_status source_make_pictures(const char *directory, size_t samples,
                                      struct source *ret_source, struct weir_error *err)
{
    struct sink sink = {.fd = -1};
    begin(ret_source, directory, samples, NULL);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < samples; i++)
        status = make_picture(directory, i, &sink, err);
    ret_source->bytes = sink.written;
    weir_buf_fini(&sink.bytes);
    return status;
}

void source_fini(struct source *source)
{
    free(source->directory);
    *source = (struct source){0};
}
