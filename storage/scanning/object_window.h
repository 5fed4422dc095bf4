/* The part that a file job reads of an object that stays in its bucket: a window at a time, which is
 * waited for, while what lies after it is asked for already. Owned by the job. */
#ifndef WEIR_STORAGE_OBJECT_WINDOW_H
#define WEIR_STORAGE_OBJECT_WINDOW_H

#include "storage/objects/s3_ranges.h"

struct object_window;

struct object_window *storage_object_window_new(struct s3_ranges *ranges);
void storage_object_window_free(struct object_window *window);
bool storage_object_window_is_waiting(const struct object_window *window);

/* A file that holds the beginning of the object, as much as the format needs to see, if `wants_head`, and these bytes;
 * the caller closes it. -1 as long as they are waited for: storage is pumped when they are there. STALE when they
 * never will be: it is another object by now; UNAVAILABLE when they did not come, and a further call asks for them. */
enum weir_status storage_object_window_open(struct object_window *window,
                                            const struct s3_span *wanted, bool wants_head,
                                            int *ret_fd, struct weir_error *err) WEIR_MUST_USE;

#endif
