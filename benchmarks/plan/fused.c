/* See fused.h. */
#include "benchmarks/plan/fused.h"

enum { FIELDS = 4096, MEASURED_NS = 100000000 };

static const char *const CHAINS[FUSED_CASES] = {
    "[{op: record_fields, dense: [0, 4096, f32]}, {op: fill_missing, value: 0}, {op: clamp, min: 0.1, max: 0.9},"
    " {op: log1p}, {op: clamp, max: 0.5}]",
    "[{op: normalize_text, lower: false}, {op: lower_case}, {op: truncate, length: 1000},"
    " {op: tokenize_words}, {op: tokenize_hash, buckets: 1000}]",
    "[{op: decode_jpeg}, {op: random_resized_crop, size: 224}, {op: flip}, {op: normalize}, {op: to_chw}]",
};

static enum weir_status open_case(struct fused_of *of, const char *yaml, struct weir_error *err)
{
    enum weir_status status = weir_yaml_parse("fused", weir_bytes_of(yaml), &of->document, err);
    for (size_t i = 0; i < FUSED_SIDES && status == WEIR_OK; i++)
        status = preprocess_chain_new(weir_yaml_root(of->document), NULL, &of->chain[i], err);
    if (status == WEIR_OK)
        preprocess_chain_set_piece(of->chain[FUSED_BATCHES], SIZE_MAX);
    return status;
}

enum weir_status fused_open(struct fused *fused, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    rows_draw_numbers(&fused->of[FUSED_TABLE].rows, FIELDS);
    rows_draw_text(&fused->of[FUSED_TEXT].rows);
    rows_draw_pictures(&fused->of[FUSED_PICTURES].rows);
    for (size_t i = 0; i < FUSED_CASES && status == WEIR_OK; i++)
        status = open_case(&fused->of[i], CHAINS[i], err);
    return status;
}

void fused_close(struct fused *fused)
{
    for (size_t i = 0; i < FUSED_CASES; i++) {
        struct fused_of *of = &fused->of[i];
        for (size_t k = 0; k < FUSED_SIDES; k++)
            preprocess_chain_free(of->chain[k]);
        rows_fini(&of->rows);
        weir_yaml_free(of->document);
    }
}

double fused_rate(struct fused_of *of, enum fused_side side)
{
    return rows_rate(&of->rows, of->chain[side], MEASURED_NS);
}
