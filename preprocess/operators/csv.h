/* Fields of a record of comma-separated values, for the operators that read such: the keys they share, how a field is
 * called, and the reader. Reasons never quote the record: it may be about a person. */
#ifndef WEIR_PREPROCESS_OPERATORS_CSV_H
#define WEIR_PREPROCESS_OPERATORS_CSV_H

#include "core/config/csv.h"
#include "preprocess/operators/operator.h"

struct csv_options {
    const char *on;
    struct cfg_texts columns;
    struct cfg_csv dialect;
};

/* Rows of an operator's key table. */
// clang-format off
#define CSV_KEYS(owner, member)                                                                          \
    CFG_KEY_AS("on", CFG_KIND_TEXT, const char *, owner, member.on,                                      \
               .doc = "column; by default the record, `payload`"),                                 \
    CFG_KEY_AS("columns", CFG_KIND_TEXTS, struct cfg_texts, owner, member.columns,                       \
               .doc = "names of all fields of a record, as in the header"),                              \
    CFG_CSV_KEYS(owner, member.dialect)
// clang-format on

struct csv_reader {
    struct weir_csv_dialect dialect;
    size_t fields;   /* of a record, up to the last one wanted */
    int32_t *wanted; /* per field: index of the name that wants it, -1: none */
    int32_t *next;   /* per name: index of another name for the same field, -1: none */
    char **names;    /* of `columns`, for reasons */
    size_t name_count;
    struct weir_buf text; /* of a quoted field */
};

/* Looks up the names of fields: those of `columns`, or numbers from 0; INVALID says what was found. The reader is good
 * to be released in any case. */
enum weir_status preprocess_csv_reader_open(struct csv_reader *reader,
                                            const struct csv_options *options,
                                            const struct cfg_texts *names,
                                            struct weir_error *err) WEIR_MUST_USE;
void preprocess_csv_reader_fini(struct csv_reader *reader);
enum { CSV_FIELD_NAME_MAX = 64 };
/* Writes what reasons call a field: "column 'age'", or "field 3" where it has no name. */
void preprocess_csv_reader_field(const struct csv_reader *reader, size_t field,
                                 char name[CSV_FIELD_NAME_MAX]);

/* A pass over the fields of a record. */
struct csv_walk {
    struct weir_csv csv;
    size_t field;           /* number of the newest, from 0 */
    size_t taken;           /* fields so far */
    bool is_done;           /* the newest is the last of the record */
    struct weir_bytes text; /* of the newest; valid until the next one is taken */
    bool has_failed;
};

struct csv_walk preprocess_csv_walk_begin(const struct csv_reader *reader,
                                          const struct operator_call *call, size_t row);
/* Goes on to the next field that is wanted. False after the last one, or when the record is broken
 * or too short: then the row is marked. */
bool preprocess_csv_walk_next(struct csv_reader *reader, struct csv_walk *walk,
                              struct operator_call *call, size_t row);

#endif
