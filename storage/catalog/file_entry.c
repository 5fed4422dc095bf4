/* Entries of file groups: see file_entry.h. */
#include "storage/catalog/file_entry.h"

#include "core/base/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_NS = 1000000000, PATH_BYTES_MAX = 65535 };

/* The mask: what one-sample files need most lies in its first seven bits. */
enum {
    HAS_PATH = 1 << 0,
    IN_SECONDS = 1 << 1, /* the distance of mtimes is, as of files that were unpacked together */
    FIELDS_AT = 2,       /* a bit for each field */
    HAS_FLAGS = 1 << 14, /* state, complete, unlisted are not as before: a byte tells them */
    LATER_FIELDS_AT = 15,
};

/* ---- what to expect ---- */

typedef uint64_t expect_fn(const struct stored_file *before, const struct stored_file *file);

static uint64_t same_mtime(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return (uint64_t)before->mtime_ns;
}

static uint64_t same_size(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->size;
}

/* Files that are made one after the other have inodes one after the other. */
static uint64_t next_inode(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->inode + 1;
}

static uint64_t next_source_inode(const struct stored_file *before, const struct stored_file *file)
{
    return before->source_inode == before->inode ? file->inode : before->source_inode + 1;
}

static uint64_t same_hash(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->prefix_hash;
}

static uint64_t next_id(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->last_id + 1;
}

static uint64_t same_device(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->device;
}

static uint64_t same_layout(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->layout;
}

static uint64_t same_samples(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->samples;
}

static uint64_t end_of_ids(const struct stored_file *before, const struct stored_file *file)
{
    (void)before;
    return file->samples > 0 ? file->first_id + file->samples - 1 : file->first_id;
}

static uint64_t same_records(const struct stored_file *before, const struct stored_file *file)
{
    (void)file;
    return before->records;
}

static uint64_t all_or_nothing(const struct stored_file *before, const struct stored_file *file)
{
    return before->indexed == 0 ? 0 : file->size;
}

static uint64_t nothing(const struct stored_file *before, const struct stored_file *file)
{
    (void)before;
    (void)file;
    return 0;
}

/* The expected value of a field may follow from those above it. Append only. */
static const struct {
    size_t offset; /* of a word in struct stored_file */
    expect_fn *expect;
} FIELDS[] = {
    {offsetof(struct stored_file, mtime_ns), same_mtime},
    {offsetof(struct stored_file, size), same_size},
    {offsetof(struct stored_file, inode), next_inode},
    {offsetof(struct stored_file, source_inode), next_source_inode},
    {offsetof(struct stored_file, prefix_hash), same_hash},
    {offsetof(struct stored_file, first_id), next_id},
    {offsetof(struct stored_file, device), same_device},
    {offsetof(struct stored_file, layout), same_layout},
    {offsetof(struct stored_file, samples), same_samples},
    {offsetof(struct stored_file, last_id), end_of_ids},
    {offsetof(struct stored_file, records), same_records},
    {offsetof(struct stored_file, indexed), all_or_nothing},
    {offsetof(struct stored_file, scrubbed_ns), nothing},
};
enum {
    MTIME = 0,
    FIELD_COUNT = sizeof(FIELDS) / sizeof(*FIELDS),
    FIRST_FIELDS = 14 - FIELDS_AT, /* those that fill the mask up to HAS_FLAGS */
    MASK_MOST = (1 << (LATER_FIELDS_AT + FIELD_COUNT - FIRST_FIELDS)) - 1,
};

static uint32_t bit_of(size_t field)
{
    return UINT32_C(1) << (field < FIRST_FIELDS ? FIELDS_AT + field
                                                : LATER_FIELDS_AT + field - FIRST_FIELDS);
}

static uint64_t get_field(const struct stored_file *file, size_t i)
{
    uint64_t value;

    memcpy(&value, (const char *)file + FIELDS[i].offset, sizeof(value));
    return value;
}

static void set_field(struct stored_file *file, size_t i, uint64_t value)
{
    memcpy((char *)file + FIELDS[i].offset, &value, sizeof(value));
}

/* Before the first file of a group. */
static const struct stored_file NOTHING = {.layout = 1, .samples = 1, .is_complete = true};

static uint8_t flags_of(const struct stored_file *file)
{
    return (uint8_t)((unsigned)file->state | (unsigned)file->is_complete << 2 |
                     (unsigned)file->is_unlisted << 3);
}

/* ---- packing ---- */

static uint64_t zigzag(int64_t distance)
{
    return (uint64_t)distance << 1 ^ (uint64_t)(distance >> 63);
}

