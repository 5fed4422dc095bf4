/* See context.h. */
#include "cli/context.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/rpc/keys.h"
#include "core/rpc/pass.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700, NAME_MAX_SHOWN = 60, CONTEXT_NAME_MAX = 64 };

/* ---- files ---- */

static enum weir_status find_folder(char **ret_folder, struct weir_error *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    *ret_folder = NULL;
    if (config != NULL && config[0] == '/')
        *ret_folder = weir_format("%s/weir", config);
    else if (home != NULL && home[0] == '/')
        *ret_folder = weir_format("%s/.config/weir", home);
    return *ret_folder != NULL ? WEIR_OK
                               : weir_fail(err, WEIR_INVALID,
                                           "contexts: expected HOME or XDG_CONFIG_HOME to be set");
}

/* The path of a context, or (`name` NULL) of the link to the one in use. */
static enum weir_status find_link(const char *name, char **ret_link, struct weir_error *err)
{
    static const char OF_NAMES[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    WEIR_AUTO_FREE char *folder = NULL;
    size_t size = name != NULL ? strlen(name) : 1;
    if (size == 0 || size > CONTEXT_NAME_MAX ||
        (name != NULL && (name[0] == '.' || strspn(name, OF_NAMES) != size)))
        return weir_fail(err, WEIR_INVALID,
                         "context '%.*s': expected a name of 1 to %d letters, digits, and . _ -",
                         NAME_MAX_SHOWN, name, CONTEXT_NAME_MAX);
    enum weir_status status = find_folder(&folder, err);
    if (status == WEIR_OK)
        *ret_link = name == NULL ? weir_format("%s/context", folder)
                                 : weir_format("%s/contexts/%s", folder, name);
    return status;
}

/* Text of a symbolic link in caller's memory; NULL: it is none. */
static char *read_link(const char *path)
{
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof(target));
    return size > 0 && size < (ssize_t)sizeof(target) ? weir_strndup(target, (size_t)size) : NULL;
}

static enum weir_status fail_unknown(const char *name, struct weir_error *err)
{
    return weir_fail(err, WEIR_NOT_FOUND,
                     "context '%.*s': there is none of this name; weir context list shows them",
                     NAME_MAX_SHOWN, name);
}

/* Name of the context in use in caller's memory; NULL: none is. */
static enum weir_status find_name_in_use(char **ret_name, struct weir_error *err)
{
    const char *given = getenv("WEIR_CONTEXT");
    WEIR_AUTO_FREE char *link = NULL;
    *ret_name = NULL;
    if (given != NULL) {
        *ret_name = given[0] != '\0' ? weir_strdup(given) : NULL;
        return WEIR_OK;
    }
    if (find_link(NULL, &link, err) != WEIR_OK)
        return WEIR_OK; /* a service without a home has no contexts */
    WEIR_AUTO_FREE char *target = read_link(link);
    if (target != NULL)
        *ret_name = weir_strdup(weir_path_name(target));
    return WEIR_OK;
}

enum weir_status cli_context_in_use(char **ret_pass, struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = NULL;
    WEIR_AUTO_FREE char *link = NULL;
    *ret_pass = NULL;
    enum weir_status status = find_name_in_use(&name, err);
    if (status != WEIR_OK || name == NULL)
        return status;
    status = find_link(name, &link, err);
    if (status != WEIR_OK)
        return status;
    *ret_pass = read_link(link);
    return *ret_pass != NULL ? WEIR_OK : fail_unknown(name, err);
}

/* ---- add, use, remove ---- */

