/* Shards of rows that lie end to end. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "trainer_client/exports/export.h"

#include <stdlib.h>

void trainer_export_end_row(struct export *export)
{
    weir_buf_append_u64(&export->ends, export->pending.size);
}

char *trainer_export_shard_name(const struct export *export, size_t number)
{
    return weir_format("shard.%05zu.%s", number, export->format->name);
}

enum weir_status trainer_export_write_shard(struct export *export, struct weir_bytes head,
                                            struct weir_error *err)
{
    const struct weir_bytes pieces[] = {head, weir_buf_view(&export->pending)};

    if (export->shard_count == EXPORT_SHARDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "%s: an export has at most %d shards: write larger ones",
                         export->folder, EXPORT_SHARDS_MAX);
    WEIR_AUTO_FREE char *name = trainer_export_shard_name(export, export->shard_count);
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", export->folder, name);
    enum weir_status status = weir_file_write_pieces(path, pieces, WEIR_COUNT(pieces), err);
    if (status != WEIR_OK)
        return status;
    export->shards = weir_grow(export->shards, export->shard_count, &export->shard_capacity,
                               sizeof(*export->shards));
    export->shards[export->shard_count++] = (struct export_shard){
        .rows = export->pending_rows, .bytes = pieces[0].size + pieces[1].size};
    return WEIR_OK;
}

enum weir_status trainer_export_write_rows(struct export *export, struct weir_error *err)
{
    return trainer_export_write_shard(export, weir_bytes(NULL, 0), err);
}
