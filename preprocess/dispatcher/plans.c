/* See plans.h. */
#include "preprocess/dispatcher/plans_keep.h"
#include "preprocess/dispatcher/store.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static struct plans_row *row_of(struct plans *plans, const struct weir_digest *key)
{
    struct plans_row *oldest = &plans->row[0];
    for (size_t i = 0; i < plans->count; i++) {
        struct plans_row *row = &plans->row[i];
        if (memcmp(&row->key, key, sizeof(*key)) == 0)
            return row;
        oldest = row->used_ms < oldest->used_ms ? row : oldest;
    }
    struct plans_row *row = plans->count < PLANS_MAX ? &plans->row[plans->count++] : oldest;
    *row = (struct plans_row){.used_ms = -1};
    return row;
}

bool preprocess_plans_has(const struct plans *plans, const struct dispatcher_entry *entry)
{
    for (size_t i = 0; i < plans->count; i++) {
        if (memcmp(&plans->row[i].key, &entry->plan_key, sizeof(entry->plan_key)) == 0)
            return true;
    }
    return false;
}

static bool can_run(const struct dispatcher_entry *entry, const struct planning *planning)
{
    struct weir_error err;
    WEIR_AUTO(chain) chain = NULL;
    return preprocess_chain_reorder(preprocess_entry_chain(entry), planning->order, ALGEBRA_EXACTLY,
                                    &chain, &err) == WEIR_OK;
}

static void begin_anew(const struct dispatcher_entry *entry, struct plans_stored *ret_stored)
{
    bool is_fixed = entry->plan.options.plan.order == PREPROCESS_AS_WRITTEN;
    memset(ret_stored, 0, sizeof(*ret_stored));
    preprocess_planning_begin(&ret_stored->planning, entry->plan.chain, is_fixed);
}

