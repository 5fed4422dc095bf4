/* overlap: two columns of ids, which stay → dense f32 `overlap`: how much they have in common. Ids may stand several
 * times; each has a score, 1 where none are given. What is measured is what torcharrow's functions of recommendation
 * models measure (functional: has_id_overlap, id_overlap_count, get_max_count, get_jaccard_similarity,
 * get_cosine_similarity, get_score_sum, _min, _max); what these divide by 0 is 0 here. */
#include "preprocess/operators/keys.h"
#include "preprocess/operators/numeric.h"

#include "core/base/heap.h"

#include <math.h>
#include <stdlib.h>

enum { SIDES = 2, MEASURES_MAX = 8 };

struct options {
    struct cfg_texts on, scores, measures;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct options, on, .required = true, .doc = "two columns of integers"),
    CFG_TEXTS(struct options, scores,
              .doc = "two columns of floats, as many a row as ids; by default each id scores 1"),
    CFG_TEXTS(
        struct options, measures, .required = true,
        .doc =
            "has (1 or 0), count (ids in common, each as often as in both), max_count (as often as in the "
            "one with more), jaccard, cosine (of summed scores), score_sum, score_min, score_max (of the "
            "second's scores of ids in common)"),
    CFG_TEXT(struct options, as, .fallback = "overlap", .doc = "name of the tensor"),
    CFG_END,
};

/* An id with its score, and an id with all of its scores. */
struct scored {
    int64_t id;
    double score;
};

struct summed {
    int64_t id;
    double count, sum, least, greatest;
};

/* The common ground of two lists. */
struct common {
    double ids[SIDES], squares[SIDES]; /* of each: how many, and of their sums of scores */
    double count, max_count, dot, score_sum, score_min, score_max;
};

static double ratio(double above, double below)
{
    return below > 0 ? above / below : 0;
}

// clang-format off
#define MEASURES(X)                                                                    \
    X(has, common->count > 0)                                                          \
    X(count, common->count)                                                            \
    X(max_count, common->max_count)                                                    \
    X(jaccard, ratio(common->count, common->ids[0] + common->ids[1] - common->count))  \
    X(cosine, ratio(common->dot, sqrt(common->squares[0]) * sqrt(common->squares[1]))) \
    X(score_sum, common->score_sum)                                                    \
    X(score_min, common->score_min)                                                    \
    X(score_max, common->score_max)
// clang-format on

typedef double measure(const struct common *common);
#define X(name, value)                                   \
    static double name##_of(const struct common *common) \
    {                                                    \
        return value;                                    \
    }
MEASURES(X)
#undef X

static const struct {
    const char *name;
    measure *of;
} ALL[] = {
#define X(name, value) {#name, name##_of},
    MEASURES(X)
#undef X
};

struct state {
    struct keys side[SIDES];
    enum weir_dtype score_type[SIDES];
    bool has_scores;
    measure *measures[MEASURES_MAX];
    size_t count;
    struct weir_buf heap[SIDES]; /* struct scored, the lowest id first */
    size_t left[SIDES];
};

/* ---- planning ---- */

static enum weir_status plan_measures(struct state *state, const struct cfg_texts *names,
                                      struct weir_error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(names->node, i);
        const char *name = weir_yaml_text(node);
        size_t k = 0;
        while (k < WEIR_COUNT(ALL) && !weir_str_equal(ALL[k].name, name))
            k++;
        if (k == WEIR_COUNT(ALL) || state->count == MEASURES_MAX)
            return weir_yaml_fail(node, err,
                                  "measures: found '%s', expected has, count, max_count, jaccard, "
                                  "cosine, score_sum, score_min or score_max, each once",
                                  name != NULL ? name : "");
        state->measures[state->count++] = ALL[k].of;
    }
    return WEIR_OK;
}

