/* The plain way of erasing: a script that overwrites the lines it has the places of, syncs the file, deletes the rows,
 * and looks for the name in what is left. It knows no holders, no models, no death in the middle, and proves nothing
 * but that. */
#include "benchmarks/erasure/bench.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { SEARCH_BYTES = 1 << 20, NAME_BYTES_MAX = 64 };

/* The first half is subject 0's. */
static void put_row(const void *owner, size_t sample, struct table_row *ret_row)
{
    const struct erasure_bench *bench = owner;

    *ret_row = (struct table_row){
        .file = 1, .time_us = (int64_t)sample, .subject = sample < bench->lines / 2 ? 0 : sample};
}

enum weir_status prepare_plain(void *state, struct weir_error *err)
{
    struct erasure_bench *bench = state;
    const struct table_plan plan = {.name = "person",
                                    .count = bench->lines,
                                    .has_subject = true,
                                    .row = put_row,
                                    .owner = bench};

    return bench->table != NULL ? WEIR_OK
                                : table_open(rig_postgres(bench->rig), &plan, &bench->table, err);
}

/* ---- one run ---- */

static enum weir_status fail(const char *path, struct weir_error *err)
{
    return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
}

static bool overwrite_lines(int fd, size_t count)
{
    char blank[LINE_BYTES];

    memset(blank, ' ', sizeof(blank) - 1);
    blank[sizeof(blank) - 1] = '\n';
    for (size_t i = 0; i < count; i++) {
        if (pwrite(fd, blank, sizeof(blank), (off_t)(i * LINE_BYTES)) != (ssize_t)sizeof(blank))
            return false;
    }
    return fdatasync(fd) == 0;
}

/* True: the name still stands there. */
static bool search(int fd, const char *name, uint8_t *buffer)
{
    size_t size = strlen(name), kept = 0;
    uint64_t at = 0;
    ssize_t got;

    while ((got = weir_read_at(fd, buffer + kept, SEARCH_BYTES, at)) > 0) {
        if (memmem(buffer, kept + (size_t)got, name, size) != NULL)
            return true;
        at += (uint64_t)got;
        size_t end = kept + (size_t)got;
        kept = end < size ? end : size - 1;
        memmove(buffer, buffer + end - kept, kept);
    }
    return got < 0;
}

enum weir_status overwrite_half(void *state, double *ret_rate, struct weir_error *err)
{
    struct erasure_bench *bench = state;
    const struct people people = {.number = ++bench->datasets, .has_owner = true};
    WEIR_AUTO_FREE char *folder = NULL, *path = NULL;
    WEIR_AUTO_FREE char *name = weir_format("\"person-%" PRIu64 "-0\"", people.number);
    WEIR_AUTO_FREE uint8_t *buffer = weir_calloc(SEARCH_BYTES + NAME_BYTES_MAX, 1);
    enum weir_status status = people_write(bench, &people, &folder, err);

    if (status == WEIR_OK)
        status = table_clear(bench->table, err);
    if (status == WEIR_OK)
        status = table_copy(bench->table, err);
    if (status == WEIR_OK)
        status = table_settle(bench->table, err);
    if (status != WEIR_OK)
        return status;
    path = weir_format("%s/a.jsonl", folder);
    int64_t started = weir_now_ns();
    WEIR_AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || !overwrite_lines(fd, bench->lines / 2))
        return fail(path, err);
    status = table_execute(bench->table, "DELETE FROM bench.person WHERE subject = 0", err);
    if (status == WEIR_OK && search(fd, name, buffer))
        status = weir_fail(err, WEIR_INTERNAL, "%s: the name is still there", path);
    *ret_rate = (double)(bench->lines / 2) * 1e9 / (double)(weir_now_ns() - started);
    return status;
}