void preprocess_plans_load(struct weir_db *db, const struct dispatcher_entry *entry,
                           struct plans_stored *ret_stored)
{
    struct weir_error err;
    size_t operators = preprocess_chain_operators(entry->plan.chain);
    begin_anew(entry, ret_stored);
    if (preprocess_store_plan_load(db, &entry->plan_key, operators, &ret_stored->planning,
                                   &ret_stored->keeping, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "plan not taken up, measuring anew", "job=%lu reason=\"%s\"",
                 entry->number, err.text);
}

static void begin(struct plans_row *row, struct dispatcher_entry *entry,
                  const struct plans_stored *stored, int64_t now_ms)
{
    struct plans_stored begun;
    begin_anew(entry, &begun);
    *row = (struct plans_row){.key = entry->plan_key,
                              .used_ms = now_ms,
                              .planning = begun.planning,
                              .keeping = stored != NULL ? stored->keeping : begun.keeping};
    if (!preprocess_entry_divide(entry, row->keeping.choice.cut))
        row->keeping = (struct keeping){0};
    bool is_fixed = row->planning.state == PLANNING_FIXED;
    if (stored != NULL && is_fixed == (stored->planning.state == PLANNING_FIXED) &&
        can_run(entry, &stored->planning))
        row->planning = stored->planning;
    if (row->planning.placement.sunk >
        preprocess_chain_sinkable(preprocess_entry_chain(entry), row->planning.order))
        row->planning.placement = (struct placement){0};
}

void preprocess_plans_take_up(struct plans *plans, struct dispatcher_entry *entry,
                              const struct plans_stored *stored, int64_t now_ms)
{
    struct plans_row *row = row_of(plans, &entry->plan_key);
    if (row->used_ms < 0)
        begin(row, entry, stored, now_ms);
}

/* ---- storing ---- */

struct saving {
    uint64_t job;
    struct weir_digest key;
    size_t operators;
    struct plans_stored plan;
};

static enum weir_status store(void *owner, struct weir_db *db, struct weir_error *err)
{
    const struct saving *saving = owner;
    return preprocess_store_plan_save(db, &saving->key, saving->operators, &saving->plan.planning,
                                      &saving->plan.keeping, err);
}

static void on_stored(void *owner, const struct weir_error *err)
{
    const struct saving *saving = owner;
    if (err != NULL)
        weir_log(WEIR_LOG_WARN, "plan not stored", "job=%lu reason=\"%s\"", saving->job, err->text);
}

static void save(const struct plans *plans, const struct dispatcher_entry *entry,
                 struct plans_row *row, int64_t now_ms)
{
    struct saving *saving = weir_calloc(1, sizeof(*saving));
    row->saved_ms = now_ms;
    *saving = (struct saving){.job = entry->number,
                              .key = entry->plan_key,
                              .operators = preprocess_chain_operators(entry->plan.chain),
                              .plan = {row->planning, row->keeping}};
    weir_db_thread_run(plans->thread, &(struct weir_db_job){store, on_stored, free, saving});
}

/* ---- plans in use ---- */

/* One that had to make room is measured again. */
static struct plans_row *row_for(struct plans *plans, struct dispatcher_entry *entry,
                                 int64_t now_ms)
{
    struct plans_row *row = row_of(plans, &entry->plan_key);
    if (row->used_ms < 0)
        begin(row, entry, NULL, now_ms);
    row->used_ms = now_ms;
    if (preprocess_plans_keep(plans, entry, row, now_ms))
        save(plans, entry, row, now_ms);
    return row;
}

struct planning *preprocess_plans_of(struct plans *plans, struct dispatcher_entry *entry,
                                     int64_t now_ms)
{
    return &row_for(plans, entry, now_ms)->planning;
}

void preprocess_plans_hear_disk(struct plans *plans, const struct msg_worker_beat *beat)
{
    bool is_known = beat->keep_bytes == 0 || beat->keep_write_ns > 0;
    if (!is_known)
        return;
    plans->has_disk = true;
    plans->disk = (struct keeping_disk){.write_ns = beat->keep_write_ns,
                                        .warm_ns = beat->keep_warm_ns,
                                        .cold_ns = beat->keep_cold_ns,
                                        .memory = (double)beat->keep_memory,
                                        .budget = (double)beat->keep_bytes};
}

static void log_change(const struct dispatcher_entry *entry, const struct planning *planning)
{
    WEIR_AUTO_BUF names = {0};
    preprocess_chain_print_order(preprocess_entry_chain(entry), planning->order, " ", &names);
    weir_log(WEIR_LOG_INFO, "order of operators changed", "job=%lu state=\"%s\" order=\"%s\"",
             entry->number, preprocess_planning_state_name(planning->state), weir_buf_text(&names));
}

uint32_t preprocess_plans_sunk(const struct dispatcher_entry *entry,
                               const struct planning *planning)
{
    if (entry->plan.options.plan.place == PREPROCESS_POOL)
        return 0;
    return entry->plan.options.plan.place == PREPROCESS_HOST
               ? (uint32_t)preprocess_chain_sinkable(preprocess_entry_chain(entry), planning->order)
               : planning->placement.sunk;
}

/* Chooses the place of the last operators, unless the file says it. */
static void place(const struct dispatcher_entry *entry, struct planning *planning,
                  const struct placement_transport *transport, int64_t now_ms)
{
    const struct placement *placement = &planning->placement;
    if (entry->plan.options.plan.place == PREPROCESS_PLACE_AUTO &&
        preprocess_planning_place(planning, preprocess_entry_chain(entry), transport, now_ms))
        weir_log(WEIR_LOG_INFO, "last operators left to trainers",
                 "job=%lu operators=%u saved_bytes=%.0f saved_ns=%.0f trainer_ns=%.0f",
                 entry->number, placement->sunk, placement->saved_bytes, placement->saved_ns,
                 placement->host_ns);
}

/* Returns false where they are not known: spent before this dispatcher, which has not kept the rows. */
static bool costs_of(const struct dispatcher_entry *entry, const struct plans_spent *spent,
                     struct plans_costs *ret_costs)
{
    const struct dispatcher_cost *before = spent->before, *now = spent->now;
    ret_costs->read_ns = (double)(now->read_ns - before->read_ns);
    for (size_t i = 0; i < preprocess_chain_operators(preprocess_entry_chain(entry)); i++) {
        const struct dispatcher_operator_cost *then = &before->of[i], *by_now = &now->of[i];
        if (then->rows == 0 && then->ns > 0)
            return false;
        ret_costs->of[i] = (struct ordering_cost){
            .ns = (double)(by_now->ns - then->ns),
            .taken = (double)(by_now->taken - then->taken),
            .made = (double)(by_now->bytes - then->bytes),
            .rows = (double)(by_now->rows - then->rows),
            .kept = (double)(by_now->kept - then->kept),
        };
    }
    return true;
}

void preprocess_plans_note(struct plans *plans, struct dispatcher_entry *entry,
                           const struct plans_spent *spent, int64_t now_ms)
{
    struct plans_costs costs;
    if (!costs_of(entry, spent, &costs))
        return;
    struct plans_row *row = row_for(plans, entry, now_ms);
    struct planning *planning = &row->planning;
    uint32_t changes = planning->changes;
    enum planning_state state = planning->state;
    bool has_chosen = preprocess_plans_keep_note(plans, entry, row, &costs, now_ms);
    if (preprocess_planning_add(planning, preprocess_entry_chain(entry), costs.of, now_ms))
        log_change(entry, planning);
    place(entry, planning, spent->transport, now_ms);
    bool is_due = row->saved_ms == 0 || now_ms - row->saved_ms >= PLANS_SAVE_MS;
    if (has_chosen || planning->state != state || planning->changes != changes || is_due)
        save(plans, entry, row, now_ms);
}

/* ---- for people ---- */

static uint64_t *words(struct weir_arena *arena, size_t count)
{
    return weir_arena_alloc(arena, (count + 1) * sizeof(uint64_t));
}

static void add_costs(const struct ordering_cost *costs, size_t count, struct weir_arena *arena,
                      struct msg_plan_is *answer)
{
    uint64_t *ns = words(arena, count), *taken = words(arena, count), *made = words(arena, count);
    uint64_t *rows = words(arena, count), *kept = words(arena, count);
    for (size_t i = 0; i < count; i++) {
        ns[i] = (uint64_t)costs[i].ns;
        taken[i] = (uint64_t)costs[i].taken;
        made[i] = (uint64_t)costs[i].made;
        rows[i] = (uint64_t)costs[i].rows;
        kept[i] = (uint64_t)costs[i].kept;
    }
    answer->ns = (struct weir_u64s){ns, count};
    answer->taken = (struct weir_u64s){taken, count};
    answer->made = (struct weir_u64s){made, count};
    answer->rows = (struct weir_u64s){rows, count};
    answer->kept = (struct weir_u64s){kept, count};
}

static struct weir_u32s places(struct weir_arena *arena, const uint8_t *order, size_t count)
{
    uint32_t *at = weir_arena_alloc(arena, (count + 1) * sizeof(*at));
    for (size_t i = 0; i < count; i++)
        at[i] = order[i];
    return (struct weir_u32s){at, count};
}

/* Plans the operators as they run now; what trainers run is left out. NULL: there is no such chain. */
static struct chain *running_chain(const struct dispatcher_entry *entry,
                                   const struct planning *planning)
{
    struct weir_error err;
    WEIR_AUTO(chain) ordered = NULL;
    struct chain *running = NULL;
    if (preprocess_chain_reorder(preprocess_entry_chain(entry), planning->order, ALGEBRA_EXACTLY,
                                 &ordered, &err) != WEIR_OK ||
        preprocess_chain_sink(ordered, preprocess_plans_sunk(entry, planning), &running, &err) !=
            WEIR_OK)
        return NULL;
    return running;
}

struct weir_u32s preprocess_plans_fusion(struct plans *plans, struct dispatcher_entry *entry,
                                         int64_t now_ms, struct weir_arena *arena)
{
    const struct planning *planning = preprocess_plans_of(plans, entry, now_ms);
    size_t count = preprocess_chain_operators(preprocess_entry_chain(entry));
    uint32_t *fused = weir_arena_alloc(arena, (count + 1) * sizeof(*fused));
    WEIR_AUTO(chain) running = running_chain(entry, planning);
    for (size_t i = 0; i < count; i++)
        fused[i] = running != NULL ? preprocess_chain_fusion_of(running, i) : CHAIN_ALONE;
    return (struct weir_u32s){fused, count};
}

static double share_saved(double before, double after)
{
    return before > 0 && after > 0 ? 1 - after / before : 0;
}

/* Says why the last operators are where they are. */
static const char *why_there(const struct dispatcher_entry *entry, const struct planning *planning)
{
    const struct placement *placement = &planning->placement;
    int option = entry->plan.options.plan.place;
    if (option != PREPROCESS_PLACE_AUTO)
        return option == PREPROCESS_POOL ? "pool" : "host";
    if (preprocess_chain_sinkable(preprocess_entry_chain(entry), planning->order) == 0)
        return "none";
    if (placement->is_chosen)
        return placement->sunk > 0 ? "pays" : "dear";
    bool is_local = planning->transport.bytes <= planning->transport.lent;
    return is_local ? "local" : "measuring";
}

/* Says why its batches are, or are not, shared. */
static const char *why_shared(const struct dispatcher_entry *entry)
{
    const struct preprocess_planned *plan = &entry->plan.options.plan;
    if (plan->share == PREPROCESS_SHARE_NONE)
        return "none";
    if (plan->order == PREPROCESS_APPROXIMATE)
        return "approximate";
    return entry->shared_jobs > 0 ? "shared" : "alone";
}

/* The use that this job has made of rows that are kept. */
static void add_kept(const struct dispatcher_entry *entry, struct msg_plan_is *answer)
{
    const struct dispatcher_kept kept = entry->costs.total.kept;
    answer->kept_hits = kept.hits;
    answer->kept_misses = kept.misses;
    answer->kept_damaged = kept.damaged;
    answer->kept_saved_ns = preprocess_kept_saved_ns(&kept);
}

static int64_t steps_ns(const struct dispatcher_entry *entry)
{
    int64_t ns = 0;
    for (size_t rank = 0; rank < entry->ranks; rank++)
        ns += entry->job.ranks[rank].steps_ns;
    return ns;
}

void preprocess_plans_show(struct plans *plans, struct dispatcher_entry *entry, int64_t now_ms,
                           struct weir_arena *arena, struct msg_plan_is *answer)
{
    const struct plans_row *row = row_for(plans, entry, now_ms);
    const struct planning *planning = &row->planning;
    const struct chain *chain = preprocess_entry_chain(entry);
    const struct ordering_choice *choice = &planning->choice;
    size_t count = preprocess_chain_operators(chain);
    const char **names = weir_arena_alloc(arena, (count + 1) * sizeof(*names));
    uint8_t written[CHAIN_OPERATORS_MAX];
    preprocess_chain_order(chain, written);
    for (size_t i = 0; i < count; i++)
        names[i] = preprocess_chain_cost(chain, i).name;
    *answer = (struct msg_plan_is){
        .state = preprocess_planning_state_name(planning->state),
        .operators = {names, count},
        .order = places(arena, planning->order, count),
        .written = places(arena, written, count),
        .promised = share_saved(choice->present_ns, choice->best_ns),
        .tried = choice->tried,
        .is_best = choice->is_best,
        .cut = preprocess_entry_cut(entry),
        .sunk = preprocess_plans_sunk(entry, planning),
        .place = why_there(entry, planning),
        .saved_bytes = planning->placement.saved_bytes,
        .saved_ns = planning->placement.saved_ns,
        .host_ns = planning->placement.host_ns,
        .steps_ns = steps_ns(entry),
        .share = why_shared(entry),
        .shared_jobs = entry->shared_jobs,
        .shared_batches = entry->costs.total.shared,
    };
    add_kept(entry, answer);
    preprocess_plans_keep_show(entry, &row->keeping, arena, answer);
    bool is_other = planning->state == PLANNING_TRYING || planning->state == PLANNING_CHANGED ||
                    planning->state == PLANNING_REVERTED;
    add_costs(is_other ? planning->before : planning->costs, count, arena, answer);
    if (planning->state == PLANNING_CHANGED || planning->state == PLANNING_TRYING)
        answer->saved = share_saved(preprocess_planning_row_ns(planning->before, chain),
                                    preprocess_planning_row_ns(planning->costs, chain));
}