static enum weir_status make_folders(struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = NULL;
    enum weir_status status = find_folder(&folder, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *contexts = weir_format("%s/contexts", folder);
    return weir_make_directories(contexts, FOLDER_MODE, err);
}

/* A pass that is none is refused now, and not when it is used. */
static enum weir_status check_pass(const char *path, struct weir_error *err)
{
    struct weir_pass pass = {.platform = NULL};
    enum weir_status status = weir_pass_read(path, &pass, err);
    weir_pass_fini(&pass);
    return status;
}

enum weir_status cli_context_add(const char *name, const char *key, struct weir_error *err)
{
    WEIR_AUTO_FREE char *link = NULL;
    WEIR_AUTO_FREE char *path = NULL;
    if (key == NULL)
        return weir_fail(err, WEIR_INVALID, "context add: expected --key FILE");
    enum weir_status status = find_link(name, &link, err);
    if (status == WEIR_OK)
        status = check_pass(key, err);
    if (status == WEIR_OK)
        status = make_folders(err);
    if (status != WEIR_OK)
        return status;
    path = realpath(key, NULL);
    if (path != NULL && symlink(path, link) == 0)
        return WEIR_OK;
    return errno == EEXIST
               ? weir_fail(err, WEIR_EXISTS,
                           "context '%s' is there already: weir context remove %s first", name,
                           name)
               : weir_fail(err, WEIR_IO, "%s: %s", link, strerror(errno));
}

static enum weir_status use_none(const char *link, struct weir_error *err)
{
    return unlink(link) == 0 || errno == ENOENT
               ? WEIR_OK
               : weir_fail(err, WEIR_IO, "%s: %s", link, strerror(errno));
}

/* In one step: another command finds the one or the other. */
enum weir_status cli_context_use(const char *name, struct weir_error *err)
{
    WEIR_AUTO_FREE char *link = NULL;
    WEIR_AUTO_FREE char *context = NULL;
    enum weir_status status = find_link(NULL, &link, err);
    if (status == WEIR_OK && name == NULL)
        return use_none(link, err);
    if (status == WEIR_OK)
        status = find_link(name, &context, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *pass = read_link(context);
    WEIR_AUTO_FREE char *target = weir_format("contexts/%s", name);
    WEIR_AUTO_FREE char *made = weir_format("%s.new-%ld", link, (long)getpid());
    if (pass == NULL)
        return fail_unknown(name, err);
    if (symlink(target, made) == 0 && rename(made, link) == 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_IO, "%s: %s", link, strerror(errno));
}

enum weir_status cli_context_remove(const char *name, struct weir_error *err)
{
    WEIR_AUTO_FREE char *link = NULL;
    WEIR_AUTO_FREE char *context = NULL;
    enum weir_status status = find_link(NULL, &link, err);
    if (status == WEIR_OK)
        status = find_link(name, &context, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *used = read_link(link);
    WEIR_AUTO_FREE char *target = weir_format("contexts/%s", name);
    if (weir_str_equal(used, target))
        status = use_none(link, err);
    if (status != WEIR_OK || unlink(context) == 0)
        return status;
    return errno == ENOENT ? fail_unknown(name, err)
                           : weir_fail(err, WEIR_IO, "%s: %s", context, strerror(errno));
}

/* ---- list ---- */

/* A pass that can no longer be read is listed with the reason. */
static json_t *context_json(const char *folder, const char *name, const char *used)
{
    struct weir_error err;
    struct weir_pass pass = {.platform = NULL};
    WEIR_AUTO_FREE char *link = weir_format("%s/contexts/%s", folder, name);
    WEIR_AUTO_FREE char *path = read_link(link);
    bool is_good = path != NULL && weir_pass_read(path, &pass, &err) == WEIR_OK;
    WEIR_AUTO_FREE char *platform = is_good ? weir_keys_endpoint(pass.platform) : NULL;
    json_t *json =
        json_pack("{ss,ss,ss*,ss*,ss*,ss*,sb}", "context", name, "key", path != NULL ? path : "",
                  "platform", platform, "name", is_good ? pass.name : NULL, "role",
                  is_good ? weir_role_name(pass.role) : NULL, "problem",
                  path != NULL && !is_good ? err.text : NULL, "used", weir_str_equal(name, used));
    weir_pass_fini(&pass);
    return json;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

enum weir_status cli_context_list(json_t **ret_list, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = NULL;
    WEIR_AUTO_FREE char *used = NULL;
    struct dirent **entries = NULL;
    json_t *contexts = json_array();
    enum weir_status status = find_folder(&folder, err);
    if (status == WEIR_OK)
        status = find_name_in_use(&used, err);
    if (status != WEIR_OK) {
        json_decref(contexts);
        return status;
    }
    WEIR_AUTO_FREE char *path = weir_format("%s/contexts", folder);
    int count = scandir(path, &entries, is_shown, by_name);
    for (int i = 0; i < count; i++) {
        json_array_append_new(contexts, context_json(folder, entries[i]->d_name, used));
        free(entries[i]);
    }
    free(entries);
    *ret_list = json_pack("{so}", "contexts", contexts);
    return WEIR_OK;
}
