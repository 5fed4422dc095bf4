/* Overwriting, in one file, every byte that belongs to no sample: refused records, duplicates, an end that no record
 * was found in, all of a file that was refused as a whole. The format finds the records again, the chunks say which of
 * them are samples; where the two disagree nothing is touched. In pieces: each names the bytes on disk
 * (scrub_intent.h) before the first of them changes, and gives the file its time back. Doing it twice is the same as
 * doing it once, so that a death repeats the file. */
#ifndef WEIR_STORAGE_DROP_FILE_H
#define WEIR_STORAGE_DROP_FILE_H

#include "storage/erasure/drop_claims.h"
#include "storage/erasure/eraser.h"
#include "storage/intake/intake.h"
#include "storage/keys/id_list.h"

#include <sys/stat.h>

/* Zeroed is none. */
struct drop_file {
    struct dataset *dataset;
    uint64_t number; /* of the file */
    bool is_open;
    char *path;
    int fd;
    struct stat seen;       /* as nobody but Weir has left it */
    uint64_t size, indexed; /* as recorded when it was opened */
    bool is_whole; /* what lies after `indexed` belongs to nobody, and nobody is going on with it */
    struct weir_buf head, window;
    size_t window_bytes;
    uint64_t at, record; /* where index() goes on */
    uint64_t passed;     /* after `at`, of a line whose end is looked for */
    struct drop_claims claims;
    struct unclaimed unclaimed;
    uint64_t blanked; /* of its first range */
    bool is_indexed, is_ended;
    bool is_of_erased;     /* records of people who were erased alone; else all that is no sample */
    struct intake reading; /* compares them */
    struct id_list names;  /* of the records that stay, then: keyed hashes of subjects and keys */
    bool is_disputed;      /* records and samples disagree: what is left stays */
    bool is_changed;       /* something was overwritten */
    int error;             /* errno of a failure */
};

/* NOT_FOUND when the file is gone; STALE when it is not what was indexed; IO, with `error`, when it
 * cannot be opened. Whatever it returns, `drop`, which stays where it is, is to be given back. What scans have staged
 * must be committed. */
enum weir_status storage_drop_file_open(struct eraser *eraser, struct dataset *dataset,
                                        struct stored_file *file, struct drop_file *drop,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Restricts an opened file to records of people who were erased, and of what was. */
void storage_drop_file_of_erased(struct drop_file *drop, const struct store *store);
/* A bounded piece of work. STALE when the file has changed meanwhile; IO as above. */
enum weir_status storage_drop_file_step(struct eraser *eraser, struct drop_file *drop,
                                        bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* Lets scans look at the file: what is known of it is stored, or somebody has changed it; nothing of it is half-way. */
void storage_drop_file_forget(const struct store *store, const struct drop_file *drop);
void storage_drop_file_fini(struct drop_file *drop);

#endif
