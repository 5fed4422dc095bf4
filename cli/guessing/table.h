/* Records of unknown data as columns: fields of CSV, members of JSON lines. Reads the beginning of a file to find
 * out how it is written, and any piece of whole records after that. Pure. */
#ifndef CLI_GUESSING_TABLE_H
#define CLI_GUESSING_TABLE_H

#include "cli/guessing/column.h"
#include "core/base/csv.h"
#include "core/base/error.h"

enum { CLI_GUESS_COLUMNS_MAX = 512 };

struct cli_guess_table {
    struct cli_guess_column *columns;
    size_t count, capacity;
    uint64_t rows;   /* records that were read */
    uint64_t bytes;  /* of them */
    uint64_t broken; /* records that were none */
    bool is_json;
    /* of CSV */
    struct weir_csv_dialect dialect;
    bool has_header;
    /* of JSON */
    size_t lists;  /* members that are lists of objects or lists, which no operator reads */
    size_t dotted; /* members with a dot in their names, which nobody finds */
};

void cli_guess_table_fini(struct cli_guess_table *table);

/* Finds out delimiter, quotes and header from the first bytes of a file, and names the columns: as the header does, or
 * c1, c2 and so on. INVALID when these are no lines with a delimiter. */
enum weir_status cli_guess_csv_begin(struct cli_guess_table *table, struct weir_bytes head,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Counts the records of a piece; `is_last`: no half a record stands at its end. Where the piece begins the file, its
 * header is passed over; false when that one has other columns than the table, and nothing is counted then. */
bool cli_guess_csv_read(struct cli_guess_table *table, struct weir_bytes piece, bool begins_file,
                        bool is_last) WEIR_MUST_USE;
/* The same of JSON lines: columns are added as they are met, a.b for b inside a. */
void cli_guess_lines_read(struct cli_guess_table *table, struct weir_bytes piece, bool is_last);

#endif
