/* model_export, model_diff: models for other programs, and side by side. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/model_file.h"
#include "core/wire/model_pack.h"
#include "orchestrator/models/content.h"
#include "orchestrator/models/difference.h"
#include "orchestrator/models/export.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <string.h>

/* ---- export ---- */

static enum weir_status write_safetensors(const struct stored_model *model, struct weir_bytes bytes,
                                          const struct weir_strs *classes, const char *path,
                                          struct weir_error *err)
{
    if (!weir_model_file_begins(bytes))
        return weir_fail(
            err, WEIR_INVALID,
            "model %s: format safetensors needs tensors, and this model is a file of a "
            "program (training.program) that Weir does not look into: expected "
            "--format file",
            model->id);
    json_t *facts = JSON_FIELDS(
        JSON_TEXT("model", model->id), JSON_TEXT_IF_ANY("parent", model->parent),
        JSON_TEXT("checksum", model->checksum), JSON_TEXT("set_digest", model->set_digest));
    enum weir_status status =
        orchestrator_model_export_safetensors(path, bytes, classes, facts, err);
    json_decref(facts);
    return status == WEIR_OK ? status : weir_error_wrap(err, status, "model %s", model->id);
}

static enum weir_status write_file(const struct stored_model *model, struct weir_bytes bytes,
                                   const struct weir_strs *classes, const char *path,
                                   struct weir_error *err)
{
    (void)model;
    (void)classes;
    return weir_file_write_atomic(path, bytes, err);
}

/* Packed as it is stored: the caller unpacks it where it is wanted. */
static enum weir_status write_packed(const struct stored_model *model, struct weir_bytes bytes,
                                     const struct weir_strs *classes, const char *path,
                                     struct weir_error *err)
{
    if (!weir_model_pack_begins(bytes))
        return weir_fail(err, WEIR_INVALID,
                         "model %s: it is one file, no directory: expected --format file",
                         model->id);
    return write_file(model, bytes, classes, path, err);
}

static const struct export_format {
    const char *name;
    enum weir_status (*write)(const struct stored_model *model, struct weir_bytes bytes,
                              const struct weir_strs *classes, const char *path,
                              struct weir_error *err);
} FORMATS[] = {
    {"safetensors", write_safetensors},
    {"file", write_file},
    {"directory", write_packed},
};

/* NULL: there is none of that name. */
static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(FORMATS); i++)
        if (strcmp(FORMATS[i].name, name) == 0)
            return &FORMATS[i];
    return NULL;
}

/* The format that was asked for; by default one that the model can be written in. */
static const struct export_format *choose_format(const struct topic_call *call,
                                                 struct weir_bytes model)
{
    const char *usual = weir_model_file_begins(model)   ? "safetensors"
                        : weir_model_pack_begins(model) ? "directory"
                                                        : "file";

    return find_format(orchestrator_topic_text(call, "format", usual));
}

static enum weir_status load_content(struct topics *topics, const struct stored_model *model,
                                     struct model_content *content, struct weir_error *err)
{
    if (!orchestrator_model_is_live(model)) {
        return weir_fail(err, WEIR_NOT_FOUND, "model %s: it is %s, its files are gone", model->id,
                         model->state);
    }
    return orchestrator_model_content(topics->context, model, content, err);
}

/* The caller moves the file to where it is wanted, which may be where this process has no right to write. An erasure
 * that comes between takes it away with all else that is below runs/. */
static enum weir_status write_export(const struct topic_call *call,
                                     const struct stored_model *model, struct weir_bytes bytes,
                                     const struct weir_strs *classes, json_t **ret_answer,
                                     struct weir_error *err)
{
    const struct export_format *format = choose_format(call, bytes);
    WEIR_AUTO_FREE char *directory = orchestrator_path(call->context, "runs", "export");
    WEIR_AUTO_FREE char *file =
        weir_format("runs/export/%016" PRIx64 ".%s", weir_random_u64(), format->name);
    WEIR_AUTO_FREE char *path = orchestrator_path(call->context, ".", file);
    enum weir_status status = weir_make_directories(directory, 0700, err);
    if (status == WEIR_OK)
        status = format->write(model, bytes, classes, path, err);
    if (status == WEIR_OK)
        *ret_answer = JSON_FIELDS(JSON_TEXT("model", model->id), JSON_TEXT("format", format->name),
                                  JSON_TEXT("file", file), JSON_TEXT("checksum", model->checksum));
    return status;
}

