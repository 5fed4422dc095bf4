/* Every operator there is. To add one: write operator_NAME.c and name it here. Nothing else. */
#include "preprocess/operators/operator.h"

// clang-format off
#define OPERATORS(X)                                            \
    X(normalize_text) X(tokenize_words) X(tokenize_hash)        \
    X(csv_fields) X(csv_text) X(csv_words)                      \
    X(json_fields) X(json_text) X(json_words) X(record_fields)  \
    X(standardize) X(cast) X(log1p) X(hash_mod)                 \
    X(filter) X(concat) X(clamp) X(fill_missing) X(sigrid_hash) \
    X(bucketize) X(first_x) X(one_hot) X(ngram) X(boxcox)       \
    X(wordpiece) X(bpe) X(pack) X(exec)                         \
    X(vocab) X(truncate) X(pad) X(bucket_by_length)             \
    X(decode_jpeg) X(random_resized_crop) X(resize)             \
    X(center_crop) X(flip) X(normalize) X(to_chw)               \
    X(decode_png) X(grayscale) X(color_jitter) X(blur)           \
    X(to_ragged) X(calendar) X(event_time) X(target_encode) \
    X(math) X(ratio) X(scale_label)                             \
    X(modulo) X(map_ids) X(cartesian) X(overlap) X(lower_case)
// clang-format on

#define X(name) extern const struct preprocess_operator preprocess_operator_##name;
OPERATORS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &preprocess_operator_##name.plugin,
    OPERATORS(X)
#undef X
};

const struct cfg_registry PREPROCESS_OPERATORS = {
    .what = "operator",
    .key = "op",
    .expected = "{op: NAME, …}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
