/* Reading listings: see s3_list.h. The XML of S3 is flat: elements with text, within at most two others. No
 * attribute, comment or entity of a document type matters, and a document that declares one is refused. */
#include "storage/objects/s3_list.h"

#include "core/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text between <name> and </name>, the first in `xml`; at NULL: there is none. `*ret_rest` is what
 * follows it. */
static struct weir_bytes element(struct weir_bytes xml, const char *name,
                                 struct weir_bytes *ret_rest)
{
    char opening[64], closing[64];
    const uint8_t *from, *to;
    size_t left;

    snprintf(opening, sizeof(opening), "<%s>", name);
    snprintf(closing, sizeof(closing), "</%s>", name);
    from = xml.size > 0 ? memmem(xml.at, xml.size, opening, strlen(opening)) : NULL;
    if (from == NULL)
        return weir_bytes(NULL, 0);
    from += strlen(opening);
    left = xml.size - (size_t)(from - xml.at);
    to = memmem(from, left, closing, strlen(closing));
    if (to == NULL)
        return weir_bytes(NULL, 0);
    if (ret_rest != NULL) {
        const uint8_t *rest = to + strlen(closing);

        *ret_rest = weir_bytes(rest, xml.size - (size_t)(rest - xml.at));
    }
    return weir_bytes(from, (size_t)(to - from));
}

/* A document with this element at its root, from beginning to end. */
static bool is_whole(struct weir_bytes xml, const char *name)
{
    char opening[64], closing[64];

    snprintf(opening, sizeof(opening), "<%s", name);
    snprintf(closing, sizeof(closing), "</%s>", name);
    return xml.size > 0 && memmem(xml.at, xml.size, opening, strlen(opening)) != NULL &&
           memmem(xml.at, xml.size, closing, strlen(closing)) != NULL &&
           memmem(xml.at, xml.size, "<!", 2) == NULL;
}

/* One of the five entities of XML, or a number below 128; 0: none. `*ret_size` is what it takes. */
static char entity(struct weir_bytes text, size_t *ret_size)
{
    static const struct {
        const char *name;
        char is;
    } ENTITIES[] = {{"&amp;", '&'},   {"&lt;", '<'},    {"&gt;", '>'},   {"&quot;", '"'},
                    {"&apos;", '\''}, {"&#34;", '"'},   {"&#39;", '\''}, {"&#x22;", '"'},
                    {"&#38;", '&'},   {"&#x27;", '\''}, {"&#43;", '+'}};

    for (size_t i = 0; i < WEIR_COUNT(ENTITIES); i++) {
        *ret_size = strlen(ENTITIES[i].name);
        if (text.size >= *ret_size && memcmp(text.at, ENTITIES[i].name, *ret_size) == 0)
            return ENTITIES[i].is;
    }
    return '\0';
}

