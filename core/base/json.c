/* JSON without trees: see json.h. */
#include "core/base/json.h"

#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 256, NOWHERE = -1 };

/* A part of names: what stands between two dots. Parts that begin alike share it; those that follow
 * on it lie next to each other, in order. */
struct part {
    struct weir_bytes text;
    int32_t name;         /* index of the name that ends here, or NOWHERE */
    int32_t first, count; /* of the parts that follow */
    int32_t guess;        /* the likely next one: members mostly keep their order */
};

struct weir_json {
    char **names; /* copies, in order */
    size_t count;
    int32_t *place; /* per name as given: its copy, or NOWHERE */
    size_t given;
    struct part *parts; /* the first one is the object itself */
    size_t part_count;
    struct weir_bytes *found; /* per copy */
    struct weir_buf key;      /* without its escapes */
    const char *complaint;
    size_t column;
};

struct walker {
    struct weir_json *json;
    const uint8_t *at, *begin, *end;
    const char *complaint;
};

static bool complain(struct walker *w, const char *complaint)
{
    if (w->complaint == NULL)
        w->complaint = complaint;
    return false;
}

static bool begins(const struct walker *w, const char *word)
{
    size_t size = strlen(word);

    return (size_t)(w->end - w->at) >= size && memcmp(w->at, word, size) == 0;
}

/* JavaScript and Python write some values in words that are no JSON. */
static bool broken(struct walker *w)
{
    static const struct {
        const char *begin, *complaint;
    } OFTEN[] = {
        {"'", "found a single quote instead of JSON's double one"},
        {"NaN", "found NaN or Infinity instead of JSON's null"},
        {"Infinity", "found NaN or Infinity instead of JSON's null"},
        {"True", "found True, False or None instead of JSON's true, false or null"},
        {"False", "found True, False or None instead of JSON's true, false or null"},
        {"None", "found True, False or None instead of JSON's true, false or null"},
    };
    for (size_t i = 0; i < WEIR_COUNT(OFTEN); i++)
        if (begins(w, OFTEN[i].begin))
            return complain(w, OFTEN[i].complaint);
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
        memcpy(&eight, w->at, sizeof(eight));
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

/* The four digits after \u, or -1. */
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

/* The character after \u, of one escape or of two; 0: there is none. */
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

/* After the opening quote; `ret_raw` is what stands between the quotes. */
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
        size = weir_utf8_character(weir_bytes(w->at, (size_t)(w->end - w->at)));
        if (size == 0)
            return complain(w, "found text that is not UTF-8");
        w->at += size;
    }
    *ret_raw = weir_bytes(begin, (size_t)(w->at++ - begin));
    return true;
}

struct weir_bytes weir_json_unescape(struct weir_bytes raw, struct weir_buf *out)
{
    static const char NAMES[] = "\"\\/bfnrt", VALUES[] = "\"\\/\b\f\n\r\t";
    const uint8_t *end = raw.at + raw.size;

