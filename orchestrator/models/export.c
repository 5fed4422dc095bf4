/* Model files as safetensors. */
#include "orchestrator/models/export.h"
#include "orchestrator/models/tensors.h"
#include "orchestrator/values/json_object.h"

#include "core/base/file.h"
#include "core/wire/model_file.h"

#include <stdlib.h>

enum { TENSORS_MAX = MODEL_FLOAT_TENSORS + 1, HEADER_ALIGNMENT = 8, SIZE_BYTES = 8 };

struct tensor {
    const char *name, *type;
    uint64_t shape[2];
    size_t dimensions;
    struct weir_bytes bytes;
};

/* `floats` names them. */
static size_t list_tensors(const struct weir_model_file *file,
                           struct model_tensor floats[MODEL_FLOAT_TENSORS],
                           struct tensor tensors[TENSORS_MAX])
{
    size_t count = orchestrator_model_tensors(file, floats);
    for (size_t i = 0; i < count; i++) {
        const struct model_tensor *one = &floats[i];
        tensors[i] = (struct tensor){
            .name = one->name,
            .type = "F32",
            .shape = {one->rows, one->width},
            .dimensions = 2,
            .bytes = weir_bytes(one->at, (size_t)one->rows * one->width * sizeof(float)),
        };
    }
    if (file->fitted.size > 0)
        tensors[count++] = (struct tensor){.name = "fitted_state",
                                           .type = "U8",
                                           .shape = {file->fitted.size},
                                           .dimensions = 1,
                                           .bytes = file->fitted};
    return count;
}

/* ---- the header ---- */

static void add_text(json_t *object, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(object, key, json_string(text));
}

/* Texts alone are allowed there: the names of the classes are a list in a text. */
static void add_classes(json_t *metadata, const struct weir_strs *classes)
{
    json_t *names = json_array();
    for (size_t i = 0; i < classes->count; i++)
        json_array_append_new(names, json_string(classes->at[i]));
    char *text = json_dumps(names, JSON_COMPACT);
    json_decref(names);
    if (classes->count > 0 && text != NULL)
        json_object_set_new(metadata, "classes", json_string(text));
    free(text);
}

static json_t *metadata_of(const struct weir_model_file *file, const json_t *facts)
{
    json_t *metadata = json_object();
    add_text(metadata, "kind", file->model);
    add_text(metadata, "options", file->options);
    add_text(metadata, "loss", file->loss);
    add_text(metadata, "optimizer", file->optimizer);
    add_classes(metadata, &file->classes);
    json_object_update(metadata, (json_t *)(uintptr_t)facts);
    return metadata;
}

static json_t *tensor_json(const struct tensor *tensor, size_t at)
{
    json_t *shape = json_array();
    size_t end = at + tensor->bytes.size;
    for (size_t i = 0; i < tensor->dimensions; i++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
    return JSON_FIELDS(
        JSON_TEXT("dtype", tensor->type), JSON_NEW("shape", shape),
        JSON_NEW("data_offsets", json_pack("[II]", (json_int_t)at, (json_int_t)end)));
}

/* Its size, and itself, with spaces after it so that the tensors are aligned. */
static void put_header(struct weir_buf *out, const struct weir_model_file *file,
                       const json_t *facts, const struct tensor *tensors, size_t count)
{
    json_t *header = json_object();
    size_t at = 0;
    json_object_set_new(header, "__metadata__", metadata_of(file, facts));
    for (size_t i = 0; i < count; at += tensors[i++].bytes.size)
        json_object_set_new(header, tensors[i].name, tensor_json(&tensors[i], at));
    char *text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
    weir_require(text != NULL);
    weir_buf_append_u64(out, 0);
    weir_buf_append_text(out, text);
    while (out->size % HEADER_ALIGNMENT != 0)
        weir_buf_append_text(out, " ");
    weir_put_u64(out->at, out->size - SIZE_BYTES);
    free(text);
    json_decref(header);
}

/* The file tells how many classes its model knows; there may be more by now. */
static void name_classes(struct weir_model_file *file, const struct weir_strs *classes)
{
    if (classes != NULL && classes->count >= file->classes.count)
        file->classes.at = classes->at;
}

enum weir_status orchestrator_model_export_safetensors(const char *path, struct weir_bytes model,
                                                       const struct weir_strs *classes,
                                                       const json_t *facts, struct weir_error *err)
{
    struct weir_model_file file;
    enum weir_status status = weir_model_file_view(model, &file, err);
    if (status != WEIR_OK)
        return status;
    name_classes(&file, classes);
    struct model_tensor floats[MODEL_FLOAT_TENSORS];
    struct tensor tensors[TENSORS_MAX];
    size_t count = list_tensors(&file, floats, tensors);
    WEIR_AUTO_BUF header = {0};
    put_header(&header, &file, facts, tensors, count);
    struct weir_bytes pieces[TENSORS_MAX + 1] = {weir_buf_view(&header)};
    for (size_t i = 0; i < count; i++)
        pieces[i + 1] = tensors[i].bytes;
    status = weir_file_write_pieces(path, pieces, count + 1, err);
    weir_model_file_fini(&file);
    return status;
}
