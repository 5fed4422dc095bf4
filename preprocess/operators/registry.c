/* Every operator there is. To add one: write operator_NAME.c and name it here. Nothing else. */
#include "preprocess/operators/operator.h"

// clang-format off
#define OPERATORS(X)                                            \
    X(normalize_text) X(tokenize_words) X(tokenize_hash)        \
    X(csv_fields) X(csv_text) X(csv_words)                      \
    X(json_fields) X(json_text) X(record_fields)                \
    X(standardize) X(cast) X(log1p) X(hash_mod)                 \
    X(filter) X(concat) X(clamp) X(fill_missing) X(sigrid_hash) \
    X(bucketize) X(first_x) X(one_hot) X(ngram) X(boxcox)       \
    X(wordpiece) X(bpe) X(pack) X(exec)                         \
    X(vocab) X(truncate) X(pad) X(bucket_by_length)             \
    X(decode_jpeg) X(random_resized_crop) X(resize)             \
    X(center_crop) X(flip) X(normalize) X(to_chw)               \
    X(decode_png) X(grayscale) X(color_jitter) X(blur)           \
    X(to_ragged)
// clang-format on

#define X(name) extern const struct preprocess_operator operator_##name;
OPERATORS(X)
#undef X

static const struct preprocess_operator *const REGISTRY[] = {
#define X(name) &operator_##name,
    OPERATORS(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    OPERATORS(X)
#undef X
        NULL,
};

size_t operator_count(void)
{
    return WEIR_COUNT(REGISTRY);
}

const struct preprocess_operator *operator_at(size_t index)
{
    weir_require(index < WEIR_COUNT(REGISTRY));
    return REGISTRY[index];
}

const struct preprocess_operator *operator_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(REGISTRY); i++) {
        if (weir_str_equal(REGISTRY[i]->name, name))
            return REGISTRY[i];
    }
    return NULL;
}

const char *operator_nearest(const char *name)
{
    return cfg_nearest(name, NAMES);
}
