/* See said.h. */
#include "storage/scanning/said.h"

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
        said->complaint = "found no row in the manifest, expected one";
}

void storage_said_fini(struct said *said)
{
    storage_sidecar_fini(&said->sidecar);
}
