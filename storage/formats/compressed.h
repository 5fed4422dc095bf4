/* Compressions and encodings that the first bytes of a file tell. */
#ifndef WEIR_STORAGE_COMPRESSED_H
#define WEIR_STORAGE_COMPRESSED_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* INVALID "found WHAT compressed with gzip, expected …" for the beginning of such a file; "what" is "a shard". */
enum weir_status storage_compressed_refuse(const char *what, struct weir_bytes head,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The same of a file of text, and "found WHAT in UTF-16, …" or "in Parquet". */
enum weir_status storage_text_refuse(const char *what, struct weir_bytes head,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