static enum weir_status export_to(const struct topic_call *call, const struct weir_strs *classes,
                                  json_t **ret_answer, struct weir_error *err)
{
    struct stored_model model = {0};
    struct model_content content = {.mapped = NULL};
    enum weir_status status = orchestrator_model_get(
        call->context, orchestrator_topic_text(call, "model", ""), &model, err);
    if (status == WEIR_OK)
        status = load_content(call->all, &model, &content, err);
    if (status == WEIR_OK)
        status = write_export(call, &model, content.bytes, classes, ret_answer, err);
    orchestrator_model_content_fini(&content);
    orchestrator_model_fini(&model);
    return status;
}

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_dataset_is *dataset = reply->message;
    json_t *answer = NULL;
    struct weir_error problem;
    if (export_to(call, dataset->classes_grow ? &dataset->classes : NULL, &answer, &problem) ==
        WEIR_OK)
        orchestrator_topic_answer(call, answer);
    else
        orchestrator_topic_refuse(call, &problem);
}

/* The first dataset of the model's pipeline, whose classes the model tells apart. */
static enum weir_status request_dataset(struct topic_call *call, struct weir_error *err)
{
    struct stored_model model = {0};
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = orchestrator_model_get(
        call->context, orchestrator_topic_text(call, "model", ""), &model, err);
    if (status == WEIR_OK)
        status = DB_RUN(call->context->db, Q_datasets_of, &rows, err, DB_I64(model.pipeline));
    orchestrator_model_fini(&model);
    if (status == WEIR_OK && weir_rows_count(rows) == 0)
        status = weir_fail(err, WEIR_NOT_FOUND, "model_export: its pipeline has no dataset");
    if (status != WEIR_OK)
        return status;
    const struct msg_dataset_request request = {.name = weir_rows_text(rows, 0, "name")};
    weir_rpc_call(call->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_dataset, call);
    return WEIR_OK;
}

