/* The dialect of comma-separated values: see csv.h. */
#include "core/config/csv.h"

#include <string.h>

const char *const CFG_CSV_QUOTES[] = {"double", "none", NULL};
enum { QUOTES_NONE = 1 };

const struct cfg_key CFG_TABLE_KEYS[] = {
    CFG_CSV_KEYS(struct cfg_table, dialect),
    CFG_BOOL(struct cfg_table, header, .fallback = "true",
             .doc = "the first record names the columns; false: they are called as `columns` "
                    "says, or 1, 2, 3 …"),
    CFG_TEXTS(struct cfg_table, columns,
              .doc = "with header: false, the names of all columns, in order"),
    CFG_TEXTS(struct cfg_table, missing,
              .doc =
                  "unquoted text that stands for no value, like NA, also for operators; an empty "
                  "field always does"),
    CFG_END,
};

static const char *delimiter_of(const struct cfg_csv *csv)
{
    return strcmp(csv->delimiter, "\\t") == 0 ? "\t" : csv->delimiter;
}

enum weir_status cfg_csv_check(const struct cfg_csv *csv, const char *path, struct weir_error *err)
{
    const char *delimiter = delimiter_of(csv);

    if (strlen(delimiter) == 1 && strchr("\"\r\n", *delimiter) == NULL)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "%s%sdelimiter: found '%s', expected one character, no quote; a tab is \"\\t\"", path,
        *path != '\0' ? "." : "", csv->delimiter);
}

struct weir_csv_dialect cfg_csv_dialect(const struct cfg_csv *csv)
{
    return (struct weir_csv_dialect){.delimiter = *delimiter_of(csv),
                                     .is_unquoted = csv->quotes == QUOTES_NONE};
}

bool cfg_csv_is_blank_word(struct weir_bytes word)
{
    static const char *const WORDS[] = {"NA",   "N/A",  "na",   "n/a",    "NaN",  "nan",
                                        "NULL", "null", "None", "none",   "#N/A", "\\N",
                                        "?",    "-",    ".",    "missing"};

    for (size_t i = 0; i < WEIR_COUNT(WORDS); i++)
        if (weir_bytes_equal(word, weir_bytes_of(WORDS[i])))
            return true;
    return false;
}
