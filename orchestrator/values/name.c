/* See name.h. */
#include "orchestrator/values/name.h"

#include <ctype.h>

bool orchestrator_is_name(const char *text)
{
    bool good = isalnum((unsigned char)text[0]);
    for (; good && *text != '\0'; text++)
        good = isalnum((unsigned char)*text) || *text == '-' || *text == '_';
    return good;
}
