/* When datasets are scanned: soon after an event has named a path of theirs or a bucket's mirror has changed, and now
 * and then to be sure, for no event is certain to come. Scans take turns, a piece at a time, and none takes more than a
 * fifth of the time. Owned by struct storage. */
#ifndef WEIR_STORAGE_SCANNER_H
#define WEIR_STORAGE_SCANNER_H

#include "storage/scanning/scan.h"

struct mirrors;
struct scanner;

/* `from`, `mirrors` and the store outlive it. */
struct scanner *storage_scanner_new(struct store *store, const struct gather_from *from,
                                    struct mirrors *mirrors);
void storage_scanner_free(struct scanner *scanner);
/* The tools of its scans, for whoever commits what they have staged. */
const struct scan_tools *storage_scanner_tools(const struct scanner *scanner);

/* Starts scans of the datasets that are marked dirty, now or as soon as they may start. */
void storage_scanner_start(struct scanner *scanner);
/* The same, once everything is marked. */
void storage_scanner_start_all(struct scanner *scanner);
/* One piece of one scan; false when none can go on. `is_erasing`: bytes may stand where they are about to be
 * overwritten. */
bool storage_scanner_step(struct scanner *scanner, bool is_erasing);

/* True soon after the start, while sources that can be looked at have not been: what is known of them may be old. */
bool storage_scanner_is_first(const struct scanner *scanner);
/* Why the newest scan of the dataset could not run, or NULL. */
const char *storage_scanner_trouble(const struct scanner *scanner, const struct dataset *dataset);

#endif
