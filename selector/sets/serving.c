/* Opens, checks, points. */
#include "selector/sets/serving.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void selector_serving_fini(struct selector_serving *serving)
{
    weir_sample_set_close(&serving->set);
    free(serving->ids);
    free(serving->weights);
    *serving = (struct selector_serving){0};
}

static bool is_digest(const char *text)
{
    size_t size = WEIR_DIGEST_TEXT_MAX - 1;
    return strspn(text, "0123456789abcdef") == size && text[size] == '\0';
}

/* The indices of epochs have no sums of their own, so a request for an epoch has all of the set checked. */
enum weir_status selector_serving_open(struct selector_serving *serving, const char *data_dir,
                                       const struct msg_set_read *asked, struct weir_error *err)
{
    bool whole = asked->epoch > 0;
    if (!is_digest(asked->digest)) /* an empty one is that of no set, and no set is open at first */
        return weir_fail(err, WEIR_INVALID, "set_read.digest: expected %d hexadecimal digits",
                         WEIR_DIGEST_TEXT_MAX - 1);
    if (weir_str_equal(serving->digest, asked->digest) && (serving->is_checked || !whole))
        return WEIR_OK;
    weir_sample_set_close(&serving->set);
    serving->digest[0] = '\0';
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s.set", data_dir, asked->digest);
    enum weir_status status = whole ? weir_sample_set_open(path, &serving->set, err)
                                    : weir_sample_set_open_unread(path, &serving->set, err);
    if (status != WEIR_OK)
        return status;
    (void)snprintf(serving->digest, sizeof(serving->digest), "%s", asked->digest);
    serving->is_checked = whole;
    return WEIR_OK;
}

static enum weir_status check(const struct weir_sample_set *set, const struct msg_set_read *asked,
                              size_t samples, struct weir_error *err)
{
    if (asked->epoch > set->parts.count)
        return weir_fail(err, WEIR_INVALID, "set_read.epoch: expected at most %u, found %u: %s",
                         set->parts.count, asked->epoch,
                         set->parts.count ? "the set was drawn for so many epochs"
                                          : "every epoch trains on all of the set");
    if (asked->first > samples || asked->count > SELECTOR_PART_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "set_read: expected at most %d of %zu samples, found %u from %" PRIu64,
                         SELECTOR_PART_MAX, samples, asked->count, asked->first);
    return WEIR_OK;
}

/* Points to members as they lie in the file. */
static enum weir_status point(const struct selector_serving *serving, size_t first, size_t count,
                              struct msg_set_part *part, struct weir_error *err)
{
    const struct weir_sample_set *set = &serving->set;
    enum weir_status status = weir_sample_set_check(set, first, count, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "set %s", serving->digest);
    part->ids = (struct weir_u64s){set->ids + first, count};
    if (set->weights != NULL) /* the same four bytes */
        part->weights =
            (struct weir_u32s){(const uint32_t *)(const void *)(set->weights + first), count};
    return WEIR_OK;
}

/* Gathers members of one epoch from all over the set. */
static void gather(struct selector_serving *serving, size_t at, size_t count,
                   struct msg_set_part *part)
{
    const struct weir_sample_set *set = &serving->set;
    const uint32_t *indices = set->parts.indices + at;
    if (serving->ids == NULL) {
        serving->ids = weir_calloc(SELECTOR_PART_MAX, sizeof(*serving->ids));
        serving->weights = weir_calloc(SELECTOR_PART_MAX, sizeof(*serving->weights));
    }
    for (size_t i = 0; i < count; i++)
        serving->ids[i] = set->ids[indices[i]];
    for (size_t i = 0; i < count && set->weights != NULL; i++)
        serving->weights[i] = set->weights[indices[i]];
    part->ids = (struct weir_u64s){serving->ids, count};
    if (set->weights != NULL)
        part->weights = (struct weir_u32s){(const uint32_t *)(const void *)serving->weights, count};
}

enum weir_status selector_serving_read(struct selector_serving *serving,
                                       const struct msg_set_read *asked,
                                       struct msg_set_part *ret_part, struct weir_error *err)
{
    const struct weir_sample_set *set = &serving->set;
    size_t samples = asked->epoch > 0 ? set->parts.samples : set->count;
    enum weir_status status = check(set, asked, samples, err);
    if (status != WEIR_OK)
        return status;
    size_t left = samples - asked->first;
    size_t count = left < asked->count ? left : asked->count;
    *ret_part = (struct msg_set_part){.samples = samples, .epochs = set->parts.count};
    if (asked->epoch == 0)
        return point(serving, asked->first, count, ret_part, err);
    gather(serving, (asked->epoch - 1) * set->parts.samples + asked->first, count, ret_part);
    return WEIR_OK;
}
