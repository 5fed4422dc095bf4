/* The formats by name. */
#include "core/wire/export_formats.h"
#include "trainer_client/exports/export.h"

#include <string.h>

#define X(name, index, doc) extern const struct export_format trainer_export_##name;
EXPORT_FORMATS(X)
#undef X

const struct export_format *trainer_export_format_find(const char *name)
{
#define X(format, index, doc) &trainer_export_##format,
    static const struct export_format *const FORMATS[] = {EXPORT_FORMATS(X)};
#undef X

    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++)
        if (strcmp(FORMATS[i]->name, name) == 0)
            return FORMATS[i];
    return NULL;
}
