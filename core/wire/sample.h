/* The sample id (C1) and the words every process uses about a sample. */
#ifndef WEIR_WIRE_SAMPLE_H
#define WEIR_WIRE_SAMPLE_H

#include <stdint.h>

/* u64 = dataset:20 | block:28 | row:16. Never reused; travels with its bytes, label and weight in
 * every message. */
enum { WEIR_ROW_BITS = 16, WEIR_BLOCK_BITS = 28, WEIR_BLOCK_ROWS = 1 << WEIR_ROW_BITS };

/* Dataset of rows that are lent for a prediction: it is in no catalog. */
enum { WEIR_DATASET_LENT = (1 << 19) - 1 };

static inline uint64_t weir_sample_id(uint32_t dataset, uint32_t block, uint32_t row)
{
    return (uint64_t)dataset << (WEIR_BLOCK_BITS + WEIR_ROW_BITS) |
           (uint64_t)block << WEIR_ROW_BITS | row;
}
static inline uint32_t weir_sample_dataset(uint64_t id)
{
    return (uint32_t)(id >> (WEIR_BLOCK_BITS + WEIR_ROW_BITS));
}
static inline uint32_t weir_sample_block(uint64_t id)
{
    return (uint32_t)(id >> WEIR_ROW_BITS) & ((1u << WEIR_BLOCK_BITS) - 1);
}
static inline uint32_t weir_sample_row(uint64_t id)
{
    return (uint32_t)id & (WEIR_BLOCK_ROWS - 1);
}

/* State of a sample as `locate` gives it, and reason of a hole in a batch. Wire numbers: append
 * only. */
#define WEIR_SAMPLE_STATE_LIST(X)                                 \
    X(LIVE, 0, "live")         /* its bytes are there */          \
    X(ERASED, 1, "erased")     /* tombstoned by an erasure */     \
    X(GONE, 2, "gone")         /* its file vanished or changed */ \
    X(FILTERED, 3, "filtered") /* an operator dropped it */       \
    X(FAILED, 4, "failed")     /* an operator could not read it */

enum weir_sample_state {
#define X(name, number, text) WEIR_SAMPLE_##name = number,
    WEIR_SAMPLE_STATE_LIST(X)
#undef X
        WEIR_SAMPLE_STATES
};

/* Labels travel as i64; the dataset's label kind says what the bits are. Numbers of a vector follow each
 * other, little-endian, in the order of the samples. */
enum { WEIR_LABEL_WIDTH_MAX = 4096 };
enum weir_label_kind {
    WEIR_LABEL_NONE = 0,
    WEIR_LABEL_INT = 1,
    WEIR_LABEL_FLOAT = 2,  /* the bits of a double */
    WEIR_LABEL_CLASS = 3,  /* index into the dataset's class names, in order of first appearance */
    WEIR_LABEL_VALUES = 4, /* 0: the label is a vector, whose numbers travel beside it */
};
/* "none", "int", …, NULL-terminated, in their order. */
extern const char *const WEIR_LABEL_KIND_NAMES[];

/* Kinds of rows in the change feed (C4). Wire numbers: append only. */
enum weir_change_kind {
    WEIR_CHANGE_ADDED = 1,    /* ids first … first + count - 1 appeared */
    WEIR_CHANGE_REMOVED = 2,  /* their file is gone */
    WEIR_CHANGE_REPLACED = 3, /* their file has other content now; its new samples come as ADDED */
    WEIR_CHANGE_ERASED = 4,   /* erased on request */
};

#endif
