/* Names of what travels with samples. */
#include "core/wire/sample.h"

#include <stddef.h>

const char *const WEIR_LABEL_KIND_NAMES[] = {
    [WEIR_LABEL_NONE] = "none",   [WEIR_LABEL_INT] = "int",       [WEIR_LABEL_FLOAT] = "float",
    [WEIR_LABEL_CLASS] = "class", [WEIR_LABEL_VALUES] = "values", NULL};
