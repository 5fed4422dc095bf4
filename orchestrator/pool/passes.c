/* A file for each key. */
#include "orchestrator/pool/passes.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

void orchestrator_pool_passes_open(struct pool_passes *passes, struct keys *keys,
                                   const char *data_dir)
{
    *passes = (struct pool_passes){
        .keys = keys,
        .directory = weir_format("%s/keys/groups", data_dir),
    };
}

void orchestrator_pool_passes_fini(struct pool_passes *passes)
{
    free(passes->directory);
}

char *orchestrator_pool_pass_path(const struct pool_passes *passes, const char *group)
{
    return weir_format("%s/%s", passes->directory, group);
}

static char *purpose_of(const char *group)
{
    return weir_format("group %s", group);
}

/* Workers of a group are worker-1, worker-2, …: the name of its key up to '@' begins theirs. */
enum weir_status orchestrator_pool_pass_issue(struct pool_passes *passes, const char *group,
                                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_format("worker@%s", group);
    WEIR_AUTO_FREE char *made_for = purpose_of(group);
    WEIR_AUTO_FREE char *path = orchestrator_pool_pass_path(passes, group);
    const struct keys_order order = {
        .name = name, .role = WEIR_ROLE_WORKER, .tenant = "", .made_for = made_for};
    enum weir_status status = weir_make_directories(passes->directory, 0700, err);
    return status == WEIR_OK ? orchestrator_keys_issue(passes->keys, &order, path, err) : status;
}

static bool end(const struct pool_passes *passes, const char *group)
{
    WEIR_AUTO_FREE char *made_for = purpose_of(group);
    WEIR_AUTO_FREE char *path = orchestrator_pool_pass_path(passes, group);
    struct weir_error err;
    if (orchestrator_keys_end(passes->keys, made_for, &err) == WEIR_OK) {
        (void)unlink(path); /* if it stays, its key is ended once more */
        return true;
    }
    weir_log(WEIR_LOG_WARN, "a key outlives its workers for now", "group=%s because=\"%s\"", group,
             err.text);
    return false;
}

void orchestrator_pool_passes_sweep(struct pool_passes *passes,
                                    bool (*left)(const void *owner, const char *group),
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
