/* All formats. To add one: write format_NAME.c, list it in CMakeLists.txt, and name it here. */
#include "storage/formats/format.h"

#include <assert.h>

// clang-format off
#define FORMATS(X) X(binary) X(csv) X(files) X(jsonl) X(mds) X(tar) X(tfrecord)
// clang-format on

#define X(name) extern const struct format storage_format_##name;
FORMATS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &storage_format_##name.plugin,
    FORMATS(X)
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