static uint32_t pack_fields(const struct stored_file *before, const struct stored_file *file,
                            struct weir_buf *out)
{
    uint32_t mask = 0;

    for (size_t i = 0; i < FIELD_COUNT; i++) {
        int64_t distance = (int64_t)(get_field(file, i) - FIELDS[i].expect(before, file));

        if (distance == 0)
            continue;
        mask |= bit_of(i);
        if (i == MTIME && distance % SECOND_NS == 0) {
            mask |= IN_SECONDS;
            distance /= SECOND_NS;
        }
        weir_buf_append_varint(out, zigzag(distance));
    }
    return mask;
}

static void pack_path(const char *before, const char *path, struct weir_buf *out)
{
    size_t shared = 0, size = strlen(path);

    while (before != NULL && before[shared] && before[shared] == path[shared])
        shared++;
    weir_buf_append_varint(out, shared);
    weir_buf_append_varint(out, size - shared);
    weir_buf_append(out, path + shared, size - shared);
}

void storage_file_pack(const struct stored_file *before, const struct stored_file *file,
                       struct weir_buf *out)
{
    WEIR_AUTO_BUF fields = {0};
    uint8_t flags = flags_of(file);
    uint32_t mask;

    if (before == NULL)
        before = &NOTHING;
    mask = pack_fields(before, file, &fields);
    mask |= file->path != NULL ? HAS_PATH : 0;
    mask |= flags != flags_of(before) ? HAS_FLAGS : 0;
    weir_buf_append_varint(out, mask);
    if (mask & HAS_FLAGS)
        weir_buf_append(out, &flags, 1);
    weir_buf_append(out, fields.at, fields.size);
    if (file->path != NULL)
        pack_path(before->path, file->path, out);
}

/* ---- unpacking ---- */

struct cursor {
    struct weir_bytes rest;
    bool is_broken;
};

static uint64_t take_varint(struct cursor *cursor)
{
    uint64_t value = 0;

    cursor->is_broken = !weir_take_varint(&cursor->rest, &value) || cursor->is_broken;
    return value;
}

static void take_flags(struct cursor *cursor, struct stored_file *file)
{
    struct weir_bytes flags;

    if (!weir_take(&cursor->rest, 1, &flags) || *flags.at > 15) {
        cursor->is_broken = true;
        return;
    }
    file->state = (enum file_state)(*flags.at & 3);
    file->is_complete = *flags.at & 4;
    file->is_unlisted = *flags.at & 8;
}

static void take_fields(struct cursor *cursor, uint64_t mask, const struct stored_file *before,
                        struct stored_file *file)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        uint64_t value = FIELDS[i].expect(before, file);

        if (mask & bit_of(i)) {
            uint64_t folded = take_varint(cursor);
            uint64_t distance = folded >> 1 ^ (0 - (folded & 1));

            value += i == MTIME && (mask & IN_SECONDS) ? distance * SECOND_NS : distance;
        }
        set_field(file, i, value);
    }
}

static char *take_path(struct cursor *cursor, const char *before)
{
    uint64_t shared = take_varint(cursor), size = take_varint(cursor);
    struct weir_bytes rest = {0};
    char *path;

    if (cursor->is_broken || shared > (before != NULL ? strlen(before) : 0) ||
        !weir_take(&cursor->rest, size, &rest) || shared + size == 0 ||
        shared + size > PATH_BYTES_MAX || memchr(rest.at, 0, rest.size) != NULL) {
        cursor->is_broken = true;
        return NULL;
    }
    path = weir_calloc((size_t)(shared + size) + 1, 1);
    if (shared > 0)
        memcpy(path, before, (size_t)shared);
    if (size > 0)
        memcpy(path + shared, rest.at, rest.size);
    return path;
}

size_t storage_file_unpack(const struct stored_file *before, struct weir_bytes packed,
                           struct stored_file *ret_file)
{
    struct cursor cursor = {.rest = packed};
    struct stored_file file = {0};
    uint64_t mask = take_varint(&cursor);

    if (before == NULL)
        before = &NOTHING;
    file.state = before->state;
    file.is_complete = before->is_complete;
    file.is_unlisted = before->is_unlisted;
    if (mask & HAS_FLAGS)
        take_flags(&cursor, &file);
    take_fields(&cursor, mask, before, &file);
    if (!cursor.is_broken && (mask & HAS_PATH))
        file.path = take_path(&cursor, before->path);
    if (cursor.is_broken || mask > MASK_MOST) {
        free(file.path);
        return 0;
    }
    *ret_file = file;
    return packed.size - cursor.rest.size;
}
