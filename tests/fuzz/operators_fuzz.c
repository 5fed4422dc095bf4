/* Operators over hostile samples, and fitted state and partial fits from hostile peers. The first
 * byte chooses a chain; the rest is cut into rows at 0xfe. Whatever the bytes: no crash, one row out
 * per row in, and what is called text is UTF-8 to the next operator. */
#include "core/base/hash.h"
#include "preprocess/operators/chain.h"
#include "preprocess/plan/fit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 64 };

static const char *const CHAINS[] = {
    "[{op: normalize_text}, {op: tokenize_words, max_tokens: 50, marks: true}, "
    "{op: tokenize_hash, ngrams: 3, buckets: 97}]",
    "[{op: csv_fields, fields: [0, 2, 0]}, {op: log1p}]",
    "[{op: csv_fields, fields: [1], delimiter: \"\\\\t\", fill: 1}, {op: cast, to: u8}]",
    "[{op: json_fields, fields: [a, b.c]}, {op: cast, to: i64}, {op: hash_mod, buckets: 7}]",
    "[{op: json_text, field: a, optional: true}, {op: tokenize_words}, "
    "{op: tokenize_hash, buckets: 9}]",
    "[{op: json_words, fields: [a, b.c]}, {op: tokenize_hash, buckets: 9}]",
    "[{op: record_fields, dense: [1, 2, f32], sparse: [0, 1, u8]}]",
    "[{op: json_fields, fields: [a], fill: 0}, {op: standardize}]",
    "[{op: normalize_text}, {op: tokenize_words}, {op: vocab, size: 9}]",
    "[{op: normalize_text}, {op: truncate, length: 7, keep: last}, {op: tokenize_words}, "
    "{op: truncate, length: 3}, {op: tokenize_hash, buckets: 9}, {op: pad, length: 4}]",
    "[{op: record_fields, sparse: [0, 2, i32]}, {op: vocab}, {op: one_hot, classes: 3}]",
    "[{op: record_fields, dense: [0, 3, f32], sparse: [2, 3, i64]}, "
    "{op: bucketize, on: dense, borders: [0, 0, 1]}, {op: cast, to: i64, on: dense}, "
    "{op: concat, on: [sparse, dense]}, {op: filter, max: 1e9}, {op: ngram, buckets: 5}]",
    "[{op: record_fields, dense: [0, 3, f32]}, {op: fill_missing, missing: 7}, {op: boxcox}, "
    "{op: clamp, min: -5, max: 5}, {op: first_x, count: 2}, {op: log1p}]",
    "[{op: normalize_text}, {op: tokenize_words}, {op: bucket_by_length}, "
    "{op: tokenize_hash, buckets: 9}]",
    "[{op: tokenize_words}, {op: tokenize_hash, ngrams: 8, buckets: 2}, {op: pack, length: 3}]",
    "[{op: calendar, zone: America/New_York, unit: excel, fields: [holiday, year], cyclic: [hour], "
    "one_hot: [day_of_year], holidays: [02-29]}]",
    "[{op: csv_words, fields: [0, 2], keep_empty: true}, {op: target_encode, folds: 2, size: 3}]",
    "[{op: record_fields, dense: [0, 2, i32], sparse: [1, 3, i64]}, "
    "{op: overlap, on: [dense, sparse], measures: [cosine, score_min]}, "
    "{op: cartesian, on: [sparse, dense], buckets: 7}, {op: modulo, on: sparse, by: 3}, "
    "{op: map_ids, on: sparse, from: [1, 2], to: [2, 0]}]",
};

static struct chain *open_chain(const char *text, struct weir_yaml **ret_document)
{
    struct weir_error err;
    struct chain *chain = NULL;
    weir_require(weir_yaml_parse("fuzz", weir_bytes_of(text), ret_document, &err) == WEIR_OK);
    weir_require(preprocess_chain_new(weir_yaml_root(*ret_document), NULL, &chain, &err) ==
                 WEIR_OK);
    return chain;
}

/* Returns how many rows. */
static size_t fill(struct chain *chain, struct weir_bytes rest)
{
    struct column *payload = preprocess_chain_begin(chain);
    size_t rows = 0;
    for (size_t i = 0; i < rest.size && rows < ROWS_MAX; i++) {
        if (rest.at[i] == 0xfe) {
            preprocess_column_end_row(payload);
            rows++;
        } else {
            weir_buf_append(&payload->values, &rest.at[i], 1);
        }
    }
    if (rows == ROWS_MAX)
        return rows;
    preprocess_column_end_row(payload);
    return rows + 1;
}

static void check_outputs(struct chain *chain, size_t rows)
{
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++) {
        struct column *out = preprocess_chain_output(chain, i);
        size_t unit = weir_dtype_bytes(out->about.type);
        if (out->about.kind == COLUMN_DENSE)
            weir_require(out->values.size == rows * out->about.width * unit);
        else
            weir_require(out->offsets.size == (rows + 1) * sizeof(uint32_t) &&
                         out->values.size == column_offsets(out)[rows] * unit);
    }
}

/* Fitted state as it comes, and under a seal that is right, which nobody would guess: refused, or taken up. */
static void check_state(struct chain *chain, struct weir_bytes rest)
{
    struct weir_error err;
    WEIR_AUTO_BUF sealed = {0};
    weir_ignore(preprocess_chain_fit_load(chain, rest, &err));
    if (rest.size < WEIR_DIGEST_BYTES)
        return;
    weir_buf_append(&sealed, rest.at, rest.size - WEIR_DIGEST_BYTES);
    struct weir_digest seal = weir_digest_of(weir_buf_view(&sealed));
    weir_buf_append(&sealed, seal.bytes, sizeof(seal.bytes));
    weir_ignore(preprocess_chain_fit_load(chain, weir_buf_view(&sealed), &err));
    weir_ignore(preprocess_chain_fit_extend(chain, weir_buf_view(&sealed), &err));
}

static void check_fits(struct chain *chain, struct weir_bytes rest)
{
    struct weir_error err;
    struct preprocess_fit fit;
    check_state(chain, rest);
    for (size_t left = rest.size; preprocess_fit_take(&rest, &fit); left = rest.size) {
        weir_require(rest.size < left);
        if (preprocess_chain_fit_merge(chain, fit.partial, &err) != WEIR_OK)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct weir_bytes rest = weir_bytes(data + 1, size - 1);
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = open_chain(CHAINS[data[0] % WEIR_COUNT(CHAINS)], &document);
    size_t rows = fill(chain, rest);
    const struct operator_batch batch = {.rows = rows, .trains = true};
    if (preprocess_chain_wants_fit(chain)) {
        struct chain_partial partial = {0};
        preprocess_chain_fold(chain, &batch, &partial);
        preprocess_chain_partial_fini(&partial);
        check_fits(chain, rest);
        return 0;
    }
    const uint8_t *failed = preprocess_chain_run(chain, &batch);
    check_outputs(chain, rows);
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++)
        preprocess_column_drop_rows(preprocess_chain_output(chain, i), rows, failed);
    return 0;
}
