/* Following deltas to a model that is stored whole, and back. */
#include "orchestrator/models/content.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/service/roots.h"
#include "core/wire/model_file.h"
#include "orchestrator/models/delta.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 128 }; /* above what models.full_every allows */

static enum weir_status map_file(const struct context *context, const struct stored_model *model,
                                 struct model_content *ret_content, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = orchestrator_path(context, ".", model->file);
    struct model_content content = {.mapped = NULL};
    enum weir_status status = weir_file_map(path, &content.mapped, &content.mapped_size, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "model %s", model->id);
    content.bytes = weir_bytes(content.mapped, content.mapped_size);
    *ret_content = content;
    return WEIR_OK;
}

void orchestrator_model_content_fini(struct model_content *content)
{
    weir_file_unmap(content->mapped, content->mapped_size);
    weir_buf_fini(&content->built);
    *content = (struct model_content){.mapped = NULL};
}

static enum weir_status check(const struct stored_model *model, struct weir_bytes bytes,
                              struct weir_error *err)
{
    char checksum[WEIR_DIGEST_TEXT_MAX];
    struct weir_digest digest = weir_digest_of(bytes);
    weir_digest_text(&digest, checksum);
    if (strcmp(checksum, model->checksum) == 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_CORRUPT, "model %s (%s): checksum %s, expected %s", model->id,
                     model->file, checksum, model->checksum);
}

/* `content` is that of the model's base, and becomes the model's. */
static enum weir_status go_on(const struct context *context, const struct stored_model *model,
                              struct model_content *content, struct weir_error *err)
{
    struct model_content delta = {.mapped = NULL};
    struct model_content next = {.mapped = NULL};
    enum weir_status status = map_file(context, model, &delta, err);
    if (status == WEIR_OK) {
        status = orchestrator_model_delta_apply(delta.bytes, content->bytes,
                                                ORCHESTRATOR_MODEL_BYTES_MAX, &next.built, err);
        if (status != WEIR_OK)
            status = weir_error_wrap(err, status, "model %s", model->id);
    }
    orchestrator_model_content_fini(&delta);
    orchestrator_model_content_fini(content);
    next.bytes = weir_buf_view(&next.built);
    *content = next;
    return status;
}

enum weir_status orchestrator_model_chain(struct context *context, const struct stored_model *model,
                                          struct model_chain *ret_chain, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    struct model_chain chain = {.at = NULL};
    size_t capacity = 0;
    const char *base = model->base;
    while (status == WEIR_OK && base[0] != '\0') {
        if (chain.count == CHAIN_MAX) {
            status = weir_fail(err, WEIR_CORRUPT, "model %s: more than %d deltas in a row",
                               model->id, CHAIN_MAX);
            break;
        }
        chain.at = weir_grow(chain.at, chain.count, &capacity, sizeof(*chain.at));
        status = orchestrator_model_get(context, base, &chain.at[chain.count], err);
        if (status == WEIR_OK)
            base = chain.at[chain.count++].base;
    }
    if (status == WEIR_OK)
        *ret_chain = chain;
    else
        orchestrator_model_chain_fini(&chain);
    return status;
}

void orchestrator_model_chain_fini(struct model_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        orchestrator_model_fini(&chain->at[i]);
    free(chain->at);
    *chain = (struct model_chain){.at = NULL};
}

enum weir_status orchestrator_model_content_by(const struct context *context,
                                               const struct stored_model *model,
                                               const struct model_chain *chain,
                                               struct model_content *ret_content,
                                               struct weir_error *err)
{
    struct model_content content = {.mapped = NULL};
    size_t count = chain->count;
    enum weir_status status =
        map_file(context, count == 0 ? model : &chain->at[count - 1], &content, err);
    for (size_t i = count; i-- > 0 && status == WEIR_OK;)
        status = go_on(context, i == 0 ? model : &chain->at[i - 1], &content, err);
    if (status == WEIR_OK)
        status = check(model, content.bytes, err);
    if (status == WEIR_OK)
        *ret_content = content;
    else
        orchestrator_model_content_fini(&content);
    return status;
}

enum weir_status orchestrator_model_content(struct context *context,
                                            const struct stored_model *model,
                                            struct model_content *ret_content,
                                            struct weir_error *err)
{
    struct model_chain chain = {.at = NULL};
    enum weir_status status = orchestrator_model_chain(context, model, &chain, err);
    if (status == WEIR_OK)
        status = orchestrator_model_content_by(context, model, &chain, ret_content, err);
    orchestrator_model_chain_fini(&chain);
    return status;
}