static enum weir_status plan_scores(struct state *state, const struct cfg_texts *names,
                                    const struct operator_schema *schema,
                                    struct operator_plan *plan, struct weir_error *err)
{
    state->has_scores = names->count > 0;
    if (state->has_scores && names->count != SIDES)
        return weir_fail(err, WEIR_INVALID, "scores: found %zu columns, expected %d, or none",
                         names->count, SIDES);
    for (size_t i = 0; i < names->count; i++) {
        int place;
        enum weir_status status = preprocess_operator_schema_pick_numbers(
            schema, weir_yaml_text(weir_yaml_at(names->node, i)), OPERATOR_FLOATS, &place, err);
        if (status != WEIR_OK)
            return status;
        state->score_type[i] = schema->column[place].type;
        plan->more[plan->more_count++] = place;
    }
    return WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    struct keys *keys[] = {&state->side[0], &state->side[1]};
    enum weir_status status = preprocess_keys_plan_both(&options->on, schema, keys, ret_plan, err);
    if (status == WEIR_OK)
        status = plan_scores(state, &options->scores, schema, ret_plan, err);
    if (status == WEIR_OK)
        status = plan_measures(state, &options->measures, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_plan_output(ret_plan, options->as, COLUMN_DENSE, WEIR_F32,
                                           (uint32_t)state->count, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    for (size_t side = 0; side < SIDES; side++)
        weir_buf_fini(&state->heap[side]);
}

/* ---- measuring ---- */

static bool is_before(const void *a, const void *b, const void *owner)
{
    const struct scored *one = a, *other = b;
    (void)owner;
    return one->id != other->id ? one->id < other->id : one->score < other->score;
}

static const struct weir_heap_order ORDER = {.element_bytes = sizeof(struct scored),
                                             .is_before = is_before};

static const struct column *column_of(const struct operator_call *call, size_t side)
{
    return side == 0 ? call->in : call->more[0];
}

/* Puts the ids of a row on the heap of its side. False when it has not as many scores. */
static bool gather(struct state *state, const struct operator_call *call, size_t side, size_t row)
{
    const struct column *in = column_of(call, side);
    struct keys_row ids = preprocess_keys_row(&state->side[side], in, row), scores = ids;
    const struct column *scored = state->has_scores ? call->more[1 + side] : NULL;
    if (scored != NULL) {
        const struct keys about = {.kind = scored->about.kind, .columns = scored->about.width};
        scores = preprocess_keys_row(&about, scored, row);
    }
    weir_buf_clear(&state->heap[side]);
    weir_buf_reserve(&state->heap[side], (ids.count + 1) * sizeof(struct scored));
    struct scored *heap = (struct scored *)(void *)state->heap[side].at;
    state->left[side] = ids.count;
    for (size_t i = 0; i < ids.count && scores.count == ids.count; i++) {
        double score = scored == NULL ? 1
                                      : weir_element_get(state->score_type[side], scored->values.at,
                                                         scores.first + i);
        heap[i].id = weir_element_get_integer(state->side[side].type, in->values.at, ids.first + i);
        heap[i].score = score;
        weir_heap_rise(&ORDER, heap, i, NULL);
    }
    return scores.count == ids.count;
}

/* Takes the lowest id off, with all of its scores. False when there is none left. */
static bool take(struct state *state, size_t side, struct summed *ret_summed)
{
    struct scored *heap = (struct scored *)(void *)state->heap[side].at;
    size_t *left = &state->left[side];
    if (*left == 0)
        return false;
    *ret_summed = (struct summed){.id = heap[0].id, .least = heap[0].score};
    while (*left > 0 && heap[0].id == ret_summed->id) { /* the lowest score first */
        ret_summed->count++;
        ret_summed->sum += heap[0].score;
        ret_summed->greatest = heap[0].score;
        heap[0] = heap[--*left];
        weir_heap_sink(&ORDER, heap, *left, 0, NULL);
    }
    return true;
}

static void add_common(struct common *common, const struct summed *one, const struct summed *other)
{
    bool is_first = common->count == 0;
    common->count += one->count < other->count ? one->count : other->count;
    common->max_count += one->count > other->count ? one->count : other->count;
    common->dot += one->sum * other->sum;
    common->score_sum += other->sum;
    if (is_first || other->least < common->score_min)
        common->score_min = other->least;
    if (is_first || other->greatest > common->score_max)
        common->score_max = other->greatest;
}

static bool take_counted(struct state *state, size_t side, struct common *common,
                         struct summed *ret_summed)
{
    if (!take(state, side, ret_summed))
        return false;
    common->ids[side] += ret_summed->count;
    common->squares[side] += ret_summed->sum * ret_summed->sum;
    return true;
}

static struct common compare(struct state *state)
{
    struct common common = {0};
    struct summed one, other;
    bool has_one = take_counted(state, 0, &common, &one);
    bool has_other = take_counted(state, 1, &common, &other);
    while (has_one || has_other) {
        bool is_one = has_one && (!has_other || one.id <= other.id);
        bool is_other = has_other && (!has_one || other.id <= one.id);
        if (is_one && is_other)
            add_common(&common, &one, &other);
        if (is_one)
            has_one = take_counted(state, 0, &common, &one);
        if (is_other)
            has_other = take_counted(state, 1, &common, &other);
    }
    return common;
}

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    struct state *state = owner;
    if (!gather(state, call, 0, row) || !gather(state, call, 1, row)) {
        preprocess_operator_fail_row(
            call, row, "found other numbers of ids and scores, expected a score for each id");
        return;
    }
    struct common common = compare(state);
    for (size_t i = 0; i < state->count; i++)
        to[i] = (float)state->measures[i](&common);
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_numbers(owner, call, ((const struct state *)owner)->count, read_row);
}

const struct preprocess_operator preprocess_operator_overlap = {
    .name = "overlap",
    .summary = "what two columns of ids have in common: counts, Jaccard, cosine, scores",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
