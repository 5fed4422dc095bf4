/* Runs operators over files, for tests in other languages: run_operators OPERATORS FILE… takes each file as a row,
 * run_operators --rows OPERATORS FILE the rows that the file holds (a u32, how many bytes, before each). What is
 * fitted, is fitted on these rows. Writes one byte per row (0: it passed, else why not: OPERATOR_ROW_…), then the rows
 * of the first tensor end to end: with --rows of those alone that passed. Ids of the samples are 0, 1, … */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/chain.h"

#include <string.h>

enum { FILE_BYTES_MAX = 1 << 26 };

/* The bytes of all rows, and where each ends. */
struct rows {
    struct weir_buf bytes, ends;
};

static void load(const char *path, struct weir_buf *out)
{
    struct weir_error err;
    enum weir_status status = weir_file_read(path, FILE_BYTES_MAX, out, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "%s\n", err.text);
    weir_require(status == WEIR_OK);
}

static void add_row(struct rows *rows, struct weir_bytes row)
{
    weir_buf_append(&rows->bytes, row.at, row.size);
    weir_buf_append(&rows->ends, &rows->bytes.size, sizeof(rows->bytes.size));
}

static void add_rows_of(struct rows *rows, const char *path)
{
    WEIR_AUTO_BUF file = {0};
    load(path, &file);
    for (size_t at = 0; at < file.size;) {
        uint32_t size;
        weir_require(file.size - at >= sizeof(size));
        memcpy(&size, file.at + at, sizeof(size));
        at += sizeof(size);
        weir_require(size <= file.size - at);
        add_row(rows, weir_bytes(file.at + at, size));
        at += size;
    }
}

static void add_file(struct rows *rows, const char *path)
{
    WEIR_AUTO_BUF file = {0};
    load(path, &file);
    add_row(rows, weir_buf_view(&file));
}

static void run(struct test_chain *test, const struct rows *rows, bool drop)
{
    size_t count = rows->ends.size / sizeof(size_t), begin = 0;
    const size_t *ends = (const size_t *)(const void *)rows->ends.at;
    WEIR_AUTO_FREE struct weir_bytes *row = weir_calloc(count + 1, sizeof(*row));
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count + 1, sizeof(*ids));
    for (size_t i = 0; i < count; begin = ends[i++]) {
        row[i] = weir_bytes(rows->bytes.at + begin, ends[i] - begin);
        ids[i] = i;
    }
    if (preprocess_chain_wants_fit(test->chain))
        test_chain_fit(test, row, count);
    test_chain_fill(test, row, count);
    const struct operator_batch batch = {.rows = count, .ids = ids, .trains = true};
    test->failed = preprocess_chain_run(test->chain, &batch);
    fwrite(test->failed, 1, count, stdout);
    struct column *out = preprocess_chain_output(test->chain, 0);
    if (drop)
        preprocess_column_drop_rows(out, count, test->failed);
    fwrite(out->values.at, 1, out->values.size, stdout);
}

int main(int argc, char **argv)
{
    struct test_chain test;
    struct rows rows = {0};
    bool holds_rows = argc > 1 && strcmp(argv[1], "--rows") == 0;
    weir_require(argc > 2 + holds_rows);
    for (int i = 2 + holds_rows; i < argc; i++)
        (holds_rows ? add_rows_of : add_file)(&rows, argv[i]);
    test_chain_open(&test, argv[1 + holds_rows]);
    run(&test, &rows, holds_rows);
    test_chain_close(&test);
    weir_buf_fini(&rows.bytes);
    weir_buf_fini(&rows.ends);
    return fflush(stdout) != 0;
}
