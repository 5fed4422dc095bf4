/* A refused record of a file counts once, wherever storage dies while it reads the file. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/scanning/scan_state.h"
#include "tests/component/storage_inside.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { BROKEN = 250 }; /* lines: more than are listed one by one */
#define LONG_LINE_BYTES ((off_t)2 << 30)

static int begin(void **state)
{
    struct storage_inside *inside = calloc(1, sizeof(*inside));

    storage_inside_begin(inside);
    *state = inside;
    return 0;
}

/* A line that is too long, most of it a hole, between broken ones and a good one. */
static void make_file(struct storage_inside *inside)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/source/lines/a.jsonl", inside->dir.path);
    static const char LAST[] = "\n{\"ts\": 2}\n";
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_FD int fd = -1;

    weir_buf_append_text(&text, "{\"ts\": 1}\n");
    for (int i = 0; i < BROKEN; i++)
        weir_buf_append_text(&text, "broken\n");
    storage_inside_write(inside, "lines/a.jsonl", weir_buf_text(&text));
    fd = open(path, O_WRONLY);
    assert_true(pwrite(fd, LAST, sizeof(LAST) - 1, LONG_LINE_BYTES) > 0);
}

static void turn(struct storage_inside *inside, int64_t limit_ms)
{
    assert_true(weir_now_ms() < limit_ms);
    weir_loop_step(inside->loop, TEST_STEP_MS);
}

static void what_is_refused_counts_once_whatever_dies(void **state)
{
    struct storage_inside *inside = *state;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    const struct scan_tools *tools;
    struct dataset *dataset;
    struct weir_error err;

    WEIR_AUTO_FREE char *folder = weir_format("%s/source/lines", inside->dir.path);

    assert_int_equal(weir_make_directories(folder, 0700, &err), WEIR_OK);
    dataset = storage_inside_declare(
        inside, "  - {name: lines, time: {from: field, field: ts},\n"
                "     source: {path: %s/lines, format: jsonl, settle: 0ms}}\n");
    make_file(inside);
    while (dataset->scan == NULL || dataset->scan->job.passed == 0)
        turn(inside, limit_ms);
    tools = storage_scanner_tools(inside->storage->scanner);
    assert_int_equal(storage_scan_flush(dataset, tools, &err), WEIR_OK); /* as an erasure does */
    assert_int_equal(dataset->accounts.live, 1);
    assert_int_equal(dataset->accounts.quarantined, BROKEN);
    storage_close(inside->storage);
    storage_inside_open(inside);
    dataset = storage_catalog_find(inside->storage->store.catalog, "lines");
    while (dataset->accounts.live < 2)
        turn(inside, limit_ms);
    assert_int_equal(dataset->accounts.quarantined, BROKEN + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_refused_counts_once_whatever_dies, begin,
                                        storage_inside_teardown),
    };

    return cmocka_run_group_tests_name("what is refused", tests, NULL, NULL);
}
