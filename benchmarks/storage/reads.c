/* Both sides of a random read: see reads.h. */
#include "benchmarks/storage/reads.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/rpc/segment.h"
#include "core/wire/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FEED_ROWS = 4096,
    LOCATE_IDS = 65536,
    REQUEST_IDS = 2048,      /* of one request … */
    REQUEST_BYTES = 4 << 20, /* … and about so many bytes, at most */
    IN_FLIGHT = 4,
    ASK_MS = 60000,
    SEED = 20260103,
};

/* ---- picking ---- */

/* Ranges of ids, as the feed tells them. */
struct ranges {
    struct weir_buf firsts, counts; /* u64 each */
    uint64_t samples;
};

static enum weir_status read_ranges(struct rig *rig, uint64_t dataset, struct ranges *ranges,
                                    struct weir_error *err)
{
    uint64_t after = 0, head = 1;
    while (after < head) {
        const struct msg_feed_read read = {
            .dataset = dataset, .consumer = "bench", .after = after, .limit = FEED_ROWS};
        const struct rig_call call = {RIG_STORAGE, MSG_feed_read, &read, MSG_feed_is};
        struct msg_feed_is feed;
        enum weir_status status = rig_request(rig, &call, &feed, err);
        if (status != WEIR_OK)
            return status;
        for (size_t i = 0; i < feed.sequences.count; i++) {
            uint64_t count = feed.counts.at[i];
            weir_buf_append(&ranges->firsts, &feed.firsts.at[i], sizeof(uint64_t));
            weir_buf_append(&ranges->counts, &count, sizeof(count));
            ranges->samples += count;
            after = feed.sequences.at[i];
        }
        head = feed.sequences.count > 0 ? feed.head : after;
    }
    return WEIR_OK;
}

/* The n-th sample of the dataset. */
static uint64_t nth(const struct ranges *ranges, uint64_t n)
{
    const uint64_t *firsts = (const uint64_t *)(const void *)ranges->firsts.at;
    const uint64_t *counts = (const uint64_t *)(const void *)ranges->counts.at;
    size_t i = 0;
    weir_require(n < ranges->samples);
    for (; n >= counts[i]; i++)
        n -= counts[i];
    return firsts[i] + n;
}

static void keep_located(struct picks *picks, size_t at, const struct msg_located *answer)
{
    for (size_t i = 0; i < answer->files.count; i++) {
        picks->files[at + i] = (uint32_t)picks->path_count + answer->files.at[i];
        picks->offsets[at + i] = answer->offsets.at[i];
        picks->lengths[at + i] = answer->lengths.at[i];
        if (answer->lengths.at[i] > picks->length_max)
            picks->length_max = answer->lengths.at[i];
    }
    picks->paths =
        weir_realloc(picks->paths, picks->path_count + answer->paths.count, sizeof(char *));
    for (size_t i = 0; i < answer->paths.count; i++)
        picks->paths[picks->path_count++] = weir_strdup(answer->paths.at[i]);
}

static enum weir_status locate(struct picks *picks, struct rig *rig, struct weir_error *err)
{
    for (size_t at = 0; at < picks->count; at += LOCATE_IDS) {
        size_t rest = picks->count - at;
        const struct msg_locate ask = {
            .ids = {picks->ids + at, rest < LOCATE_IDS ? rest : LOCATE_IDS}};
        const struct rig_call call = {RIG_STORAGE, MSG_locate, &ask, MSG_located};
        struct msg_located answer;
        enum weir_status status = rig_request(rig, &call, &answer, err);
        if (status != WEIR_OK)
            return status;
        keep_located(picks, at, &answer);
    }
    return WEIR_OK;
}

static enum weir_status open_files(struct picks *picks, bool keeps_open, struct weir_error *err)
{
    picks->fds = weir_calloc(picks->path_count, sizeof(*picks->fds));
    for (size_t i = 0; i < picks->path_count; i++)
        picks->fds[i] = -1;
    for (size_t i = 0; keeps_open && i < picks->path_count; i++) {
        picks->fds[i] = open(picks->paths[i], O_RDONLY | O_CLOEXEC);
        if (picks->fds[i] < 0)
            return weir_fail(err, WEIR_IO, "%s: %s", picks->paths[i], strerror(errno));
    }
    return WEIR_OK;
}

