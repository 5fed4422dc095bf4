/* Files of a folder, divided into kinds by their names; the kind that most of the bytes are of is what the folder
 * holds. */
#ifndef CLI_GUESSING_FOLDER_H
#define CLI_GUESSING_FOLDER_H

#include "cli/guessing/column.h"
#include "core/base/error.h"

#include <jansson.h>

enum cli_guess_kind {
    CLI_GUESS_JPEG,
    CLI_GUESS_PNG,
    CLI_GUESS_TABLES,   /* CSV, by its content JSON lines after all */
    CLI_GUESS_LINES,    /* JSON lines */
    CLI_GUESS_TEXTS,    /* one text a file */
    CLI_GUESS_READABLE, /* read by Weir, but not looked into here */
    CLI_GUESS_FOREIGN,  /* not read by Weir */
    CLI_GUESS_OTHER,
    CLI_GUESS_KINDS
};

struct cli_guess_file {
    char *path;         /* below the folder */
    const char *suffix; /* from the last dot on, without .zst; in `path` */
    uint64_t bytes;
    enum cli_guess_kind kind;
    bool is_compressed; /* its name ends in .zst or .zstd */
    bool is_odd;        /* a table with other columns than the largest one has */
};

struct cli_guess_folder {
    char *path; /* as it was given; of a single file its folder */
    bool is_single;
    struct cli_guess_file *files; /* by path */
    size_t count, capacity;
    enum cli_guess_kind kind; /* of the files that count */
    size_t counted, others;   /* files of that kind, and of any other */
    const char *other;        /* first of the others; NULL: there is none */
    uint64_t bytes;           /* of those that count */
    char *include;            /* pattern of their names */
    bool is_compressed;       /* one of them is */
    bool has_manifest;        /* a manifest.csv lies in the folder itself */
    json_t *classes;          /* name of each folder at `depth` -> files that count in it */
    unsigned depth; /* 1: right below; deeper where all lies in one folder, or in train and test */
};

/* Lists `path`, a folder or one file. NOT_FOUND; INVALID with what to do when nothing can be looked into. */
enum weir_status cli_guess_folder_list(const char *path, struct cli_guess_folder *ret_folder,
                                       struct weir_error *err) WEIR_MUST_USE;
/* True of a file that the folder is about: of its kind, and not the manifest. */
bool cli_guess_folder_counts(const struct cli_guess_folder *folder,
                             const struct cli_guess_file *file);
/* Narrows the pattern to the files that are not odd, which then count alone; false where their names have nothing in
 * common that odd ones have not. */
bool cli_guess_folder_leave_odd(struct cli_guess_folder *folder);
void cli_guess_folder_fini(struct cli_guess_folder *folder);

/* Pattern that reads a day out of every name of the files that count, as time.pattern takes it, or NULL; free() it. The
 * span is from the first day to the last. */
char *cli_guess_folder_days(const struct cli_guess_folder *folder, struct cli_guess_span *ret_span);

#endif
