/* A column of unknown data: its values are counted by all that they may be, so that its use can be guessed in the end.
 * Pure. */
#ifndef CLI_GUESSING_COLUMN_H
#define CLI_GUESSING_COLUMN_H

#include "core/base/bytes.h"

#include <jansson.h>

enum { CLI_GUESS_DISTINCT_MAX = 2000, CLI_GUESS_FORMS_MAX = 48 };

/* Times of a column as one form reads them, in microseconds since 1970. */
struct cli_guess_span {
    int64_t first_us, last_us;
};

struct cli_guess_column {
    char *name;
    size_t values; /* fields that hold something */
    /* of the values: NA and its like, which stand for nothing in a column of numbers */
    size_t marked;
    json_t *marks;                  /* those words */
    size_t quoted;                  /* of the values: texts in JSON */
    size_t lists;                   /* of JSON that the values stand in */
    size_t numbers;                 /* of the values */
    bool takes_commas;              /* 12,5 is a number: of CSV without commas between fields */
    size_t commas;                  /* of the numbers: those that are written so */
    size_t integers;                /* of the numbers */
    size_t dressed;                 /* values that are no numbers for their signs: $1,200 or 5 % */
    size_t words;                   /* of all values, divided by blanks */
    double least, greatest, newest; /* of the numbers */
    double sum, squares;
    size_t falls;     /* numbers that are less than the number before */
    size_t steps;     /* numbers that are one more than the number before */
    json_t *distinct; /* text -> times met; no more than CLI_GUESS_DISTINCT_MAX */
    bool has_others;  /* values beyond those of `distinct` */
    size_t filled_at; /* number of values when `distinct` was full; 0: it is not */
    size_t long_ones; /* values too long for `distinct` */
    uint64_t forms;   /* bit f: form f has read all values that are not marked */
    struct cli_guess_span span[CLI_GUESS_FORMS_MAX];
    char *odd; /* the first value that is no time as those before it are, or NULL */
};

/* `name` need not be terminated. */
void cli_guess_column_init(struct cli_guess_column *column, struct weir_bytes name);
void cli_guess_column_fini(struct cli_guess_column *column);
/* Counts a value, with the blanks that are around it; one of blanks alone is a missing one. */
void cli_guess_column_add(struct cli_guess_column *column, struct weir_bytes whole);

/* ---- what the values are ---- */

/* Form 0 is RFC 3339 (NULL here); others are patterns of WEIR_WRITTEN_USUAL. */
const char *cli_guess_form_pattern(size_t form);
/* The first form that has read all values, or CLI_GUESS_FORMS_MAX. */
size_t cli_guess_column_form(const struct cli_guess_column *column);
/* The unit ("s", "ms", "us", "ns") in which numbers are times between 1980 and 2100, or NULL. */
const char *cli_guess_column_unit(const struct cli_guess_column *column,
                                  struct cli_guess_span *ret_span);
/* True for such numbers that never fall: records are written as they happen. */
bool cli_guess_column_ascends(const struct cli_guess_column *column);
bool cli_guess_column_is_numeric(const struct cli_guess_column *column);
/* True for numbers with a sign or a unit, or with marks of thousands, which nobody reads. */
bool cli_guess_column_is_dressed(const struct cli_guess_column *column);
bool cli_guess_column_is_constant(const struct cli_guess_column *column);
/* Number of different values; CLI_GUESS_DISTINCT_MAX when there are more. */
size_t cli_guess_column_distinct(const struct cli_guess_column *column);

#endif
