/* Comma-separated values (RFC 4180), the one reading of them in Weir. Quoted fields may hold delimiters, line
 * breaks and doubled quotes; a quote inside a field that does not begin with one is an error, unless the
 * dialect says otherwise. Pure. */
#ifndef WEIR_BASE_CSV_H
#define WEIR_BASE_CSV_H

#include "core/base/bytes.h"

enum { WEIR_CSV_FIELDS_MAX = 4096 }; /* of a record */

struct weir_csv_dialect {
    char delimiter;
    bool is_unquoted;         /* a quote is a character like any other */
    bool allows_stray_quotes; /* so it is inside a field that does not begin with one */
};
#define WEIR_CSV_COMMAS ((struct weir_csv_dialect){.delimiter = ','})

enum weir_csv_outcome {
    WEIR_CSV_FIELD,  /* a field that another follows */
    WEIR_CSV_RECORD, /* a whole record, or its last field */
    WEIR_CSV_MORE,   /* the text ends inside the record; never when is_last */
    WEIR_CSV_BROKEN, /* a field does not end properly */
};

/* ---- field by field ---- */

struct weir_csv_field {
    struct weir_bytes raw; /* as written, without the outer quotes */
    bool is_quoted;
};

struct weir_csv {
    struct weir_bytes text;
    struct weir_csv_dialect dialect;
    bool is_last;   /* nothing follows `text` */
    size_t at;      /* after WEIR_CSV_RECORD: at the line feed, or the end of the text */
    size_t lines;   /* line feeds passed, with that of the record */
    size_t marked;  /* start of the block that `marks` describes */
    uint64_t marks; /* a bit for each byte of the block that may end something */
};

static inline struct weir_csv weir_csv_begin(struct weir_bytes text,
                                             struct weir_csv_dialect dialect, bool is_last)
{
    return (struct weir_csv){
        .text = text, .dialect = dialect, .is_last = is_last, .marked = SIZE_MAX};
}
/* Reads the next field of a record; not to be called after its last one. */
enum weir_csv_outcome weir_csv_next(struct weir_csv *csv, struct weir_csv_field *ret_field);
/* Returns the value of a field: `raw`, or in `scratch`, where doubled quotes had to be undone. */
struct weir_bytes weir_csv_value(struct weir_csv_field field, struct weir_buf *scratch);

/* ---- record by record ---- */

/* Bytes and lines of a record; of a broken one those of its first line, so that the caller can go on after it. */
struct weir_csv_extent {
    size_t size;           /* bytes with the line break */
    size_t length;         /* bytes without it */
    size_t lines;          /* line feeds in it, at least 1 unless the text ended */
    const char *complaint; /* what was found and expected in a broken one; NULL otherwise */
};

struct weir_csv_record {
    struct weir_csv_extent extent;
    size_t count;
    struct weir_csv_field fields[WEIR_CSV_FIELDS_MAX];
};

/* Reads the first record of `text`: RECORD, MORE or BROKEN. */
enum weir_csv_outcome weir_csv_read(struct weir_bytes text, struct weir_csv_dialect dialect,
                                    bool is_last, struct weir_csv_record *record);
/* The same without the fields. */
enum weir_csv_outcome weir_csv_measure(struct weir_bytes text, struct weir_csv_dialect dialect,
                                       bool is_last, struct weir_csv_extent *ret_extent);

/* Index of the first field with this name in a header, from `from` on, or -1. */
int weir_csv_find(const struct weir_csv_record *header, const char *name, size_t from);

#endif
