/* See path.h. */
#include "core/base/path.h"

#include "core/base/memory.h"

#include <string.h>

const char *weir_path_below(const char *root, const char *path)
{
    size_t size = strlen(root);

    while (size > 0 && root[size - 1] == '/')
        size--;
    if (strncmp(path, root, size) != 0 || path[size] != '/')
        return path;
    while (path[size] == '/')
        size++;
    return path[size] != '\0' ? path + size : path;
}

char *weir_path_in(const char *root, const char *path)
{
    return path[0] == '/' || path[0] == '\0' ? weir_strdup(path) : weir_format("%s/%s", root, path);
}

const char *weir_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

char *weir_path_beside(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');

    return path[0] == '/' || slash == NULL
               ? weir_strdup(path)
               : weir_format("%.*s/%s", (int)(slash - file), file, path);
}
