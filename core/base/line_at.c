/* Counting lines: see line_at.h. */
#include "core/base/line_at.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LOOKED_AT_MAX = 64 << 20, PIECE_BYTES = 64 << 10 };

/* Counts the ends of lines in the first bytes of a file. False: they are no text, or do not end with a line. */
static bool count_ends(int fd, uint64_t size, uint64_t *ret_ends)
{
    char piece[PIECE_BYTES], last = '\n';
    for (uint64_t at = 0; at < size;) {
        uint64_t rest = size - at;
        ssize_t got = pread(fd, piece, rest < PIECE_BYTES ? rest : PIECE_BYTES, (off_t)at);
        if (got <= 0 || memchr(piece, '\0', (size_t)got) != NULL)
            return false;
        for (ssize_t i = 0; i < got; i++)
            *ret_ends += piece[i] == '\n';
        last = piece[got - 1];
        at += (uint64_t)got;
    }
    return last == '\n';
}

uint64_t weir_line_at(const char *path, uint64_t offset)
{
    uint64_t ends = 0;
    if (offset == 0 || offset > LOOKED_AT_MAX)
        return 0;
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 && count_ends(fd, offset, &ends) ? ends + 1 : 0;
}

char *weir_record_place(const char *name, const char *path, uint64_t offset, bool counts_lines)
{
    if (!counts_lines)
        return weir_format("%s: byte %llu", name, (unsigned long long)offset);
    uint64_t line = weir_line_at(path, offset);
    return weir_format("%s:%llu", name, (unsigned long long)(line > 0 ? line : 1));
}
