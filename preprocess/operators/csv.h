/* A record of comma-separated values (RFC 4180), field after field, for the operators that read such: the keys they
 * share, how a field is called, and the reader. Reasons never quote the record: it may be about a person. */
#ifndef WEIR_PREPROCESS_OPERATORS_CSV_H
#define WEIR_PREPROCESS_OPERATORS_CSV_H

#include "preprocess/operators/operator.h"

enum { CSV_FIELDS_MAX = 4096 };

struct csv_options {
    const char *on;
    struct cfg_texts columns;
    const char *delimiter;
    int quotes;
};

extern const char *const CSV_QUOTES[];

/* Rows of an operator's key table. */
// clang-format off
#define CSV_KEYS(owner, member)                                                                          \
    CFG_KEY_AS("on", CFG_KIND_TEXT, const char *, owner, member.on,                                      \
               .doc = "column; by default the newest of bytes or text"),                                 \
    CFG_KEY_AS("columns", CFG_KIND_TEXTS, struct cfg_texts, owner, member.columns,                       \
               .doc = "names of all fields of a record, as in the header"),                              \
    CFG_KEY_AS("delimiter", CFG_KIND_TEXT, const char *, owner, member.delimiter, .fallback = ",",       \
               .doc = "one character between fields; \\t is a tab"),                                     \
    CFG_KEY_AS("quotes", CFG_KIND_CHOICE, int, owner, member.quotes, .choices = CSV_QUOTES,              \
               .fallback = "double", .doc = "double: fields may be in double quotes; none: quotes are "  \
                                            "characters like any other")
// clang-format on

struct csv_reader {
    char delimiter;
    bool is_unquoted;
    size_t fields;        /* of a record, up to the last one wanted */
    int32_t *wanted;      /* per field: which of the names it is, -1: none */
    int32_t *next;        /* per name: another one for the same field, -1: none */
    struct weir_buf text; /* of a quoted field */
};

/* Names of fields, those of `columns` or numbers from 0, are looked up; INVALID says what was
 * found. The reader is good to be released in any case. */
enum weir_status csv_reader_open(struct csv_reader *reader, const struct csv_options *options,
                                 const struct cfg_texts *names,
                                 struct weir_error *err) WEIR_MUST_USE;
void csv_reader_fini(struct csv_reader *reader);

/* On the way through a record. */
struct csv_walk {
    const uint8_t *at, *end;
    size_t field;           /* number of the newest, from 0 */
    size_t taken;           /* fields so far */
    struct weir_bytes text; /* of the newest; until the next one is taken */
    bool has_failed;
};

struct csv_walk csv_walk_begin(const struct operator_call *call, size_t row);
/* Goes on to the next field that is wanted. False behind the last one, or when the record is broken
 * or too short: then the row is marked. */
bool csv_walk_next(struct csv_reader *reader, struct csv_walk *walk, struct operator_call *call,
                   size_t row);

#endif
