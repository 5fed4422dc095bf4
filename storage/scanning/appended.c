/* A table by path, in no order: see appended.h. */
#include "storage/scanning/appended.h"

#include "core/base/file.h"
#include "core/base/hash.h"

/* The file's place, or that of the one that was not seen for longest. */
static struct appended_file *place_of(struct appended *appended, uint64_t path)
{
    struct appended_file *oldest = &appended->at[0];

    for (size_t i = 0; i < appended->count; i++) {
        if (appended->at[i].path == path)
            return &appended->at[i];
        if (appended->at[i].seen_ms < oldest->seen_ms)
            oldest = &appended->at[i];
    }
    return appended->count < APPENDED_MAX ? &appended->at[appended->count++] : oldest;
}

bool storage_appended_is_ripe(struct appended *appended, const char *path, const struct stat *found,
                              int64_t now_ms, int64_t patience_ms)
{
    const uint64_t hash = weir_hash64(weir_bytes_of(path), 0);
    struct appended_file *file = place_of(appended, hash);
    const struct appended_file before = *file;
    struct appended_file now = {
        .path = hash,
        .size = (uint64_t)found->st_size,
        .mtime_ns = weir_mtime_ns(found),
        .since_ms = before.since_ms,
        .seen_ms = now_ms,
    };
    bool is_as_before = now.size == before.size && now.mtime_ns == before.mtime_ns;
    bool goes_on = before.path == hash && (now.size > before.size || is_as_before);
    bool is_ripe = goes_on && !is_as_before && now_ms - before.since_ms >= patience_ms;

    if (!goes_on || is_ripe)
        now.since_ms = now_ms;
    *file = now;
    return is_ripe;
}

void storage_appended_forget(struct appended *appended, const char *path)
{
    const uint64_t hash =
        appended->count > 0 ? weir_hash64(weir_bytes_of(path), 0) : 0; /* as a rule there is none */

    for (size_t i = 0; i < appended->count; i++) {
        if (appended->at[i].path == hash) {
            appended->at[i] = appended->at[--appended->count];
            return;
        }
    }
}
