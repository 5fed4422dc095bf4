/* Headers of tar archives: see ustar.h. */
#include "core/wire/ustar.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct weir_ustar) == WEIR_TAR_BLOCK, "a header is a block");

/* Returns the part of the name after its prefix; NULL: it cannot be split. */
static const char *split(const char *name)
{
    size_t size = strlen(name);
    const char *at = name;

    if (size <= WEIR_TAR_NAME_BYTES)
        return name;
    while ((at = strchr(at, '/')) != NULL) {
        at++;
        if (size - (size_t)(at - name) <= WEIR_TAR_NAME_BYTES)
            return (size_t)(at - name) - 1 <= WEIR_TAR_PREFIX_BYTES ? at : NULL;
    }
    return NULL;
}

static void put_octal(char *field, size_t size, uint64_t number)
{
    field[--size] = '\0';
    while (size > 0) {
        field[--size] = (char)('0' + number % 8);
        number /= 8;
    }
}

static void put_sum(struct weir_ustar *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    uint64_t sum = 0;

    memset(header->sum, ' ', sizeof(header->sum));
    for (size_t i = 0; i < WEIR_TAR_BLOCK; i++)
        sum += bytes[i];
    put_octal(header->sum, sizeof(header->sum) - 1, sum);
}

bool weir_ustar_header(const char *name, uint64_t size, const char *user,
                       uint8_t ret_header[WEIR_TAR_BLOCK])
{
    struct weir_ustar ustar = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
    const char *rest = split(name);

    if (rest == NULL)
        return false;
    memcpy(ustar.name, rest, strlen(rest));
    if (rest > name)
        memcpy(ustar.prefix, name, (size_t)(rest - name) - 1);
    put_octal(ustar.mode, sizeof(ustar.mode), 0644);
    put_octal(ustar.uid, sizeof(ustar.uid), 0);
    put_octal(ustar.gid, sizeof(ustar.gid), 0);
    put_octal(ustar.size, sizeof(ustar.size), size);
    put_octal(ustar.mtime, sizeof(ustar.mtime), 0);
    (void)snprintf(ustar.user, sizeof(ustar.user), "%s", user);
    (void)snprintf(ustar.group, sizeof(ustar.group), "%s", user);
    put_octal(ustar.major, sizeof(ustar.major), 0);
    put_octal(ustar.minor, sizeof(ustar.minor), 0);
    put_sum(&ustar);
    memcpy(ret_header, &ustar, WEIR_TAR_BLOCK);
    return true;
}
