/* A directory of its own for each test that writes files. Removed at the end; its path is printed
 * when that fails. */
#ifndef WEIR_TESTS_SUPPORT_TEMP_DIR_H
#define WEIR_TESTS_SUPPORT_TEMP_DIR_H

#include "core/base/error.h"
#include "core/base/file.h"

#include <stdio.h>
#include <stdlib.h>

struct temp_dir {
    char path[256];
    char file[512]; /* the newest answer of temp_path() */
};

static inline void temp_dir_make(struct temp_dir *dir)
{
    const char *root = getenv("TMPDIR");
    snprintf(dir->path, sizeof(dir->path), "%s/weir-test-XXXXXX", root != NULL ? root : "/tmp");
    weir_require(mkdtemp(dir->path) != NULL);
}

static inline void temp_dir_remove(struct temp_dir *dir)
{
    struct weir_error err;
    if (weir_remove_tree(dir->path, &err) != WEIR_OK)
        fprintf(stderr, "left behind: %s: %s\n", dir->path, err.text);
}

/* "DIR/name", valid until the next call. */
static inline const char *temp_path(struct temp_dir *dir, const char *name)
{
    snprintf(dir->file, sizeof(dir->file), "%s/%s", dir->path, name);
    return dir->file;
}

#endif
