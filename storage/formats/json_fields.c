/* JSON without trees: see json_fields.h. */
#include "storage/formats/json_fields.h"

#include "core/base/memory.h"
#include "storage/formats/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct walker {
    struct json_fields *fields;
    const uint8_t *at, *begin, *end;
    const char *complaint;
};

/* How much of each name leads to the value at hand; -1: this is not the way. */
struct way {
    int matched[FORMAT_ROLES];
};

static bool complain(struct walker *w, const char *complaint)
{
    if (!w->complaint)
        w->complaint = complaint;
    return false;
}

static bool broken(struct walker *w)
{
    return complain(w, "found broken JSON");
}

static void skip_space(struct walker *w)
{
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n'))
        w->at++;
}

static bool take(struct walker *w, uint8_t c)
{
    if (w->at == w->end || *w->at != c)
        return false;
    w->at++;
    return true;
}

/* ---- strings ---- */

/* Eight bytes at once: none is a quote, a backslash, a control character or beyond ASCII. */
static bool is_plain(uint64_t eight)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = eight ^ (ones * '"'), slash = eight ^ (ones * '\\');

    return (((eight - ones * 0x20) | (quote - ones) | (slash - ones) | eight) & highs) == 0;
}

static void skip_plain(struct walker *w)
{
    uint64_t eight;

    while (w->end - w->at >= 8) {
        memcpy(&eight, w->at, sizeof eight);
        if (!is_plain(eight))
            return;
        w->at += 8;
    }
}

