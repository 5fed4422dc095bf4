/* Runs operators over files, for tests in other languages: run_operators OPERATORS FILE… takes each file as a row,
 * run_operators --rows OPERATORS FILE the rows that the file holds (a u32, how many bytes, before each). What is
 * fitted, is fitted on these rows; --labels FILE before all names a file with an f64 for each. Writes one byte per
 * row (0: it passed, else why not: OPERATOR_ROW_…), then the rows of the first tensor end to end: with --rows of
 * those alone that passed. Ids of the samples are 0, 1, … They are trained on, or with --evaluate not. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
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

/* The words before the operators. */
struct words {
    bool holds_rows, evaluates;
    const char *labels; /* path; NULL: there are none */
};

static void run(struct test_chain *test, const struct rows *rows, const struct words *words)
{
    size_t count = rows->ends.size / sizeof(size_t), begin = 0;
    const size_t *ends = (const size_t *)(const void *)rows->ends.at;
    WEIR_AUTO_FREE struct weir_bytes *row = weir_calloc(count + 1, sizeof(*row));
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count + 1, sizeof(*ids));
    WEIR_AUTO_BUF labels = {0};
    for (size_t i = 0; i < count; begin = ends[i++]) {
        row[i] = weir_bytes(rows->bytes.at + begin, ends[i] - begin);
        ids[i] = i;
    }
    if (words->labels != NULL)
        load(words->labels, &labels);
    weir_require(labels.size == (words->labels != NULL ? count * sizeof(double) : 0));
    const struct operator_batch batch = {.rows = count,
                                         .ids = ids,
                                         .labels = (const int64_t *)(const void *)labels.at,
                                         .label_kind = WEIR_LABEL_FLOAT,
                                         .trains = !words->evaluates};
    if (preprocess_chain_wants_fit(test->chain))
        test_chain_fit_batch(test, row, &batch);
    test_chain_fill(test, row, count);
    test->failed = preprocess_chain_run(test->chain, &batch);
    fwrite(test->failed, 1, count, stdout);
    struct column *out = preprocess_chain_output(test->chain, 0);
    if (words->holds_rows)
        preprocess_column_drop_rows(out, count, test->failed);
    fwrite(out->values.at, 1, out->values.size, stdout);
}

/* Returns how many arguments they are. */
static int read_words(char **argv, struct words *ret_words)
{
    int at = 1;
    for (; argv[at] != NULL && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--labels") == 0)
            ret_words->labels = argv[++at];
        else
            *(strcmp(argv[at], "--rows") == 0 ? &ret_words->holds_rows : &ret_words->evaluates) =
                true;
    }
    return at;
}

int main(int argc, char **argv)
{
    struct test_chain test;
    struct rows rows = {0};
    struct words words = {0};
    int at = read_words(argv, &words);
    weir_require(argc > at + 1);
    for (int i = at + 1; i < argc; i++)
        (words.holds_rows ? add_rows_of : add_file)(&rows, argv[i]);
    test_chain_open(&test, argv[at]);
    run(&test, &rows, &words);
    test_chain_close(&test);
    weir_buf_fini(&rows.bytes);
    weir_buf_fini(&rows.ends);
    return fflush(stdout) != 0;
}