enum weir_status orchestrator_model_file(struct context *context, const struct stored_model *model,
                                         const char *directory, char **ret_path,
                                         struct weir_error *err)
{
    if (model->base[0] == '\0') { /* the trainer checks what it reads */
        *ret_path = orchestrator_path(context, ".", model->file);
        return WEIR_OK;
    }
    struct model_content content = {.mapped = NULL};
    WEIR_AUTO_FREE char *path = weir_format("%s/" ORCHESTRATOR_BASE_FILE, directory);
    enum weir_status status = weir_make_directories(directory, 0700, err);
    if (status == WEIR_OK)
        status = orchestrator_model_content(context, model, &content, err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, content.bytes, err);
    orchestrator_model_content_fini(&content);
    if (status == WEIR_OK)
        *ret_path = WEIR_TAKE(path);
    return status;
}

/* ---- given by a person ---- */

/* Files of a program of the user hold what they like. */
static enum weir_status take_fitted(struct weir_bytes bytes, struct weir_buf *fitted,
                                    struct weir_error *err)
{
    struct weir_model_file file;
    if (!weir_model_file_begins(bytes))
        return WEIR_OK;
    enum weir_status status = weir_model_file_view(bytes, &file, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_append(fitted, file.fitted.at, file.fitted.size);
    weir_model_file_fini(&file);
    return WEIR_OK;
}

static enum weir_status copy_given(struct weir_bytes bytes, const char *directory, char **ret_path,
                                   struct weir_buf *fitted, struct weir_error *err)
{
    WEIR_AUTO_FREE char *copy = weir_format("%s/" ORCHESTRATOR_BASE_FILE, directory);
    if (bytes.size > ORCHESTRATOR_MODEL_BYTES_MAX)
        return weir_fail(err, WEIR_LIMIT, "%zu bytes, expected at most %d", bytes.size,
                         ORCHESTRATOR_MODEL_BYTES_MAX);
    enum weir_status status = take_fitted(bytes, fitted, err);
    if (status == WEIR_OK)
        status = weir_make_directories(directory, 0700, err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(copy, bytes, err);
    if (status == WEIR_OK)
        *ret_path = WEIR_TAKE(copy);
    return status;
}

enum weir_status orchestrator_model_given_file(const char *path, const char *directory,
                                               char **ret_path, struct weir_buf *fitted,
                                               struct weir_error *err)
{
    void *mapped = NULL;
    size_t size = 0;
    if (!weir_roots_allow(path))
        return weir_fail(err, WEIR_DENIED,
                         "training.start_from '%s': expected a file below one of the system file's "
                         "roots, and in no directory of Weir's own",
                         path);
    enum weir_status status = weir_file_map(path, &mapped, &size, err);
    if (status == WEIR_OK) {
        status = copy_given(weir_bytes(mapped, size), directory, ret_path, fitted, err);
        weir_file_unmap(mapped, size);
    }
    return status == WEIR_OK ? WEIR_OK
                             : weir_error_wrap(err, status, "training.start_from '%s'", path);
}

/* ---- made whole ---- */

/* The whole file is durable before the row names it; the delta goes afterwards. */
static enum weir_status make_whole(struct context *context, const char *id, struct weir_error *err)
{
    struct stored_model model = {0};
    struct model_content content = {.mapped = NULL};
    WEIR_AUTO_FREE char *file = weir_format("models/%s.weirmodel", id);
    WEIR_AUTO_FREE char *path = orchestrator_path(context, ".", file);
    enum weir_status status = orchestrator_model_get(context, id, &model, err);
    if (status == WEIR_OK)
        status = orchestrator_model_content(context, &model, &content, err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, content.bytes, err);
    orchestrator_model_content_fini(&content);
    if (status == WEIR_OK)
        status = DB_RUN(context->db, Q_model_whole, NULL, err, DB_TEXT(id), DB_TEXT(file));
    if (status == WEIR_OK) {
        WEIR_AUTO_FREE char *delta = orchestrator_path(context, ".", model.file);
        status = weir_remove_tree(delta, err);
    }
    orchestrator_model_fini(&model);
    return status;
}

enum weir_status orchestrator_model_release(struct context *context, const char *id,
                                            struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_model_based_on, &rows, err, DB_TEXT(id));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = make_whole(context, weir_rows_text(rows, i, "id"), err);
    return status;
}
