/* ratio: dense f32 → the same and, behind them, quotients of its numbers: price by area, say. NaN makes NaN. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 1024 };

struct options {
    const char *on;
    const struct weir_yaml_node *pairs;
    const char *fill;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense"),
    CFG_NODE(struct options, pairs,
             .doc = "[[numerator, denominator], …]: numbers of the row, from 0; required"),
    CFG_TEXT(struct options, fill,
             .doc = "number for quotients by 0, or nan; without it their samples are failures"),
    CFG_END,
};

struct pair {
    uint32_t above, below;
};

struct state {
    size_t width, count;
    struct pair *pairs;
    struct number_fill fill;
};

static bool read_place(const struct weir_yaml_node *node, size_t width, uint32_t *ret_place)
{
    double place;
    const char *text = weir_yaml_text(node);
    if (text == NULL || !preprocess_number_read(weir_bytes_of(text), &place) || place < 0 ||
        place >= (double)width)
        return false;
    *ret_place = (uint32_t)place;
    return place == (double)*ret_place;
}

static enum weir_status read_pairs(struct state *state, const struct weir_yaml_node *pairs,
                                   struct weir_error *err)
{
    size_t count = pairs != NULL ? weir_yaml_length(pairs) : 0;
    if (count == 0 || count > PAIRS_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "pairs: found %zu, expected 1 to %d such as [[0, 1], [2, 1]]", count,
                         PAIRS_MAX);
    state->pairs = weir_calloc(count, sizeof(*state->pairs));
    for (size_t i = 0; i < count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(pairs, i);
        struct pair *pair = &state->pairs[state->count++];
        if (weir_yaml_length(node) != 2 ||
            !read_place(weir_yaml_at(node, 0), state->width, &pair->above) ||
            !read_place(weir_yaml_at(node, 1), state->width, &pair->below))
            return weir_yaml_fail(node, err,
                                  "pairs: expected [numerator, denominator], numbers from 0 to %zu",
                                  state->width - 1);
    }
    return WEIR_OK;
}

/* Names of the numbers that were there, and of the quotients: "a / b", if all that were there have names. */
static const char *const *name_elements(const struct state *state, const struct column_about *about,
                                        struct weir_arena *arena)
{
    size_t count = state->width + state->count;
    const char **elements = weir_arena_alloc(arena, count * sizeof(*elements));
    if (about->elements == NULL)
        return NULL;
    memcpy(elements, about->elements, state->width * sizeof(*elements));
    for (size_t i = 0; i < state->count; i++) {
        const char *above = elements[state->pairs[i].above],
                   *below = elements[state->pairs[i].below];
        if (above != NULL && below != NULL)
            elements[state->width + i] = weir_arena_format(arena, "%s / %s", above, below);
    }
    return elements;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_DENSE, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->type != WEIR_F32)
        return weir_fail(err, WEIR_INVALID, "column %s holds %s, expected f32: cast it first",
                         about->name, weir_dtype_name(about->type));
    state->width = about->width;
    status = read_pairs(state, options->pairs, err);
    if (status == WEIR_OK)
        status = preprocess_number_fill_option(options->fill, &state->fill, err);
    if (status == WEIR_OK && state->width + state->count > COLUMN_WIDTH_MAX)
        status = weir_fail(err, WEIR_LIMIT, "more than %d elements", COLUMN_WIDTH_MAX);
    if (status != WEIR_OK)
        return status;
    status = preprocess_operator_plan_output(ret_plan, about->name, COLUMN_DENSE, WEIR_F32,
                                             (uint32_t)(state->width + state->count), err);
    ret_plan->output[0].elements = name_elements(state, about, schema->arena);
    return status;
}

static void fini(void *owner)
{
    free(((struct state *)owner)->pairs);
}

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    const struct state *state = owner;
    const float *from = (const float *)(const void *)call->in->values.at + row * state->width;
    memcpy(to, from, state->width * sizeof(*to));
    for (size_t i = 0; i < state->count; i++) {
        const struct pair *pair = &state->pairs[i];
        if (from[pair->below] == 0 && !state->fill.is_given) {
            preprocess_operator_fail_row(
                call, row, "number %u is 0, expected one to divide by: fill takes it", pair->below);
            return;
        }
        to[state->width + i] =
            from[pair->below] == 0 ? state->fill.value : from[pair->above] / from[pair->below];
    }
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    preprocess_operator_read_numbers(owner, call, state->width + state->count, read_row);
}

const struct preprocess_operator preprocess_operator_ratio = {
    .name = "ratio",
    .summary = "quotients of numbers of a row, after them",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
