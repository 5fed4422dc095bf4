/* Cutting input into batches, after whole records. Pure; input that is read in pieces is cut where it would be cut
 * in one. */
#ifndef CLI_CUT_H
#define CLI_CUT_H

#include "core/base/bytes.h"
#include "core/base/error.h"

struct cli_cut_shape;

/* Zeroed, then cli_cut_init(). */
struct cli_cut {
    const struct cli_cut_shape *shape;
    uint64_t record_bytes; /* of format binary */
    char delimiter;        /* of format csv */

    size_t scanned; /* bytes looked at */
    size_t first;   /* where the first record ends; 0: not yet seen */
    size_t last;    /* where the last whole record ends; 0: none does */
    bool in_quotes, at_field, after_quote;
};

/* Sets up the cut for a format as storage describes it. UNSUPPORTED for a format that this program cannot cut. */
enum weir_status cli_cut_init(struct cli_cut *cut, const char *format, uint64_t record_bytes,
                              const char *delimiter, struct weir_error *err) WEIR_MUST_USE;
/* True when each batch has to begin with the first record of the input, its header. */
bool cli_cut_has_header(const struct cli_cut *cut);
/* True when records are counted by their lines. */
bool cli_cut_counts_lines(const struct cli_cut *cut);

/* Begins anew: a record begins at `from`. */
void cli_cut_begin(struct cli_cut *cut, size_t from);
/* Looks at what has come since the last call; `bytes` begin where they began then. */
void cli_cut_scan(struct cli_cut *cut, struct weir_bytes bytes);
/* Records in `bytes`, by the way they are counted: lines, or records of a fixed size. */
uint64_t cli_cut_count(const struct cli_cut *cut, struct weir_bytes bytes);

#endif
