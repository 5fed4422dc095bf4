/* The elements of a column as keys. */
#include "preprocess/operators/keys.h"

#include "preprocess/operators/numeric.h"

enum weir_status preprocess_keys_plan(const struct column_about *about, struct keys *ret_keys,
                                      struct weir_error *err)
{
    bool is_numbers = about->kind == COLUMN_DENSE || about->kind == COLUMN_RAGGED;
    if (is_numbers && ((OPERATOR_INTEGERS | 1u << WEIR_U8) & 1u << about->type) == 0)
        return weir_fail(err, WEIR_INVALID, "column %s holds %s, expected integers: cast it first",
                         about->name, weir_dtype_name(about->type));
    *ret_keys = (struct keys){.kind = about->kind,
                              .type = about->type,
                              .columns = about->kind == COLUMN_DENSE ? about->width : 1};
    return WEIR_OK;
}

enum weir_status preprocess_keys_plan_both(const struct cfg_texts *on,
                                           const struct operator_schema *schema,
                                           struct keys *const ret_keys[2],
                                           struct operator_plan *plan, struct weir_error *err)
{
    int places[2] = {0};
    enum weir_status status = WEIR_OK;
    if (on->count != 2)
        return weir_fail(err, WEIR_INVALID, "on: found %zu columns, expected 2", on->count);
    for (size_t i = 0; i < 2 && status == WEIR_OK; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(on->node, i));
        status = preprocess_operator_schema_pick_numbers(
            schema, name, OPERATOR_INTEGERS | 1u << WEIR_U8, &places[i], err);
        if (status == WEIR_OK)
            status = preprocess_keys_plan(&schema->column[places[i]], ret_keys[i], err);
    }
    plan->in = places[0];
    plan->more[plan->more_count++] = places[1];
    plan->keeps = true;
    return status;
}

struct keys_row preprocess_keys_row(const struct keys *keys, const struct column *in, size_t row)
{
    if (keys->kind == COLUMN_DENSE)
        return (struct keys_row){row * keys->columns, keys->columns};
    if (keys->kind == COLUMN_BYTES || keys->kind == COLUMN_TEXT)
        return (struct keys_row){row, 1};
    const uint32_t *offsets = column_offsets(in);
    return (struct keys_row){offsets[row], offsets[row + 1] - offsets[row]};
}

struct weir_bytes preprocess_keys_at(const struct keys *keys, const struct column *in, size_t index,
                                     uint8_t number[8])
{
    if (keys->kind == COLUMN_BYTES || keys->kind == COLUMN_TEXT)
        return column_row(in, index);
    if (keys->kind == COLUMN_TOKENS) {
        struct weir_span span = column_spans(in)[index];
        return weir_bytes(in->values.at + span.start, span.size);
    }
    weir_put_u64(number, (uint64_t)weir_element_get_integer(keys->type, in->values.at, index));
    return weir_bytes(number, 8);
}
