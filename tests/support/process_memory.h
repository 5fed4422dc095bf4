/* What memory a process has, as the kernel counts it. */
#ifndef WEIR_TESTS_SUPPORT_PROCESS_MEMORY_H
#define WEIR_TESTS_SUPPORT_PROCESS_MEMORY_H

#include "core/base/file.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of what the kernel calls `name` ("VmHWM:", "VmRSS:"), in kB. */
static inline long process_memory_kb(pid_t pid, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("/proc/%d/status", (int)pid);
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    weir_require(weir_file_read(path, 1 << 16, &text, &err) == WEIR_OK);
    const char *line = strstr(weir_buf_text(&text), name);
    weir_require(line != NULL);
    return strtol(line + strlen(name) + 1, NULL, 10);
}

#endif
