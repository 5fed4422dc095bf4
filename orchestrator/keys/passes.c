/* A file for each key. */
#include "orchestrator/keys/passes.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

void orchestrator_passes_open(struct passes *passes, const char *data_dir)
{
    passes->directory = weir_format("%s/keys/%ss", data_dir, passes->kind);
}

void orchestrator_passes_fini(struct passes *passes)
{
    free(passes->directory);
}

char *orchestrator_pass_path(const struct passes *passes, const char *subject)
{
    return weir_format("%s/%s", passes->directory, subject);
}

static char *purpose_of(const struct passes *passes, const char *subject)
{
    return weir_format("%s %s", passes->kind, subject);
}

/* Workers of a group are worker-1, worker-2, …: the name of a key up to '@' begins theirs. */
enum weir_status orchestrator_pass_issue(struct passes *passes, const char *subject,
                                         struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_format("%s@%s", weir_role_name(passes->role), subject);
    WEIR_AUTO_FREE char *made_for = purpose_of(passes, subject);
    WEIR_AUTO_FREE char *path = orchestrator_pass_path(passes, subject);
    const struct keys_order order = {
        .name = name, .role = passes->role, .tenant = "", .made_for = made_for};
    enum weir_status status = weir_make_directories(passes->directory, 0700, err);
    return status == WEIR_OK ? orchestrator_keys_issue(passes->keys, &order, path, err) : status;
}

static bool end(const struct passes *passes, const char *subject)
{
    WEIR_AUTO_FREE char *made_for = purpose_of(passes, subject);
    WEIR_AUTO_FREE char *path = orchestrator_pass_path(passes, subject);
    struct weir_error err;
    if (orchestrator_keys_end(passes->keys, made_for, &err) == WEIR_OK) {
        (void)unlink(path); /* if it stays, its key is ended once more */
        return true;
    }
    weir_log(WEIR_LOG_WARN, "a key outlives its processes for now", "of=\"%s\" because=\"%s\"",
             made_for, err.text);
    return false;
}

void orchestrator_passes_sweep(struct passes *passes,
                               bool (*left)(const void *owner, const char *subject),
                               const void *owner)
{
    if (passes->are_swept)
        return;
    DIR *directory = opendir(passes->directory);
    passes->are_swept = true;
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && !left(owner, entry->d_name))
            passes->are_swept &= end(passes, entry->d_name);
    if (directory != NULL)
        (void)closedir(directory);
}
