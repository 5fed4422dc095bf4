/* Files of a group, each small. */
#include "orchestrator/launchers/slurm_folder.h"

#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/service/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMBERS_BYTES_MAX = 1 << 16, RECORD_BYTES_MAX = 300, KEY_BYTES_MAX = 4096 };

char *orchestrator_slurm_folder(const struct slurm_folders *folders, const char *group)
{
    return weir_format("%s/%s", folders->directory, group);
}

static char *file_of(const struct slurm_folders *folders, const char *group, const char *file)
{
    return weir_format("%s/%s/%s", folders->directory, group, file);
}

static enum weir_status write_script(const struct slurm_folders *folders,
                                     const struct launcher_group *group, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = orchestrator_slurm_folder(folders, group->name);
    WEIR_AUTO_FREE char *path = file_of(folders, group->name, "script");
    WEIR_AUTO_BUF text = {0};
    const struct slurm_script script = {group, folder, folders->log_dir, folders->confine};
    orchestrator_slurm_script_write(&script, &text);
    return weir_file_write_unsynced(path, weir_buf_view(&text), err);
}

static enum weir_status write_members(const struct slurm_folders *folders,
                                      const struct launcher_group *group, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = file_of(folders, group->name, "members");
    WEIR_AUTO_BUF text = {0};
    for (size_t i = 0; i < group->count; i++)
        weir_buf_printf(&text, "%s\n", group->members[i].name);
    return weir_file_write_unsynced(path, weir_buf_view(&text), err);
}

static bool is_ours(const char *variable)
{
    for (char **own = environ; *own != NULL; own++)
        if (strcmp(*own, variable) == 0)
            return true;
    return false;
}

/* True of a variable that a member has to find though it is ours: which programs a worker may run, and what the system
 * file gives a program. */
static bool is_told(const struct orchestrator_child *member, const char *variable)
{
    bool is_named = member->jail == NULL && weir_programs_tell(variable);
    for (const char *const *name = member->told; !is_named && name != NULL && *name != NULL; name++)
        is_named = weir_variable_is(variable, *name);
    return is_named;
}

static enum weir_status write_private(const char *path, struct weir_bytes text,
                                      struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd >= 0 && weir_write_all(fd, text)
               ? WEIR_OK
               : weir_fail(err, WEIR_IO, "cannot write %s: %s", path, strerror(errno));
}

static enum weir_status copy_key(const struct slurm_folders *folders,
                                 const struct launcher_group *group, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = file_of(folders, group->name, "key");
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(group->key, KEY_BYTES_MAX, &text, err);
    if (status == WEIR_OK)
        status = write_private(path, weir_buf_view(&text), err);
    weir_buf_wipe(&text);
    return status;
}

/* Variables of a member that this process does not have itself, and which programs of the user it may run, as a file
 * that the script reads: they may hold a token, and Slurm keeps neither the file nor the environment of a job. GPUs are
 * given out by Slurm. */
static enum weir_status write_environment(const struct slurm_folders *folders,
                                          const struct launcher_group *group, size_t index,
                                          struct weir_error *err)
{
    static const char VISIBLE[] = "CUDA_VISIBLE_DEVICES=";
    WEIR_AUTO_FREE char *path =
        weir_format("%s/%s/env-%zu", folders->directory, group->name, index);
    WEIR_AUTO_BUF text = {0};
    for (char *const *variable = group->members[index].env; variable != NULL && *variable != NULL;
         variable++)
        if ((!is_ours(*variable) || is_told(&group->members[index], *variable)) &&
            strncmp(*variable, VISIBLE, sizeof(VISIBLE) - 1) != 0)
            orchestrator_slurm_script_export(*variable, &text);
    return text.size > 0 ? write_private(path, weir_buf_view(&text), err) : WEIR_OK;
}

enum weir_status orchestrator_slurm_folder_write(const struct slurm_folders *folders,
                                                 const struct launcher_group *group,
                                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = orchestrator_slurm_folder(folders, group->name);
    enum weir_status status = weir_make_directories(folder, 0700, err);
    if (status == WEIR_OK)
        status = write_members(folders, group, err);
    if (status == WEIR_OK && group->key != NULL)
        status = copy_key(folders, group, err);
    for (size_t i = 0; status == WEIR_OK && i < group->count; i++)
        status = write_environment(folders, group, i, err);
    return status == WEIR_OK ? write_script(folders, group, err) : status;
}

enum weir_status orchestrator_slurm_folder_members(const struct slurm_folders *folders,
                                                   const char *group, struct weir_buf *names,
                                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = file_of(folders, group, "members");
    return weir_file_read(path, MEMBERS_BYTES_MAX, names, err);
}

bool orchestrator_slurm_folder_exit(const struct slurm_folders *folders, const char *group,
                                    size_t index, struct slurm_exit *ret_exit)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s/exit-%zu", folders->directory, group, index);
    WEIR_AUTO_BUF text = {0};
    return weir_file_read(path, RECORD_BYTES_MAX, &text, NULL) == WEIR_OK &&
           orchestrator_slurm_exit_read(weir_buf_view(&text), ret_exit);
}

void orchestrator_slurm_folder_drop(const struct slurm_folders *folders, const char *group)
{
    WEIR_AUTO_FREE char *folder = orchestrator_slurm_folder(folders, group);
    struct weir_error err;
    if (weir_remove_tree(folder, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "a folder of Slurm's jobs stays", "error=\"%s\"", err.text);
}

void orchestrator_slurm_folder_sweep(const struct slurm_folders *folders,
                                     const struct slurm_jobs *jobs)
{
    DIR *directory = opendir(folders->directory);
    size_t size = strlen(jobs->prefix);
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (size > 0 && strncmp(entry->d_name, jobs->prefix, size) == 0 &&
            !orchestrator_slurm_jobs_has(jobs, entry->d_name))
            orchestrator_slurm_folder_drop(folders, entry->d_name);
    if (directory != NULL)
        (void)closedir(directory);
}
