/* See said.h. */
#include "storage/scanning/said.h"

#include "core/base/memory.h"

void storage_said_of(const struct dataset *dataset, const struct manifest *manifest,
                     const char *path, struct said *said)
{
    const struct declaration *d = dataset->declaration;

    if (d->wants_sidecar) {
        struct stat sidecar;

        said->hash = storage_sidecar_identity(dataset, path, &sidecar); /* before it is read */
        if (storage_sidecar_read(dataset, path, &said->sidecar, &said->err) == WEIR_OK)
            said->row = &said->sidecar.row;
        else
            said->complaint = said->err.text;
    } else if (manifest != NULL) {
        said->row = storage_manifest_find(manifest, path);
    }
    if (d->wants_manifest && said->row == NULL)
        said->complaint =
            "found no row in the manifest, expected one with its path below source.path";
}

void storage_said_fini(struct said *said)
{
    storage_sidecar_fini(&said->sidecar);
}

static void on_refusal(void *owner, const struct format_refusal *refusal)
{
    const struct manifest_rows *rows = owner;
    WEIR_AUTO_FREE char *place =
        weir_format("%s:%llu", rows->name, (unsigned long long)refusal->record);

    storage_batch_refuse(rows->batch, &(struct batch_refusal){.path = rows->name,
                                                              .place = place,
                                                              .reason = refusal->reason,
                                                              .count = 1});
}

struct format_sink storage_said_sink(struct manifest_rows *rows)
{
    return (struct format_sink){.owner = rows, .refuse = on_refusal};
}
