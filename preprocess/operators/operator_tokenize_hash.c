/* tokenize_hash: words → numbers of hashed n-grams, a ragged i32 tensor `tokens` (feature hashing,
 * Weinberger et al., ICML 2009). An n-gram's hash is made of its words' hashes, so that no text is
 * put together. Row: all 1-grams in order, then all 2-grams, … */
#include "preprocess/operators/operator.h"

#include "core/base/hash.h"
#include "core/base/rng.h"

enum { NGRAMS_MAX = 8 };

struct options {
    const char *on;
    uint64_t ngrams;
    uint64_t buckets;
    uint64_t seed;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of words"),
    CFG_U64(struct options, ngrams, .fallback = "1", .min = 1, .max = NGRAMS_MAX,
            .doc = "runs of up to so many words are hashed"),
    CFG_U64(struct options, buckets, .required = true, .min = 2, .max = 1 << 30,
            .doc = "numbers are in [0, buckets)"),
    CFG_U64(struct options, seed, .fallback = "0", .doc = "another seed, other collisions"),
    CFG_END,
};

struct state {
    uint64_t ngrams, buckets, seed;
    struct weir_buf words; /* u64 hash of each word of the row */
    struct weir_buf grams; /* u64 hash of each run of words, while it is made */
};

static enum weir_status plan(void *state, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *chosen = options;
    *(struct state *)state =
        (struct state){.ngrams = chosen->ngrams, .buckets = chosen->buckets, .seed = chosen->seed};
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("tokens", COLUMN_RAGGED, WEIR_I32, 0);
    return operator_schema_pick(schema, chosen->on, 1u << COLUMN_TOKENS, &ret_plan->in, err);
}

static void fini(void *state)
{
    weir_buf_fini(&((struct state *)state)->words);
    weir_buf_fini(&((struct state *)state)->grams);
}

static const uint64_t *hash_words(struct state *state, const struct column *in, size_t row)
{
    const uint32_t *offsets = column_offsets(in);
    const struct column_span *spans = column_spans(in);
    weir_buf_clear(&state->words);
    weir_buf_reserve(&state->words, (offsets[row + 1] - offsets[row]) * sizeof(uint64_t));
    uint64_t *hashes = (uint64_t *)(void *)state->words.at;
    for (uint32_t i = offsets[row]; i < offsets[row + 1]; i++)
        *hashes++ =
            weir_hash64(weir_bytes(in->values.at + spans[i].start, spans[i].size), state->seed);
    return (const uint64_t *)(const void *)state->words.at;
}

/* Maps a hash to [0, buckets) by its high bits. */
static int32_t bucket_of(uint64_t hash, uint64_t buckets)
{
    return (int32_t)((hash >> 32) * buckets >> 32);
}

/* Each run of n words; word after word for all of them, so that the loops become vectors. */
WEIR_CLONES
static void hash_grams(const uint64_t *words, size_t n, size_t count, uint64_t *restrict grams)
{
    for (size_t i = 0; i < count; i++)
        grams[i] = words[i];
    for (size_t k = 1; k < n; k++) {
        for (size_t i = 0; i < count; i++)
            grams[i] = weir_mix64(grams[i] + n) ^ words[i + k];
    }
}

WEIR_CLONES
static void put_grams(const uint64_t *restrict grams, size_t count, uint64_t buckets,
                      int32_t *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = bucket_of(weir_mix64(grams[i]), buckets);
}

static void hash_row(struct state *state, const uint64_t *words, size_t count, struct column *out)
{
    weir_buf_clear(&state->grams);
    weir_buf_reserve(&state->grams, count * sizeof(uint64_t));
    uint64_t *hashes = (uint64_t *)(void *)state->grams.at;
    for (size_t n = 1; n <= state->ngrams && n <= count; n++) {
        size_t grams = count - n + 1;
        weir_buf_reserve(&out->values, grams * sizeof(int32_t));
        hash_grams(words, n, grams, hashes);
        put_grams(hashes, grams, state->buckets,
                  (int32_t *)(void *)(out->values.at + out->values.size));
        out->values.size += grams * sizeof(int32_t);
    }
}

static void apply(void *state, struct operator_call *call)
{
    const uint32_t *offsets = column_offsets(call->in);
    for (size_t i = 0; i < call->rows; i++) {
        const uint64_t *words = hash_words(state, call->in, i);
        hash_row(state, words, offsets[i + 1] - offsets[i], &call->out[0]);
        column_end_row(&call->out[0]);
    }
}

const struct preprocess_operator operator_tokenize_hash = {
    .name = "tokenize_hash",
    .summary = "words to hashed n-grams",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
