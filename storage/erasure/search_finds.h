/* Places where erased content was found, by fingerprint and file. What others have in common with it is no find: once
 * that is known, those places are taken out. */
#ifndef WEIR_STORAGE_SEARCH_FINDS_H
#define WEIR_STORAGE_SEARCH_FINDS_H

#include "storage/keys/id_list.h"

enum { FINDS_MAX = 65536 }; /* distinct places, and fingerprints */

/* Fingerprints, one for each place: as many as are kept. Beyond, `is_cut`: it may be anybody's. */
struct search_prints {
    struct id_list at;
    bool is_cut;
};

void storage_search_note(struct search_prints *prints, uint64_t print);

/* Zeroed is empty. */
struct search_finds {
    struct find {
        uint64_t print;
        uint32_t file;
    } * at;
    size_t count, capacity;
    char **files;
    size_t file_count, file_capacity;
    uint64_t beyond; /* finds that are only counted */
};

void storage_finds_fini(struct search_finds *finds);
/* Finds of one file follow each other; `path` is copied. */
void storage_finds_add(struct search_finds *finds, const char *path, uint64_t print);
/* Takes out the finds whose fingerprint is in the ascending list. */
void storage_finds_excuse(struct search_finds *finds, const struct id_list *shared);
uint64_t storage_finds_count(const struct search_finds *finds);
/* Appends "in 3 files: A, B, C". */
void storage_finds_print(const struct search_finds *finds, struct weir_buf *out);

#endif
