/* Full disks, as errno tells of them. */
#ifndef WEIR_BASE_FULL_DISK_H
#define WEIR_BASE_FULL_DISK_H

#include <errno.h>
#include <stdbool.h>

static inline bool weir_disk_is_full(int code)
{
    return code == ENOSPC || code == EDQUOT;
}

/* The end of a message about a path: what to do there; "" of other errors. */
static inline const char *weir_disk_advice(int code)
{
    return weir_disk_is_full(code) ? "; free space there" : "";
}

#endif
