/* Registering samples, and sealing the set that both sides walk. */
#include "benchmarks/slice/workload.h"

#include "core/wire/sample.h"
#include "core/wire/sample_set.h"

#include <stdlib.h>
#include <string.h>

enum { FEED_ROWS = 4096 };

static const char CONSUMER[] = "bench";

/* The ids of the dataset's samples, in the order of the corpus. */
static enum weir_status read_ids(struct rig *rig, uint64_t dataset, uint64_t *ids, size_t count,
                                 struct weir_error *err)
{
    uint64_t after = 0, head = 1;
    size_t found = 0;
    while (after < head) {
        const struct msg_feed_read read = {
            .dataset = dataset, .consumer = CONSUMER, .after = after, .limit = FEED_ROWS};
        const struct rig_call call = {RIG_STORAGE, MSG_feed_read, &read, MSG_feed_is};
        struct msg_feed_is feed;
        enum weir_status status = rig_request(rig, &call, &feed, err);
        if (status != WEIR_OK)
            return status;
        for (size_t i = 0; i < feed.sequences.count; i++) {
            for (uint32_t row = 0; row < feed.counts.at[i] && found < count; row++)
                ids[found++] = feed.firsts.at[i] + row;
            after = feed.sequences.at[i];
        }
        head = feed.sequences.count > 0 ? feed.head : after;
    }
    if (found != count)
        return weir_fail(err, WEIR_INTERNAL, "the feed names %zu samples, expected %zu", found,
                         count);
    return WEIR_OK;
}

static enum weir_status seal(struct workload *workload, struct rig *rig, const char *name,
                             const uint64_t *ids, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *chosen = weir_calloc(workload->set, sizeof(*chosen));
    for (size_t i = 0; i < workload->set; i++)
        chosen[i] = ids[i * WORKLOAD_STRIDE];
    struct weir_digest digest;
    workload->set_path = weir_format("%s/sets/%s.set", rig_data_dir(rig), name);
    enum weir_status status =
        weir_sample_set_write(workload->set_path, chosen, NULL, workload->set, &digest, err);
    weir_digest_text(&digest, workload->set_digest);
    return status;
}

enum weir_status workload_prepare(struct workload *workload, struct rig *rig, const char *name,
                                  const char *dataset, const char *preprocess,
                                  struct weir_error *err)
{
    const struct corpus *corpus = workload->corpus;
    struct msg_dataset_is registered;
    workload->set = corpus->samples / WORKLOAD_STRIDE;
    workload->epochs = workload->epochs > 0 ? workload->epochs : 1;
    workload->samples = workload->set * workload->epochs;
    workload->config = weir_format("pipeline: {name: %s, mode: replay}\n"
                                   "datasets:\n"
                                   "  - name: %s\n%s"
                                   "preprocess:\n%s",
                                   name, name, dataset, preprocess);
    enum weir_status status = rig_scan(rig, workload->config, name, &registered, err);
    if (status != WEIR_OK)
        return status;
    if (registered.live != corpus->samples)
        return weir_fail(err, WEIR_INTERNAL, "%s: storage found %llu samples, expected %zu", name,
                         (unsigned long long)registered.live, corpus->samples);
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(corpus->samples, sizeof(*ids));
    status = read_ids(rig, registered.dataset, ids, corpus->samples, err);
    return status == WEIR_OK ? seal(workload, rig, name, ids, err) : status;
}

enum weir_status workload_prepare_records(struct workload *workload, struct rig *rig,
                                          struct weir_error *err)
{
    WEIR_AUTO_FREE char *source = weir_format(WORKLOAD_RECORDS, workload->corpus->directory);

    return workload_prepare(
        workload, rig, "records", source,
        "  operators:\n"
        "    - {op: record_fields, dense: [4, 13, f32], sparse: [56, 26, i32]}\n"
        "  batch: {samples: 4096, last: short, shuffle: full, order: deterministic}\n",
        err);
}

void workload_fini(struct workload *workload)
{
    free(workload->config);
    free(workload->set_path);
    *workload = (struct workload){0};
}

enum weir_status workload_check(struct workload *workload, const struct tally *tally,
                                struct weir_error *err)
{
    if (tally->samples != workload->samples)
        return weir_fail(err, WEIR_INTERNAL, "found %llu samples in all batches, expected %zu",
                         (unsigned long long)tally->samples, workload->samples);
    if (workload->digest != 0 && workload->digest != tally->digest)
        return weir_fail(err, WEIR_INTERNAL,
                         "the two sides made different batches (digests %016llx and %016llx)",
                         (unsigned long long)workload->digest, (unsigned long long)tally->digest);
    workload->digest = tally->digest;
    return WEIR_OK;
}
