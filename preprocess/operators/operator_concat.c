/* concat: several tensors of one type → one, row by row end to end in the order they are named. */
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <string.h>

struct options {
    struct cfg_texts on;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct options, on, .required = true,
              .doc = "columns, all dense or all ragged, of one element type"),
    CFG_TEXT(struct options, as, .doc = "name of the tensor; by default that of the first"),
    CFG_END,
};

/* Takes up column `index` of the list; `sum` is what the former ones make. */
static enum weir_status plan_column(const struct cfg_texts *names, size_t index,
                                    const struct operator_schema *schema,
                                    struct operator_plan *plan, struct weir_error *err)
{
    const char *name = weir_yaml_text(weir_yaml_at(names->node, index));
    struct column_about *sum = &plan->output[0];
    int place;
    enum weir_status status =
        preprocess_operator_schema_pick_numbers(schema, name, OPERATOR_NUMBERS, &place, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[place];
    for (size_t i = 0; i < index; i++) {
        if (place == (i == 0 ? plan->in : plan->more[i - 1]))
            return weir_fail(err, WEIR_INVALID, "column %s is named twice", about->name);
    }
    if (index == 0) {
        plan->in = place;
        *sum = preprocess_column_about(about->name, about->kind, about->type, about->width);
        return WEIR_OK;
    }
    plan->more[plan->more_count++] = place;
    if (about->kind != sum->kind || about->type != sum->type)
        return weir_fail(err, WEIR_INVALID, "column %s is %s %s and %s is %s %s, expected the same",
                         sum->name, preprocess_column_kind_name(sum->kind),
                         weir_dtype_name(sum->type), about->name,
                         preprocess_column_kind_name(about->kind), weir_dtype_name(about->type));
    sum->width += about->width;
    return sum->width <= COLUMN_WIDTH_MAX
               ? WEIR_OK
               : weir_fail(err, WEIR_LIMIT, "more than %d elements", COLUMN_WIDTH_MAX);
}

/* Names of the numbers of all columns, one after the other; a column of one number is named itself. */
static const char *const *join_elements(const struct operator_schema *schema,
                                        const struct operator_plan *plan)
{
    const char **elements =
        weir_arena_alloc(schema->arena, plan->output[0].width * sizeof(*elements));
    size_t at = 0;
    for (size_t k = 0; k <= plan->more_count; k++) {
        const struct column_about *about = &schema->column[k == 0 ? plan->in : plan->more[k - 1]];
        for (size_t i = 0; i < about->width; i++)
            elements[at++] = about->elements != NULL ? about->elements[i]
                             : about->width == 1     ? about->name
                                                     : NULL;
    }
    return elements;
}

static enum weir_status plan(void *state, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)state;
    const struct options *options = given;
    size_t count = options->on.count;
    enum weir_status status = preprocess_operator_schema_check_name(options->as, err);
    if (status != WEIR_OK)
        return status;
    if (count < 2 || count > schema->count)
        return weir_fail(err, WEIR_INVALID, "on: found %zu columns, expected 2 to %zu", count,
                         schema->count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = plan_column(&options->on, i, schema, ret_plan, err);
    ret_plan->outputs = 1;
    if (status == WEIR_OK && options->as != NULL)
        ret_plan->output[0] =
            preprocess_column_about(options->as, ret_plan->output[0].kind, ret_plan->output[0].type,
                                    ret_plan->output[0].width);
    if (status == WEIR_OK && ret_plan->output[0].kind == COLUMN_DENSE &&
        ret_plan->output[0].width <= COLUMN_ELEMENTS_MAX)
        ret_plan->output[0].elements = join_elements(schema, ret_plan);
    return status;
}

static struct weir_bytes row_of(const struct column *column, size_t row)
{
    size_t unit = weir_dtype_bytes(column->about.type);
    if (column->about.kind == COLUMN_DENSE)
        return weir_bytes(column->values.at + row * column->about.width * unit,
                          column->about.width * unit);
    const uint32_t *offsets = column_offsets(column);
    return weir_bytes(column->values.at + offsets[row] * unit,
                      (offsets[row + 1] - offsets[row]) * unit);
}

static uint8_t *copy_row(uint8_t *to, const struct column *column, size_t row)
{
    struct weir_bytes bytes = row_of(column, row);
    if (bytes.size > 0)
        memcpy(to, bytes.at, bytes.size);
    return to + bytes.size;
}

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    struct column *out = &call->out[0];
    size_t bytes = call->in->values.size;
    for (size_t k = 0; k < call->more_count; k++)
        bytes += call->more[k]->values.size;
    weir_buf_reserve(&out->values, bytes);
    for (size_t i = 0; i < call->rows; i++) {
        uint8_t *to = copy_row(out->values.at + out->values.size, call->in, i);
        for (size_t k = 0; k < call->more_count; k++)
            to = copy_row(to, call->more[k], i);
        out->values.size = (size_t)(to - out->values.at);
        if (out->about.kind == COLUMN_RAGGED)
            preprocess_column_end_row(out);
    }
}

const struct preprocess_operator preprocess_operator_concat = {
    .name = "concat",
    .summary = "several tensors end to end in one",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
