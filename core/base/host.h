/* The host that a process runs on. */
#ifndef WEIR_BASE_HOST_H
#define WEIR_BASE_HOST_H

#include "core/base/attributes.h"

#include <stdint.h>

/* Returns a number that processes share when the same kernel runs them, since it was booted: to them, and to no others,
 * device and inode numbers name the same files. Never 0. Drawn again each time where the kernel does not say: then
 * nobody shares it. */
uint64_t weir_host_id(void);
/* Writes what figures depend on to the caller's memory: "2 x PROCESSOR, Linux 6.1.0". */
char *weir_host_text(void) WEIR_MUST_USE;

#endif
