/* The check in front of the YAML parser: UTF-8, no control characters, no directives. */
#include "core/config/yaml_tree.h"

/* Place of the walk; lines and columns count from 1, columns in bytes. */
struct walk {
    const uint8_t *at;
    const uint8_t *end;
    int line;
    const uint8_t *line_start;
};

static enum weir_status refuse(const struct walk *walk, const char *name, const char *what,
                               struct weir_error *err)
{
    return weir_fail(err, WEIR_INVALID, "%s:%d:%d: %s", name, walk->line,
                     (int)(walk->at - walk->line_start) + 1, what);
}

static uint32_t least_of_size(size_t size)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    return LEAST[size];
}

/* Bytes of the character at `at`, or 0 when it is not UTF-8 (RFC 3629). */
static size_t character_size(const uint8_t *at, const uint8_t *end)
{
    size_t size = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    if (size < 2)
        return size;
    if ((size_t)(end - at) < size)
        return 0;
    uint32_t point = (uint32_t)*at & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        point = point << 6 | (at[i] & 0x3fu);
    }
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= least_of_size(size) && point <= 0x10ffff && !is_surrogate ? size : 0;
}

static bool is_control(uint8_t byte)
{
    return (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

enum weir_status weir_yaml_guard(const char *name, struct weir_bytes text, struct weir_error *err)
{
    struct walk walk = {
        .at = text.at, .end = text.at + text.size, .line = 1, .line_start = text.at};
    while (walk.at < walk.end) {
        size_t size = character_size(walk.at, walk.end);
        if (size == 0)
            return refuse(&walk, name, "these bytes are not UTF-8 text", err);
        if (is_control(*walk.at))
            return refuse(&walk, name, "a control character is not possible in a text", err);
        if (*walk.at == '%' && walk.at == walk.line_start)
            return refuse(&walk, name, "directives (%YAML, %TAG) are not supported", err);
        bool is_line_end = *walk.at == '\n' ||
                           (*walk.at == '\r' && !(walk.at + 1 < walk.end && walk.at[1] == '\n'));
        walk.at += size;
        if (is_line_end) {
            walk.line++;
            walk.line_start = walk.at;
        }
    }
    return WEIR_OK;
}
