/* Sealed sets, fetched from the selector: see sets.h. */
#include "preprocess/worker/sets.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700 };

/* A set on its way: first its members, then, where each epoch has samples of its own, those. */
struct fetch {
    struct weir_sample_set_writer *writer; /* NULL: the first page has not come */
    uint64_t samples, had;                 /* of the set */
    uint64_t last_id;                      /* newest one received */
    bool has_weights;
    float *weights;      /* filled in page by page */
    struct weir_buf ids; /* kept where indices of epochs refer to them */
    struct weir_epoch_parts parts;
    uint32_t epoch; /* epoch of the pages, from 1; 0: the whole set */
    uint64_t epoch_had;
    uint32_t *indices; /* of `parts` */
};

enum set_state { SET_NONE, SET_COMES, SET_IS_THERE, SET_HAS_FAILED };

struct set {
    enum set_state state;
    char digest[WEIR_DIGEST_TEXT_MAX];
    uint64_t used; /* by the clock of `sets` */
    struct fetch fetch;
    struct weir_error problem;
    struct sets *sets;
};

struct sets {
    struct weir_rpc_peer *selector;
    char *folder, *path; /* `path` was returned last */
    void (*on_news)(void *owner);
    void *owner;
    uint64_t clock;
    struct set at[SETS_MAX];
};

static char *path_of(const struct sets *sets, const char *digest)
{
    return weir_format("%s/%s.set", sets->folder, digest);
}

static void end_fetch(struct fetch *fetch)
{
    weir_sample_set_writer_free(fetch->writer);
    free(fetch->weights);
    free(fetch->indices);
    weir_buf_fini(&fetch->ids);
    *fetch = (struct fetch){0};
}

static void drop(struct set *set)
{
    WEIR_AUTO_FREE char *path = path_of(set->sets, set->digest);
    weir_rpc_forget(set->sets->selector, set);
    end_fetch(&set->fetch);
    if (set->state == SET_IS_THERE)
        (void)unlink(path); /* whoever has mapped it keeps it */
    *set = (struct set){.sets = set->sets};
}

/* ---- taking in ---- */

/* Takes the first page's word for the size of the set. */
static enum weir_status begin(struct set *set, const struct msg_set_part *part,
                              struct weir_error *err)
{
    struct fetch *fetch = &set->fetch;
    WEIR_AUTO_FREE char *path = path_of(set->sets, set->digest);
    if (part->samples > SETS_SAMPLES_MAX)
        return weir_fail(err, WEIR_LIMIT, "set %s: %lu samples, expected at most %lu", set->digest,
                         part->samples, SETS_SAMPLES_MAX);
    fetch->samples = part->samples;
    fetch->parts.count = part->epochs;
    fetch->has_weights = part->weights.count > 0;
    if (fetch->has_weights) /* zeros until they come, which are no weights to be left out */
        fetch->weights = weir_calloc(part->samples, sizeof(float));
    return weir_sample_set_begin(path, part->samples, fetch->weights, &fetch->writer, err);
}

/* True when they ascend, from after `last` on, which is the last of them then. No id is 0. */
static bool ascends(const struct weir_u64s *ids, uint64_t *last)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->at[i] <= *last)
            return false;
        *last = ids->at[i];
    }
    return true;
}

static bool is_consistent(const struct fetch *fetch, uint64_t samples, uint64_t had,
                          const struct msg_set_part *part)
{
    size_t weights = fetch->has_weights ? part->ids.count : 0;
    return part->samples == samples && part->epochs == fetch->parts.count &&
           (part->ids.count > 0 || samples == 0) && part->ids.count <= samples - had &&
           part->weights.count == weights;
}

