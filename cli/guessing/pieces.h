/* Pieces of a file: its beginning, decompressed if need be, and its end. */
#ifndef CLI_GUESSING_PIECES_H
#define CLI_GUESSING_PIECES_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { CLI_GUESS_HEAD_BYTES = 16 << 20, CLI_GUESS_TAIL_BYTES = 64 << 10 };

struct cli_guess_pieces {
    struct weir_buf head;
    bool is_whole; /* the head is all of the file */
    /* whole lines from the end; empty when the head is all, or the file is compressed */
    struct weir_buf tail;
};

/* NOT_FOUND, IO, INVALID for a broken .zst. */
enum weir_status cli_guess_pieces_read(const char *path, bool is_compressed,
                                       struct cli_guess_pieces *ret_pieces,
                                       struct weir_error *err) WEIR_MUST_USE;
void cli_guess_pieces_fini(struct cli_guess_pieces *pieces);

#endif
