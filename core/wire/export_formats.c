/* Files of an export: see export_formats.h. */
#include "core/wire/export_formats.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct format_files {
    const char *ending, *index;
};

static const struct format_files *find(const char *format)
{
#define X(name, index, doc) {"." #name, index},
    static const struct format_files FORMATS[] = {EXPORT_FORMATS(X)};
#undef X

    for (size_t i = 0; i < WEIR_COUNT(FORMATS); i++)
        if (strcmp(FORMATS[i].ending + 1, format) == 0)
            return &FORMATS[i];
    return NULL;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t size = strlen(name), tail = strlen(ending);

    return size > tail && strcmp(name + size - tail, ending) == 0;
}

static bool is_of(const struct format_files *files, const char *name)
{
    char plain[NAME_MAX + 1];

    (void)snprintf(plain, sizeof(plain), "%s", name);
    if (ends_with(plain, ".tmp"))
        plain[strlen(plain) - strlen(".tmp")] = '\0';
    return ends_with(plain, files->ending) ||
           (files->index != NULL && strcmp(plain, files->index) == 0);
}

enum weir_status weir_export_clean(const char *folder, const char *format, struct weir_error *err)
{
    const struct format_files *files = find(format);
    enum weir_status status = WEIR_OK;

    if (files == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "format '%.80s' of exports is unknown", format);
    DIR *directory = opendir(folder);
    if (directory == NULL && errno == ENOENT)
        return WEIR_OK;
    if (directory == NULL)
        return weir_fail(err, WEIR_IO, "%s: cannot be read: %s", folder, strerror(errno));
    const struct dirent *entry;
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL)
        if (is_of(files, entry->d_name) && unlinkat(dirfd(directory), entry->d_name, 0) != 0 &&
            errno != ENOENT)
            status = weir_fail(err, WEIR_IO, "%s/%s: cannot be removed: %s", folder, entry->d_name,
                               strerror(errno));
    if (status == WEIR_OK &&
        fsync(dirfd(directory)) != 0) /* a power cut must not bring them back */
        status = weir_fail(err, WEIR_IO, "%s: fsync: %s", folder, strerror(errno));
    (void)closedir(directory);
    return status;
}
