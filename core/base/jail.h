/* A jail for programs of the user, which run under Weir's own: directories of Weir's are closed to them, but for some
 * places inside. By Landlock (Linux 5.13), so it holds for all that they start, and cannot be left. */
#ifndef WEIR_BASE_JAIL_H
#define WEIR_BASE_JAIL_H

#include "core/base/error.h"

#include <stdbool.h>

/* Absolute paths, in lists that end with NULL; NULL is an empty list. Symbolic links are resolved. Paths that do not
 * exist are left out. */
struct weir_jail {
    const char *const *closed;   /* directories: neither read, written nor listed */
    const char *const *open;     /* inside those, as if they were outside */
    const char *const *readable; /* inside those, files that may be read */
    const char
        *hidden; /* a directory of sockets that is empty to it, where that is possible; or NULL */
    bool has_sockets; /* false: none can be made, of whatever kind */
};

/* False where the kernel has no Landlock, or it is switched off. */
bool weir_jail_is_possible(void);
/* Landlock does not keep a process from connecting to sockets that have a path; hiding them needs a user namespace,
 * which does not hold root and which some systems do not allow. Makes a process to find out. */
bool weir_jail_can_hide(void);
/* Makes the rules: a descriptor for weir_jail_enter(), the caller's to close; -1 where no jail is possible. Outside of
 * the closed directories everything is as it was, except that directories on the way to them cannot be listed, and that
 * what is made directly in those later stays out of reach. */
enum weir_status weir_jail_prepare(const struct weir_jail *jail, int *ret_rules,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Between fork and exec: locks this process in, for good. Signals and abstract sockets of other processes are out of
 * reach where the kernel can do that (6.12). `rules` may be -1. Returns 0 or an errno. */
int weir_jail_enter(const struct weir_jail *jail, int rules);

#endif