/* The rest of it, byte by byte. */
static void skip_ascii(struct walker *w)
{
    while (w->at < w->end && *w->at >= 0x20 && *w->at < 0x80 && *w->at != '"' && *w->at != '\\')
        w->at++;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind \u, or -1. */
static int32_t hex_four(const uint8_t *at, const uint8_t *end)
{
    int32_t value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);

        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* The character behind \u, of one escape or of two; 0: there is none. */
static size_t take_unicode(const uint8_t *at, const uint8_t *end, uint32_t *ret_character)
{
    int32_t first = hex_four(at, end), second;

    if (first < 0 || (first >= 0xdc00 && first <= 0xdfff))
        return 0;
    *ret_character = (uint32_t)first;
    if (first < 0xd800 || first > 0xdfff)
        return 4;
    if (end - at < 10 || at[4] != '\\' || at[5] != 'u')
        return 0;
    second = hex_four(at + 6, end);
    if (second < 0xdc00 || second > 0xdfff)
        return 0;
    *ret_character = 0x10000u + (((uint32_t)first - 0xd800u) << 10) + ((uint32_t)second - 0xdc00u);
    return 10;
}

static bool skip_escape(struct walker *w)
{
    uint32_t character;
    size_t size;

    if (w->at == w->end)
        return false;
    if (*w->at != 'u')
        return strchr("\"\\/bfnrt", *w->at++) != NULL && w->at[-1] != '\0';
    w->at++;
    size = take_unicode(w->at, w->end, &character);
    w->at += size;
    return size > 0;
}

/* Behind the opening quote; `ret_raw` is what stands between the quotes. */
static bool skip_string(struct walker *w, struct weir_bytes *ret_raw)
{
    const uint8_t *begin = w->at;

    for (;;) {
        size_t size;

        skip_plain(w);
        skip_ascii(w);
        if (w->at == w->end || *w->at < 0x20)
            return broken(w);
        if (*w->at == '"')
            break;
        if (*w->at == '\\') {
            w->at++;
            if (!skip_escape(w))
                return broken(w);
            continue;
        }
        size = utf8_character(weir_bytes(w->at, (size_t)(w->end - w->at)));
        if (size == 0)
            return complain(w, "found text that is not UTF-8");
        w->at += size;
    }
    *ret_raw = weir_bytes(begin, (size_t)(w->at++ - begin));
    return true;
}

static void put_character(struct weir_buf *out, uint32_t c)
{
    uint8_t bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t LEADS[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = size - 1; i > 0; i--) {
        bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    bytes[0] = (uint8_t)(LEADS[size] | c);
    weir_buf_append(out, bytes, size);
}

/* Undoes the escapes of a string that was checked. */
static struct weir_bytes unescape(struct weir_bytes raw, struct weir_buf *out)
{
    static const char NAMES[] = "\"\\/bfnrt", VALUES[] = "\"\\/\b\f\n\r\t";
    const uint8_t *end = raw.at + raw.size;

    if (raw.size == 0 || !memchr(raw.at, '\\', raw.size))
        return raw;
    weir_buf_clear(out);
    for (const uint8_t *at = raw.at; at < end;) {
        const uint8_t *slash = memchr(at, '\\', (size_t)(end - at));
        uint32_t character;

        weir_buf_append(out, at, (size_t)((slash ? slash : end) - at));
        if (!slash)
            break;
        at = slash + 2;
        if (slash[1] == 'u')
            at += take_unicode(at, end, &character);
        else
            character = (uint8_t)VALUES[strchr(NAMES, slash[1]) - NAMES];
        put_character(out, character);
    }
    return weir_buf_view(out);
}

/* ---- numbers and words ---- */

static size_t skip_digits(struct walker *w)
{
    const uint8_t *begin = w->at;

    while (w->at < w->end && *w->at >= '0' && *w->at <= '9')
        w->at++;
    return (size_t)(w->at - begin);
}

static bool skip_number(struct walker *w)
{
    (void)take(w, '-');
    if (!take(w, '0') && skip_digits(w) == 0)
        return broken(w);
    if (take(w, '.') && skip_digits(w) == 0)
        return broken(w);
    if (w->at == w->end || (*w->at | 0x20) != 'e')
        return true;
    w->at++;
    if (!take(w, '+'))
        (void)take(w, '-');
    return skip_digits(w) > 0 || broken(w);
}

static bool skip_word(struct walker *w, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(w->end - w->at) < size || memcmp(w->at, word, size) != 0)
        return broken(w);
    w->at += size;
    return true;
}

/* ---- objects and lists ---- */

/* The ways on to the member `key`. */
static struct way follow(const struct walker *w, const struct way *way, struct weir_bytes key)
{
    struct way on;

    for (int i = 0; i < FORMAT_ROLES; i++) {
        const char *rest = way->matched[i] < 0 ? NULL : w->fields->names[i] + way->matched[i];

        on.matched[i] = -1;
        if (!rest || rest[0] == '\0' || strnlen(rest, key.size) < key.size ||
            memcmp(rest, key.at, key.size) != 0)
            continue;
        if (rest[key.size] == '\0')
            on.matched[i] = way->matched[i] + (int)key.size;
        else if (rest[key.size] == '.')
            on.matched[i] = way->matched[i] + (int)key.size + 1;
    }
    return on;
}

static bool walk_value(struct walker *w, const struct way *way, int depth);

static bool walk_member(struct walker *w, const struct way *way, int depth)
{
    WEIR_AUTO_BUF scratch = {0};
    struct weir_bytes key;
    struct way on;

    skip_space(w);
    if (!take(w, '"'))
        return broken(w);
    if (!skip_string(w, &key))
        return false;
    if (way) {
        key = unescape(key, &scratch);
        on = follow(w, way, key.size > 0 ? key : weir_bytes("", 0));
    }
    skip_space(w);
    return take(w, ':') ? walk_value(w, way ? &on : NULL, depth) : broken(w);
}

static bool walk_object(struct walker *w, const struct way *way, int depth)
{
    skip_space(w);
    if (take(w, '}'))
        return true;
    do {
        if (!walk_member(w, way, depth))
            return false;
        skip_space(w);
    } while (take(w, ','));
    return take(w, '}') || broken(w);
}

static bool walk_list(struct walker *w, int depth)
{
    skip_space(w);
    if (take(w, ']'))
        return true;
    do {
        if (!walk_value(w, NULL, depth))
            return false;
        skip_space(w);
    } while (take(w, ','));
    return take(w, ']') || broken(w);
}

static bool walk_any(struct walker *w, const struct way *way, int depth)
{
    struct weir_bytes text;

    if (depth > JSON_DEPTH_MAX)
        return complain(w, "found JSON nested deeper than 256 levels");
    switch (w->at < w->end ? *w->at : 0) {
    case '"':
        w->at++;
        return skip_string(w, &text);
    case '{':
        w->at++;
        return walk_object(w, way, depth + 1);
    case '[':
        w->at++;
        return walk_list(w, depth + 1);
    case 't':
        return skip_word(w, "true");
    case 'f':
        return skip_word(w, "false");
    case 'n':
        return skip_word(w, "null");
    default:
        return skip_number(w);
    }
}

/* Where a whole name led here, this is its value. */
static bool keep(struct walker *w, const struct way *way, struct weir_bytes value)
{
    for (int i = 0; way && i < FORMAT_ROLES; i++) {
        struct json_fields *fields = w->fields;

        if (way->matched[i] < 0 || fields->names[i][way->matched[i]] != '\0')
            continue;
        if (fields->found[i].at)
            return complain(w, "found a declared field twice, expected it once");
        fields->found[i] = value;
    }
    return true;
}

static bool is_dead_end(const struct way *way)
{
    for (int i = 0; i < FORMAT_ROLES; i++) {
        if (way->matched[i] >= 0)
            return false;
    }
    return true;
}

static bool walk_value(struct walker *w, const struct way *way, int depth)
{
    const uint8_t *begin;

    if (way && is_dead_end(way))
        way = NULL;
    skip_space(w);
    begin = w->at;
    return walk_any(w, way, depth) && keep(w, way, weir_bytes(begin, (size_t)(w->at - begin)));
}

/* ---- what others call ---- */

struct json_fields json_fields_new(const struct format_fields *fields)
{
    struct json_fields made = {0};

    for (int i = 0; i < FORMAT_ROLES; i++)
        made.names[i] = fields->each[i].from == FORMAT_NAMED ? fields->each[i].name : NULL;
    return made;
}

void json_fields_fini(struct json_fields *fields)
{
    for (int i = 0; i < FORMAT_ROLES; i++) {
        weir_buf_fini(&fields->unescaped[i]);
        free(fields->lists[i]);
    }
    *fields = (struct json_fields){0};
}

bool json_fields_read(struct json_fields *fields, struct weir_bytes text)
{
    struct walker w = {
        .fields = fields, .at = text.at, .begin = text.at, .end = text.at + text.size};
    struct way way;

    for (int i = 0; i < FORMAT_ROLES; i++) {
        fields->found[i] = weir_bytes(NULL, 0);
        way.matched[i] = fields->names[i] && fields->names[i][0] ? 0 : -1;
    }
    skip_space(&w);
    if (!take(&w, '{'))
        (void)complain(&w, "found no JSON object");
    else if (walk_object(&w, &way, 1)) {
        skip_space(&w);
        if (w.at < w.end)
            (void)complain(&w, "found more behind the JSON object");
    }
    fields->complaint = w.complaint;
    fields->column = (size_t)(w.at - w.begin) + 1;
    return w.complaint == NULL;
}

enum { DIGITS_MAX = 64 };

static struct format_value number_of(struct weir_bytes text)
{
    char digits[DIGITS_MAX];
    bool is_real = false;
    struct format_value value = {.kind = FORMAT_TEXT, .text = text};
    char *end;

    if (text.size >= sizeof digits)
        return value;
    for (size_t i = 0; i < text.size; i++) {
        digits[i] = (char)text.at[i];
        is_real = is_real || digits[i] == '.' || (digits[i] | 0x20) == 'e';
    }
    digits[text.size] = '\0';
    errno = 0;
    if (is_real) {
        double real = strtod(digits, &end);

        return isfinite(real) ? (struct format_value){.kind = FORMAT_REAL, .f64 = real} : value;
    }
    value = (struct format_value){.kind = FORMAT_INT, .i64 = strtoll(digits, &end, 10)};
    if (errno == ERANGE && digits[0] != '-') {
        errno = 0;
        value = (struct format_value){.kind = FORMAT_UINT, .u64 = strtoull(digits, &end, 10)};
    }
    return errno == 0 ? value : (struct format_value){.kind = FORMAT_TEXT, .text = text};
}

static struct format_value list_of(struct json_fields *fields, enum format_role role,
                                   struct weir_bytes text)
{
    struct format_value value;

    if (!fields->lists[role])
        fields->lists[role] = weir_calloc(FORMAT_LIST_MAX, sizeof(double));
    value = format_list_of(text, fields->lists[role]);
    return value.kind == FORMAT_LIST ? value : (struct format_value){.kind = FORMAT_ABSENT};
}

struct format_value json_fields_value(struct json_fields *fields, enum format_role role)
{
    struct weir_bytes raw = fields->found[role];

    switch (raw.at ? raw.at[0] : 0) {
    case 0:
    case 'n':
    case '{':
        return (struct format_value){.kind = FORMAT_ABSENT};
    case '[':
        return list_of(fields, role, raw);
    case 't':
    case 'f':
        return (struct format_value){.kind = FORMAT_INT, .i64 = raw.at[0] == 't'};
    case '"':
        return (struct format_value){
            .kind = FORMAT_TEXT,
            .text = unescape(weir_bytes(raw.at + 1, raw.size - 2), &fields->unescaped[role])};
    default:
        return number_of(raw);
    }
}
