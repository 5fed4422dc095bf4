/* No dumps: neither as a file, nor piped to a program, which the limit does not hold back. */
#include "core/base/dumps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Best effort: without /proc there is still the limit. */
static void leave_all_out(void)
{
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "0", 1);
    (void)close(fd);
}

void weir_dumps_forbid(bool is_private)
{
    const char *wanted = getenv("WEIR_CORE_DUMPS");
    if (wanted != NULL && *wanted != '\0')
        return;
    leave_all_out();
    (void)setrlimit(RLIMIT_CORE, &(const struct rlimit){0, 0});
#ifndef WEIR_SANITIZED /* the leak checker looks from a process of its own */
    if (is_private)
        (void)prctl(PR_SET_DUMPABLE, 0);
#else
    (void)is_private;
#endif
}
