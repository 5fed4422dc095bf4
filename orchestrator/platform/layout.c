/* A directory is a platform's by a file that only a platform makes, or by holding its lock and no other name. */
#include "orchestrator/platform/layout.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_MAX = 3 };

static const char *const FOLDERS[] = {"log",    "storage", "sets",     "runs",
                                      "models", "fitted",  "receipts", "scores"};
static const char *const MARKS[] = {"secret", ORCHESTRATOR_LAYOUT_CLUSTER "/PG_VERSION",
                                    ORCHESTRATOR_LAYOUT_CLUSTER_LOCATION};
/* Names that a start may leave which was killed before there was a mark. */
static const char *const FIRST[] = {ORCHESTRATOR_LAYOUT_LOCK,
                                    ORCHESTRATOR_LAYOUT_SOCKETS,
                                    ORCHESTRATOR_LAYOUT_CLUSTER ".tmp",
                                    ORCHESTRATOR_LAYOUT_CLUSTER_LOCATION ".tmp",
                                    "secret.tmp",
                                    ORCHESTRATOR_LAYOUT_CLUSTER,
                                    "receipt.key",
                                    "receipt.key.tmp"};

struct found {
    struct weir_buf names; /* "'a', 'b'" */
    size_t count;
    bool is_strange; /* some are not of a platform's making */
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool has(const char *directory, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", directory, name);

    return access(path, F_OK) == 0;
}

static size_t count_there(const char *directory, const char *const *names, size_t count)
{
    size_t there = 0;
    for (size_t i = 0; i < count; i++)
        there += has(directory, names[i]);
    return there;
}

static void note(struct found *found, const char *name)
{
    /* "lost+found" is that of a file system mounted there. */
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lost+found") == 0)
        return;
    if (!is_among(name, FOLDERS, WEIR_COUNT(FOLDERS)) && !is_among(name, FIRST, WEIR_COUNT(FIRST)))
        found->is_strange = true;
    if (found->count++ < NAMED_MAX)
        weir_buf_printf(&found->names, "%s'%s'", found->count > 1 ? ", " : "", name);
}

static enum weir_status look(const char *directory, struct found *found, struct weir_error *err)
{
    DIR *folder = opendir(directory);
    const struct dirent *entry;

    if (folder == NULL)
        return weir_fail(err, WEIR_IO, "data directory %s: %s", directory, strerror(errno));
    while ((entry = readdir(folder)) != NULL)
        note(found, entry->d_name);
    (void)closedir(folder);
    return WEIR_OK;
}

/* The lock, which somebody may have removed, is made first, and the folders before anything is put in them. */
static bool is_begun(const char *directory, const struct found *found)
{
    return !found->is_strange &&
           (has(directory, ORCHESTRATOR_LAYOUT_LOCK) ||
            count_there(directory, FOLDERS, WEIR_COUNT(FOLDERS)) == WEIR_COUNT(FOLDERS));
}

enum weir_status orchestrator_layout_check(const char *directory, struct weir_error *err)
{
    struct found found = {.count = 0};
    bool is_marked = count_there(directory, MARKS, WEIR_COUNT(MARKS)) > 0;
    enum weir_status status = is_marked ? WEIR_OK : look(directory, &found, err);

    if (status == WEIR_OK && found.count > 0 && !is_begun(directory, &found))
        status =
            weir_fail(err, WEIR_EXISTS,
                      "data directory %s holds %s%s and is not one of Weir: name one that is "
                      "empty, or not there yet, with --data-dir",
                      directory, weir_buf_text(&found.names), found.count > NAMED_MAX ? ", …" : "");
    weir_buf_fini(&found.names);
    return status;
}

enum weir_status orchestrator_layout_make(const char *directory, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < WEIR_COUNT(FOLDERS) && status == WEIR_OK; i++) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", directory, FOLDERS[i]);
        status = weir_make_directories(path, 0700, err);
    }
    return status;
}
