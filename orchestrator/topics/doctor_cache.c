/* See doctor_cache.h. */
#include "orchestrator/topics/doctor_cache.h"

#include "core/base/memory.h"
#include "core/loop/work.h"
#include "core/wire/cache_segment.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/topics/finding.h"

#include <stdlib.h>

enum { LISTED_MAX = 100 /* segments that are wrong */ };

struct doctor_cache {
    struct topic_call *call;
    doctor_cache_fn *done;
    struct weir_work *work;
    bool is_deep;
    char *data_dir;
    uint64_t budget;
    /* Of the thread, until it is done: */
    struct id_blocks erased;
    struct weir_cache_checked sum;
    uint64_t damaged;
    json_t *findings;
    struct weir_error err;
    enum weir_status status;
};

static void examination_free(struct doctor_cache *cache)
{
    orchestrator_id_blocks_fini(&cache->erased);
    json_decref(cache->findings);
    free(cache->data_dir);
    free(cache);
}

/* ---- on the thread ---- */

static void say(struct doctor_cache *cache, const char *verdict, const char *found,
                const char *expected, const char *advice)
{
    orchestrator_finding_add(cache->findings, "dataset", json_string(""),
                             &(struct finding){"cache", verdict, found, expected, advice});
}

static bool is_erased(const void *owner, uint64_t id)
{
    return orchestrator_id_blocks_has(owner, id);
}

static enum weir_status check_file(void *owner, const char *path, bool is_segment,
                                   struct weir_error *err)
{
    struct doctor_cache *cache = owner;
    if (!is_segment)
        return WEIR_OK;
    enum weir_status status =
        weir_cache_segment_check(path, cache->is_deep, is_erased, &cache->erased, &cache->sum, err);
    if (status != WEIR_CORRUPT)
        return status;
    if (cache->damaged++ < LISTED_MAX)
        say(cache, "wrong", err->text, "the rows that its table names",
            "nothing is lost: workers make the rows again; weir cache drop removes them at once");
    return WEIR_OK;
}

static void say_totals(struct doctor_cache *cache)
{
    const struct weir_cache_checked *sum = &cache->sum;
    WEIR_AUTO_FREE char *found =
        weir_format("%lu rows in %lu segments, %lu bytes", sum->rows, sum->segments, sum->bytes);
    WEIR_AUTO_FREE char *left =
        weir_format("%lu rows of samples whose erasure is finished", sum->erased);
    WEIR_AUTO_FREE char *budget = weir_format("at most %lu bytes", cache->budget);
    if (sum->erased > 0)
        say(cache, "wrong", left, "none", "weir cache drop, and tell whoever holds the receipts");
    if (cache->damaged > LISTED_MAX)
        say(cache, "wrong", "more segments are damaged", "none", "weir cache drop");
    if (sum->bytes > cache->budget)
        say(cache, "note", found, budget, "whatever is kept next makes room, or weir cache drop");
    else if (cache->damaged == 0 && sum->erased == 0)
        say(cache, "fine", found, "", "");
}

static void examine(struct weir_work *work, void *owner)
{
    struct doctor_cache *cache = owner;
    (void)work;
    cache->status = weir_cache_walk(cache->data_dir, check_file, cache, &cache->err);
    if (cache->status == WEIR_OK)
        say_totals(cache);
}

/* ---- in the loop ---- */

static void on_examined(void *owner)
{
    struct doctor_cache *cache = owner;
    struct topic_call *call = cache->call;
    call->cache = NULL;
    call->forget = NULL;
    if (cache->status != WEIR_OK)
        orchestrator_topic_refuse(call, &cache->err);
    else
        cache->done(call, json_incref(cache->findings));
    examination_free(cache);
}

static void forget(struct topic_call *call)
{
    weir_work_stop(call->cache->work);
    examination_free(call->cache);
    call->cache = NULL;
}

enum weir_status orchestrator_doctor_cache(struct topic_call *call, bool is_deep,
                                           doctor_cache_fn *done, struct weir_error *err)
{
    struct doctor_cache *cache = weir_calloc(1, sizeof(*cache));
    *cache = (struct doctor_cache){.call = call,
                                   .done = done,
                                   .is_deep = is_deep,
                                   .data_dir = weir_strdup(call->context->data_dir),
                                   .budget = call->context->cache_bytes,
                                   .findings = json_array()};
    enum weir_status status = orchestrator_lineage_of_finished(call->context, &cache->erased, err);
    if (status == WEIR_OK)
        status =
            weir_work_start(call->context->loop, examine, on_examined, cache, &cache->work, err);
    if (status != WEIR_OK) {
        examination_free(cache);
        return status;
    }
    call->cache = cache;
    call->forget = forget;
    return WEIR_OK;
}
