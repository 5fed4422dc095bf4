/* Comparing YAML values: see difference.h. The parser bounds how deep they are. */
#include "core/config/difference.h"

#include "core/base/memory.h"

#include <string.h>

struct comparison {
    cfg_difference_fn *on_difference;
    void *owner;
};

static void compare(const struct comparison *comparison, const char *path,
                    const struct weir_yaml_node *was, const struct weir_yaml_node *is);

bool cfg_are_equal(const struct weir_yaml_node *was, const struct weir_yaml_node *is)
{
    WEIR_AUTO_BUF one = {0};
    WEIR_AUTO_BUF other = {0};

    if ((was == NULL) != (is == NULL))
        return false;
    weir_yaml_print(was, &one);
    weir_yaml_print(is, &other);
    return weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&other));
}

static void compare_under(const struct comparison *comparison, const char *path, const char *key,
                          const struct weir_yaml_node *was, const struct weir_yaml_node *is)
{
    WEIR_AUTO_FREE char *below = weir_format("%s%s%s", path, *path != '\0' ? "." : "", key);

    compare(comparison, below, was, is);
}

static void compare_mappings(const struct comparison *comparison, const char *path,
                             const struct weir_yaml_node *was, const struct weir_yaml_node *is)
{
    for (size_t i = 0; i < weir_yaml_pairs(was); i++) {
        const char *key = weir_yaml_key(was, i);

        compare_under(comparison, path, key, weir_yaml_value(was, i), weir_yaml_get(is, key));
    }
    for (size_t i = 0; i < weir_yaml_pairs(is); i++) {
        const char *key = weir_yaml_key(is, i);

        if (weir_yaml_get(was, key) == NULL)
            compare_under(comparison, path, key, NULL, weir_yaml_value(is, i));
    }
}

static const char *name_at(const struct weir_yaml_node *list, size_t i)
{
    return weir_yaml_text(weir_yaml_get(weir_yaml_at(list, i), "name"));
}

static bool are_named(const struct weir_yaml_node *list)
{
    size_t count = weir_yaml_length(list);

    for (size_t i = 0; i < count; i++)
        if (name_at(list, i) == NULL)
            return false;
    return count > 0;
}

static const struct weir_yaml_node *find_named(const struct weir_yaml_node *list, const char *name)
{
    for (size_t i = 0; i < weir_yaml_length(list); i++)
        if (strcmp(name_at(list, i), name) == 0)
            return weir_yaml_at(list, i);
    return NULL;
}

static void compare_element(const struct comparison *comparison, const char *path, const char *name,
                            const struct weir_yaml_node *was, const struct weir_yaml_node *is)
{
    WEIR_AUTO_FREE char *below = weir_format("%s[%s]", path, name);

    compare(comparison, below, was, is);
}

static void compare_named(const struct comparison *comparison, const char *path,
                          const struct weir_yaml_node *was, const struct weir_yaml_node *is)
{
    for (size_t i = 0; i < weir_yaml_length(was); i++)
        compare_element(comparison, path, name_at(was, i), weir_yaml_at(was, i),
                        find_named(is, name_at(was, i)));
    for (size_t i = 0; i < weir_yaml_length(is); i++)
        if (find_named(was, name_at(is, i)) == NULL)
            compare_element(comparison, path, name_at(is, i), NULL, weir_yaml_at(is, i));
}

static void compare(const struct comparison *comparison, const char *path,
                    const struct weir_yaml_node *was, const struct weir_yaml_node *is)
{
    if (cfg_are_equal(was, is))
        return;
    if (weir_yaml_is_mapping(was) && weir_yaml_is_mapping(is))
        compare_mappings(comparison, path, was, is);
    else if (are_named(was) && are_named(is))
        compare_named(comparison, path, was, is);
    else
        comparison->on_difference(comparison->owner, &(struct cfg_difference){path, was, is});
}

void cfg_differences(const char *path, const struct weir_yaml_node *was,
                     const struct weir_yaml_node *is, cfg_difference_fn *on_difference, void *owner)
{
    compare(&(struct comparison){on_difference, owner}, path, was, is);
}
