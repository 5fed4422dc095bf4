/* The names of one folder in the bytewise order of the paths that they lead to, in bounded memory. Names
 * come in any order and leave sorted. When they are more than fit, the smallest are kept: the window is
 * emptied, and the folder read again for those after. A folder sorts as `name/`, because its files do. */
#ifndef WEIR_STORAGE_NAME_WINDOW_H
#define WEIR_STORAGE_NAME_WINDOW_H

#include "core/base/bytes.h"

enum { NAME_WINDOW_BYTES_MIN = 64 << 10 };

struct name_window;

/* `bytes_max` bounds what is kept; at least NAME_WINDOW_BYTES_MIN. */
struct name_window *storage_name_window_new(size_t bytes_max);
void storage_name_window_free(struct name_window *window);
WEIR_DEFINE_AUTO(name_window, storage_name_window_free)

void storage_name_window_add(struct name_window *window, const char *name, bool is_folder);
/* The next name, folders with a slash at the end; NULL at the end of the window. Valid until the next call. No
 * name may be added between the first of these and again(). */
const char *storage_name_window_next(struct name_window *window);
/* After NULL: true when names were left out. All of them are then to be added once more; those that were
 * given are passed over. */
bool storage_name_window_again(struct name_window *window);

#endif
