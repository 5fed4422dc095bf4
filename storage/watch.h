/* inotify: which datasets may have changed. Only a hint to scan soon; a scan sees everything, also what
 * no event told. Owned by struct storage. */
#ifndef WEIR_STORAGE_WATCH_H
#define WEIR_STORAGE_WATCH_H

#include "core/loop/loop.h"

struct watch;

/* Called with the number of a dataset, once per burst of events that was read. */
typedef void storage_changed_fn(void *owner, uint32_t dataset);

/* Where the kernel gives no inotify the answer is a watch that never tells anything. */
struct watch *storage_watch_new(struct weir_loop *loop, storage_changed_fn *changed, void *owner);
void storage_watch_free(struct watch *watch);
/* Watching a folder again is fine. When the kernel's limit is reached the folder is left to rescans. */
void storage_watch_folder(struct watch *watch, uint32_t dataset, const char *path);

#endif
