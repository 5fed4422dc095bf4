/* Opens, checks, points. */
#include "selector/serving.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void selector_serving_fini(struct selector_serving *serving)
{
    weir_sample_set_close(&serving->set);
    serving->digest[0] = '\0';
}

static bool is_digest(const char *text)
{
    size_t size = WEIR_DIGEST_TEXT_MAX - 1;
    return strspn(text, "0123456789abcdef") == size && text[size] == '\0';
}

static enum weir_status reach(struct selector_serving *serving, const char *data_dir,
                              const char *digest, struct weir_error *err)
{
    if (weir_str_equal(serving->digest, digest))
        return WEIR_OK;
    if (!is_digest(digest))
        return weir_fail(err, WEIR_INVALID, "set_read.digest: expected %d hexadecimal digits",
                         WEIR_DIGEST_TEXT_MAX - 1);
    selector_serving_fini(serving);
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s.set", data_dir, digest);
    enum weir_status status = weir_sample_set_open_unread(path, &serving->set, err);
    if (!status)
        (void)snprintf(serving->digest, sizeof serving->digest, "%s", digest);
    return status;
}

enum weir_status selector_serving_read(struct selector_serving *serving, const char *data_dir,
                                       const struct msg_set_read *asked,
                                       struct msg_set_part *ret_part, struct weir_error *err)
{
    enum weir_status status = reach(serving, data_dir, asked->digest, err);
    if (status)
        return status;
    const struct weir_sample_set *set = &serving->set;
    if (asked->first > set->count || asked->count > SELECTOR_PART_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "set_read: expected at most %d of %zu samples, found %u from %" PRIu64,
                         SELECTOR_PART_MAX, set->count, asked->count, asked->first);
    size_t left = set->count - asked->first;
    size_t count = left < asked->count ? left : asked->count;
    status = weir_sample_set_check(set, asked->first, count, err);
    if (status)
        return weir_error_wrap(err, status, "set %s", serving->digest);
    *ret_part =
        (struct msg_set_part){.samples = set->count, .ids = {set->ids + asked->first, count}};
    if (set->weights) /* the same four bytes */
        ret_part->weights = (struct weir_u32s){
            (const uint32_t *)(const void *)(set->weights + asked->first), count};
    return WEIR_OK;
}
