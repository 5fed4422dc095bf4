/* Tar headers: see tar_member.h. Layout and meaning as in POSIX (pax, "ustar Interchange Format") and in
 * the manual of GNU tar ("Tar Internals"). */
#include "storage/formats/tar_member.h"

#include <stdio.h>
#include <string.h>

/* Offsets and lengths of the fields of a header. */
enum {
    NAME = 0,
    NAME_SIZE = 100,
    SIZE = 124,
    SIZE_SIZE = 12,
    CHECKSUM = 148,
    CHECKSUM_SIZE = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_SIZE = 155,
    GNU_IS_EXTENDED = 482, /* of an old sparse file: more of its map follows */
    SPARSE_IS_EXTENDED = 504,
};

static const uint64_t SIZE_LIMIT = (uint64_t)1 << 62;

static struct weir_bytes text_field(const uint8_t *at, size_t size)
{
    return weir_bytes(at, strnlen((const char *)at, size));
}

/* Octal digits between spaces, ended by a space or a zero; or, with the first bit set, a binary number. */
static bool read_number(const uint8_t *at, size_t size, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;

    if (at[0] & 0x80) {
        for (i = 0; i < size; i++) {
            uint8_t byte = i == 0 ? at[0] & 0x7f : at[i];

            if (number > SIZE_LIMIT >> 8)
                return false;
            number = number << 8 | byte;
        }
        *ret_number = number;
        return true;
    }
    while (i < size && at[i] == ' ')
        i++;
    for (; i < size && at[i] >= '0' && at[i] <= '7'; i++)
        number = number << 3 | (uint64_t)(at[i] - '0');
    *ret_number = number;
    return i == size || at[i] == ' ' || at[i] == '\0';
}

static unsigned checksum(const uint8_t *header)
{
    unsigned sum = 0;

    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_SIZE ? ' ' : header[i];
    return sum;
}

static bool is_zero(const uint8_t *block)
{
    return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* The fields that extended headers set for the member after them. */
struct extension {
    struct weir_bytes name; /* `at` NULL: nothing said */
    struct weir_bytes name_when_sparse;
    bool has_size, is_sparse;
    uint64_t size;
};

static bool parse_decimal(struct weir_bytes text, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (text.size == 0 || text.size > 18)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.at[i] - '0');
    }
    *ret_number = number;
    return true;
}

static bool note_pax(struct weir_bytes key, struct weir_bytes value, struct extension *extension)
{
    if (weir_bytes_equal(key, weir_bytes_of("path"))) {
        extension->name = value;
    } else if (weir_bytes_equal(key, weir_bytes_of("size"))) {
        extension->has_size = true;
        return parse_decimal(value, &extension->size);
    } else if (weir_bytes_equal(key, weir_bytes_of("GNU.sparse.name"))) {
        extension->name_when_sparse = value;
    } else if (key.size > 10 && memcmp(key.at, "GNU.sparse", 10) == 0) {
        extension->is_sparse = true;
    }
    return true;
}

/* "LENGTH KEY=VALUE\n" …, the length counting all of itself. */
static bool read_pax(struct weir_bytes text, struct extension *extension)
{
    while (text.size > 0) {
        const uint8_t *space = memchr(text.at, ' ', text.size < 20 ? text.size : 20);
        const uint8_t *equals;
        struct weir_bytes record;
        uint64_t size;

        if (space == NULL ||
            !parse_decimal(weir_bytes(text.at, (size_t)(space - text.at)), &size) ||
            size > text.size || size < (size_t)(space - text.at) + 3)
            return false;
        record = weir_bytes(space + 1, (size_t)size - (size_t)(space + 1 - text.at) - 1);
        equals = memchr(record.at, '=', record.size);
        if (equals == NULL || text.at[size - 1] != '\n' ||
            !note_pax(weir_bytes(record.at, (size_t)(equals - record.at)),
                      weir_bytes(equals + 1, (size_t)(record.at + record.size - equals) - 1),
                      extension))
            return false;
        text = weir_bytes(text.at + size, text.size - (size_t)size);
    }
    return true;
}

