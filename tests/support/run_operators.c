/* Runs operators over files, for tests in other languages: run_operators OPERATORS FILE… writes one byte
 * per file (0: it has a row, 1: it failed), then the rows of the first tensor end to end. Ids of the samples are
 * 0, 1, … */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/chain.h"

enum { FILE_BYTES_MAX = 1 << 24 };

static struct weir_bytes load(const char *path, struct weir_buf *out)
{
    struct weir_error err;
    enum weir_status status = weir_file_read(path, FILE_BYTES_MAX, out, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "%s\n", err.text);
    weir_require(status == WEIR_OK);
    return weir_buf_view(out);
}

int main(int argc, char **argv)
{
    struct test_chain test;
    weir_require(argc > 2);
    test_chain_open(&test, argv[1]);
    struct column *payload = chain_begin(test.chain);
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc((size_t)argc, sizeof(*ids));
    for (int i = 2; i < argc; i++) {
        WEIR_AUTO_BUF file = {0};
        struct weir_bytes bytes = load(argv[i], &file);
        weir_buf_append(&payload->values, bytes.at, bytes.size);
        column_end_row(payload);
        ids[i - 2] = (uint64_t)i - 2;
    }
    const struct operator_batch batch = {.rows = (size_t)argc - 2, .ids = ids, .trains = true};
    test.failed = chain_run(test.chain, &batch);
    const struct weir_buf *values = &chain_output(test.chain, 0)->values;
    fwrite(test.failed, 1, batch.rows, stdout);
    fwrite(values->at, 1, values->size, stdout);
    test_chain_close(&test);
    return fflush(stdout) != 0;
}
