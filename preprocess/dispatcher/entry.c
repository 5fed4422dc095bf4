/* One job as the dispatcher keeps it. */
#include "preprocess/dispatcher/entry.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    EXPECT_PIECE = 1 << 20, /* samples whose fingerprints are added at a time: some milliseconds */
    SHARE_MAX = 1000,
    LATER_MAX = 1000, /* trainings */
};

/* Partial fits that may wait at the same time. */
static size_t partials_of(const struct dispatcher_entry *entry)
{
    return entry->job.ranks[0].capacity;
}

/* In front of stored state that is to be gone on from. */
static const char BASE_MARK[] = "WEIRBASE";
enum { MARK_BYTES = sizeof(BASE_MARK) - 1 };

/* In front of fitted state that went on from another: u64 count, u64 a bound (struct tensor_bounds). */
static const char BOUNDS_MARK[] = "WEIRBNDS";

static void keep_bounds(const struct tensor_bounds *bounds, struct weir_buf *out)
{
    if (bounds->count == 0)
        return;
    weir_buf_append(out, BOUNDS_MARK, MARK_BYTES);
    weir_buf_append_u64(out, bounds->count);
    for (size_t i = 0; i < bounds->count; i++)
        weir_buf_append_u64(out, bounds->below[i]);
}

/* Returns what stands behind the bounds: all, if there are none. */
static struct weir_bytes take_bounds(struct weir_bytes kept, struct tensor_bounds *bounds)
{
    struct weir_bytes rest = kept, mark;
    uint64_t count;
    if (!weir_take(&rest, MARK_BYTES, &mark) || memcmp(mark.at, BOUNDS_MARK, MARK_BYTES) != 0 ||
        !weir_take_u64(&rest, &count) || count > COLUMNS_MAX)
        return kept;
    for (size_t i = 0; i < count; i++) {
        if (!weir_take_u64(&rest, &bounds->below[i]))
            return kept;
    }
    bounds->count = count;
    return rest;
}

struct shares_quota preprocess_dispatcher_quota_of(const struct msg_job_open *open)
{
    return (struct shares_quota){
        .pipeline = open->pipeline != 0 ? open->pipeline : ~open->job,
        .share = open->share > 0 && open->share <= SHARE_MAX ? open->share : 1,
        .workers = open->workers,
    };
}

struct shares_quota preprocess_entry_bounded(const struct dispatcher_entry *entry)
{
    struct shares_quota quota = entry->quota;
    uint32_t max = (uint32_t)entry->plan.options.plan.workers.max;
    if (max > 0 && (quota.workers == 0 || max < quota.workers))
        quota.workers = max;
    return quota;
}

unsigned preprocess_entry_unsaved(const struct dispatcher_entry *entry)
{
    return entry->job.unsaved | entry->saving;
}

/* Jobs of a production have one crew, for a worker makes for all of them. */
static uint64_t crew_key(const struct dispatcher_entry *entry)
{
    const struct production *production = entry->job.production;
    return production != NULL ? production->key : entry->number;
}

size_t preprocess_entry_crew(struct dispatcher_entry *entry, const struct pool *pool)
{
    if (entry->crew_count != pool->count)
        entry->crew = preprocess_pool_crew_of(pool, crew_key(entry));
    entry->crew_count = pool->count;
    return entry->crew;
}

static struct dispatcher_entry *entry_new(const struct msg_job_open *open)
{
    struct dispatcher_entry *entry = weir_calloc(1, sizeof(*entry));
    entry->number = open->job;
    entry->file = weir_strdup(open->file);
    entry->set_path = weir_strdup(open->set_path);
    entry->tenant = weir_strdup(open->tenant != NULL ? open->tenant : "");
    entry->set_digest = weir_strdup(open->set_digest);
    entry->mode = weir_strdup(open->mode);
    entry->token = weir_strdup(open->token != NULL ? open->token : "");
    weir_buf_append(&entry->config, open->config.at, open->config.size);
    weir_buf_append(&entry->tables, open->tables.at, open->tables.size);
    entry->epochs = open->epochs;
    entry->ranks = open->ranks > 0 ? open->ranks : 1;
    entry->seed = open->seed;
    entry->later = open->later >= 0 && open->later <= LATER_MAX ? open->later : 0;
    entry->seen = open->seen >= 0 && open->seen <= 1 ? open->seen : 0;
    entry->quota = preprocess_dispatcher_quota_of(open);
    return entry;
}

