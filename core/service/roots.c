/* Folders that sources may lie in. */
#include "core/service/roots.h"

#include "core/base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOTS_MAX = 256 };

static const char VARIABLE[] = "WEIR_ROOTS"; /* a line each */

enum weir_status weir_roots_check(const struct weir_yaml_node *roots, struct weir_error *err)
{
    size_t count = weir_yaml_length(roots);
    if (roots != NULL && (count == 0 || count > ROOTS_MAX))
        return weir_yaml_fail(roots, err, "roots: expected a list of 1 to %d folders", ROOTS_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *root = weir_yaml_text(weir_yaml_at(roots, i));
        if (root == NULL || root[0] != '/' || strchr(root, '\n') != NULL)
            return weir_yaml_fail(weir_yaml_at(roots, i), err,
                                  "roots[%zu]: found '%s', expected the absolute path of a folder",
                                  i, root != NULL ? root : "");
    }
    return WEIR_OK;
}

void weir_roots_hand_on(const struct weir_yaml_node *roots)
{
    WEIR_AUTO_BUF text = {0};
    if (roots == NULL) {
        (void)unsetenv(VARIABLE);
        return;
    }
    for (size_t i = 0; i < weir_yaml_length(roots); i++)
        weir_buf_printf(&text, "%s\n", weir_yaml_text(weir_yaml_at(roots, i)));
    (void)setenv(VARIABLE, weir_buf_text(&text), 1);
}

/* Both without symbolic links and dots. */
static bool is_below(const char *path, const char *root)
{
    size_t size = strcmp(root, "/") == 0 ? 0 : strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static bool is_above(const char *path, const char *root)
{
    return is_below(root, path);
}

/* Returns the first folder of the list that the path is related to, to be freed; NULL: none. */
static char *find(const char *resolved, const char *variable,
                  bool (*is_related)(const char *path, const char *root))
{
    const char *value = getenv(variable);
    WEIR_AUTO_FREE char *text = weir_strdup(value != NULL ? value : "");
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        WEIR_AUTO_FREE char *root = realpath(line, NULL);
        if (root != NULL && is_related(resolved, root))
            return WEIR_TAKE(root);
    }
    return NULL;
}

static bool is_below_any(const char *resolved, const char *variable)
{
    WEIR_AUTO_FREE char *root = find(resolved, variable, is_below);
    return root != NULL;
}

static bool allow(const char *resolved)
{
    return !is_below_any(resolved, WEIR_CLOSED) &&
           (getenv(VARIABLE) == NULL || is_below_any(resolved, VARIABLE));
}

bool weir_roots_is_own(const char *path)
{
    WEIR_AUTO_FREE char *resolved = realpath(path, NULL);
    return is_below_any(resolved != NULL ? resolved : path, WEIR_CLOSED);
}

char *weir_roots_own_within(const char *path)
{
    WEIR_AUTO_FREE char *resolved = realpath(path, NULL);
    return find(resolved != NULL ? resolved : path, WEIR_CLOSED, is_above);
}

bool weir_roots_allow(const char *path)
{
    WEIR_AUTO_FREE char *resolved = realpath(path, NULL);
    return allow(resolved != NULL ? resolved : path);
}

bool weir_roots_allow_open(int fd)
{
    char link[64], place[PATH_MAX];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, place, sizeof(place) - 1);
    if (size < 0)
        return getenv(VARIABLE) == NULL;
    place[size] = '\0';
    return allow(place);
}
