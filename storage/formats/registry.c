/* All formats. To add one: write format_NAME.c, list it in CMakeLists.txt, and name it here. */
#include "storage/formats/format.h"

#include <assert.h>
#include <string.h>

// clang-format off
#define FORMATS(X) X(binary) X(csv) X(files) X(jsonl) X(mds) X(tar) X(tfrecord)
// clang-format on

#define X(name) extern const struct format format_##name;
FORMATS(X)
#undef X

static const struct format *const REGISTRY[] = {
#define X(name) &format_##name,
    FORMATS(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    FORMATS(X)
#undef X
        NULL,
};

const char *const FORMAT_ROLE_NAMES[] = {"time", "label", "subject", "key"};
static_assert(WEIR_COUNT(FORMAT_ROLE_NAMES) == FORMAT_ROLES, "a role lacks its name");

size_t format_count(void)
{
    return WEIR_COUNT(REGISTRY);
}

const struct format *format_at(size_t index)
{
    weir_require(index < WEIR_COUNT(REGISTRY));
    return REGISTRY[index];
}

const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(REGISTRY); i++) {
        if (strcmp(REGISTRY[i]->name, name) == 0)
            return REGISTRY[i];
    }
    return NULL;
}

const char *const *format_names(void)
{
    return NAMES;
}
