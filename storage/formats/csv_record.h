/* One record of comma-separated values (RFC 4180): quoted fields may hold delimiters, line breaks
 * and doubled quotes, unless quotes are characters like any other. Pure; used by format `csv` and by manifests. */
#ifndef WEIR_STORAGE_FORMATS_CSV_RECORD_H
#define WEIR_STORAGE_FORMATS_CSV_RECORD_H

#include "core/base/bytes.h"

enum { CSV_FIELDS_MAX = 1024 };

enum csv_outcome {
    CSV_RECORD, /* a whole record */
    CSV_MORE,   /* the text ends inside a record; never when is_last */
    CSV_BROKEN, /* see complaint */
};

struct csv_dialect {
    char delimiter;
    bool is_unquoted; /* a quote means nothing: a field ends with a delimiter or the line */
};
#define CSV_COMMAS ((struct csv_dialect){.delimiter = ','})

struct csv_record {
    size_t size;   /* bytes with the line break */
    size_t length; /* bytes without it */
    size_t lines;  /* line breaks in it, at least 1 unless the text ended */
    size_t count;
    struct weir_bytes fields[CSV_FIELDS_MAX]; /* as written, without the outer quotes */
    bool is_quoted[CSV_FIELDS_MAX];
    const char *complaint;
};

/* Reads the first record of `text`. After CSV_BROKEN, size, length and lines are those of the first
 * line, so that the caller can go on behind it. `is_last`: nothing follows `text`. */
enum csv_outcome csv_record_read(struct weir_bytes text, struct csv_dialect dialect, bool is_last,
                                 struct csv_record *record);

/* The value of a field: doubled quotes undone into `scratch` where there are any. */
struct weir_bytes csv_record_value(const struct csv_record *record, size_t field,
                                   struct weir_buf *scratch);

/* The first field of a header record with this name, from `from` on, or -1. */
int csv_record_find(const struct csv_record *header, const char *name, size_t from);

#endif
