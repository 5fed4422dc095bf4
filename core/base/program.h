/* The program that a process runs. */
#ifndef WEIR_BASE_PROGRAM_H
#define WEIR_BASE_PROGRAM_H

#include "core/base/hash.h"

/* Digest of the program's contents, as its linker took it (NT_GNU_BUILD_ID): another build has another one, however it
 * calls itself. False where the linker took none: then nothing can be said to be of this program. */
bool weir_program_identify(struct weir_digest *ret_digest) WEIR_MUST_USE;

#endif