struct dispatcher_entry *preprocess_entry_open(const struct msg_job_open *open)
{
    struct dispatcher_entry *entry = entry_new(open);
    bool trains = weir_str_equal(open->mode, "train");
    weir_buf_append(trains ? &entry->base : &entry->fitted, open->fitted.at, open->fitted.size);
    return entry;
}

struct dispatcher_entry *preprocess_entry_reload(const struct msg_job_open *stored)
{
    struct dispatcher_entry *entry = entry_new(stored);
    struct weir_bytes kept = take_bounds(stored->fitted, &entry->before);
    if (kept.size > MARK_BYTES && memcmp(kept.at, BASE_MARK, MARK_BYTES) == 0)
        weir_buf_append(&entry->base, kept.at + MARK_BYTES, kept.size - MARK_BYTES);
    else
        weir_buf_append(&entry->fitted, kept.at, kept.size);
    return entry;
}

void preprocess_entry_keep_fit(const struct dispatcher_entry *entry, struct weir_buf *out)
{
    bool goes_on = entry->fitted.size == 0 && entry->base.size > 0;
    const struct weir_buf *kept = goes_on ? &entry->base : &entry->fitted;
    if (goes_on)
        weir_buf_append(out, BASE_MARK, MARK_BYTES);
    else
        keep_bounds(&entry->before, out);
    weir_buf_append(out, kept->at, kept->size);
}

void preprocess_entry_free(struct dispatcher_entry *entry)
{
    if (entry == NULL)
        return;
    for (size_t i = 0; entry->partials != NULL && i < partials_of(entry); i++)
        weir_buf_fini(&entry->partials[i]);
    free(entry->partials);
    if (entry->job.ranks != NULL)
        preprocess_job_fini(&entry->job);
    preprocess_chain_free(entry->divided);
    preprocess_plan_close(&entry->plan);
    weir_buf_fini(&entry->config);
    weir_buf_fini(&entry->tables);
    weir_buf_fini(&entry->fitted);
    weir_buf_fini(&entry->base);
    free(entry->file);
    free(entry->set_path);
    free(entry->tenant);
    free(entry->barred);
    free(entry->set_digest);
    free(entry->mode);
    free(entry->token);
    preprocess_costs_fini(&entry->costs);
    preprocess_scaling_job_fini(&entry->scaling);
    free(entry->reason);
    free(entry);
}

/* Takes up what is fitted, or what the fit goes on from; a fit that takes no samples is made at once. */
static enum weir_status take_fit(struct dispatcher_entry *entry, struct weir_error *err)
{
    struct chain *chain = entry->plan.chain;
    enum weir_status status = WEIR_OK;
    if (entry->fitted.size > 0)
        return preprocess_plan_fitted(&entry->plan, weir_buf_view(&entry->fitted), err);
    if (entry->base.size > 0)
        status = preprocess_chain_fit_extend(chain, weir_buf_view(&entry->base), err);
    preprocess_tensors_bounds_before(chain, &entry->before);
    if (status == WEIR_OK && preprocess_chain_wants_samples(chain))
        status = preprocess_chain_check_files(chain, err);
    else if (status == WEIR_OK && preprocess_chain_wants_fit(chain))
        status = preprocess_chain_fit_finish(chain, &entry->fitted, err);
    return status;
}

/* Sum over all ranks, of which one says something newer. */
static struct weir_tally tally_of(const struct dispatcher_entry *entry, uint32_t rank,
                                  const struct weir_tally *newest)
{
    struct weir_tally sum = *newest;
    for (uint32_t i = 0; i < entry->ranks; i++) {
        if (i != rank)
            weir_tally_add(&sum, &entry->job.record.seats[i].reported.tally);
    }
    return sum;
}

const char *preprocess_entry_reason(const struct dispatcher_entry *entry)
{
    if (entry->reason != NULL)
        return entry->reason;
    return entry->failures.count > 0 ? entry->failures.of[0].reason : "";
}

/* Returns how many may have failed by now: the share of each epoch that has begun. */
static uint64_t failures_borne(const struct dispatcher_entry *entry, const struct weir_tally *tally)
{
    uint64_t samples = preprocess_epoch_positions(&entry->plan.geometry);
    uint64_t seen = preprocess_accounted(tally);
    uint64_t epochs = samples > 0 && seen > 0 ? (seen - 1) / samples + 1 : 1;
    return (uint64_t)(entry->plan.options.on_error.share * (double)(samples * epochs));
}

/* Refuses, and fails the job, when more of its samples failed than `on_error` bears. Mode predict bears any number: it
 * answers of each row. */
