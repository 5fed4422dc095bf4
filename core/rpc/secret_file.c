/* Reading and making files that hold secrets. */
#include "core/rpc/secret_file.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 4 << 10, OWNER_ONLY = 0600, OTHERS = 077 };

void weir_secret_fields_fini(struct weir_secret_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].value != NULL)
            explicit_bzero(fields[i].value, strlen(fields[i].value));
        free(fields[i].value);
        fields[i].value = NULL;
    }
}

static enum weir_status check_mode(int fd, const char *path, struct weir_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return weir_fail(err, WEIR_DENIED, "%s: expected a file", path);
    if ((about.st_mode & OTHERS) != 0)
        return weir_fail(
            err, WEIR_DENIED,
            "%s: others may read it or write to it (mode %04o), and it holds a secret: "
            "expected mode 0600 (chmod 600)",
            path, (unsigned)(about.st_mode & 07777));
    return WEIR_OK;
}

static enum weir_status load(const char *path, struct weir_buf *text, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum weir_status status = WEIR_OK;
    if (fd >= 0)
        status = check_mode(fd, path, err);
    return status == WEIR_OK ? weir_file_read_open(fd, path, BYTES_MAX, text, err) : status;
}

/* ---- lines ---- */

/* A line of the file, and where it is. */
struct line {
    const char *path;
    unsigned number;
    struct weir_bytes all;
};

static enum weir_status fail_at(const struct line *line, const uint8_t *at, const char *what,
                                struct weir_error *err)
{
    return weir_fail(err, WEIR_INVALID, "%s:%u:%zu: %s", line->path, line->number,
                     (size_t)(at - line->all.at) + 1, what);
}

static struct weir_secret_field *find(struct weir_secret_field *fields, size_t count,
                                      struct weir_bytes key)
{
    for (size_t i = 0; i < count; i++)
        if (weir_bytes_equal(weir_bytes_of(fields[i].key), key))
            return &fields[i];
    return NULL;
}

/* A scalar in quotes or without; quotes in it are nobody's. */
static bool unquote(struct weir_bytes *value)
{
    char first = value->size > 0 ? (char)value->at[0] : '\0';
    if (first == '"' || first == '\'') {
        if (value->size < 2 || value->at[value->size - 1] != first)
            return false;
        *value = weir_bytes(value->at + 1, value->size - 2);
    }
    return value->size > 0 && memchr(value->at, '"', value->size) == NULL &&
           memchr(value->at, '\'', value->size) == NULL &&
           memchr(value->at, '\0', value->size) == NULL;
}

/* Never quotes the value, which may be the secret. */
static enum weir_status take_line(const struct line *line, struct weir_secret_field *fields,
                                  size_t count, struct weir_error *err)
{
    struct weir_bytes rest = weir_bytes_trim(line->all);
    if (rest.size == 0 || rest.at[0] == '#')
        return WEIR_OK;
    const uint8_t *colon = memchr(rest.at, ':', rest.size);
    if (colon == NULL)
        return fail_at(line, rest.at, "expected `key: \"value\"`", err);
    struct weir_secret_field *field =
        find(fields, count, weir_bytes(rest.at, (size_t)(colon - rest.at)));
    if (field == NULL || field->value != NULL)
        return fail_at(line, rest.at,
                       field == NULL ? "unknown key" : "the key is there twice already", err);
    struct weir_bytes value =
        weir_bytes_trim(weir_bytes(colon + 1, rest.size - (size_t)(colon + 1 - rest.at)));
    if (!unquote(&value))
        return fail_at(line, colon + 1, "expected a text of one line, as in key: \"value\"", err);
    field->value = weir_strndup((const char *)value.at, value.size);
    return WEIR_OK;
}

enum weir_status weir_secret_file_read(const char *path, struct weir_secret_field *fields,
                                       size_t count, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = load(path, &text, err);
    struct line line = {.path = path};
    for (size_t at = 0; status == WEIR_OK && at < text.size;) {
        const uint8_t *end = memchr(text.at + at, '\n', text.size - at);
        size_t size = end != NULL ? (size_t)(end - (text.at + at)) : text.size - at;
        line.number++;
        line.all = weir_bytes(text.at + at, size);
        status = take_line(&line, fields, count, err);
        at += size + 1;
    }
    weir_buf_wipe(&text);
    if (status != WEIR_OK)
        weir_secret_fields_fini(fields, count);
    return status;
}

/* ---- making ---- */

static enum weir_status write_new(const char *path, struct weir_bytes text, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, OWNER_ONLY);
    if (fd < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot create: %s", path, strerror(errno));
    if (!weir_write_all(fd, text) || fsync(fd) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", path, strerror(errno));
    return WEIR_OK;
}

/* Renaming would replace what somebody else has made meanwhile. */
static enum weir_status place(const char *fresh, const char *path, struct weir_error *err)
{
    if (link(fresh, path) == 0)
        return weir_sync_parent(path, err);
    if (errno == EEXIST)
        return weir_fail(err, WEIR_EXISTS, "%s exists already", path);
    return weir_fail(err, WEIR_IO, "%s: cannot create: %s", path, strerror(errno));
}

void weir_secret_field_print(const char *key, const char *value, struct weir_buf *out)
{
    weir_buf_printf(out, "%s: \"%s\"\n", key, value);
}

enum weir_status weir_secret_file_make(const char *path, struct weir_bytes text,
                                       struct weir_error *err)
{
    WEIR_AUTO_FREE char *fresh =
        weir_format("%s.%016llx.new", path, (unsigned long long)weir_random_u64());
    enum weir_status status = write_new(fresh, text, err);
    if (status == WEIR_OK)
        status = place(fresh, path, err);
    (void)unlink(fresh);
    return status;
}
