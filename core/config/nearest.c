/* The word that was probably meant: edit distance over short lists of short names. */
#include "core/config/schema.h"

#include <string.h>

enum { WORD_MAX = 64, DISTANCE_MIN = 2, LENGTH_PER_MISTAKE = 3 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein distance, one row at a time. Both words have at most WORD_MAX characters. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t b_size = strlen(b);
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_size; j++) {
            size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = smallest(changed, row[j] + 1, row[j + 1] + 1);
        }
    }
    return row[b_size];
}

const char *cfg_nearest(const char *word, const char *const *names)
{
    size_t size = strlen(word);
    const char *nearest = NULL;
    size_t limit = size / LENGTH_PER_MISTAKE;
    if (size > WORD_MAX)
        return NULL;
    if (limit < DISTANCE_MIN)
        limit = DISTANCE_MIN;
    for (; *names != NULL; names++) {
        size_t name_size = strlen(*names);
        if (name_size > WORD_MAX)
            continue;
        size_t found = distance(word, *names);
        /* Something must be left in common: "ab" is not a mistyped "cd". */
        if (found <= limit && found < (size > name_size ? size : name_size)) {
            nearest = *names;
            if (found == 0)
                return nearest;
            limit = found - 1;
        }
    }
    return nearest;
}

enum weir_status cfg_unknown(const struct weir_yaml_node *named, const char *path, const char *what,
                             const char *const *names, struct weir_error *err)
{
    WEIR_AUTO_BUF expected = {0};
    const char *name = weir_yaml_text(named);
    const char *near = cfg_nearest(name, names);
    if (near != NULL)
        weir_buf_printf(&expected, " (did you mean %s?)", near);
    for (size_t i = 0; near == NULL && names[i] != NULL; i++)
        weir_buf_printf(&expected, "%s%s", i == 0 ? ", expected one of " : ", ", names[i]);
    return weir_yaml_fail(named, err, "%s: unknown %s '%s'%s", path, what, name,
                          weir_buf_text(&expected));
}
