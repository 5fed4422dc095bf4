/* See tensor_maker.h. */
#include "preprocess/operators/tensor_maker.h"

/* The column that a step makes of another one. Where each number stays one, it keeps its name and bound. */
static struct column_about made_of(const struct column_about *about,
                                   const struct tensor_maker *maker)
{
    const struct weir_tensor_form *made = &maker->made;
    enum column_kind kind = made->is_ragged ? COLUMN_RAGGED : COLUMN_DENSE;
    uint32_t width = made->is_ragged ? about->width : (uint32_t)weir_tensor_form_elements(made);
    struct column_about other = preprocess_column_about_as(about, made->type);
    if (kind != about->kind || width != about->width)
        other = preprocess_column_about(about->name, kind, made->type, width);
    for (size_t i = 0; i < made->rank && made->rank > 1; i++)
        other.shape[i] = (uint32_t)made->shape[i];
    return other;
}

enum weir_status preprocess_tensor_maker_plan(struct tensor_maker *maker,
                                              const struct column_about *about,
                                              struct operator_plan *plan, struct weir_error *err)
{
    maker->taken = maker->made = preprocess_column_form(about);
    enum weir_status status = weir_tensor_step_form(&maker->step, &maker->made, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "column %s", about->name);
    plan->outputs = 1;
    plan->output[0] = made_of(about, maker);
    return WEIR_OK;
}

/* True for a tensor that leaves the chain as it is made here, and is too large to be still in the cache then. */
static bool is_passed_on(const struct tensor_maker *maker, const struct operator_call *call)
{
    enum { CACHE_BYTES = 1 << 20 };
    return !call->out[0].is_piece && !maker->made.is_ragged &&
           call->batch->rows * weir_tensor_form_bytes(&maker->made, 1, 0) > CACHE_BYTES;
}

void preprocess_tensor_maker_apply(void *owner, struct operator_call *call)
{
    const struct tensor_maker *maker = owner;
    const struct weir_tensor_rows rows = {
        .count = call->rows,
        .values = call->in->values.at,
        .offsets = maker->taken.is_ragged ? column_offsets(call->in) : NULL,
        .are_passed_on = is_passed_on(maker, call),
    };
    size_t bytes =
        weir_tensor_form_bytes(&maker->made, rows.count, weir_tensor_rows_elements(&rows));
    void *to = maker->made.is_ragged ? preprocess_column_add_like(&call->out[0], call->in).to
                                     : weir_buf_extend(&call->out[0].values, bytes);
    weir_tensor_step_take(&maker->step, &maker->taken, &rows, to);
}

const struct weir_tensor_step *preprocess_tensor_maker_step(const void *owner)
{
    return &((const struct tensor_maker *)owner)->step;
}
