/* Cutting input into batches, after whole records. Pure; input that is read in pieces is cut where it would be cut
 * in one. */
#ifndef CLI_CUT_H
#define CLI_CUT_H

#include "core/base/bytes.h"
#include "core/base/csv.h"
#include "core/base/error.h"

struct cli_cut_shape;

/* A format as storage describes it. */
struct cli_cut_format {
    const char *name;
    uint64_t record_bytes; /* of format binary */
    const char *delimiter; /* of format csv, as the two that follow */
    bool is_unquoted, is_headless;
};

/* Zeroed, then cli_cut_init(). */
struct cli_cut {
    const struct cli_cut_shape *shape;
    uint64_t record_bytes; /* of format binary */
    struct weir_csv_dialect dialect;
    bool has_header; /* each batch has to begin with the first record of the input */

    size_t scanned; /* bytes that need not be looked at again */
    size_t first;   /* where the first record ends; 0: not yet seen */
    size_t last;    /* where the last whole record ends; 0: none does */
};

/* UNSUPPORTED for a format that this program cannot cut. */
enum weir_status cli_cut_init(struct cli_cut *cut, const struct cli_cut_format *format,
                              struct weir_error *err) WEIR_MUST_USE;
/* True when records are counted by their lines. */
bool cli_cut_counts_lines(const struct cli_cut *cut);

/* Begins again: a record begins at `from`. */
void cli_cut_begin(struct cli_cut *cut, size_t from);
/* Looks at what has come since the last call; `bytes` begin where they began then. */
void cli_cut_scan(struct cli_cut *cut, struct weir_bytes bytes);
/* Records in `bytes`, by the way they are counted: lines, or records of a fixed size. */
uint64_t cli_cut_count(const struct cli_cut *cut, struct weir_bytes bytes);

#endif
