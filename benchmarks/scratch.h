/* A directory for everything a benchmark writes, gone at the end however the benchmark ends. The
 * work is done in a child process: it may drop its privileges, start services, and be killed; this
 * process outlives it and cleans up. */
#ifndef BENCHMARKS_SCRATCH_H
#define BENCHMARKS_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_PATH_MAX = 256 };

/* Runs `body` in a child with a fresh directory below TMPDIR (or /tmp) that every user may write to,
 * waits until no process that came of it is left, and removes the directory. Returns what `body`
 * returned: an exit code; 1 when it died. SIGINT and SIGTERM are handed on to the child. */
int scratch_run(int (*body)(const char *directory, void *owner), void *owner);

#endif
