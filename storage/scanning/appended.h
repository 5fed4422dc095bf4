/* Files that are written to their end without a pause, like logs: waiting for them to be left alone would never end.
 * One that has only grown from look to look for a patience is ripe: its whole lines may be taken in. Pure; bounded;
 * zeroed is none. Owned by a scan. */
#ifndef WEIR_STORAGE_APPENDED_H
#define WEIR_STORAGE_APPENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { APPENDED_MAX = 256 };

struct appended_file {
    uint64_t path; /* its hash */
    uint64_t size;
    int64_t mtime_ns;
    int64_t since_ms; /* it has only grown since then */
    int64_t seen_ms;
};

struct appended {
    struct appended_file at[APPENDED_MAX];
    size_t count;
};

/* Told of each look at a file that was written just now. True at most once in `patience_ms`. What has not grown
 * although it was written (its size was given before its bytes, or it was rewritten) begins to wait again. */
bool storage_appended_is_ripe(struct appended *appended, const char *path, const struct stat *found,
                              int64_t now_ms, int64_t patience_ms);
/* The file was left alone: should it be appended to later, it waits from then on. */
void storage_appended_forget(struct appended *appended, const char *path);

#endif
