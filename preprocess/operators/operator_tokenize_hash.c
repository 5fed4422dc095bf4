/* tokenize_hash: words → numbers of hashed n-grams, a ragged i32 tensor `tokens` (feature hashing,
 * Weinberger et al., ICML 2009). An n-gram's hash is made of its words' hashes, so that no text is
 * put together. Row: all 1-grams in order, then all 2-grams, … */
#include "preprocess/operators/operator.h"

#include "core/base/hash.h"
#include "core/base/rng.h"

#include <string.h>

enum { NGRAMS_MAX = 8, PIECE = 512 /* words that are hashed together */, PUT = 16 };

struct options {
    const char *on;
    uint64_t ngrams;
    uint64_t buckets;
    uint64_t seed;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of words"),
    CFG_U64(struct options, ngrams, .fallback = "1", .min = 1, .max = NGRAMS_MAX,
            .doc = "maximum number of words in a run that is hashed"),
    CFG_U64(struct options, buckets, .required = true, .min = 2, .max = 1 << 30,
            .doc = "numbers are in [0, buckets)"),
    CFG_U64(struct options, seed, .fallback = "0", .doc = "another seed, other collisions"),
    CFG_TEXT(struct options, as, .fallback = "tokens", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    uint64_t ngrams, buckets, seed;
    struct weir_buf words; /* u64 hash of each word of a piece, and NGRAMS_MAX more */
    struct weir_buf grams; /* u64 hash of each run of words, while it is made */
    /* (ngrams, words + PUT) i32: of the run of 1, 2, … words from each on */
    struct weir_buf numbers;
};

static enum weir_status plan(void *state, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *chosen = options;
    *(struct state *)state =
        (struct state){.ngrams = chosen->ngrams, .buckets = chosen->buckets, .seed = chosen->seed};
    enum weir_status status =
        preprocess_operator_plan_output(ret_plan, chosen->as, COLUMN_RAGGED, WEIR_I32, 0, err);
    if (status != WEIR_OK)
        return status;
    preprocess_column_bound(&ret_plan->output[0], chosen->buckets);
    return preprocess_operator_schema_pick(schema, chosen->on, 1u << COLUMN_TOKENS, &ret_plan->in,
                                           err);
}

static void fini(void *state)
{
    weir_buf_fini(&((struct state *)state)->words);
    weir_buf_fini(&((struct state *)state)->grams);
    weir_buf_fini(&((struct state *)state)->numbers);
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

/* Rows whose words are hashed together, also runs that begin in one row and end in another: these are not
 * taken, and cost less than to begin again with each row. */
struct piece {
    size_t first, end; /* rows */
    uint32_t base;     /* its first word */
    size_t words;
    size_t stride; /* from the numbers of runs of n words to those of n + 1 */
};

/* Rows from `first` on with PIECE words, or one row with more. */
static struct piece piece_at(const struct operator_call *call, size_t first)
{
    const uint32_t *offsets = column_offsets(call->in);
    size_t end = first + 1;
    while (end < call->rows && offsets[end + 1] - offsets[first] <= PIECE)
        end++;
    size_t words = offsets[end] - offsets[first];
    return (struct piece){first, end, offsets[first], words, words + PUT};
}

static void hash_words(struct state *state, const struct column *in, const struct piece *piece)
{
    const struct weir_span *spans = column_spans(in) + piece->base;
    weir_buf_clear(&state->words);
    weir_buf_reserve(&state->words, (piece->words + NGRAMS_MAX) * sizeof(uint64_t));
    uint64_t *hashes = (uint64_t *)(void *)state->words.at;
    weir_hash64_spans(in->values.at, spans, piece->words, state->seed, hashes);
    memset(hashes + piece->words, 0, NGRAMS_MAX * sizeof(uint64_t));
}

static void number_grams(struct state *state, const struct piece *piece)
{
    const uint64_t *words = (const uint64_t *)(const void *)state->words.at;
    weir_buf_clear(&state->grams);
    weir_buf_clear(&state->numbers);
    weir_buf_reserve(&state->grams, (piece->words + 1) * sizeof(uint64_t));
    weir_buf_reserve(&state->numbers, state->ngrams * piece->stride * sizeof(int32_t));
    uint64_t *grams = (uint64_t *)(void *)state->grams.at;
    int32_t *numbers = (int32_t *)(void *)state->numbers.at;
    for (size_t n = 1; n <= state->ngrams; n++, numbers += piece->stride) {
        hash_grams(words, n, piece->words, grams);
        put_grams(grams, piece->words, state->buckets, numbers);
        memset(numbers + piece->words, 0, PUT * sizeof(int32_t));
    }
}

/* PUT at a time, though fewer are wanted: what is too much is overwritten, or after the end. */
static int32_t *put(int32_t *to, const int32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i += PUT)
        memcpy(to + i, numbers + i, PUT * sizeof(int32_t));
    return to + count;
}

static void put_rows(const struct state *state, const struct operator_call *call,
                     const struct piece *piece)
{
    const uint32_t *offsets = column_offsets(call->in);
    struct column *out = &call->out[0];
    weir_buf_reserve(&out->values, (state->ngrams * piece->words + PUT) * sizeof(int32_t));
    weir_buf_reserve(&out->offsets, (piece->end - piece->first) * sizeof(uint32_t));
    int32_t *const all = (int32_t *)(void *)out->values.at;
    int32_t *to = all + out->values.size / sizeof(int32_t);
    uint32_t *ends = (uint32_t *)(void *)(out->offsets.at + out->offsets.size);
    for (size_t row = piece->first; row < piece->end; row++) {
        const int32_t *numbers =
            (const int32_t *)(const void *)state->numbers.at + (offsets[row] - piece->base);
        size_t words = offsets[row + 1] - offsets[row];
        for (size_t n = 1; n <= state->ngrams && n <= words; n++, numbers += piece->stride)
            to = put(to, numbers, words - n + 1);
        *ends++ = (uint32_t)(to - all);
    }
    out->values.size = (size_t)(to - all) * sizeof(int32_t);
    out->offsets.size += (piece->end - piece->first) * sizeof(uint32_t);
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    struct piece piece;
    for (size_t row = 0; row < call->rows; row = piece.end) {
        piece = piece_at(call, row);
        hash_words(state, call->in, &piece);
        number_grams(state, &piece);
        put_rows(state, call, &piece);
    }
}

const struct preprocess_operator preprocess_operator_tokenize_hash = {
    .name = "tokenize_hash",
    .summary = "words to hashed n-grams",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
