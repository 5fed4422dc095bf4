/* Placing the file of a trained model: moved, or as a difference from the one it started from. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/models/content.h"
#include "orchestrator/models/delta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A delta is kept below 9/10 of the model. */
enum { DELTA_WORTH_IT_NUMERATOR = 9, DELTA_WORTH_IT_DENOMINATOR = 10 };

static enum weir_status make_durable(const char *path, struct weir_error *err)
{
    /* O_NONBLOCK: a trainer of the user's may have left a pipe there. */
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fsync(fd) != 0) {
        return weir_fail(err, WEIR_IO, "%s: cannot make the model durable: %s", path,
                         strerror(errno));
    }
    return WEIR_OK;
}

static enum weir_status note_model(const char *path, size_t size, const struct weir_digest *digest,
                                   struct model_files *files, struct weir_error *err)
{
    weir_digest_text(digest, files->checksum);
    files->bytes = (int64_t)size;
    return size <= ORCHESTRATOR_MODEL_BYTES_MAX
               ? WEIR_OK
               : weir_fail(err, WEIR_LIMIT, "%s: a model of %zu bytes, expected at most %d", path,
                           size, ORCHESTRATOR_MODEL_BYTES_MAX);
}

/* Not read into memory: a model may be large. */
static enum weir_status measure(const char *path, struct model_files *files, struct weir_error *err)
{
    void *bytes;
    size_t size;
    enum weir_status status = weir_file_map_no_link(path, &bytes, &size, err);
    if (status != WEIR_OK)
        return status;
    struct weir_digest digest = weir_digest_of(weir_bytes(bytes, size));
    weir_file_unmap(bytes, size);
    return note_model(path, size, &digest, files, err);
}

static enum weir_status move_model(const char *from, const char *to, struct weir_error *err)
{
    if (access(from, F_OK) != 0 && access(to, F_OK) == 0)
        return WEIR_OK; /* moved before a crash */
    enum weir_status status = make_durable(from, err);
    if (status == WEIR_OK && rename(from, to) != 0) {
        status =
            weir_fail(err, WEIR_IO, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    }
    return status == WEIR_OK ? weir_sync_parent(to, err) : status;
}

static enum weir_status write_fitted(const struct context *context,
                                     const struct model_wanted *wanted, struct model_files *files,
                                     struct weir_error *err)
{
    if (wanted->run->fitted.size == 0) {
        files->fitted_file = weir_strdup("");
        return WEIR_OK;
    }
    struct weir_digest digest = weir_digest_of(wanted->run->fitted);
    weir_digest_text(&digest, files->fitted_checksum);
    files->fitted_file = weir_format("fitted/%s.fitted", wanted->id);
    WEIR_AUTO_FREE char *path = orchestrator_path(context, ".", files->fitted_file);
    return weir_file_write_atomic(path, wanted->run->fitted, err);
}

/* Leaves `files` alone when the difference would save nothing worth a longer way to read it. */
static enum weir_status write_delta(struct context *context, const struct model_wanted *wanted,
                                    const struct stored_model *base, const char *from,
                                    struct model_files *files, struct weir_error *err)
{
    WEIR_AUTO_FREE char *file = weir_format("models/%s.weirdelta", wanted->id);
    WEIR_AUTO_FREE char *path = orchestrator_path(context, ".", file);
    struct model_content before = {.mapped = NULL};
    void *bytes = NULL;
    size_t size = 0;
    struct model_delta_written written;
    enum weir_status status = orchestrator_model_content(context, base, &before, err);
    if (status == WEIR_OK)
        status = weir_file_map_no_link(from, &bytes, &size, err);
    if (status == WEIR_OK)
        status = orchestrator_model_delta_write(path, weir_bytes(bytes, size), before.bytes,
                                                &written, err);
    weir_file_unmap(bytes, size);
    orchestrator_model_content_fini(&before);
    if (status != WEIR_OK)
        return status;
    if (written.bytes / DELTA_WORTH_IT_NUMERATOR >= size / DELTA_WORTH_IT_DENOMINATOR)
        return weir_remove_tree(path, err);
    files->stored_bytes = (int64_t)written.bytes;
    files->base = weir_strdup(base->id);
    files->deltas = base->deltas + 1;
    files->file = WEIR_TAKE(file);
    return note_model(from, size, &written.model, files, err);
}

/* The newest ancestor that is no round's: those go before long. */
static enum weir_status find_base(struct context *context, const char *parent,
                                  struct stored_model *ret_base, struct weir_error *err)
{
    enum weir_status status = orchestrator_model_get(context, parent, ret_base, err);
    while (status == WEIR_OK && ret_base->parent != NULL && strcmp(ret_base->role, "round") == 0) {
        struct stored_model round = *ret_base;
        status = orchestrator_model_get(context, round.parent, ret_base, err);
        orchestrator_model_fini(&round);
    }
    return status;
}

/* Only a model that the run started from will do: an erasure that takes it away takes this one, too. */
static enum weir_status try_delta(struct context *context, const struct model_wanted *wanted,
                                  const char *from, struct model_files *files,
                                  struct weir_error *err)
{
    struct stored_model base = {0};
    if (wanted->settings->storage != MODELS_DELTA || wanted->run->parent == NULL ||
        access(from, F_OK) != 0) /* moved before a crash */
        return WEIR_OK;
    enum weir_status status = find_base(context, wanted->run->parent, &base, err);
    if (status == WEIR_OK && base.role[0] == '\0' && orchestrator_model_is_live(&base) &&
        base.deltas + 1 < (int64_t)wanted->settings->full_every)
        status = write_delta(context, wanted, &base, from, files, err);
    orchestrator_model_fini(&base);
    return status;
}

static enum weir_status place_whole(const struct context *context,
                                    const struct model_wanted *wanted, const char *from,
                                    struct model_files *files, struct weir_error *err)
{
    files->file = weir_format("models/%s.weirmodel", wanted->id);
    files->base = weir_strdup("");
    WEIR_AUTO_FREE char *to = orchestrator_path(context, ".", files->file);
    enum weir_status status = move_model(from, to, err);
    if (status == WEIR_OK)
        status = measure(to, files, err);
    files->stored_bytes = files->bytes;
    return status;
}

enum weir_status orchestrator_model_place(struct context *context,
                                          const struct model_wanted *wanted,
                                          struct model_files *ret_files, struct weir_error *err)
{
    struct model_files files = {.file = NULL};
    WEIR_AUTO_FREE char *from =
        weir_format("%s/%s", wanted->run->directory, wanted->run->model_file);
    enum weir_status status = try_delta(context, wanted, from, &files, err);
    if (status == WEIR_OK && files.file == NULL)
        status = place_whole(context, wanted, from, &files, err);
    if (status == WEIR_OK)
        status = write_fitted(context, wanted, &files, err);
    if (status != WEIR_OK) {
        orchestrator_model_files_fini(&files);
        return status;
    }
    *ret_files = files;
    return WEIR_OK;
}

void orchestrator_model_files_fini(struct model_files *files)
{
    free(files->file);
    free(files->fitted_file);
    free(files->base);
    *files = (struct model_files){0};
}
