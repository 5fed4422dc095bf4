/* Whole reads, and writes that are either all there or not there at all. */
#ifndef WEIR_BASE_FILE_H
#define WEIR_BASE_FILE_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <sys/types.h>
#include <time.h>

struct stat;

/* Appends the file to `buf`. NOT_FOUND, LIMIT beyond `bytes_max`, IO. */
enum weir_status weir_file_read(const char *path, size_t bytes_max, struct weir_buf *buf,
                                struct weir_error *err) WEIR_MUST_USE;
/* The same of an open file, whose errno is taken for a failure to open it where `fd` is negative. */
enum weir_status weir_file_read_open(int fd, const char *path, size_t bytes_max,
                                     struct weir_buf *buf, struct weir_error *err) WEIR_MUST_USE;
/* Writes PATH.tmp, fsyncs it, renames it over `path`, fsyncs the directory. */
enum weir_status weir_file_write_atomic(const char *path, struct weir_bytes bytes,
                                        struct weir_error *err) WEIR_MUST_USE;
/* The same for `count` pieces end to end, so that a large file need not be put together in memory
 * first. */
enum weir_status weir_file_write_pieces(const char *path, const struct weir_bytes *pieces,
                                        size_t count, struct weir_error *err) WEIR_MUST_USE;
/* As weir_file_write_atomic(), but a power cut may lose it until weir_files_sync(). */
enum weir_status weir_file_write_unsynced(const char *path, struct weir_bytes bytes,
                                          struct weir_error *err) WEIR_MUST_USE;
/* fsyncs files of one directory, and the directory: all are begun to be written before the first is
 * waited for, which costs far less than one after the other. */
enum weir_status weir_files_sync(char *const *paths, size_t count,
                                 struct weir_error *err) WEIR_MUST_USE;
/* Writes all of `bytes` where `fd` stands. False, with errno, when it cannot. */
bool weir_write_all(int fd, struct weir_bytes bytes) WEIR_MUST_USE;
/* Reads `size` bytes at `offset`, fewer only where the file ends; returns how many. -1, with errno, when it cannot. */
ssize_t weir_read_at(int fd, void *to, size_t size, uint64_t offset) WEIR_MUST_USE;
/* Maps the whole file read-only: NOT_FOUND, IO; an empty file maps to NULL and no bytes. Unmap with
 * weir_file_unmap(). */
enum weir_status weir_file_map(const char *path, void **ret_at, size_t *ret_size,
                               struct weir_error *err) WEIR_MUST_USE;
/* The same of a file in a folder that somebody else may write in: IO where `path` is a symbolic link. */
enum weir_status weir_file_map_no_link(const char *path, void **ret_at, size_t *ret_size,
                                       struct weir_error *err) WEIR_MUST_USE;
void weir_file_unmap(void *at, size_t size);
/* mkdir -p; existing directories are fine. */
enum weir_status weir_make_directories(const char *path, mode_t mode,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Removes a file or a whole tree; absent is fine. Never follows symbolic links. */
enum weir_status weir_remove_tree(const char *path, struct weir_error *err) WEIR_MUST_USE;
/* fsyncs the directory that holds `path`, so that a rename or unlink in it survives a power cut. */
enum weir_status weir_sync_parent(const char *path, struct weir_error *err) WEIR_MUST_USE;

/* open() of `path` below the folder `root` that follows no symbolic link below `root` and never leaves
 * it, whatever is swapped meanwhile. -1 and errno; ELOOP where a link stands. `flags` must not create. */
int weir_open_beneath(const char *root, const char *path, int flags) WEIR_MUST_USE;
/* The same below an open folder. */
int weir_open_beneath_at(int root, const char *path, int flags) WEIR_MUST_USE;

/* Time of the last modification, since 1970. What 64 bits do not hold (from the year 2262 on, in ns) wraps
 * around: any file may say so, and two times are distinguished all the same. */
int64_t weir_mtime_ns(const struct stat *about);
int64_t weir_mtime_us(const struct stat *about);
/* Time of the last change of anything, in ns: the kernel's word, which nobody sets back. */
int64_t weir_ctime_ns(const struct stat *about);
/* The other way round, for futimens(): also of times before 1970. */
struct timespec weir_mtime_of_ns(int64_t mtime_ns);
struct timespec weir_mtime_of_us(int64_t mtime_us);

/* Closes at the end of the scope: `WEIR_AUTO_FD int fd = open(…);` */
void weir_auto_fd(const int *fd);
#define WEIR_AUTO_FD __attribute__((cleanup(weir_auto_fd)))

#endif
