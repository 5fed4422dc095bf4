/* Conditions that hold, or the program is wrong. */
#ifndef WEIR_BASE_REQUIRE_H
#define WEIR_BASE_REQUIRE_H

#include "core/base/attributes.h"

/* For the programmer's mistakes, in release builds too: prints condition and place, and aborts. */
#define weir_require(condition) \
    ((condition) ? (void)0 : weir_require_failed(#condition, __FILE__, __LINE__))
WEIR_NORETURN void weir_require_failed(const char *condition, const char *file, int line);

#endif