enum weir_status picks_make(struct rig *rig, const char *dataset, size_t count, bool keeps_open,
                            struct picks *ret_picks, struct weir_error *err)
{
    const struct msg_dataset_request ask = {.name = dataset};
    const struct rig_call call = {RIG_STORAGE, MSG_dataset_request, &ask, MSG_dataset_is};
    struct msg_dataset_is is;
    struct ranges ranges = {.samples = 0};
    struct weir_rng rng;
    enum weir_status status = rig_request(rig, &call, &is, err);
    if (status == WEIR_OK)
        status = read_ranges(rig, is.dataset, &ranges, err);
    if (status == WEIR_OK && ranges.samples == 0)
        status = weir_fail(err, WEIR_INTERNAL, "the feed of %s names no samples", dataset);
    *ret_picks = (struct picks){
        .count = count,
        .ids = weir_calloc(count, sizeof(*ret_picks->ids)),
        .files = weir_calloc(count, sizeof(*ret_picks->files)),
        .offsets = weir_calloc(count, sizeof(*ret_picks->offsets)),
        .lengths = weir_calloc(count, sizeof(*ret_picks->lengths)),
    };
    weir_rng_init(&rng, SEED);
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        ret_picks->ids[i] = nth(&ranges, weir_rng_below(&rng, ranges.samples));
    weir_buf_fini(&ranges.firsts);
    weir_buf_fini(&ranges.counts);
    if (status == WEIR_OK)
        status = locate(ret_picks, rig, err);
    return status == WEIR_OK ? open_files(ret_picks, keeps_open, err) : status;
}

void picks_fini(struct picks *picks)
{
    for (size_t i = 0; i < picks->path_count; i++) {
        if (picks->fds != NULL && picks->fds[i] >= 0)
            close(picks->fds[i]);
        free(picks->paths[i]);
    }
    free(picks->ids);
    free(picks->files);
    free(picks->offsets);
    free(picks->lengths);
    free(picks->paths);
    free(picks->fds);
    *picks = (struct picks){0};
}

/* ---- what was read ---- */

/* The same for both sides, in any order: each sample's id with the ends of its bytes. */
static uint64_t fingerprint(uint64_t id, const uint8_t *at, uint64_t length)
{
    uint64_t head = 0, tail = 0;
    size_t size = length < sizeof(head) ? (size_t)length : sizeof(head);
    memcpy(&head, at, size);
    memcpy(&tail, at + length - size, size);
    return weir_mix64(id ^ head) + tail;
}

static enum weir_status check(struct picks *picks, uint64_t digest, struct weir_error *err)
{
    if (picks->digest != 0 && picks->digest != digest)
        return weir_fail(err, WEIR_INTERNAL, "the two sides read different bytes");
    picks->digest = digest;
    return WEIR_OK;
}

/* ---- through the service ---- */

struct fetch;

/* A request that is under way: ids from … from + count - 1 of the picks. */
struct request {
    struct fetch *fetch;
    struct weir_segment *lent; /* where the answer is written */
    size_t from, count;
};

struct fetch {
    const struct picks *picks;
    struct weir_rpc_peer *storage;
    size_t asked, done;
    uint64_t digest;
    struct request requests[IN_FLIGHT];
    bool has_failed;
    struct weir_error err;
};

static void on_read(void *owner, const struct weir_reply *reply, const struct weir_error *err);

static void ask(struct fetch *fetch, struct request *request)
{
    const struct msg_read message = {.ids = {fetch->picks->ids + request->from, request->count},
                                     .loan = weir_segment_lend(request->lent)};
    weir_rpc_call(fetch->storage, MSG_read, &message, ASK_MS, on_read, request);
}

static size_t most_of(const struct picks *picks)
{
    size_t fit = (size_t)(REQUEST_BYTES / (picks->length_max + 1)) + 1;
    return fit < REQUEST_IDS ? fit : REQUEST_IDS;
}