static enum weir_status bear(void *owner, uint32_t rank, const struct weir_tally *newest,
                             struct weir_error *err)
{
    struct dispatcher_entry *entry = owner;

    if (entry->plan.options.on_error.share >= 1 || weir_str_equal(entry->mode, "predict"))
        return WEIR_OK;
    struct weir_tally tally = tally_of(entry, rank, newest);
    if (tally.failed <= failures_borne(entry, &tally))
        return WEIR_OK;
    WEIR_AUTO_BUF limit = {0};
    const char *reason = preprocess_entry_reason(entry);
    cfg_on_error_print(&entry->plan.options.on_error, &limit);
    weir_utf8_print(
        entry->failure, sizeof(entry->failure),
        "%lu of the first %lu samples cannot be read, more than preprocess.on_error: %s bears: "
        "%s",
        tally.failed, preprocess_accounted(&tally), weir_buf_text(&limit),
        *reason != '\0' ? reason : "no reason was reported");
    entry->may_be_mended = true;
    return weir_fail(err, WEIR_INVALID, "job %lu: %s", entry->number, entry->failure);
}

/* Jobs of the same operators on records of the same form, all of which train or none, share what is measured. */
static struct weir_digest plan_key_of(const struct dispatcher_entry *entry)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    uint8_t trains = entry->plan.trains;
    weir_hasher_add(hasher, entry->config.at, entry->config.size);
    weir_hasher_add(hasher, entry->tables.at, entry->tables.size);
    weir_hasher_add(hasher, &trains, sizeof(trains));
    return weir_hasher_digest(hasher);
}

enum weir_status preprocess_entry_plan(struct dispatcher_entry *entry,
                                       struct dispatcher_fences *fences,
                                       const struct dispatcher_record *record,
                                       struct weir_error *err)
{
    struct preprocess_order_form form = {
        .file = entry->file,
        .config = weir_buf_view(&entry->config),
        .tables = weir_buf_view(&entry->tables),
        .set_path = entry->set_path,
        .set_digest = entry->set_digest,
        .epochs = entry->epochs,
        .seed = entry->seed,
        .mode = entry->mode,
        .ranks = entry->ranks,
    };
    enum weir_status status = preprocess_plan_open(&form, &entry->plan, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "job %lu", entry->number);
    entry->plan_key = plan_key_of(entry);
    preprocess_costs_have(&entry->costs, preprocess_chain_operators(entry->plan.chain));
    status = preprocess_scaling_open(entry->plan.options.plan.policy, &entry->scaling, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "job %lu", entry->number);
    status = take_fit(entry, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "job %lu", entry->number);
    bool is_fitted = entry->fitted.size > 0;
    struct dispatcher_about about = {
        .job = entry->number,
        .geometry = entry->plan.geometry,
        .delivery = entry->plan.delivery,
        .fit = preprocess_chain_wants_fit(entry->plan.chain),
        .bear = bear,
        .owner = entry,
    };
    preprocess_job_init(&entry->job, &about, fences);
    preprocess_job_restore(&entry->job, record, is_fitted);
    if (entry->job.fitting)
        entry->partials = weir_calloc(partials_of(entry), sizeof(*entry->partials));
    return WEIR_OK;
}

/* Sums the fingerprints of the states that the attempt began from. */
static uint64_t begun_fingerprint(const struct dispatcher_entry *entry)
{
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < entry->ranks; rank++)
        sum += entry->job.record.seats[rank].begun.tally.fingerprint;
    return sum;
}

bool preprocess_entry_expect(struct dispatcher_entry *entry)
{
    const struct dispatcher_record *record = &entry->job.record;
    bool skips = entry->plan.delivery == WEIR_AT_MOST_ONCE;
    if (entry->has_expected && (entry->closed || !skips))
        return true;
    if (entry->sum_seats_taken != record->seats_taken)
        entry->sum = (struct preprocess_sum){0};
    entry->sum_seats_taken = record->seats_taken;
    /* Every rank has skipped the same batches. */
    const struct weir_position *begun = skips ? &record->seats[0].begun : NULL;
    if (!preprocess_sum_step(&entry->sum, &entry->plan, begun, EXPECT_PIECE))
        return false;
    uint64_t expected = entry->sum.value + (skips ? begun_fingerprint(entry) : 0);
    entry->is_expected_stored &= entry->has_expected && entry->expected == expected;
    entry->expected = expected;
    entry->has_expected = true;
    return true;
}

