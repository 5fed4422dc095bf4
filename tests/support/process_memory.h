/* Memory of a process, as the kernel counts it. */
#ifndef WEIR_TESTS_SUPPORT_PROCESS_MEMORY_H
#define WEIR_TESTS_SUPPORT_PROCESS_MEMORY_H

#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the memory that the kernel calls `name` ("VmHWM:", "VmRSS:"), in kB. */
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

/* Counts the occurrences in `at` of the bytes whose inverse is `inverted`. */
static inline size_t process_memory_count(const uint8_t *at, size_t size, const uint8_t *inverted,
                                          size_t wanted)
{
    size_t count = 0;
    for (size_t i = 0; i + wanted <= size; i++) {
        size_t same = 0;
        while (same < wanted && (at[i + same] ^ inverted[same]) == UINT8_MAX)
            same++;
        count += same == wanted;
    }
    return count;
}

/* In how many places a process has these bytes, which are given inverted so that the asker does not hold them. */
static inline size_t process_memory_places(pid_t pid, const uint8_t *inverted, size_t wanted)
{
    static uint8_t window[64 << 10];
    WEIR_AUTO_FREE char *maps_path = weir_format("/proc/%d/maps", (int)pid);
    WEIR_AUTO_FREE char *path = weir_format("/proc/%d/mem", (int)pid);
    FILE *maps = fopen(maps_path, "re");
    WEIR_AUTO_FD int memory = open(path, O_RDONLY | O_CLOEXEC);
    weir_require(maps != NULL && memory >= 0);
    unsigned long first, end;
    size_t places = 0;
    char readable, line[512];
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx %c", &first, &end, &readable) != 3 || readable != 'r')
            continue;
        for (unsigned long at = first; at < end; at += sizeof(window) - wanted) {
            if (at < (unsigned long)window + sizeof(window) &&
                at + sizeof(window) > (unsigned long)window)
                continue; /* itself */
            size_t size = end - at < sizeof(window) ? end - at : sizeof(window);
            ssize_t got = pread(memory, window, size, (off_t)at);
            places += got > 0 ? process_memory_count(window, (size_t)got, inverted, wanted) : 0;
            memset(window, 0, sizeof(window));
        }
    }
    fclose(maps);
    return places;
}

#endif