static void ask_next(struct fetch *fetch, struct request *request)
{
    const struct picks *picks = fetch->picks;
    size_t most = most_of(picks);
    size_t rest = picks->count - fetch->asked;
    request->from = fetch->asked;
    request->count = rest < most ? rest : most;
    fetch->asked += request->count;
    if (request->count > 0)
        ask(fetch, request);
}

static bool take(struct fetch *fetch, const struct request *request,
                 const struct msg_read_is *answer, struct weir_bytes payload)
{
    size_t at = 0;
    if (answer->ids.count == 0 || answer->ids.count > request->count ||
        answer->lengths.count != answer->ids.count || answer->states.count != answer->ids.count)
        return false;
    for (size_t i = 0; i < answer->ids.count; i++) {
        uint64_t id = answer->ids.at[i], length = answer->lengths.at[i];
        if (answer->states.at[i] != WEIR_SAMPLE_LIVE ||
            id != fetch->picks->ids[request->from + i] || length > payload.size - at)
            return false;
        fetch->digest += fingerprint(id, payload.at + at, length);
        at += length;
    }
    fetch->done += answer->ids.count;
    return at == payload.size;
}

static void on_read(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct request *request = owner;
    struct fetch *fetch = request->fetch;
    const struct msg_read_is *answer = reply != NULL ? reply->message : NULL;
    if (answer == NULL ||
        !take(fetch, request, answer,
              weir_segment_answer(request->lent, answer->written, reply->frames))) {
        fetch->has_failed = true;
        weir_fail(&fetch->err, WEIR_INTERNAL, "read: %s",
                  err != NULL ? err->text : "an answer that is not of the samples asked for");
        return;
    }
    request->from += answer->ids.count;
    request->count -= answer->ids.count;
    if (request->count > 0)
        ask(fetch, request);
    else
        ask_next(fetch, request);
}

enum weir_status picks_read_there(struct picks *picks, struct rig *rig, double *ret_rate,
                                  struct weir_error *err)
{
    struct fetch fetch = {.picks = picks, .storage = rig_peer(rig, RIG_STORAGE)};
    int64_t started = weir_now_ns();
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        fetch.requests[i].fetch = &fetch;
        fetch.requests[i].lent = weir_segment_new(most_of(picks) * picks->length_max);
        ask_next(&fetch, &fetch.requests[i]);
    }
    while (fetch.done < picks->count && !fetch.has_failed)
        rig_step(rig);
    *ret_rate = (double)picks->count * 1e9 / (double)(weir_now_ns() - started);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        weir_rpc_forget(fetch.storage, &fetch.requests[i]);
        weir_segment_free(fetch.requests[i].lent);
    }
    if (fetch.has_failed) {
        *err = fetch.err;
        return err->status;
    }
    return check(picks, fetch.digest, err);
}

/* ---- the plain loop ---- */

static bool read_one(const struct picks *picks, size_t i, uint8_t *to)
{
    int fd = picks->fds[picks->files[i]];
    bool is_kept = fd >= 0;
    if (!is_kept)
        fd = open(picks->paths[picks->files[i]], O_RDONLY | O_CLOEXEC);
    ssize_t got = pread(fd, to, picks->lengths[i], (off_t)picks->offsets[i]);
    if (!is_kept && fd >= 0)
        close(fd);
    return got == (ssize_t)picks->lengths[i];
}

enum weir_status picks_read_here(struct picks *picks, double *ret_rate, struct weir_error *err)
{
    WEIR_AUTO_FREE uint8_t *buffer = weir_calloc(picks->length_max + 1, 1);
    uint64_t digest = 0;
    int64_t started = weir_now_ns();
    for (size_t i = 0; i < picks->count; i++) {
        if (!read_one(picks, i, buffer))
            return weir_fail(err, WEIR_IO, "%s: cannot read %llu bytes at %llu: %s",
                             picks->paths[picks->files[i]], (unsigned long long)picks->lengths[i],
                             (unsigned long long)picks->offsets[i], strerror(errno));
        digest += fingerprint(picks->ids[i], buffer, picks->lengths[i]);
    }
    *ret_rate = (double)picks->count * 1e9 / (double)(weir_now_ns() - started);
    return check(picks, digest, err);
}
