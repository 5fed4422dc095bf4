/* See folder.h. */
#include "storage/preview/folder.h"

#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/config/schema.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEIGHBOURS_MAX = 1000 };

static const char *const NEEDS[FOLDER_NEEDS] = {"remarked", "awaited", "needed"};

enum folder_need storage_folder_need(const char *name)
{
    for (int need = 0; need < FOLDER_NEEDS; need++)
        if (weir_str_equal(name, NEEDS[need]))
            return (enum folder_need)need;
    return FOLDER_REMARKED;
}

/* Appends those of folders beside `path`, up to NEIGHBOURS_MAX, each with its end. */
static size_t read_neighbours(const char *path, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *parent = weir_path_beside(path, ".");
    DIR *folder = opendir(parent);
    size_t count = 0;

    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; count < NEIGHBOURS_MAX && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        weir_buf_append(out, entry->d_name, strlen(entry->d_name) + 1);
        count++;
    }
    (void)closedir(folder);
    return count;
}

/* Appends the folder beside `path` that was probably meant. */
static void append_meant(const char *path, struct weir_buf *out)
{
    const char *names[NEIGHBOURS_MAX + 1];
    WEIR_AUTO_BUF text = {0};
    size_t count = read_neighbours(path, &text);
    const char *at = (const char *)text.at;

    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        names[i] = at;
    names[count] = NULL;
    const char *meant = cfg_nearest(weir_path_name(path), names);
    if (meant != NULL)
        weir_buf_printf(out, " (did you mean '%s'?)", meant);
}

/* Appends where a relative path leads, and what may have been meant. */
static void explain(const char *path, struct weir_buf *out)
{
    char here[PATH_MAX];

    if (strpbrk(path, "*?[") != NULL)
        weir_buf_append_text(out, ": a path is no pattern, source.include is one");
    else if (path[0] == '~' || path[0] == '$')
        weir_buf_append_text(out, ": no shell reads this, write the path out in full");
    else if (path[0] != '/' && getcwd(here, sizeof(here)) != NULL)
        weir_buf_printf(out, ", looked for in %s", here);
    append_meant(path, out);
}

static void complain_of_absence(const struct declaration *d, const char *path,
                                enum folder_need need, bool is_live,
                                struct cfg_complaints *complaints)
{
    bool may_come = need == FOLDER_AWAITED && is_live;
    const struct weir_yaml_node *place = weir_yaml_get(d->source_node, "path");
    WEIR_AUTO_BUF rest = {0};

    explain(d->source.path, &rest);
    if (may_come)
        weir_buf_printf(&rest,
                        ": make it before the pipeline is started (mkdir -p '%s'); files may come "
                        "later",
                        d->source.path);
    cfg_note_at(complaints, need == FOLDER_REMARKED || may_come ? WEIR_OK : WEIR_INVALID, place,
                "%s.source.path: there is no folder '%s' %s%s", path, d->source.path,
                may_come ? "yet" : "here", weir_buf_text(&rest));
}

bool storage_folder_check(const struct declaration *d, const char *path, enum folder_need need,
                          bool is_live, struct cfg_complaints *complaints)
{
    struct stat found;

    if (d->is_pushed || d->is_mirrored || d->source.path == NULL)
        return true;
    if (stat(d->source.path, &found) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            complain_of_absence(d, path, need, is_live, complaints);
        return true; /* what forbids to look is said by who reads it */
    }
    if (!S_ISDIR(found.st_mode))
        cfg_note_at(complaints, WEIR_INVALID, weir_yaml_get(d->source_node, "path"),
                    "%s.source.path: found a file, %s, expected its folder, and include: \"%s\"",
                    path, d->source.path, weir_path_name(d->source.path));
    return S_ISDIR(found.st_mode);
}