static enum weir_status take_members(struct set *set, const struct msg_set_part *part,
                                     struct weir_error *err)
{
    struct fetch *fetch = &set->fetch;
    enum weir_status status = fetch->writer == NULL ? begin(set, part, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    if (!is_consistent(fetch, fetch->samples, fetch->had, part) ||
        !ascends(&part->ids, &fetch->last_id))
        return weir_fail(err, WEIR_INVALID, "set %s: a page that does not follow the one before",
                         set->digest);
    if (fetch->has_weights)
        memcpy(fetch->weights + fetch->had, part->weights.at, part->ids.count * sizeof(float));
    if (fetch->parts.count > 0)
        weir_buf_append(&fetch->ids, part->ids.at, part->ids.count * sizeof(uint64_t));
    fetch->had += part->ids.count;
    fetch->epoch = fetch->had == fetch->samples && fetch->parts.count > 0 ? 1 : 0;
    return weir_sample_set_add(fetch->writer, part->ids.at, part->ids.count, err);
}

/* The first page of the first epoch says how many samples each has. */
static enum weir_status begin_epochs(struct set *set, const struct msg_set_part *part,
                                     struct weir_error *err)
{
    struct fetch *fetch = &set->fetch;
    if (part->samples == 0 || part->samples > fetch->samples ||
        part->samples > SETS_SAMPLES_MAX / fetch->parts.count)
        return weir_fail(err, WEIR_LIMIT, "set %s: %u epochs of %lu samples, expected at most %lu",
                         set->digest, fetch->parts.count, part->samples, SETS_SAMPLES_MAX);
    fetch->parts.samples = part->samples;
    fetch->indices = weir_calloc(fetch->parts.count * part->samples, sizeof(uint32_t));
    fetch->parts.indices = fetch->indices;
    return WEIR_OK;
}

static enum weir_status take_epoch(struct set *set, const struct msg_set_part *part,
                                   struct weir_error *err)
{
    struct fetch *fetch = &set->fetch;
    const uint64_t *ids = (const uint64_t *)(const void *)fetch->ids.at;
    enum weir_status status = fetch->indices == NULL ? begin_epochs(set, part, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    bool is_right = is_consistent(fetch, fetch->parts.samples, fetch->epoch_had, part);
    uint32_t *to = fetch->indices + (fetch->epoch - 1) * fetch->parts.samples + fetch->epoch_had;
    size_t at = fetch->epoch_had > 0 ? to[-1] + 1 : 0;
    for (size_t i = 0; is_right && i < part->ids.count; i++) {
        while (at < fetch->samples && ids[at] != part->ids.at[i])
            at++;
        is_right = at < fetch->samples;
        to[i] = (uint32_t)at++;
    }
    if (!is_right)
        return weir_fail(err, WEIR_INVALID, "set %s: a page of epoch %u that is none of the set",
                         set->digest, fetch->epoch);
    fetch->epoch_had += part->ids.count;
    if (fetch->epoch_had == fetch->parts.samples) {
        fetch->epoch++;
        fetch->epoch_had = 0;
    }
    return WEIR_OK;
}

static bool is_whole(const struct fetch *fetch)
{
    return fetch->had == fetch->samples &&
           fetch->epoch == (fetch->parts.count > 0 ? fetch->parts.count + 1 : 0);
}

static enum weir_status finish(struct set *set, struct weir_error *err)
{
    struct fetch *fetch = &set->fetch;
    struct weir_digest digest;
    char text[WEIR_DIGEST_TEXT_MAX];
    WEIR_AUTO_FREE char *path = path_of(set->sets, set->digest);
    if (fetch->parts.count > 0)
        weir_sample_set_divide(fetch->writer, &fetch->parts);
    enum weir_status status = weir_sample_set_finish(fetch->writer, &digest, err);
    if (status != WEIR_OK)
        return status;
    weir_digest_text(&digest, text);
    if (!weir_str_equal(text, set->digest))
        return weir_fail(err, WEIR_CORRUPT, "the selector sent set %s, expected %s", text,
                         set->digest);
    return weir_sample_set_publish(fetch->writer, path, err);
}

/* ---- asking ---- */

static void request_page(struct set *set);

static void settle(struct set *set, enum set_state state)
{
    end_fetch(&set->fetch);
    set->state = state;
    set->sets->on_news(set->sets->owner);
}

static void on_part(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct set *set = owner;
    struct fetch *fetch = &set->fetch;
    enum weir_status status = WEIR_OK;
    if (reply == NULL) {
        set->problem = *err;
        settle(set, SET_HAS_FAILED);
        return;
    }
    status = fetch->epoch == 0 ? take_members(set, reply->message, &set->problem)
                               : take_epoch(set, reply->message, &set->problem);
    if (status == WEIR_OK && !is_whole(fetch)) {
        request_page(set);
        return;
    }
    if (status == WEIR_OK)
        status = finish(set, &set->problem);
    settle(set, status == WEIR_OK ? SET_IS_THERE : SET_HAS_FAILED);
}

static void request_page(struct set *set)
{
    const struct fetch *fetch = &set->fetch;
    const struct msg_set_read request = {.digest = set->digest,
                                         .first = fetch->epoch == 0 ? fetch->had : fetch->epoch_had,
                                         .count = SETS_PAGE,
                                         .epoch = fetch->epoch};
    weir_rpc_call(set->sets->selector, MSG_set_read, &request, SETS_REQUEST_MS, on_part, set);
}

/* ---- finding ---- */

/* The set's slot, or one that it takes: of none, or of the set used longest ago. */
static struct set *slot_of(struct sets *sets, const char *digest)
{
    struct set *spare = &sets->at[0];
    for (size_t i = 0; i < SETS_MAX; i++) {
        struct set *set = &sets->at[i];
        if (set->state != SET_NONE && weir_str_equal(set->digest, digest))
            return set;
        if (set->used < spare->used)
            spare = set;
    }
    drop(spare);
    (void)snprintf(spare->digest, sizeof(spare->digest), "%s", digest);
    return spare;
}

enum weir_status preprocess_sets_find(struct sets *sets, const char *digest, const char **ret_path,
                                      struct weir_error *err)
{
    if (strspn(digest, "0123456789abcdef") != WEIR_DIGEST_TEXT_MAX - 1 ||
        digest[WEIR_DIGEST_TEXT_MAX - 1] != '\0')
        return weir_fail(err, WEIR_INVALID, "set '%.40s': expected %d hexadecimal digits", digest,
                         WEIR_DIGEST_TEXT_MAX - 1);
    struct set *set = slot_of(sets, digest);
    set->used = ++sets->clock;
    if (set->state == SET_HAS_FAILED) {
        *err = set->problem;
        set->state = SET_NONE;
        return err->status == WEIR_UNAVAILABLE || err->status == WEIR_TIMEOUT
                   ? weir_fail(err, WEIR_UNAVAILABLE, "set %s does not come yet", digest)
                   : err->status;
    }
    if (set->state == SET_IS_THERE) {
        free(sets->path);
        *ret_path = sets->path = path_of(sets, digest);
        return WEIR_OK;
    }
    if (set->state == SET_NONE) {
        set->state = SET_COMES;
        request_page(set);
    }
    return weir_fail(err, WEIR_UNAVAILABLE, "set %s is on its way", digest);
}

/* ---- life ---- */

enum weir_status preprocess_sets_open(const char *folder, struct weir_rpc_peer *selector,
                                      void (*on_news)(void *owner), void *owner,
                                      struct sets **ret_sets, struct weir_error *err)
{
    struct sets *sets = weir_calloc(1, sizeof(*sets));
    *sets = (struct sets){
        .selector = selector, .folder = weir_strdup(folder), .on_news = on_news, .owner = owner};
    for (size_t i = 0; i < SETS_MAX; i++)
        sets->at[i].sets = sets;
    enum weir_status status = weir_remove_tree(sets->folder, err);
    if (status == WEIR_OK)
        status = weir_make_directories(sets->folder, FOLDER_MODE, err);
    if (status != WEIR_OK) {
        preprocess_sets_close(sets);
        return status;
    }
    *ret_sets = sets;
    return WEIR_OK;
}

void preprocess_sets_close(struct sets *sets)
{
    if (sets == NULL)
        return;
    for (size_t i = 0; i < SETS_MAX; i++) {
        weir_rpc_forget(sets->selector, &sets->at[i]);
        end_fetch(&sets->at[i].fetch);
    }
    free(sets->folder);
    free(sets->path);
    free(sets);
}
