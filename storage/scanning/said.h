/* Fields of a one-sample file that stand elsewhere: in the manifest, or in a file beside it. */
#ifndef WEIR_STORAGE_SAID_H
#define WEIR_STORAGE_SAID_H

#include "storage/files/sidecar.h"
#include "storage/intake/batch.h"

struct said {
    uint64_t hash;                  /* of a file beside it, to be compared with later */
    const struct manifest_row *row; /* NULL: nothing */
    const char *complaint;          /* why the file cannot be taken in; NULL: it can */
    struct sidecar sidecar;         /* what `row` and `complaint` may point into */
    struct weir_error err;
};

/* Fills a zeroed `said`; `manifest` is NULL where there is none, and borrowed as long as it. */
void storage_said_of(const struct dataset *dataset, const struct manifest *manifest,
                     const char *path, struct said *said);
void storage_said_fini(struct said *said);

/* Owner of the sink of a manifest's broken rows, which are refused one by one. */
struct manifest_rows {
    struct batch *batch;
    const char *name; /* of the manifest */
};
struct format_sink storage_said_sink(struct manifest_rows *rows);

#endif
