/* The dialect of comma-separated values in a configuration: keys `delimiter` and `quotes`. */
#ifndef WEIR_CONFIG_CSV_H
#define WEIR_CONFIG_CSV_H

#include "core/base/csv.h"
#include "core/config/schema.h"

struct cfg_csv {
    const char *delimiter;
    int quotes;
};

extern const char *const CFG_CSV_QUOTES[];

/* Rows of a table of keys, for a member of struct cfg_csv. */
// clang-format off
#define CFG_CSV_KEYS(owner, member)                                                                                \
    CFG_KEY_AS("delimiter", CFG_KIND_TEXT, const char *, owner, member.delimiter, .fallback = ",",                 \
               .doc = "one character between fields; \\t is a tab"),                                               \
    CFG_KEY_AS("quotes", CFG_KIND_CHOICE, int, owner, member.quotes, .choices = CFG_CSV_QUOTES,                    \
               .fallback = "double", .doc = "double: a field in double quotes may hold anything; none: quotes are " \
                                            "characters like any other, as in most files that tabs divide")
// clang-format on

/* `datasets[].source` with format csv: for storage, which finds records in the files, and preprocess, which reads their
 * fields. */
struct cfg_table {
    struct cfg_csv dialect;
    bool header;
    struct cfg_texts columns; /* without a header */
    struct cfg_texts missing;
};
extern const struct cfg_key CFG_TABLE_KEYS[];

/* INVALID for a delimiter that is not one character, or is one that has a meaning of its own. `path` is that of the
 * section, "" for none. */
enum weir_status cfg_csv_check(const struct cfg_csv *csv, const char *path,
                               struct weir_error *err) WEIR_MUST_USE;
/* Returns the dialect of a section that has been checked. */
struct weir_csv_dialect cfg_csv_dialect(const struct cfg_csv *csv);

/* True for words that stand for no value in tables, as R, pandas, SQL and people write them. */
bool cfg_csv_is_blank_word(struct weir_bytes word);

#endif
