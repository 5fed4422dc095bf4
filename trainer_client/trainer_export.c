/* The mode `export`: batches become shards of a folder, and their state is kept in the run's directory. First the shard
 * is durable, then the state that contains it, then the commit: a death between any two costs work, and no row. */
#include "trainer_client/trainer.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/config/schema.h"
#include "core/wire/export_formats.h"

#include <stdlib.h>

enum { COMMIT_MS = 5000, STATE_BYTES_MAX = 1 << 26 };

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct exporting_options, to, .required = true, .doc = "folder that is written"),
    CFG_TEXT(struct exporting_options, format, .required = true, .doc = "how it is written"),
    CFG_U64(struct exporting_options, shard_bytes, .required = true, .min = 1,
            .doc = "bytes that a shard has at least, but for the last one"),
    CFG_END,
};

/* ---- the state ---- */

static enum weir_status save(const struct trainer *trainer, struct weir_bytes client,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = trainer_run_order_path(&trainer->order, "export");
    WEIR_AUTO_BUF bytes = {0};

    weir_buf_append_u64(&bytes, client.size);
    weir_buf_append(&bytes, client.at, client.size);
    trainer_export_save(&trainer->exporting.export, &bytes);
    return weir_file_write_atomic(path, weir_buf_view(&bytes), err);
}

/* NOT_FOUND: no shard is complete. */
static enum weir_status load(struct trainer *trainer, struct weir_error *err)
{
    struct exporting *exporting = &trainer->exporting;
    WEIR_AUTO_FREE char *path = trainer_run_order_path(&trainer->order, "export");
    WEIR_AUTO_BUF bytes = {0};
    uint64_t size = 0;
    struct weir_bytes client;
    enum weir_status status = weir_file_read(path, STATE_BYTES_MAX, &bytes, err);

    if (status != WEIR_OK)
        return status;
    struct weir_bytes rest = weir_buf_view(&bytes);
    if (!weir_take_u64(&rest, &size) || !weir_take(&rest, size, &client))
        return weir_fail(err, WEIR_CORRUPT, "%s: found no state of an export", path);
    status = trainer_export_load(&exporting->export, rest, err);
    if (status == WEIR_OK)
        weir_buf_append(&exporting->state, client.at, client.size);
    return status;
}

static enum weir_status commit(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_error error;
    const void *state = NULL;
    size_t size = 0;

    if (weir_fault("export.shard"))
        return weir_fail(err, WEIR_IO, "fault export.shard");
    if (weir_client_state(trainer->client, &state, &size, &error) != WEIR_CLIENT_OK)
        return weir_fail(err, (enum weir_status)error.status, "%s", error.text);
    enum weir_status status = save(trainer, weir_bytes(state, size), err);
    (void)weir_fault("export.state");
    if (status != WEIR_OK)
        return status;
    enum weir_client_status committed =
        weir_client_commit(trainer->client, state, size, 0, COMMIT_MS, &error);
    if (committed != WEIR_CLIENT_OK && committed != WEIR_CLIENT_TIMEOUT)
        return weir_fail(err, (enum weir_status)committed, "%s", error.text);
    return WEIR_OK; /* the state is durable all the same; the next commit contains this one */
}

/* ---- the mode ---- */

static enum weir_status read_options(struct trainer *trainer, struct weir_error *err)
{
    struct exporting *exporting = &trainer->exporting;
    struct exporting_options *options = &exporting->options;
    enum weir_status status = weir_yaml_parse(
        "task options", weir_bytes_of(trainer->order.task->options), &exporting->document, err);

    if (status == WEIR_OK)
        status = cfg_read(OPTIONS, CFG_CLOSED, weir_yaml_root(exporting->document), "options", NULL,
                          options, err);
    if (status != WEIR_OK)
        return status;
    exporting->export.folder = options->to;
    exporting->export.shard_bytes = options->shard_bytes;
    exporting->export.format = trainer_export_format_find(options->format);
    return exporting->export.format != NULL
               ? WEIR_OK
               : weir_fail(err, WEIR_UNSUPPORTED, "format '%s' is unknown to this program",
                           options->format);
}

enum weir_status trainer_export_mode_begin(struct trainer *trainer, struct weir_error *err)
{
    struct exporting *exporting = &trainer->exporting;
    enum weir_status status = read_options(trainer, err);

    if (status != WEIR_OK)
        return status;
    status = load(trainer, err);
    if (status == WEIR_NOT_FOUND)
        return weir_export_clean(exporting->options.to, exporting->options.format, err);
    trainer->progress.position = weir_buf_view(&exporting->state);
    trainer->progress.samples = exporting->export.rows;
    return status;
}

enum weir_status trainer_export_mode_take(struct trainer *trainer, const struct weir_batch *batch,
                                          struct weir_error *err)
{
    return trainer_export_add(&trainer->exporting.export, batch, err);
}

static enum weir_status complete(struct trainer *trainer, struct weir_error *err)
{
    enum weir_status status = trainer_export_seal(&trainer->exporting.export, err);

    return status == WEIR_OK ? commit(trainer, err) : status;
}

enum weir_status trainer_export_mode_keep(struct trainer *trainer, struct weir_error *err)
{
    return trainer_export_is_full(&trainer->exporting.export) ? complete(trainer, err) : WEIR_OK;
}

enum weir_status trainer_export_mode_end(struct trainer *trainer, struct weir_error *err)
{
    enum weir_status status = complete(trainer, err);

    return status == WEIR_OK ? trainer_export_finish(&trainer->exporting.export, err) : status;
}

void trainer_export_mode_fini(struct exporting *exporting)
{
    trainer_export_fini(&exporting->export);
    weir_buf_fini(&exporting->state);
    weir_yaml_free(exporting->document);
}
