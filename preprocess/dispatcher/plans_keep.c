/* See plans_keep.h. */
#include "preprocess/dispatcher/plans_keep.h"

#include "core/base/log.h"

/* Jobs that do not train use each sample once. */
static bool may_choose(const struct dispatcher_entry *entry)
{
    return entry->plan.options.plan.cache_auto && entry->plan.trains;
}

/* `done`: uses of a row that are over. */
static struct keeping_needs needs_of(const struct dispatcher_entry *entry,
                                     const struct keeping *keeping, double done)
{
    double rows = (double)entry->plan.set.count;
    double passes = rows > 0 ? (double)entry->plan.geometry.samples * entry->epochs / rows : 0;
    double uses = passes * (1 + entry->later) - done;
    return (struct keeping_needs){
        .rows = rows,
        .uses = uses > 0 ? uses : 0,
        .kept_cut = keeping->choice.cut,
        .present = entry->seen,
    };
}

static void log_choice(const struct dispatcher_entry *entry, const struct keeping *keeping)
{
    uint32_t cut = keeping->choice.cut;
    weir_log(WEIR_LOG_INFO, "place chosen at which rows are kept",
             "job=%lu after=\"%s\" alternatives=%zu uses=%.1f compute_ns=%.0f", entry->number,
             cut > 0 ? preprocess_chain_cost(entry->plan.chain, cut - 1).name : "",
             keeping->choice.count, keeping->needs.uses, keeping->choice.option[0].total_ns);
}

/* The order of the operators begins again as written: none passes the cut. */
static void take_cut(struct dispatcher_entry *entry, struct plans_row *row, int64_t now_ms)
{
    uint32_t changes = row->planning.changes;
    if (!preprocess_entry_divide(entry, row->keeping.choice.cut))
        row->keeping.choice.cut = 0;
    preprocess_planning_begin(&row->planning, preprocess_entry_chain(entry),
                              row->planning.state == PLANNING_FIXED);
    row->planning.changes = changes + 1;
    row->planning.changed_ms = now_ms;
    log_choice(entry, &row->keeping);
}

static bool choose(const struct plans *plans, struct dispatcher_entry *entry, struct plans_row *row,
                   double done, int64_t now_ms)
{
    struct keeping_needs needs = needs_of(entry, &row->keeping, done);
    if (!plans->has_disk ||
        !preprocess_keeping_decide(&row->keeping, entry->plan.chain, &plans->disk, &needs))
        return false;
    take_cut(entry, row, now_ms);
    return true;
}

bool preprocess_plans_keep(const struct plans *plans, struct dispatcher_entry *entry,
                           struct plans_row *row, int64_t now_ms)
{
    bool is_first = !entry->is_kept_chosen, has_changed = false;
    entry->is_kept_chosen = true;
    if (!may_choose(entry))
        return false;
    if (is_first)
        has_changed = choose(plans, entry, row, 0, now_ms);
    if (preprocess_entry_cut(entry) != row->keeping.choice.cut &&
        !preprocess_entry_divide(entry, row->keeping.choice.cut))
        row->keeping.choice.cut = 0;
    return has_changed;
}

bool preprocess_plans_keep_note(const struct plans *plans, struct dispatcher_entry *entry,
                                struct plans_row *row, const struct plans_costs *costs,
                                int64_t now_ms)
{
    struct keeping *keeping = &row->keeping;
    if (!may_choose(entry) || keeping->is_chosen)
        return false;
    if (row->planning.changes == 0)
        preprocess_keeping_measure(keeping, preprocess_chain_operators(entry->plan.chain),
                                   costs->of, costs->read_ns);
    double rows = (double)entry->plan.set.count;
    choose(plans, entry, row, rows > 0 ? preprocess_keeping_rows(keeping) / rows : 0, now_ms);
    return keeping->is_chosen;
}

/* ---- for people ---- */

static const char *state_of(const struct dispatcher_entry *entry, const struct keeping *keeping)
{
    if (entry->plan.options.plan.cache_after != NULL)
        return "after";
    if (!may_choose(entry))
        return entry->plan.options.plan.cache_auto ? "once" : "none";
    return keeping->is_chosen ? "auto" : "measuring";
}

static void add_options(const struct keeping_choice *choice, struct weir_arena *arena,
                        struct msg_plan_is *answer)
{
    size_t room = (choice->count + 1) * sizeof(uint64_t);
    uint64_t *cuts = weir_arena_alloc(arena, room), *ns = weir_arena_alloc(arena, room);
    uint64_t *bytes = weir_arena_alloc(arena, room);
    for (size_t i = 0; i < choice->count; i++) {
        cuts[i] = choice->option[i].cut;
        ns[i] = (uint64_t)choice->option[i].total_ns;
        bytes[i] = (uint64_t)choice->option[i].bytes;
    }
    answer->keep_cuts = (struct weir_u64s){cuts, choice->count};
    answer->keep_ns = (struct weir_u64s){ns, choice->count};
    answer->keep_bytes = (struct weir_u64s){bytes, choice->count};
}

void preprocess_plans_keep_show(const struct dispatcher_entry *entry, const struct keeping *keeping,
                                struct weir_arena *arena, struct msg_plan_is *answer)
{
    size_t place = 0;
    answer->keep = state_of(entry, keeping);
    answer->keep_asks = "";
    if (!may_choose(entry))
        return;
    add_options(&keeping->choice, arena, answer);
    answer->keep_rows = keeping->needs.rows;
    answer->keep_uses = keeping->needs.uses;
    answer->keep_present = keeping->needs.kept_cut > 0 ? keeping->needs.present : 0;
    answer->keep_write_ns = keeping->disk.write_ns;
    answer->keep_warm_ns = keeping->disk.warm_ns;
    answer->keep_cold_ns = keeping->disk.cold_ns;
    answer->keep_budget = (uint64_t)keeping->disk.budget;
    if (preprocess_keeping_hint(keeping, entry->plan.chain, &place, &answer->keep_share))
        answer->keep_asks = preprocess_chain_cost(entry->plan.chain, place).name;
}
