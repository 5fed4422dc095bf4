/* Fields of a record of comma-separated values, for the operators that read such: the keys they share, how a field is
 * called, what stands for nothing, and the reader. What the keys do not say, the dataset does whose records they are.
 * Reasons never quote the record: it may be about a person. */
#ifndef WEIR_PREPROCESS_OPERATORS_CSV_H
#define WEIR_PREPROCESS_OPERATORS_CSV_H

#include "core/config/csv.h"
#include "preprocess/operators/operator.h"

struct csv_options {
    const char *on;
    struct cfg_texts columns, missing;
    const char *delimiter;
    int quotes; /* 0: as the dataset, else 1 + as in struct cfg_csv */
};
extern const char *const PREPROCESS_CSV_QUOTES[];

/* Rows of an operator's key table. */
// clang-format off
#define CSV_KEYS(owner, member)                                                                          \
    CFG_KEY_AS("on", CFG_KIND_TEXT, const char *, owner, member.on,                                      \
               .doc = "column; by default the record, `payload`"),                                       \
    CFG_KEY_AS("columns", CFG_KIND_TEXTS, struct cfg_texts, owner, member.columns,                       \
               .doc = "names of all fields of a record; by default those of the dataset, which must be " \
                      "the same"),                                                                       \
    CFG_KEY_AS("missing", CFG_KIND_TEXTS, struct cfg_texts, owner, member.missing,                       \
               .doc = "texts that stand for no value, such as [NA, \"?\"]; by default the dataset's "    \
                      "source.missing"),                                                                 \
    CFG_KEY_AS("delimiter", CFG_KIND_TEXT, const char *, owner, member.delimiter,                        \
               .doc = "one character between fields; by default the dataset's source.delimiter, or a "   \
                      "comma"),                                                                          \
    CFG_KEY_AS("quotes", CFG_KIND_CHOICE, int, owner, member.quotes, .choices = PREPROCESS_CSV_QUOTES,   \
               .fallback = "source", .doc = "double or none, as in the source of a dataset; source: as " \
                                            "there, or double")
// clang-format on

struct csv_reader {
    struct weir_csv_dialect dialect;
    size_t fields;      /* of a record, up to the last one wanted */
    int32_t *wanted;    /* per field: index of the name that wants it, -1: none */
    int32_t *next;      /* per name: index of another name for the same field, -1: none */
    const char **names; /* of fields; borrowed */
    size_t name_count;
    const char **missing; /* texts that stand for nothing; borrowed */
    size_t missing_count;
    bool spares_quoted;   /* but not in quotes */
    struct weir_buf text; /* of a quoted field */
};

/* Chooses the column that is read, and looks up the names of fields: those of `columns`, those of the dataset, or
 * numbers from 0. INVALID says what was found, and when `columns` are not those of the dataset. The reader is good to
 * be released in any case. */
enum weir_status preprocess_csv_reader_open(struct csv_reader *reader,
                                            const struct csv_options *options,
                                            const struct cfg_texts *fields,
                                            const struct operator_schema *schema,
                                            struct operator_plan *plan,
                                            struct weir_error *err) WEIR_MUST_USE;
void preprocess_csv_reader_fini(struct csv_reader *reader);
/* Names of the fields that `fields` are, in their order, as names of elements. */
const char *const *preprocess_csv_reader_elements(const struct csv_reader *reader,
                                                  const struct cfg_texts *fields,
                                                  struct weir_arena *arena);
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
    bool is_quoted;         /* the newest is */
    struct weir_bytes text; /* of the newest; valid until the next one is taken */
    bool has_failed;
};

struct csv_walk preprocess_csv_walk_begin(const struct csv_reader *reader,
                                          const struct operator_call *call, size_t row);
/* Goes on to the next field that is wanted. False after the last one, or when the record is broken
 * or too short: then the row is marked. */
bool preprocess_csv_walk_next(struct csv_reader *reader, struct csv_walk *walk,
                              struct operator_call *call, size_t row);
/* True when the newest field is empty, or stands for nothing. */
bool preprocess_csv_walk_is_missing(const struct csv_reader *reader, const struct csv_walk *walk);

#endif