bool preprocess_entry_may_expect(const struct dispatcher_entry *entry)
{
    return !entry->has_expected && entry->plan.delivery != WEIR_AT_MOST_ONCE && entry->is_at_work;
}

static enum weir_status merge_next(struct dispatcher_entry *entry, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    uint64_t group;
    while (status == WEIR_OK && preprocess_job_fit_take(&entry->job, &group)) {
        struct weir_buf *partial = &entry->partials[group % partials_of(entry)];
        status = preprocess_chain_fit_merge(entry->plan.chain, weir_buf_view(partial), err);
        weir_buf_fini(partial);
    }
    return status;
}

void preprocess_entry_fit(struct dispatcher_entry *entry, const struct preprocess_fit *fit)
{
    if (!preprocess_job_fit(&entry->job, fit->group, fit->partial.size))
        return;
    struct weir_buf *partial = &entry->partials[fit->group % partials_of(entry)];
    weir_buf_append(partial, fit->partial.at, fit->partial.size);
    struct weir_error err;
    if (merge_next(entry, &err) != WEIR_OK)
        weir_utf8_print(entry->failure, sizeof(entry->failure), "%s", err.text);
}

bool preprocess_entry_finish_fit(struct dispatcher_entry *entry)
{
    if (entry->failure[0] != '\0' || !preprocess_job_fit_complete(&entry->job))
        return false;
    if (entry->fitted.size > 0)
        return true;
    struct weir_error err;
    enum weir_status status = preprocess_chain_fit_finish(entry->plan.chain, &entry->fitted, &err);
    if (status == WEIR_OK)
        status = preprocess_plan_fitted(&entry->plan, weir_buf_view(&entry->fitted), &err);
    if (status == WEIR_OK)
        return true;
    weir_buf_clear(&entry->fitted);
    const char *reason = preprocess_entry_reason(entry);
    weir_utf8_print(entry->failure, sizeof(entry->failure), "%.160s%s%s", err.text,
                    *reason != '\0' ? ": " : "", reason);
    return false;
}

uint64_t preprocess_entry_failed(const struct dispatcher_entry *entry)
{
    uint64_t failed = 0;
    for (uint32_t rank = 0; rank < entry->ranks; rank++)
        failed += entry->job.record.seats[rank].reported.tally.failed;
    return failed;
}

uint64_t preprocess_entry_consumed(const struct dispatcher_entry *entry)
{
    uint64_t batches = 0;
    for (uint32_t rank = 0; rank < entry->ranks; rank++)
        batches += weir_position_batches(&entry->job.record.seats[rank].reported);
    return entry->ranks > 0 ? batches / entry->ranks : 0;
}

size_t preprocess_entry_cut(const struct dispatcher_entry *entry)
{
    return preprocess_chain_cut_at(preprocess_entry_chain(entry));
}

const struct chain *preprocess_entry_chain(const struct dispatcher_entry *entry)
{
    return entry->divided != NULL ? entry->divided : entry->plan.chain;
}

bool preprocess_entry_divide(struct dispatcher_entry *entry, size_t cut)
{
    struct weir_error err;
    preprocess_chain_free(entry->divided);
    entry->divided = NULL;
    if (cut == 0 ||
        preprocess_chain_cut_after(entry->plan.chain, cut, &entry->divided, &err) == WEIR_OK)
        return true;
    weir_log(WEIR_LOG_WARN, "rows cannot be kept", "job=%lu reason=\"%s\"", entry->number,
             err.text);
    return false;
}

double preprocess_kept_saved_ns(const struct dispatcher_kept *kept)
{
    double made_ns = kept->misses > 0 ? (double)kept->made_ns / (double)kept->misses : 0;
    return made_ns * (double)kept->hits - (double)kept->read_ns;
}

void preprocess_entry_look(struct dispatcher_entry *entry, int64_t now_ms)
{
    const struct dispatcher_cost *total = &entry->costs.total;
    struct stages_spent spent = {.read_ns = total->read_ns, .queued_ns = total->queued_ns};
    for (size_t i = 0; i < preprocess_chain_operators(entry->plan.chain); i++)
        spent.operator_ns = weir_plus(spent.operator_ns, total->of[i].ns);
    for (uint32_t rank = 0; rank < entry->ranks; rank++)
        spent.wait_ns =
            weir_plus(spent.wait_ns, entry->job.ranks[rank].wait_ns / (int64_t)entry->ranks);
    preprocess_stages_look(&entry->stages, &spent, now_ms);
}
