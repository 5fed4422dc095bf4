/* The formats by name: core/wire/file_formats.h lists them. */
#include "core/wire/file_formats.h"
#include "storage/formats/format.h"

#include <assert.h>

#define X(name, is_table) extern const struct format storage_format_##name;
FILE_FORMATS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name, is_table) &storage_format_##name.plugin,
    FILE_FORMATS(X)
#undef X
};

const struct cfg_registry STORAGE_FORMATS = {
    .what = "format",
    .key = "format",
    .expected = "a name such as csv",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

const char *const STORAGE_FORMAT_ROLE_NAMES[] = {"time", "label", "subject", "key"};
static_assert(WEIR_COUNT(STORAGE_FORMAT_ROLE_NAMES) == FORMAT_ROLES, "a role lacks its name");
