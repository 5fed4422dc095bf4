/* Looking for erased content in every file below the data directory, and of Postgres where that is Weir's own, in
 * pieces. A passage that stands in a live sample, in the name of a class or in a requester's own reference is text that
 * others share, and stays; anywhere else it is a find. What is gone by the time it is looked at holds nothing; what
 * cannot be read may hold anything. */
#ifndef WEIR_STORAGE_SEARCH_H
#define WEIR_STORAGE_SEARCH_H

#include "storage/erasure/eraser.h"
#include "storage/erasure/fingerprint.h"
#include "storage/erasure/search_finds.h"
#include "storage/erasure/search_places.h"

struct search_result {
    uint64_t bytes;  /* looked at */
    uint64_t found;  /* places of text that nobody shares */
    uint64_t shared; /* places inside live samples, and of text that others share */
    uint64_t unread; /* files and folders, in whole or in part */
    struct search_places places;
};

struct search;

/* For at most `prints` fingerprints, which are added before the first step. eraser->cluster is searched as well. */
struct search *storage_search_new(struct eraser *eraser, size_t prints);
void storage_search_free(struct search *search);
/* A few milliseconds: makes it ready for fingerprints; true when it is. */
bool storage_search_warm(struct search *search);
/* False, and none is added, when there is no room for them. */
bool storage_search_add(struct search *search, const struct fingerprints *prints);
/* A few milliseconds; *ret_done when all is searched. UNAVAILABLE when positions cannot be looked up. */
enum weir_status storage_search_step(struct search *search, bool *ret_done,
                                     struct weir_error *err) WEIR_MUST_USE;
struct search_result storage_search_result(const struct search *search);
/* Returns the places of finds, and what could not be read and why, the first of each by path; NULL: none. free() it. */
char *storage_search_trouble(struct search *search);
/* Adds the fingerprints of finds, and of what others share. */
void storage_search_tell(const struct search *search, struct search_prints *found,
                         struct search_prints *shared);

#endif
