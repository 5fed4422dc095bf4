/* The head of a Mosaic shard (MDS, version 2), and how a sample falls into columns. Pure. */
#ifndef WEIR_STORAGE_FORMATS_MDS_SHARD_H
#define WEIR_STORAGE_FORMATS_MDS_SHARD_H

#include "storage/formats/format.h"

enum { MDS_COLUMNS_MAX = 64, MDS_NAME_MAX = 128 };

/* Encodings that hold a value; all others are bytes. */
enum mds_encoding {
    MDS_BYTES,
    MDS_TEXT, /* str, str_int, str_float, str_decimal */
    MDS_JSON,
    MDS_I8,
    MDS_U8,
    MDS_I16,
    MDS_U16,
    MDS_I32,
    MDS_U32,
    MDS_I64,
    MDS_U64,
    MDS_F32,
    MDS_F64,
};

struct mds_column {
    char name[MDS_NAME_MAX];
    enum mds_encoding encoding;
    uint64_t size; /* 0: of variable size */
};

struct mds_shard {
    uint64_t samples;
    uint64_t data;          /* where the first sample begins */
    const uint8_t *offsets; /* in the head */
    struct mds_column columns[MDS_COLUMNS_MAX];
    size_t count;
};

/* Bytes of the file that storage_mds_shard_read() needs to see. */
uint64_t storage_mds_shard_head_bytes(struct weir_bytes head);
/* INVALID "found …, expected …". Offsets are checked: they rise, and end inside `size` bytes. */
enum weir_status storage_mds_shard_read(struct weir_bytes head, uint64_t size,
                                        struct mds_shard *ret_shard,
                                        struct weir_error *err) WEIR_MUST_USE;
/* -1 when there is no such column. */
int storage_mds_shard_find(const struct mds_shard *shard, const char *name, size_t size);
/* Offset of a sample; of the number of samples, that of the end of the newest. */
uint64_t storage_mds_shard_offset(const struct mds_shard *shard, uint64_t number);
/* The newest sample that begins at this byte of the file or before it, by a head that nobody has checked: where offsets
 * do not rise it is another one. False: there is none. */
bool storage_mds_shard_locate(struct weir_bytes head, uint64_t at, uint64_t *ret_number);
/* Offset of the sample, by the same head. */
uint64_t storage_mds_shard_begin(struct weir_bytes head, uint64_t number);
/* False when the sizes of the columns do not add up to those of the sample. */
bool storage_mds_shard_split(const struct mds_shard *shard, struct weir_bytes sample,
                             struct weir_bytes columns[MDS_COLUMNS_MAX]) WEIR_MUST_USE;
/* True when an erasure has overwritten the sample. */
bool storage_mds_shard_is_scrubbed(const struct mds_shard *shard, const struct weir_bytes *columns);

/* The value of a column; of JSON a list alone. False when it has no place for one. */
bool storage_mds_value(enum mds_encoding encoding, struct weir_bytes bytes,
                       const struct format_field *field, double *list,
                       struct format_value *ret_value);

#endif
