/* inotify: which paths of which datasets may have changed. Only a hint what to scan soon; a scan of
 * everything sees also what no event announced. Owned by struct storage. */
#ifndef WEIR_STORAGE_WATCH_H
#define WEIR_STORAGE_WATCH_H

#include "core/loop/loop.h"

struct watch;

/* `path` (relative to the source, of a file or folder) was made, changed, moved or removed. NULL: anything in
 * the dataset may have; dataset 0: in all of them, because events were lost. */
typedef void storage_changed_fn(void *owner, uint32_t dataset, const char *path);

/* Returns a watch that never tells anything where the kernel gives no inotify. */
struct watch *storage_watch_new(struct weir_loop *loop, storage_changed_fn *changed, void *owner);
void storage_watch_free(struct watch *watch);
/* Watches the folder that is open as `fd`; "" is the source. Again is fine, also for another dataset or under
 * a new name. False when the kernel watches no more: the folder is left to rescans. */
bool storage_watch_folder(struct watch *watch, uint32_t dataset, const char *folder, int fd);

#endif
