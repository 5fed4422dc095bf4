/* Scrubbing intents: see scrub_intent.h. */
#include "storage/files/scrub_intent.h"

#include "core/base/crc32c.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 6, WORDS_BYTES = 8 * WORDS, SLOT_BYTES = WORDS_BYTES + 4 };

static char *place_of(const char *data_dir)
{
    return weir_format("%s/scrubbing", data_dir);
}

/* ---- slots ---- */

static void pack(const struct scrub_intent *intent, uint8_t slot[SLOT_BYTES])
{
    const uint64_t words[WORDS] = {intent->device,         intent->inode,
                                   intent->payload.offset, intent->payload.length,
                                   intent->extent.offset,  intent->extent.length};

    for (size_t i = 0; i < WORDS; i++)
        weir_put_u64(slot + 8 * i, words[i]);
    weir_put_u32(slot + WORDS_BYTES, weir_crc32c(weir_bytes(slot, WORDS_BYTES)));
}

/* False: the slot is free. */
static bool unpack(const uint8_t *slot, struct scrub_intent *ret_intent)
{
    if (weir_get_u32(slot + WORDS_BYTES) != weir_crc32c(weir_bytes(slot, WORDS_BYTES)))
        return false;
    *ret_intent = (struct scrub_intent){
        .device = weir_get_u64(slot),
        .inode = weir_get_u64(slot + 8),
        .payload = {weir_get_u64(slot + 16), weir_get_u64(slot + 24)},
        .extent = {weir_get_u64(slot + 32), weir_get_u64(slot + 40)},
    };
    return true;
}

static bool is_same(const struct scrub_intent *a, const struct scrub_intent *b)
{
    return a->device == b->device && a->inode == b->inode &&
           a->payload.offset == b->payload.offset && a->payload.length == b->payload.length;
}

/* Empty when there is no such file. */
static void read_slots(const char *data_dir, struct weir_buf *slots)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);
    struct weir_error err;

    if (weir_file_read(place, (size_t)SCRUB_INTENTS_MAX * SLOT_BYTES, slots, &err) != WEIR_OK)
        weir_buf_clear(slots);
}

/* The slot of the sample, or the first free one with `or_free`; the number of slots when there is neither. */
static size_t find(const struct weir_buf *slots, const struct scrub_intent *intent, bool or_free,
                   struct scrub_intent *ret_found)
{
    size_t count = slots->size / SLOT_BYTES, free_slot = count;

    for (size_t i = 0; i < count; i++) {
        if (!unpack(slots->at + i * SLOT_BYTES, ret_found))
            free_slot = free_slot < i ? free_slot : i;
        else if (is_same(ret_found, intent))
            return i;
    }
    return or_free ? free_slot : count;
}

/* ---- the file ---- */

/* Into `slots`, in the slot it has or a free one; false when there is none. */
static bool put(struct weir_buf *slots, const struct scrub_intent *intent)
{
    struct scrub_intent found;
    size_t slot = find(slots, intent, true, &found);
    uint8_t bytes[SLOT_BYTES];

    if (slot == SCRUB_INTENTS_MAX)
        return false;
    pack(intent, bytes);
    if (slot == slots->size / SLOT_BYTES)
        weir_buf_append(slots, bytes, SLOT_BYTES);
    else
        memcpy(slots->at + slot * SLOT_BYTES, bytes, SLOT_BYTES);
    return true;
}

/* A death in the middle of writing leaves slots as they were, as they are to be, or free: nothing
 * is overwritten yet. */
static bool write_slots(int fd, const struct weir_buf *slots)
{
    return pwrite(fd, slots->at, slots->size, 0) == (ssize_t)slots->size && fdatasync(fd) == 0;
}

enum weir_status storage_scrub_intend(const char *data_dir, const struct scrub_intent *intents,
                                      size_t count, struct weir_error *err)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);
    WEIR_AUTO_FD int fd = open(place, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    WEIR_AUTO_BUF slots = {0};
    bool is_new = fd < 0;

    if (count == 0)
        return WEIR_OK;
    read_slots(data_dir, &slots);
    slots.size -= slots.size % SLOT_BYTES; /* a death may have cut the last one */
    errno = ENOSPC;
    for (size_t i = 0; i < count; i++) {
        if (!put(&slots, &intents[i]))
            return weir_fail(err, WEIR_IO, "%s: %d samples are overwritten in part already", place,
                             SCRUB_INTENTS_MAX);
    }
    if (is_new)
        fd = open(place, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || !write_slots(fd, &slots))
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", place, strerror(errno));
    return is_new ? weir_sync_parent(place, err) : WEIR_OK;
}

/* Not synced: a slot that comes back says once more what to write over what is written. */
void storage_scrub_done(const char *data_dir, const struct scrub_intent *intents, size_t count)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);
    WEIR_AUTO_FD int fd = open(place, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    WEIR_AUTO_BUF slots = {0};

    read_slots(data_dir, &slots);
    for (size_t i = 0; i < count; i++) {
        struct scrub_intent found;
        size_t slot = find(&slots, &intents[i], false, &found);

        if (slot < slots.size / SLOT_BYTES)
            memset(slots.at + slot * SLOT_BYTES, 0, SLOT_BYTES);
    }
    if (fd >= 0)
        (void)!pwrite(fd, slots.at, slots.size, 0);
}

size_t storage_scrub_intents_of(const char *data_dir, const struct stat *found,
                                struct scrub_intent *intents)
{
    WEIR_AUTO_BUF slots = {0};
    size_t count = 0;

    read_slots(data_dir, &slots);
    for (size_t i = 0; i < slots.size / SLOT_BYTES && count < SCRUB_INTENTS_MAX; i++) {
        struct scrub_intent *intent = &intents[count];

        count += unpack(slots.at + i * SLOT_BYTES, intent) && intent->device == found->st_dev &&
                 intent->inode == found->st_ino;
    }
    return count;
}

bool storage_scrub_is_of(const char *data_dir, const struct stat *found)
{
    WEIR_AUTO_FREE struct scrub_intent *intents = weir_calloc(SCRUB_INTENTS_MAX, sizeof(*intents));

    return storage_scrub_intents_of(data_dir, found, intents) > 0;
}

enum weir_status storage_scrub_intents_follow(const char *data_dir,
                                              const struct stored_file *before,
                                              const struct stored_file *now, struct weir_error *err)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);
    WEIR_AUTO_BUF slots = {0};
    bool has_moved = false;

    read_slots(data_dir, &slots);
    for (size_t i = 0; i < slots.size / SLOT_BYTES; i++) {
        struct scrub_intent intent;

        if (!unpack(slots.at + i * SLOT_BYTES, &intent) || intent.device != before->device ||
            intent.inode != before->inode)
            continue;
        intent.device = now->device;
        intent.inode = now->inode;
        pack(&intent, slots.at + i * SLOT_BYTES);
        has_moved = true;
    }
    return has_moved ? weir_file_write_atomic(place, weir_buf_view(&slots), err) : WEIR_OK;
}

void storage_scrub_intend_nothing(const char *data_dir)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);

    unlink(place);
}
