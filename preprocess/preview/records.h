/* The records that storage has found (storage/preview/look.h), read where they lie. */
#ifndef WEIR_PREPROCESS_PREVIEW_RECORDS_H
#define WEIR_PREPROCESS_PREVIEW_RECORDS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <jansson.h>

enum {
    RECORDS_READ_MAX = 100, /* files of one sample, spread over those that there are */
    RECORDS_BYTES_MAX = 64 << 20,
};

/* Records of one dataset. */
struct records {
    const json_t *dataset; /* what storage says of it; borrowed */
    size_t count;
    struct weir_buf at;    /* size_t: which of its records each is */
    struct weir_buf bytes; /* of all, end to end, */
    struct weir_buf ends;  /* and where each ends: size_t */
    bool is_whole;         /* they are all that the dataset has */
};

/* Reads them. A record whose file cannot be read is left out. */
void preprocess_records_read(const json_t *dataset, struct records *ret_records);
void preprocess_records_fini(struct records *records);

struct weir_bytes preprocess_records_bytes(const struct records *records, size_t index);
/* Event time, and label with its kind, as struct operator_batch has them. Where there are no labels, as those that come
 * later, each is the number 0. */
int64_t preprocess_records_time(const struct records *records, size_t index);
int64_t preprocess_records_label(const struct records *records, size_t index);
uint32_t preprocess_records_label_kind(const struct records *records);
/* "data/a.csv:17", in the caller's memory. */
char *preprocess_records_place(const struct records *records, size_t index) WEIR_MUST_USE;
/* "2002-08-22T11:36:23Z, label spam", in the caller's memory, or that they are not as declared. */
char *preprocess_records_about(const struct records *records, size_t index) WEIR_MUST_USE;

#endif
