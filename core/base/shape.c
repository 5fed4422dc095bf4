/* Forms of texts: see shape.h. */
#include "core/base/shape.h"

static bool is_within(int character, char first, char last)
{
    return character >= first && character <= last;
}

static char shape_of(int character)
{
    if (is_within(character, '0', '9'))
        return '9';
    if (is_within(character, 'a', 'z'))
        return 'a';
    if (is_within(character, 'A', 'Z'))
        return 'A';
    return is_within(character, ' ', '~') && character != '"' ? (char)character : '?';
}

void weir_shape(struct weir_bytes text, char shape[WEIR_SHAPE_MAX + 1])
{
    size_t size = text.size < WEIR_SHAPE_MAX ? text.size : WEIR_SHAPE_MAX;
    for (size_t i = 0; i < size; i++)
        shape[i] = shape_of(text.at[i]);
    shape[size] = '\0';
}
