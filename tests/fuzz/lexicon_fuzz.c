/* Vocabularies as strangers wrote them, and what they wrote it for: sealed, taken up, and used on texts. The first byte
 * chooses the operator; 0xff, which is in no text, ends each file; the rest is cut into rows at 0xfe. Whatever the
 * bytes: refused with a reason, or every number is that of a token. */
#include "preprocess/operators/chain.h"
#include "preprocess/operators/text/lexicon.h"
#include "tests/fuzz/mapped_file.h"

#include "core/base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_END = 0xff, ROW_END = 0xfe, ROWS_MAX = 64 };

static const struct {
    const char *op, *options, *behind;
    bool has_merges;
} CHAINS[] = {
    {"wordpiece", "begin: a, word_max: 9", "", false},
    {"wordpiece", "unknown: a, lower: false", ", {op: pack, length: 5}", false},
    {"bpe", "blank: false", "", true},
    {"bpe", "blank: true, end: a", ", {op: pad, length: 3}", true},
};

static struct weir_bytes take_until(struct weir_bytes *rest, uint8_t end)
{
    const uint8_t *found = rest->size > 0 ? memchr(rest->at, end, rest->size) : NULL;
    size_t size = found != NULL ? (size_t)(found - rest->at) : rest->size;
    struct weir_bytes part = weir_bytes(rest->at, size);
    size_t taken = found != NULL ? size + 1 : size;
    *rest = weir_bytes(rest->at + taken, rest->size - taken);
    return part;
}

static size_t fill(struct chain *chain, struct weir_bytes rest)
{
    struct column *payload = preprocess_chain_begin(chain);
    size_t rows = 0;
    for (; rest.size > 0 && rows < ROWS_MAX; rows++) {
        struct weir_bytes row = take_until(&rest, ROW_END);
        weir_buf_append(&payload->values, row.at, row.size);
        preprocess_column_end_row(payload);
    }
    return rows;
}

static void check_tokens(const struct column *out, size_t rows)
{
    const int32_t *numbers = (const int32_t *)(const void *)out->values.at;
    for (size_t i = 0; i < out->values.size / sizeof(*numbers); i++)
        weir_require(numbers[i] >= 0 && numbers[i] < LEXICON_TOKEN_MAX);
    if (out->about.kind == COLUMN_RAGGED)
        weir_require(out->offsets.size == (rows + 1) * sizeof(uint32_t) &&
                     out->values.size == column_offsets(out)[rows] * sizeof(*numbers));
}

static void run(struct chain *chain, struct weir_bytes texts)
{
    struct weir_error err;
    WEIR_AUTO_BUF sealed = {0};
    if (preprocess_chain_fit_finish(chain, &sealed, &err) != WEIR_OK) {
        weir_require(err.text[0] != '\0');
        return;
    }
    weir_require(preprocess_chain_fit_load(chain, weir_buf_view(&sealed), &err) == WEIR_OK);
    size_t rows = fill(chain, texts);
    if (rows == 0)
        return;
    (void)preprocess_chain_run(chain, &(struct operator_batch){.rows = rows});
    check_tokens(preprocess_chain_output(chain, 0), rows);
}

/* The first files of the input become those that the operators name. */
static void read_files(size_t choice, struct weir_bytes rest)
{
    struct weir_error err;
    struct mapped_file vocabulary, merges;
    bool has_merges = CHAINS[choice].has_merges;
    mapped_file_make(&vocabulary, take_until(&rest, FILE_END));
    mapped_file_make(&merges, has_merges ? take_until(&rest, FILE_END) : weir_bytes(NULL, 0));
    WEIR_AUTO_FREE char *operators =
        weir_format("[{op: %s, vocabulary: %s%s%s, %s}%s]", CHAINS[choice].op, vocabulary.path,
                    has_merges ? ", merges: " : "", has_merges ? merges.path : "",
                    CHAINS[choice].options, CHAINS[choice].behind);
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    weir_require(weir_yaml_parse("fuzz", weir_bytes_of(operators), &document, &err) == WEIR_OK);
    weir_require(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err) == WEIR_OK);
    run(chain, rest);
    mapped_file_remove(&vocabulary);
    mapped_file_remove(&merges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        read_files(data[0] % WEIR_COUNT(CHAINS), weir_bytes(data + 1, size - 1));
    return 0;
}
