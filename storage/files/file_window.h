/* The newest bytes read from an open file: records that lie close together are read together. They may be as old
 * as the last storage_window_forget(), so whoever writes to the file forgets it. */
#ifndef WEIR_STORAGE_FILE_WINDOW_H
#define WEIR_STORAGE_FILE_WINDOW_H

#include "storage/formats/format.h"

struct file_window {
    int fd;               /* borrowed */
    struct weir_buf head; /* the beginning of the file, once has_head */
    bool has_head;
    struct weir_buf bytes;
    uint64_t at;    /* byte of the file where `bytes` begins */
    uint64_t ahead; /* bytes read at a time: more, the closer reads follow each other */
    uint64_t reads; /* so far */
};

/* All of a range, valid until the next call. STALE when the file is shorter, then errno is 0, or cannot be read. */
enum weir_status storage_window_read(struct file_window *window, struct format_range range,
                                     struct weir_bytes *ret_bytes,
                                     struct weir_error *err) WEIR_MUST_USE;
/* The beginning of a file of `size` bytes, as much as the format needs to see; valid until it is forgotten. */
enum weir_status storage_window_head(struct file_window *window, const struct format *format,
                                     uint64_t size, struct weir_bytes *ret_head,
                                     struct weir_error *err) WEIR_MUST_USE;
void storage_window_forget(struct file_window *window);
void storage_window_fini(struct file_window *window);

/* All of a range; STALE when the file is shorter, then errno is 0, or cannot be read. `buf` is overwritten. */
enum weir_status storage_range_read(int fd, struct format_range range, struct weir_buf *buf,
                                    struct weir_error *err) WEIR_MUST_USE;
/* The beginning of a file of `size` bytes, as much as the format needs to see. */
enum weir_status storage_head_read(const struct format *format, int fd, uint64_t size,
                                   struct weir_buf *buf, struct weir_error *err) WEIR_MUST_USE;

#endif
