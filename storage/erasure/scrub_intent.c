/* What is being overwritten: see scrub_intent.h. */
#include "storage/erasure/scrub_intent.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/formats/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 6, INTENT_BYTES = 8 * WORDS + 4 };

static char *place_of(const char *data_dir)
{
    return weir_format("%s/scrubbing", data_dir);
}

enum weir_status storage_scrub_intend(const char *data_dir, const struct scrub_intent *intent,
                                      struct weir_error *err)
{
    const uint64_t words[WORDS] = {intent->device,         intent->inode,
                                   intent->payload.offset, intent->payload.length,
                                   intent->extent.offset,  intent->extent.length};
    WEIR_AUTO_FREE char *place = place_of(data_dir);
    WEIR_AUTO_FD int fd = open(place, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    uint8_t bytes[INTENT_BYTES];
    bool is_new = fd < 0;

    for (size_t i = 0; i < WORDS; i++)
        weir_put_u64(bytes + 8 * i, words[i]);
    weir_put_u32(bytes + 8 * WORDS, crc32c(weir_bytes(bytes, 8 * WORDS)));
    if (is_new)
        fd = open(place, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || pwrite(fd, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes || fdatasync(fd) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", place, strerror(errno));
    return is_new ? weir_sync_parent(place, err) : WEIR_OK;
}

bool storage_scrub_intended(const char *data_dir, struct scrub_intent *ret_intent)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);
    WEIR_AUTO_FD int fd = open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    uint8_t bytes[INTENT_BYTES];

    if (fd < 0 || pread(fd, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes ||
        weir_get_u32(bytes + 8 * WORDS) != crc32c(weir_bytes(bytes, 8 * WORDS)))
        return false;
    *ret_intent = (struct scrub_intent){
        .device = weir_get_u64(bytes),
        .inode = weir_get_u64(bytes + 8),
        .payload = {weir_get_u64(bytes + 16), weir_get_u64(bytes + 24)},
        .extent = {weir_get_u64(bytes + 32), weir_get_u64(bytes + 40)},
    };
    return true;
}

bool storage_scrub_is_of(const char *data_dir, const struct stat *found)
{
    struct scrub_intent intent;

    return storage_scrub_intended(data_dir, &intent) && intent.device == found->st_dev &&
           intent.inode == found->st_ino;
}

void storage_scrub_intend_nothing(const char *data_dir)
{
    WEIR_AUTO_FREE char *place = place_of(data_dir);

    unlink(place);
}
