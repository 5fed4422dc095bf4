/* Lines of shared files: see profile.h. */
#include "storage/identity/profile.h"

#include "core/base/memory.h"

#include <string.h>

/* Takes the next line off `*rest`. */
static struct weir_bytes next_line(struct weir_bytes *rest)
{
    const uint8_t *end = memchr(rest->at, '\n', rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->at) : rest->size;
    struct weir_bytes line = weir_bytes(rest->at, size);

    size += end != NULL;
    *rest = weir_bytes(rest->at + size, rest->size - size);
    return line;
}

/* True for "[NAME]", and of the config file for "[profile NAME]"; both call the default one [default]. */
static bool is_head_of(struct weir_bytes line, bool is_config, const char *name)
{
    static const char WORD[] = "profile";
    const uint8_t *end = memchr(line.at, ']', line.size);
    struct weir_bytes head;

    if (end == NULL)
        return false;
    head = weir_bytes_trim(weir_bytes(line.at + 1, (size_t)(end - line.at) - 1));
    if (!is_config || strcmp(name, "default") == 0)
        if (weir_bytes_equal(head, weir_bytes_of(name)))
            return true;
    if (!is_config || head.size <= strlen(WORD) || memcmp(head.at, WORD, strlen(WORD)) != 0)
        return false;
    head = weir_bytes_trim(weir_bytes(head.at + strlen(WORD), head.size - strlen(WORD)));
    return weir_bytes_equal(head, weir_bytes_of(name));
}

/* True for "key = value". Lines that are indented belong to a nested setting. */
static bool is_setting(struct weir_bytes line, const char *key, struct weir_bytes *ret_value)
{
    const uint8_t *equals = memchr(line.at, '=', line.size);

    if (equals == NULL || line.at[0] == ' ' || line.at[0] == '\t')
        return false;
    *ret_value =
        weir_bytes_trim(weir_bytes(equals + 1, line.size - (size_t)(equals - line.at) - 1));
    return ret_value->size > 0 &&
           weir_bytes_equal(weir_bytes_trim(weir_bytes(line.at, (size_t)(equals - line.at))),
                            weir_bytes_of(key));
}

/* The value of `key`; with NULL for it, anything that is not NULL where there is such a section. */
static struct weir_bytes find(struct weir_bytes text, bool is_config, const char *name,
                              const char *key)
{
    bool is_inside = false;

    while (text.size > 0) {
        struct weir_bytes line = next_line(&text), value;

        if (line.size == 0 || line.at[0] == '#' || line.at[0] == ';')
            continue;
        if (line.at[0] == '[')
            is_inside = is_head_of(line, is_config, name);
        if (is_inside && key == NULL)
            return line;
        if (is_inside && key != NULL && is_setting(line, key, &value))
            return value;
    }
    return (struct weir_bytes){0};
}

char *storage_identity_profile(struct weir_bytes text, bool is_config, const char *name,
                               const char *key)
{
    struct weir_bytes value = find(text, is_config, name, key);

    return value.at != NULL ? weir_strndup((const char *)value.at, value.size) : NULL;
}

bool storage_identity_has_profile(struct weir_bytes text, bool is_config, const char *name)
{
    return find(text, is_config, name, NULL).at != NULL;
}
