/* map_ids: integers → those that a table has for them. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 1 << 16 };

struct options {
    const char *on;
    struct cfg_texts from, to;
    const char *other;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of dense or ragged"),
    CFG_TEXTS(struct options, from, .required = true, .doc = "integers, each once"),
    CFG_TEXTS(struct options, to, .required = true, .doc = "as many, which take their places"),
    CFG_TEXT(struct options, other,
             .doc = "what takes the place of all others; without it they stay as they are"),
    CFG_END,
};

struct entry {
    int64_t from, to;
};

struct state {
    enum weir_dtype type;
    struct entry *entries; /* ascending */
    size_t count;
    bool has_other;
    int64_t other;
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

/* Reads an integer that the column, and a double, hold exactly. */
static enum weir_status read_id(enum weir_dtype type, const char *option, const char *text,
                                int64_t *ret_id, struct weir_error *err)
{
    union numeric number;
    double value;
    enum weir_status status = preprocess_numeric_read_option(type, option, text, &number, err);
    if (status != WEIR_OK)
        return status;
    if (!preprocess_number_read(weir_bytes_of(text), &value) || fabs(value) > 0x1p53)
        return weir_fail(err, WEIR_INVALID, "%s: found %s, expected at most 2^53", option, text);
    *ret_id = weir_element_get_integer(type, &number, 0);
    return WEIR_OK;
}

static enum weir_status read_entries(struct state *state, const struct options *options,
                                     struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    size_t count = options->from.count;
    if (count == 0 || count > ENTRIES_MAX || options->to.count != count)
        return weir_fail(err, WEIR_INVALID,
                         "found %zu in from and %zu in to, expected as many, 1 to %d", count,
                         options->to.count, ENTRIES_MAX);
    state->entries = weir_calloc(count, sizeof(*state->entries));
    state->count = count;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const char *from = weir_yaml_text(weir_yaml_at(options->from.node, i));
        const char *to = weir_yaml_text(weir_yaml_at(options->to.node, i));
        status =
            read_id(state->type, "from", from != NULL ? from : "", &state->entries[i].from, err);
        if (status == WEIR_OK)
            status = read_id(state->type, "to", to != NULL ? to : "", &state->entries[i].to, err);
    }
    qsort(state->entries, count, sizeof(*state->entries), compare);
    for (size_t i = 1; i < count && status == WEIR_OK; i++) {
        if (state->entries[i].from == state->entries[i - 1].from)
            status = weir_fail(err, WEIR_INVALID, "from: found %ld twice", state->entries[i].from);
    }
    return status;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick_numbers(
        schema, options->on, OPERATOR_INTEGERS, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    preprocess_column_bound(&ret_plan->output[0], 0);
    state->type = ret_plan->output[0].type;
    state->has_other = options->other != NULL;
    status = read_entries(state, options, err);
    if (status == WEIR_OK && state->has_other)
        status = read_id(state->type, "other", options->other, &state->other, err);
    return status;
}

static void fini(void *owner)
{
    free(((struct state *)owner)->entries);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    size_t unit = weir_dtype_bytes(state->type);
    struct column_elements made = preprocess_column_add_like(&call->out[0], call->in);
    for (size_t i = 0; i < made.count; i++) {
        const uint8_t *in = (const uint8_t *)made.from + i * unit;
        const struct entry key = {.from = weir_element_get_integer(state->type, in, 0)};
        const struct entry *found =
            bsearch(&key, state->entries, state->count, sizeof(key), compare);
        uint8_t *to = (uint8_t *)made.to + i * unit;
        if (found == NULL && !state->has_other)
            memcpy(to, in, unit); /* a double would not hold all of them */
        else
            weir_element_put(state->type, to, 0,
                             (double)(found != NULL ? found->to : state->other));
    }
}

const struct preprocess_operator preprocess_operator_map_ids = {
    .name = "map_ids",
    .summary = "integers to others, by a table",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
