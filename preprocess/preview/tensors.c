/* See tensors.h. */
#include "preprocess/preview/tensors.h"

static json_t *shape_json(const struct column_about *about)
{
    json_t *shape = json_array();
    json_array_append_new(shape,
                          json_integer(about->shape[0] > 0 ? about->shape[0] : about->width));
    for (size_t i = 1; i < COLUMN_SHAPE_MAX && about->shape[i] > 0; i++)
        json_array_append_new(shape, json_integer(about->shape[i]));
    return shape;
}

static json_t *tensor_json(const struct column_about *about, uint64_t seen, double size)
{
    uint64_t below = about->below > 0 ? about->below : seen;
    json_t *tensor =
        json_pack("{ss,ss}", "name", about->name, "type", weir_dtype_name(about->type));
    if (about->kind == COLUMN_RAGGED)
        json_object_set_new(tensor, "ragged", json_true());
    else
        json_object_set_new(tensor, "shape", shape_json(about));
    if (below > 0)
        json_object_set_new(tensor, "below", json_integer((json_int_t)below));
    if (size > 0)
        json_object_set_new(tensor, "size", json_real(size));
    return tensor;
}

json_t *preprocess_tensors_json(struct chain *chain, const struct tensors_seen *seen)
{
    json_t *tensors = json_array();
    (void)preprocess_chain_begin(chain); /* it finds them */
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++)
        json_array_append_new(tensors, tensor_json(&preprocess_chain_output(chain, i)->about,
                                                   seen != NULL ? seen->below[i] : 0,
                                                   seen != NULL ? seen->size[i] : 0));
    return tensors;
}
