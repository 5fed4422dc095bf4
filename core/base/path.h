/* Paths relative to others. Rows of Postgres keep them relative to the data directory, so that a directory that is
 * copied, restored or moved finds its own files, never those of the directory it was. */
#ifndef WEIR_BASE_PATH_H
#define WEIR_BASE_PATH_H

/* Returns the part of `path` below `root`, a pointer into `path`; `path` itself when it lies elsewhere. Lexical. */
const char *weir_path_below(const char *root, const char *path);
/* Returns the path that weir_path_below() shortened: an absolute one unchanged. free() it. */
char *weir_path_in(const char *root, const char *path);
/* Returns the last part of a path, a pointer into it. */
const char *weir_path_name(const char *path);
/* Returns the path that `file` means by `path`, relative to the folder that it lies in. free() it. */
char *weir_path_beside(const char *file, const char *path);

#endif
