/* An export: what the operators made of each sample of a set, written as a folder that other tools read. Rows are
 * gathered until a shard is full, and a shard is there whole or not at all: it is written to a temporary name, synced
 * and renamed. The state of an export says which shards are complete; a writer that dies goes on after them, and writes
 * what it had begun again.
 *
 * To add a format: write export_NAME.c, and name it in core/wire/export_formats.h. */
#ifndef WEIR_TRAINER_CLIENT_EXPORTS_EXPORT_H
#define WEIR_TRAINER_CLIENT_EXPORTS_EXPORT_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <weir/client.h>

enum {
    EXPORT_COLUMNS_MAX = 64, /* as many as Weir's own reader of mds takes */
    EXPORT_NAME_MAX = 63,    /* bytes of a column's name */
    EXPORT_SHARDS_MAX = 1 << 20,
    EXPORT_ID = 0, /* columns that every export has, before the tensors */
    EXPORT_LABEL = 1,
    EXPORT_WEIGHT = 2,
    EXPORT_TENSORS = 3,
};

/* A column: the ids, the labels, the weights, or a tensor. */
struct export_column {
    char name[EXPORT_NAME_MAX + 1];
    enum weir_tensor_type type;
    bool is_ragged;
    uint32_t rank;                        /* of a row; 0: a number */
    uint64_t shape[WEIR_TENSOR_RANK_MAX]; /* of a row; of a ragged column [0] is 0 */
    uint64_t elements; /* in complete shards, along the first dimension; of ragged ones */
};

/* One row's part of a column. */
struct export_cell {
    const void *at;
    size_t bytes;
    uint64_t length; /* elements along the first dimension; of ragged columns */
};

/* A file that is complete. */
struct export_shard {
    uint64_t rows, bytes;
};

/* Zeroed but for `format`, `folder` and `shard_bytes` at first. Freed with trainer_export_fini(). */
struct export
{
    const struct export_format *format;
    const char *folder; /* borrowed; it exists */
    uint64_t shard_bytes;
    struct export_column columns[EXPORT_COLUMNS_MAX]; /* as the first batch has them */
    size_t column_count;                              /* 0: there was no batch yet */
    uint64_t rows;                                    /* in complete shards */
    struct export_shard *shards;
    size_t shard_count, shard_capacity;
    /* Of the shard at hand. */
    uint64_t pending_rows;
    struct weir_buf pending, ends;               /* rows end to end; where each ends, u64 */
    struct weir_buf row, part;                   /* room for one row of formats that nest */
    struct weir_buf values[EXPORT_COLUMNS_MAX];  /* of formats that keep columns apart */
    struct weir_buf lengths[EXPORT_COLUMNS_MAX]; /* the same, of ragged ones: u64 a row */
};

/* Adds the rows of a batch. INVALID when its tensors are not those of the first batch, or cannot be exported. */
enum weir_status trainer_export_add(struct export *export, const struct weir_batch *batch,
                                    struct weir_error *err) WEIR_MUST_USE;
/* True when enough is gathered for a shard. */
bool trainer_export_is_full(const struct export *export);
/* Makes everything that was added durable. */
enum weir_status trainer_export_seal(struct export *export, struct weir_error *err) WEIR_MUST_USE;
/* Writes what closes the folder, after the last shard; may be repeated. */
enum weir_status trainer_export_finish(struct export *export, struct weir_error *err) WEIR_MUST_USE;
void trainer_export_fini(struct export *export);

/* ---- export_state.c: what is complete, as bytes ---- */

/* Appends it; nothing may be pending. */
void trainer_export_save(const struct export *export, struct weir_buf *out);
/* CORRUPT for bytes that trainer_export_save() has not written. */
enum weir_status trainer_export_load(struct export *export, struct weir_bytes bytes,
                                     struct weir_error *err) WEIR_MUST_USE;

/* ---- formats: how a shard of rows becomes a file; the table of each stands at the end of its file ---- */

struct export_format {
    const char *name; /* and ending of its files: "shard.00017.mds" */
    /* Required. Gathers one row: `cells` in the order of export->columns. */
    void (*add)(struct export *export, const struct export_cell *cells);
    /* Required. Makes the rows gathered durable. Called with at least one. */
    enum weir_status (*seal)(struct export *export, struct weir_error *err);
    /* Optional. Writes what closes the folder. */
    enum weir_status (*finish)(struct export *export, struct weir_error *err);
};

/* NULL: there is none of that name. */
const struct export_format *trainer_export_format_find(const char *name);

/* ---- element types ---- */

struct export_type {
    const char *name; /* NumPy's: "float32" */
    const char *code; /* its type string: "<f4" */
    size_t bytes;
};
const struct export_type *trainer_export_type(enum weir_tensor_type type);
/* Bytes of one element along the first dimension of a ragged column's rows, or of a row of a dense column. */
size_t trainer_export_stride(const struct export_column *column);

/* ---- shard_file.c: formats that write rows end to end ---- */

/* Notes where the row that was appended to export->pending ends. */
void trainer_export_end_row(struct export *export);
/* Writes the pending rows, behind `head`, as the next shard, "FOLDER/shard.00017.mds", all or nothing. */
enum weir_status trainer_export_write_shard(struct export *export, struct weir_bytes head,
                                            struct weir_error *err) WEIR_MUST_USE;
/* trainer_export_write_shard() without a head, for formats whose shards need none. */
enum weir_status trainer_export_write_rows(struct export *export,
                                           struct weir_error *err) WEIR_MUST_USE;
/* "shard.00017.mds"; the caller frees it. */
char *trainer_export_shard_name(const struct export *export, size_t number);

/* ---- npy_head.c ---- */

/* Appends the header of a .npy file, version 1.0 (numpy.lib.format), padded to a multiple of 64 bytes and to at least
 * `bytes_min`: {'descr': code, 'fortran_order': False, 'shape': shape}. */
void trainer_npy_head(const char *code, uint32_t rank, const uint64_t *shape, size_t bytes_min,
                      struct weir_buf *out);

#endif
