/* The end of a program that is wrong. */
#include "core/base/require.h"

#include <stdio.h>
#include <stdlib.h>

void weir_require_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: required, but not so: %s\n", file, line, condition);
    abort();
}