/* Entities replaced; NULL when there is another one, a zero byte, or more than `max` bytes. */
static char *text_of(struct weir_bytes text, size_t max, struct weir_arena *arena)
{
    char *out;
    size_t size = 0, step;

    if (text.at == NULL || text.size > 6 * max)
        return NULL;
    out = weir_arena_alloc(arena, text.size + 1);
    for (size_t i = 0; i < text.size; i += step) {
        step = 1;
        out[size] = (char)text.at[i];
        if (text.at[i] == '&')
            out[size] = entity(weir_bytes(text.at + i, text.size - i), &step);
        if (out[size++] == '\0')
            return NULL;
    }
    out[size] = '\0';
    return size <= max ? out : NULL;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* Undoes encoding-type=url in place; false when it is none, or holds a zero byte. */
static bool decode(char *text)
{
    char *out = text;

    for (; *text; text++) {
        char c = *text == '+' ? ' ' : *text;

        if (*text == '%') {
            int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            c = (char)(high << 4 | low);
            text += 2;
        }
        *out++ = c;
    }
    *out = '\0';
    return true;
}

static bool parse_number(const char *text, uint64_t *ret_number)
{
    char *end;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* 0 when it is no time. */
static int64_t time_of(struct weir_bytes xml, const char *name, struct weir_arena *arena)
{
    const char *text = text_of(element(xml, name, NULL), 64, arena);
    int64_t time_us = 0;

    return text != NULL && weir_time_parse(text, strlen(text), &time_us) ? time_us : 0;
}

static bool read_object(struct weir_bytes contents, struct weir_arena *arena,
                        struct s3_object *object)
{
    char *key = text_of(element(contents, "Key", NULL), (size_t)3 * S3_KEY_MAX, arena);
    const char *modified = text_of(element(contents, "LastModified", NULL), 64, arena);

    object->key = key;
    object->etag = text_of(element(contents, "ETag", NULL), S3_ETAG_MAX, arena);
    return key != NULL && decode(key) && *key && strlen(key) <= S3_KEY_MAX &&
           object->etag != NULL && strpbrk(object->etag, "\r\n") == NULL && modified != NULL &&
           weir_time_parse(modified, strlen(modified), &object->modified_us) &&
           parse_number(text_of(element(contents, "Size", NULL), 32, arena), &object->size);
}

static enum weir_status read_next(struct weir_bytes xml, struct weir_arena *arena,
                                  struct s3_page *page, struct weir_error *err)
{
    const char *truncated = text_of(element(xml, "IsTruncated", NULL), 16, arena);

    page->next = NULL;
    if (truncated != NULL && strcmp(truncated, "false") == 0)
        return WEIR_OK;
    page->next = text_of(element(xml, "NextContinuationToken", NULL), 2048, arena);
    if (truncated == NULL || page->next == NULL || !*page->next || page->count == 0)
        return weir_fail(err, WEIR_CORRUPT,
                         "listing: found neither its end nor where it goes on, expected "
                         "IsTruncated and NextContinuationToken");
    return WEIR_OK;
}

enum weir_status storage_s3_page_read(struct weir_bytes xml, struct weir_arena *arena,
                                      struct s3_page *ret_page, struct weir_error *err)
{
    struct s3_page page = {
        .objects = weir_arena_alloc(arena, S3_PAGE_KEYS_MAX * sizeof(struct s3_object))};
    struct weir_bytes rest = xml, contents;

    if (!is_whole(xml, "ListBucketResult"))
        return weir_fail(err, WEIR_CORRUPT,
                         "listing: found no whole ListBucketResult, expected one");
    while ((contents = element(rest, "Contents", &rest)).at != NULL) {
        struct s3_object *object = &page.objects[page.count];

        if (page.count == S3_PAGE_KEYS_MAX)
            return weir_fail(err, WEIR_CORRUPT, "listing: found more than %d keys in a page",
                             S3_PAGE_KEYS_MAX);
        if (!read_object(contents, arena, object))
            return weir_fail(err, WEIR_CORRUPT,
                             "listing: object %zu: found no Key, ETag, Size and LastModified that "
                             "can be read",
                             page.count + 1);
        if (page.count > 0 && strcmp(object[-1].key, object->key) >= 0)
            return weir_fail(err, WEIR_CORRUPT, "listing: object %zu: found keys out of order",
                             page.count + 1);
        page.count++;
    }
    if (read_next(xml, arena, &page, err) != WEIR_OK)
        return WEIR_CORRUPT;
    *ret_page = page;
    return WEIR_OK;
}

/* ---- versions ---- */

/* False for one that cannot be read; of another key than `key` it is not kept. */
static bool read_version(struct weir_bytes entry, const char *key, bool is_marker,
                         struct weir_arena *arena, struct s3_versions *versions)
{
    char *found = text_of(element(entry, "Key", NULL), (size_t)3 * S3_KEY_MAX, arena);
    const char *latest = text_of(element(entry, "IsLatest", NULL), 16, arena);
    struct weir_bytes id = element(entry, "VersionId", NULL);
    struct s3_version version = {.id = id.at != NULL ? text_of(id, S3_VERSION_ID_MAX, arena) : "",
                                 .modified_us = time_of(entry, "LastModified", arena)};

    if (!is_marker)
        version.etag = text_of(element(entry, "ETag", NULL), S3_ETAG_MAX, arena);
    if (found == NULL || !decode(found) || latest == NULL || version.id == NULL ||
        (!is_marker && version.etag == NULL))
        return false;
    version.is_latest = strcmp(latest, "true") == 0;
    if (strcmp(found, key) == 0)
        versions->at[versions->count++] = version;
    return true;
}

static enum weir_status read_versions(struct weir_bytes xml, const char *key, bool is_marker,
                                      struct weir_arena *arena, struct s3_versions *versions,
                                      struct weir_error *err)
{
    const char *name = is_marker ? "DeleteMarker" : "Version";
    struct weir_bytes entry;

    while ((entry = element(xml, name, &xml)).at != NULL) {
        if (versions->count == S3_PAGE_KEYS_MAX)
            return weir_fail(err, WEIR_CORRUPT, "versions: found more than %d in a page",
                             S3_PAGE_KEYS_MAX);
        if (!read_version(entry, key, is_marker, arena, versions))
            return weir_fail(err, WEIR_CORRUPT,
                             "versions: found a %s without Key, VersionId, IsLatest and ETag that "
                             "can be read",
                             name);
    }
    return WEIR_OK;
}

enum weir_status storage_s3_versions_read(struct weir_bytes xml, const char *key,
                                          struct weir_arena *arena,
                                          struct s3_versions *ret_versions, struct weir_error *err)
{
    enum weir_status status;

    if (!is_whole(xml, "ListVersionsResult"))
        return weir_fail(err, WEIR_CORRUPT,
                         "versions: found no whole ListVersionsResult, expected one");
    *ret_versions = (struct s3_versions){
        .at = weir_arena_alloc(arena, S3_PAGE_KEYS_MAX * sizeof(struct s3_version))};
    status = read_versions(xml, key, false, arena, ret_versions, err);
    return status == WEIR_OK ? read_versions(xml, key, true, arena, ret_versions, err) : status;
}

/* ---- errors ---- */

bool storage_s3_lock_read(struct weir_bytes xml, struct weir_arena *arena, int64_t *ret_until_us)
{
    *ret_until_us = is_whole(xml, "Retention") ? time_of(xml, "RetainUntilDate", arena) : 0;
    return *ret_until_us != 0;
}

void storage_s3_error_code(struct weir_bytes xml, char code[64])
{
    struct weir_bytes found = element(xml, "Code", NULL);
    size_t size = 0;

    for (; size < found.size && size < 63; size++) {
        char c = (char)found.at[size];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            break;
        code[size] = c;
    }
    code[size] = '\0';
}
