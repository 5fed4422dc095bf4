/* A jail for programs of the user, which run under Weir's own: directories of Weir's are closed to them, but for some
 * places inside. By Landlock (Linux 5.13), so it holds for all that they start, and cannot be left. */
#ifndef WEIR_BASE_JAIL_H
#define WEIR_BASE_JAIL_H

#include "core/base/error.h"

#include <stdbool.h>

enum weir_jail_sockets {
    WEIR_JAIL_NO_SOCKETS,
    WEIR_JAIL_LOCAL_SOCKETS, /* AF_UNIX */
    WEIR_JAIL_ALL_SOCKETS,
};

/* Absolute paths, in lists that end with NULL; NULL is an empty list. Symbolic links are resolved. Paths that do not
 * exist are left out, but for those of sockets. */
struct weir_jail {
    const char *const *closed;   /* directories: neither read, written nor listed */
    const char *const *open;     /* inside those, as if they were outside */
    const char *const *readable; /* inside those, files that may be read */
    /* directories of sockets that are empty to it: weir_jail_can_hide() */
    const char *const *hidden;
    const char *shown; /* directly inside the last of those, and still there; or NULL */
    enum weir_jail_sockets sockets; /* kinds that it can make */
};

/* False where the kernel has no Landlock, or it is switched off. */
bool weir_jail_is_possible(void);
/* False where the kernel does not keep signals and abstract sockets of other processes out of reach (before 6.12). */
bool weir_jail_keeps_signals(void);
/* Landlock does not keep a process from connecting to sockets that have a path; hiding them needs a user namespace,
 * which does not hold root and which some systems do not allow. Makes a process to find out whether what this jail
 * hides can be. */
bool weir_jail_can_hide(const struct weir_jail *jail);
/* Makes the rules: a descriptor for weir_jail_enter(), the caller's to close; -1 where no jail is possible. Outside of
 * the closed directories everything is as it was, except that directories on the way to them cannot be listed, and that
 * what is made directly in those later stays out of reach. */
enum weir_status weir_jail_prepare(const struct weir_jail *jail, int *ret_rules,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Between fork and exec: locks this process in, for good. `rules` may be -1. Returns 0 or an errno. */
int weir_jail_enter(const struct weir_jail *jail, int rules);

#endif