static bool is_extension(uint8_t type)
{
    return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

/* False when the contents make no sense. A global header speaks of what no sample needs. */
static bool read_extension(uint8_t type, struct weir_bytes text, struct extension *extension)
{
    if (type == 'x')
        return read_pax(text, extension);
    if (type == 'L')
        extension->name = text_field(text.at, text.size);
    return true;
}

static uint64_t padded(uint64_t size)
{
    return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

static void fail(struct tar_member *member, enum tar_kind kind, const char *complaint)
{
    member->kind = kind;
    member->complaint = complaint;
}

/* "prefix/name" where POSIX has a prefix; where GNU tar has other things, there is none. */
static struct weir_bytes name_of(const uint8_t *header, struct tar_member *member)
{
    struct weir_bytes name = text_field(header + NAME, NAME_SIZE);
    struct weir_bytes prefix = text_field(header + PREFIX, PREFIX_SIZE);
    int size;

    if (memcmp(header + MAGIC, "ustar\0", 6) != 0 || prefix.size == 0)
        return name;
    size = snprintf(member->joined, sizeof(member->joined), "%.*s/%.*s", (int)prefix.size,
                    (const char *)prefix.at, (int)name.size, (const char *)name.at);
    return weir_bytes(member->joined, (size_t)size);
}

/* The ordinary name of a sparse file is one that tar makes up for those who do not know of sparse files. */
static struct weir_bytes name_said(const struct extension *extension, const uint8_t *header,
                                   struct tar_member *member)
{
    if (extension->is_sparse && extension->name_when_sparse.at != NULL)
        return extension->name_when_sparse;
    return extension->name.at != NULL ? extension->name : name_of(header, member);
}

/* Links, devices and pipes have no bytes, whatever their size says. */
static const char *without_bytes(uint8_t type)
{
    switch (type) {
    case '1':
        return "found a hard link, expected a regular file";
    case '2':
        return "found a symbolic link, expected a regular file";
    case '3':
    case '4':
        return "found a device, expected a regular file";
    case '6':
        return "found a named pipe, expected a regular file";
    default:
        return NULL;
    }
}

/* The blocks of an old sparse file's map that follow its header. */
static bool skip_sparse_map(struct weir_bytes text, const uint8_t *header,
                            struct tar_member *member)
{
    bool is_more = header[GNU_IS_EXTENDED] != 0;

    while (is_more) {
        if (text.size < member->data + TAR_BLOCK)
            return false;
        is_more = text.at[member->data + SPARSE_IS_EXTENDED] != 0;
        member->data += TAR_BLOCK;
    }
    return true;
}

static void classify(struct weir_bytes text, const uint8_t *header,
                     const struct extension *extension, struct tar_member *member)
{
    uint8_t type = header[TYPE];

    member->kind = TAR_FILE;
    if (without_bytes(type) != NULL) {
        member->size = 0;
        fail(member, TAR_OTHER, without_bytes(type));
    } else if (type == '5' || type == 'V') {
        member->size = 0;
        member->kind = TAR_NOTHING;
    } else if (type == 'S') {
        fail(member, TAR_OTHER, "found a sparse file, expected a regular one");
        if (!skip_sparse_map(text, header, member))
            member->kind = TAR_MORE;
    } else if (extension->is_sparse) {
        fail(member, TAR_OTHER, "found a sparse file, expected a regular one");
    } else if (type != '0' && type != '\0' && type != '7') {
        fail(member, TAR_OTHER, "found a member of an unknown kind, expected a regular file");
    } else if (type == '\0' && member->name.size > 0 &&
               member->name.at[member->name.size - 1] == '/') {
        member->kind = TAR_NOTHING; /* how archives before POSIX say folder */
    }
}

/* Checks one header and reads its size. */
static bool read_header(struct weir_bytes text, uint64_t at, uint64_t *ret_size,
                        struct tar_member *member)
{
    const uint8_t *header = text.at + at;
    uint64_t sum;

    if (text.size < at + TAR_BLOCK) {
        fail(member, TAR_MORE, NULL);
        return false;
    }
    if (at == 0 && is_zero(header)) {
        fail(member, TAR_END, NULL);
        return false;
    }
    if (!read_number(header + CHECKSUM, CHECKSUM_SIZE, &sum) || sum != checksum(header)) {
        fail(member, TAR_BROKEN, "found no header with a right checksum");
        return false;
    }
    if (!read_number(header + SIZE, SIZE_SIZE, ret_size) || *ret_size > SIZE_LIMIT) {
        fail(member, TAR_BROKEN, "found a header without a size");
        return false;
    }
    return true;
}

void storage_tar_member_read(struct weir_bytes text, struct tar_member *member)
{
    struct extension extension = {.has_size = false};
    uint64_t at = 0, size;

    *member = (struct tar_member){.complaint = NULL};
    while (read_header(text, at, &size, member)) {
        const uint8_t *header = text.at + at;

        if (!is_extension(header[TYPE])) {
            member->name = name_said(&extension, header, member);
            member->data = at + TAR_BLOCK;
            member->size = extension.has_size ? extension.size : size;
            classify(text, header, &extension, member);
            member->end = member->data + padded(member->size);
            return;
        }
        if (size > TAR_EXTENSION_MAX) {
            fail(member, TAR_BROKEN, "found an extended header beyond 64 KiB");
            return;
        }
        at += TAR_BLOCK;
        if (text.size < at + size) {
            fail(member, TAR_MORE, NULL);
            return;
        }
        if (!read_extension(header[TYPE], weir_bytes(text.at + at, (size_t)size), &extension)) {
            fail(member, TAR_BROKEN, "found a malformed extended header");
            return;
        }
        at += padded(size);
    }
}

void storage_tar_header_write(uint8_t block[TAR_BLOCK], const char *name, uint64_t size)
{
    static const uint8_t USTAR[8] = {'u', 's', 't', 'a', 'r', 0, '0', '0'}; /* and the version */

    memset(block, 0, TAR_BLOCK);
    snprintf((char *)block + NAME, NAME_SIZE, "%s", name);
    memcpy(block + 100, "0000644\0000000000\0000000000", 24); /* mode, user, group */
    snprintf((char *)block + SIZE, SIZE_SIZE, "%011llo", (unsigned long long)size);
    memcpy(block + 136, "00000000000", 12); /* mtime */
    block[TYPE] = '0';
    memcpy(block + MAGIC, USTAR, sizeof(USTAR));
    snprintf((char *)block + CHECKSUM, CHECKSUM_SIZE, "%06o", checksum(block));
    block[CHECKSUM + 7] = ' ';
}
