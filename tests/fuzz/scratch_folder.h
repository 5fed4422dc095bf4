/* A folder of this process, for targets whose code insists on a real file. */
#ifndef WEIR_TESTS_FUZZ_SCRATCH_FOLDER_H
#define WEIR_TESTS_FUZZ_SCRATCH_FOLDER_H

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Made at the first call, removed at the end. */
static inline const char *scratch_folder(void);

static inline void scratch_remove(void)
{
    weir_ignore(weir_remove_tree(scratch_folder(), NULL)); /* the process ends */
}

static inline const char *scratch_folder(void)
{
    static char path[] = "/tmp/weir-fuzz-XXXXXX";
    static bool is_made;
    if (!is_made) {
        weir_require(mkdtemp(path) != NULL);
        weir_require(atexit(scratch_remove) == 0);
    }
    is_made = true;
    return path;
}

static inline void scratch_write(const char *path, struct weir_bytes bytes)
{
    FILE *file = fopen(path, "wb");
    weir_require(file != NULL);
    weir_require(fwrite(bytes.at, 1, bytes.size, file) == bytes.size);
    weir_require(fclose(file) == 0);
}

#endif