    if (raw.size == 0 || memchr(raw.at, '\\', raw.size) == NULL)
        return raw;
    weir_buf_clear(out);
    for (const uint8_t *at = raw.at; at < end;) {
        const uint8_t *slash = memchr(at, '\\', (size_t)(end - at));
        uint32_t character = 0;

        weir_buf_append(out, at, (size_t)((slash != NULL ? slash : end) - at));
        if (slash == NULL)
            break;
        at = slash + 2;
        if (slash[1] == 'u')
            at += take_unicode(at, end, &character);
        else
            character = (uint8_t)VALUES[strchr(NAMES, slash[1]) - NAMES];
        weir_buf_reserve(out, 4);
        out->size += weir_utf8_encode(character, out->at + out->size);
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
    if (!begins(w, word))
        return broken(w);
    w->at += strlen(word);
    return true;
}

/* ---- objects and lists ---- */

static int compare_parts(struct weir_bytes a, struct weir_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.at, b.at, common) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* The part that follows on `part` and reads like `text`. */
static int32_t find_part(struct weir_json *json, int32_t part, struct weir_bytes text)
{
    struct part *from = &json->parts[part];
    int32_t low = from->first, high = from->first + from->count;
    int32_t middle = from->guess;
    while (low < high) {
        int order = compare_parts(text, json->parts[middle].text);
        if (order == 0) {
            bool is_last = middle + 1 == from->first + from->count;
            from->guess = is_last ? from->first : middle + 1;
            return middle;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
        middle = low + (high - low) / 2;
    }
    return NOWHERE;
}

/* The part that the member `key` leads to from `part`; a key with dots is several parts. */
static int32_t follow(struct weir_json *json, int32_t part, struct weir_bytes key)
{
    while (part != NOWHERE) {
        const uint8_t *dot = key.size > 0 ? memchr(key.at, '.', key.size) : NULL;
        size_t size = dot != NULL ? (size_t)(dot - key.at) : key.size;
        part = find_part(json, part, weir_bytes(key.at, size));
        if (dot == NULL)
            break;
        key = weir_bytes(dot + 1, key.size - size - 1);
    }
    return part;
}

static bool walk_value(struct walker *w, int32_t part, int depth);

static bool walk_member(struct walker *w, int32_t part, int depth)
{
    struct weir_bytes key;
    skip_space(w);
    if (!take(w, '"'))
        return broken(w);
    if (!skip_string(w, &key))
        return false;
    if (part != NOWHERE)
        part = follow(w->json, part, weir_json_unescape(key, &w->json->key));
    skip_space(w);
    return take(w, ':') ? walk_value(w, part, depth) : broken(w);
}

static bool walk_object(struct walker *w, int32_t part, int depth)
{
    skip_space(w);
    if (take(w, '}'))
        return true;
    do {
        if (!walk_member(w, part, depth))
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
        if (!walk_value(w, NOWHERE, depth))
            return false;
        skip_space(w);
    } while (take(w, ','));
    return take(w, ']') || broken(w);
}

static bool walk_any(struct walker *w, int32_t part, int depth)
{
    struct weir_bytes text;
    if (depth > DEPTH_MAX)
        return complain(w, "found JSON nested deeper than 256 levels");
    switch (w->at < w->end ? *w->at : 0) {
    case '"':
        w->at++;
        return skip_string(w, &text);
    case '{':
        w->at++;
        return walk_object(w, part, depth + 1);
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

/* Keeps the value when a whole name has led here. */
static bool keep(struct walker *w, int32_t part, struct weir_bytes value)
{
    int32_t name = part != NOWHERE ? w->json->parts[part].name : NOWHERE;
    if (name == NOWHERE)
        return true;
    if (w->json->found[name].at != NULL)
        return complain(w, "found a declared field twice, expected it once");
    w->json->found[name] = value;
    return true;
}

static bool walk_value(struct walker *w, int32_t part, int depth)
{
    skip_space(w);
    const uint8_t *begin = w->at;
    return walk_any(w, part, depth) && keep(w, part, weir_bytes(begin, (size_t)(w->at - begin)));
}

/* ---- names ---- */

/* Part by part: a dot ends one, and sorts before everything but the end. */
static int compare_names(const void *left, const void *right)
{
    const uint8_t *a = *(const uint8_t *const *)left, *b = *(const uint8_t *const *)right;
    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    int first = *a == '.' ? 1 : *a == '\0' ? 0 : *a + 2;
    int second = *b == '.' ? 1 : *b == '\0' ? 0 : *b + 2;
    return first - second;
}

/* Sorted names, a run of which begin alike up to `skip`. */
struct run {
    size_t first, end, skip;
};

static struct weir_bytes part_at(const struct weir_json *json, size_t name, size_t skip)
{
    const char *text = json->names[name] + skip;
    return weir_bytes(text, strcspn(text, "."));
}

/* Number of names of a run that have the same next part as its first one. */
static struct run first_alike(const struct weir_json *json, struct run run)
{
    struct weir_bytes text = part_at(json, run.first, run.skip);
    size_t end = run.first + 1;
    while (end < run.end && weir_bytes_equal(part_at(json, end, run.skip), text))
        end++;
    return (struct run){run.first, end, run.skip + text.size};
}

/* Puts down the parts that follow on `part`, then those that follow on them. */
static void plan_parts(struct weir_json *json, int32_t part, struct run run, int depth)
{
    struct part *from = &json->parts[part];
    from->first = from->guess = (int32_t)json->part_count;
    for (struct run rest = run; rest.first < rest.end; from->count++) {
        struct run alike = first_alike(json, rest);
        json->parts[json->part_count++] =
            (struct part){.text = part_at(json, rest.first, rest.skip), .name = NOWHERE};
        rest.first = alike.end;
    }
    int32_t next = from->first;
    for (struct run rest = run; rest.first < rest.end; next++) {
        struct run alike = first_alike(json, rest);
        rest.first = alike.end;
        if (json->names[alike.first][alike.skip] == '\0')
            json->parts[next].name = (int32_t)alike.first++;
        alike.skip++;
        if (alike.first < alike.end && depth < DEPTH_MAX)
            plan_parts(json, next, alike, depth + 1);
    }
}

static size_t copy_names(struct weir_json *json, const char *const *names)
{
    size_t parts = 1;
    for (size_t i = 0; i < json->given; i++) {
        if (names[i] == NULL || names[i][0] == '\0')
            continue;
        json->names[json->count++] = weir_strdup(names[i]);
        parts++;
        for (const char *at = names[i]; (at = strchr(at, '.')) != NULL; at++)
            parts++;
    }
    qsort(json->names, json->count, sizeof(*json->names), compare_names);
    size_t kept = 0;
    for (size_t i = 0; i < json->count; i++) {
        if (kept > 0 && weir_str_equal(json->names[kept - 1], json->names[i]))
            free(json->names[i]);
        else
            json->names[kept++] = json->names[i];
    }
    json->count = kept;
    return parts;
}

static int32_t place_of(const struct weir_json *json, const char *name)
{
    char *const *found =
        name != NULL && name[0] != '\0'
            ? bsearch(&name, json->names, json->count, sizeof(*json->names), compare_names)
            : NULL;
    return found != NULL ? (int32_t)(found - json->names) : NOWHERE;
}

struct weir_json *weir_json_new(const char *const *names, size_t count)
{
    struct weir_json *json = weir_calloc(1, sizeof(*json));
    weir_require(count < INT32_MAX);
    json->given = count;
    json->names = weir_calloc(count + 1, sizeof(*json->names));
    json->place = weir_calloc(count + 1, sizeof(*json->place));
    json->parts = weir_calloc(copy_names(json, names), sizeof(*json->parts));
    json->found = weir_calloc(json->count + 1, sizeof(*json->found));
    json->parts[0].name = NOWHERE;
    json->part_count = 1;
    plan_parts(json, 0, (struct run){0, json->count, 0}, 0);
    for (size_t i = 0; i < count; i++)
        json->place[i] = place_of(json, names[i]);
    return json;
}

void weir_json_free(struct weir_json *json)
{
    if (json == NULL)
        return;
    for (size_t i = 0; i < json->count; i++)
        free(json->names[i]);
    free(json->names);
    free(json->place);
    free(json->parts);
    free(json->found);
    weir_buf_fini(&json->key);
    free(json);
}

/* ---- reading ---- */

bool weir_json_read(struct weir_json *json, struct weir_bytes text)
{
    struct walker w = {.json = json, .at = text.at, .begin = text.at, .end = text.at + text.size};
    memset(json->found, 0, json->count * sizeof(*json->found));
    skip_space(&w);
    if (!take(&w, '{'))
        (void)complain(&w, "found no JSON object");
    else if (walk_object(&w, 0, 1)) {
        skip_space(&w);
        if (w.at < w.end)
            (void)complain(&w, "found more behind the JSON object");
    }
    json->complaint = w.complaint;
    json->column = (size_t)(w.at - w.begin) + 1;
    return w.complaint == NULL;
}

const char *weir_json_complaint(const struct weir_json *json, size_t *ret_column)
{
    *ret_column = json->column;
    return json->complaint;
}

struct weir_bytes weir_json_found(const struct weir_json *json, size_t name)
{
    weir_require(name < json->given);
    return json->place[name] != NOWHERE ? json->found[json->place[name]] : weir_bytes(NULL, 0);
}

const char *weir_json_kind(struct weir_bytes raw)
{
    switch (raw.at == NULL ? '\0' : raw.at[0]) {
    case '\0':
        return "nothing";
    case 'n':
        return "null";
    case 't':
    case 'f':
        return "true or false";
    case '"':
        return "a text";
    case '[':
        return "a list";
    case '{':
        return "an object";
    default:
        return "a number";
    }
}