/* Storage alone knows the names of classes that came with samples. */
void orchestrator_topic_model_export(struct topic_call *call)
{
    struct weir_error err;
    if (find_format(orchestrator_topic_text(call, "format", "file")) == NULL)
        topic_fail(call, WEIR_INVALID,
                   "model_export: expected format safetensors, file or directory");
    else if (request_dataset(call, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
}

/* ---- diff ---- */

/* One of the two models. */
struct side {
    struct stored_model model;
    struct model_content content;
    struct id_blocks set;
    json_t *ancestors; /* the model itself first */
};

static void side_fini(struct side *side)
{
    orchestrator_model_content_fini(&side->content);
    orchestrator_model_fini(&side->model);
    orchestrator_id_blocks_fini(&side->set);
    json_decref(side->ancestors);
}

static enum weir_status load_side(struct topic_call *call, const char *id, struct side *side,
                                  struct weir_error *err)
{
    side->ancestors = json_array();
    enum weir_status status = orchestrator_model_get(call->context, id, &side->model, err);
    if (status == WEIR_OK)
        status =
            orchestrator_lineage_of_set(call->context, side->model.set_digest, &side->set, err);
    return status == WEIR_OK ? orchestrator_topic_ancestors_json(call, id, side->ancestors, err)
                             : status;
}

static json_t *tensor_json(const struct tensor_difference *tensor)
{
    double compared = (double)tensor->compared;
    json_t *share =
        tensor->compared == 0 ? json_null() : json_real((double)tensor->changed / compared);
    json_t *shapes =
        json_pack("[[II],[II]]", (json_int_t)tensor->rows[0], (json_int_t)tensor->width[0],
                  (json_int_t)tensor->rows[1], (json_int_t)tensor->width[1]);
    return JSON_FIELDS(JSON_TEXT("name", tensor->name), JSON_NEW("shapes", shapes),
                       JSON_NUMBER("compared", tensor->compared),
                       JSON_NUMBER("changed", tensor->changed), JSON_NEW("changed_share", share),
                       JSON_DOUBLE("max_abs", tensor->max_abs), JSON_DOUBLE("rms", tensor->rms),
                       JSON_NUMBER("not_finite", tensor->not_finite));
}

/* Bytes are all that is known of a program's models. */
static enum weir_status refuse_opaque(const struct side sides[2], struct weir_error *err)
{
    bool same = strcmp(sides[0].model.checksum, sides[1].model.checksum) == 0;

    for (size_t i = 0; i < 2; i++)
        if (!weir_model_file_begins(sides[i].content.bytes))
            return weir_fail(err, WEIR_UNSUPPORTED,
                             "%s is a file of a program (training.program), of which bytes alone "
                             "are compared: they %s",
                             sides[i].model.id, same ? "are equal" : "differ");
    return WEIR_OK;
}

/* Why there is nothing to compare is an answer, too: lineage and sets outlive the files. */
static void add_tensors(struct topics *topics, struct side sides[2], json_t *answer)
{
    struct weir_error err;
    struct tensor_difference found[MODEL_DIFFERENCES];
    size_t count = 0;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < 2; i++)
        status = load_content(topics, &sides[i].model, &sides[i].content, &err);
    if (status == WEIR_OK)
        status = refuse_opaque(sides, &err);
    if (status == WEIR_OK)
        status = orchestrator_model_difference(sides[0].content.bytes, sides[1].content.bytes,
                                               found, &count, &err);
    json_t *tensors = json_array();
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        json_array_append_new(tensors, tensor_json(&found[i]));
    json_object_set_new(answer, "tensors", tensors);
    if (status != WEIR_OK)
        json_object_set_new(answer, "not_compared", json_string(err.text));
}

static json_t *samples_json(const struct side sides[2])
{
    size_t both = orchestrator_id_blocks_shared(&sides[0].set, &sides[1].set);
    return JSON_FIELDS(
        JSON_NUMBER("both", both),
        JSON_NUMBER("only_a", orchestrator_id_blocks_population(&sides[0].set) - both),
        JSON_NUMBER("only_b", orchestrator_id_blocks_population(&sides[1].set) - both));
}

/* The newest model that both come from, and how many trainings lie between it and either. */
static json_t *lineage_json(const struct side sides[2])
{
    size_t a, b;
    const json_t *one, *other;
    json_array_foreach(sides[0].ancestors, a, one)
    {
        json_array_foreach(sides[1].ancestors, b, other)
        {
            json_t *id = json_object_get(one, "model");
            if (json_equal(id, json_object_get(other, "model")))
                return JSON_FIELDS(JSON_NEW("ancestor", json_incref(id)), JSON_NUMBER("steps_a", a),
                                   JSON_NUMBER("steps_b", b));
        }
    }
    return JSON_FIELDS(JSON_NEW("ancestor", json_null()), JSON_NEW("steps_a", json_null()),
                       JSON_NEW("steps_b", json_null()));
}

void orchestrator_topic_model_diff(struct topic_call *call)
{
    struct weir_error err;
    struct side sides[2] = {{.ancestors = NULL}, {.ancestors = NULL}};
    enum weir_status status =
        load_side(call, orchestrator_topic_text(call, "model", ""), &sides[0], &err);
    if (status == WEIR_OK)
        status = load_side(call, orchestrator_topic_text(call, "other", ""), &sides[1], &err);
    json_t *answer = NULL;
    if (status == WEIR_OK) {
        answer = JSON_FIELDS(
            JSON_TEXT("a", sides[0].model.id), JSON_TEXT("b", sides[1].model.id),
            JSON_FLAG("same", strcmp(sides[0].model.checksum, sides[1].model.checksum) == 0),
            JSON_NEW("samples", samples_json(sides)), JSON_NEW("lineage", lineage_json(sides)));
        add_tensors(call->all, sides, answer);
    }
    side_fini(&sides[0]);
    side_fini(&sides[1]);
    if (status == WEIR_OK)
        orchestrator_topic_answer(call, answer);
    else
        orchestrator_topic_refuse(call, &err);
}
