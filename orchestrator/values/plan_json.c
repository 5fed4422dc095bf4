/* See plan_json.h. */
#include "orchestrator/values/plan_json.h"

#include "orchestrator/values/json_object.h"

#include <string.h>

#define NS_PER_SECOND 1e9
#define THOUSAND      1e3

static bool has_whole_windows(const struct msg_plan_is *plan)
{
    size_t count = plan->windows.count;
    return plan->window_needs.count == count && plan->window_whys.count == count &&
           plan->window_batches.count == count && plan->window_wanted.count == count &&
           plan->window_made.count == count && plan->window_spreads.count == count &&
           plan->window_lead_ns.count == count;
}

static bool is_whole(const struct msg_plan_is *plan)
{
    size_t count = plan->operators.count;
    for (size_t i = 0; i < plan->order.count; i++) {
        if (plan->order.at[i] >= count)
            return false;
    }
    return plan->order.count == count && plan->written.count == count && plan->ns.count == count &&
           plan->taken.count == count && plan->made.count == count && plan->rows.count == count &&
           plan->kept.count == count && plan->fused.count == count && plan->sunk <= count &&
           plan->keep_ns.count == plan->keep_cuts.count &&
           plan->keep_bytes.count == plan->keep_cuts.count && has_whole_windows(plan);
}

/* Place at which an operator would run before anything was measured. */
static size_t place_before(const struct msg_plan_is *plan, uint32_t operator)
{
    size_t place = 0;
    while (place < plan->written.count && plan->written.at[place] != operator)
        place++;
    return place;
}

/* True when it runs before one that it would have run after. */
static bool has_moved_up(const struct msg_plan_is *plan, size_t place)
{
    size_t before = place_before(plan, plan->order.at[place]);
    for (size_t i = place + 1; i < plan->order.count; i++) {
        if (place_before(plan, plan->order.at[i]) < before)
            return true;
    }
    return false;
}

/* Null: it runs by itself, or is the first of a loop. */
static json_t *fused_json(uint32_t fused)
{
    static const char *const WORDS[] = {NULL, "loop", "absorbed"};
    const char *word = fused < WEIR_COUNT(WORDS) ? WORDS[fused] : NULL;
    return word != NULL ? json_string(word) : json_null();
}

static json_t *operators_json(const struct msg_plan_is *plan)
{
    json_t *operators = json_array();
    for (size_t i = 0; i < plan->order.count; i++) {
        uint32_t at = plan->order.at[i];
        double taken = (double)plan->taken.at[at], rows = (double)plan->rows.at[at];
        json_array_append_new(
            operators,
            JSON_FIELDS(
                JSON_TEXT("operator", plan->operators.at[at]), JSON_NUMBER("written", at),
                JSON_FLAG("moved", has_moved_up(plan, i)),
                JSON_TEXT("place", i + plan->sunk >= plan->order.count ? "trainer" : "worker"),
                JSON_NEW("fused", fused_json(plan->fused.at[at])),
                JSON_DOUBLE("cpu_seconds", (double)plan->ns.at[at] / NS_PER_SECOND),
                JSON_NUMBER("rows", plan->rows.at[at]), JSON_NUMBER("bytes_in", plan->taken.at[at]),
                JSON_NUMBER("bytes_out", plan->made.at[at]),
                JSON_NEW("ns_per_byte",
                         taken > 0 ? json_real((double)plan->ns.at[at] / taken) : json_null()),
                JSON_NEW("share_kept",
                         rows > 0 ? json_real((double)plan->kept.at[at] / rows) : json_null())));
    }
    return operators;
}

static const struct state {
    const char *state, *why;
} STATES[] = {
    {"measuring", "the operators run as they are written, and are measured"},
    {"trying", "a cheaper order runs, and is measured"},
    {"changed", "a cheaper order runs"},
    {"as written", "the operators run as they are written: no legal order promises to save 5 %"},
    {"reverted", "another order was tried and was no cheaper: they run as they are written again"},
    {"fixed", "the operators run as they are written: plan.order says as_written"},
};

static const struct state PLACES[] = {
    {"pool", "workers run all operators: plan.place says pool"},
    {"host", "trainers run the last operators: plan.place says host"},
    {"none", "workers run all operators: trainers could run none of the last"},
    {"local", "workers run all operators: batches reach trainers in memory of this host"},
    {"measuring", "workers run all operators, and the way of batches to trainers is measured"},
    {"pays", "trainers run the last operators: the bytes that this saves on the way cost more"},
    {"dear", "workers run all operators: the bytes that trainers could save on the way cost less"},
};

static const struct state SHARING[] = {
    {"none", "batches are made for this run alone: plan.share says none"},
    {"approximate", "batches are made for this run alone: plan.order says approximate"},
    {"alone", "batches are made for this run alone: no other open run has wanted the same"},
    {"shared", "batches that other runs want as well are made once, for all"},
};

static const char *why(const struct state *states, size_t count, const char *state)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(states[i].state, state) == 0)
            return states[i].why;
    }
    return state;
}

/* The place of the last operators, and numbers per row that it was chosen by: null before. */
static json_t *place_json(const struct msg_plan_is *plan)
{
    bool is_chosen = strcmp(plan->place, "pays") == 0 || strcmp(plan->place, "dear") == 0;
    return JSON_FIELDS(
        JSON_TEXT("state", plan->place),
        JSON_TEXT("why", why(PLACES, WEIR_COUNT(PLACES), plan->place)),
        JSON_NEW("saved_bytes", is_chosen ? json_real(plan->saved_bytes) : json_null()),
        JSON_NEW("saved_ns", is_chosen ? json_real(plan->saved_ns) : json_null()),
        JSON_NEW("trainer_ns", is_chosen ? json_real(plan->host_ns) : json_null()),
        JSON_DOUBLE("trainer_cpu_seconds", (double)plan->steps_ns / NS_PER_SECOND));
}

/* The last operator, as they run, before the place at which rows are kept. */
static json_t *kept_after(const struct msg_plan_is *plan)
{
    bool is_there = plan->cut > 0 && plan->cut <= plan->order.count;
    return is_there ? json_string(plan->operators.at[plan->order.at[plan->cut - 1]]) : json_null();
}

static json_t *share_json(const struct msg_plan_is *plan)
{
    return JSON_FIELDS(JSON_TEXT("state", plan->share),
                       JSON_TEXT("why", why(SHARING, WEIR_COUNT(SHARING), plan->share)),
                       JSON_NUMBER("runs", plan->shared_jobs),
                       JSON_NUMBER("batches", plan->shared_batches));
}

static const struct state KEEPING[] = {
    {"none", "nothing is kept: plan.cache does not ask for it"},
    {"after", "plan.cache says after which operator rows are kept"},
    {"once", "nothing is kept: only trainings use a sample more than once"},
    {"measuring", "nothing is kept until the operators and the disk are measured"},
    {"auto", "chosen by what was measured"},
};

static json_t *alternatives_json(const struct msg_plan_is *plan)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->keep_cuts.count; i++) {
        uint64_t cut = plan->keep_cuts.at[i];
        json_array_append_new(
            list, JSON_FIELDS(JSON_NEW("after", cut > 0 && cut <= plan->operators.count
                                                    ? json_string(plan->operators.at[cut - 1])
                                                    : json_null()),
                              JSON_DOUBLE("seconds", (double)plan->keep_ns.at[i] / NS_PER_SECOND),
                              JSON_NUMBER("bytes", plan->keep_bytes.at[i]),
                              JSON_FLAG("chosen", cut == plan->cut)));
    }
    return list;
}

/* The place at which rows are kept, and numbers that it was chosen by. */
static json_t *keeping_json(const struct msg_plan_is *plan)
{
    return JSON_FIELDS(
        JSON_TEXT("state", plan->keep),
        JSON_TEXT("why", why(KEEPING, WEIR_COUNT(KEEPING), plan->keep)),
        JSON_NEW("alternatives", alternatives_json(plan)), JSON_DOUBLE("rows", plan->keep_rows),
        JSON_DOUBLE("uses", plan->keep_uses), JSON_DOUBLE("present", plan->keep_present),
        JSON_DOUBLE("write_ns_per_byte", plan->keep_write_ns),
        JSON_DOUBLE("warm_ns_per_byte", plan->keep_warm_ns),
        JSON_DOUBLE("cold_ns_per_byte", plan->keep_cold_ns),
        JSON_NUMBER("budget", plan->keep_budget), JSON_TEXT_OR_NULL("scale_never", plan->keep_asks),
        JSON_DOUBLE("scale_never_share", plan->keep_share));
}

/* The use that the job has made of rows that are kept; null without any. */
static json_t *kept_use(const struct msg_plan_is *plan)
{
    if (plan->kept_hits + plan->kept_misses == 0)
        return json_null();
    return JSON_FIELDS(JSON_NUMBER("hits", plan->kept_hits),
                       JSON_NUMBER("misses", plan->kept_misses),
                       JSON_NUMBER("damaged", plan->kept_damaged),
                       JSON_DOUBLE("saved_seconds", plan->kept_saved_ns / NS_PER_SECOND));
}

static const struct state WINDOWS[] = {
    {"first", "not enough is measured yet"},
    {"fixed", "the training loop says how many"},
    {"steady", "workers are steady: one in the making at each"},
    {"jitter", "jitter of workers and trainer"},
    {"order", "order: those that come while a slower worker makes a group"},
    {"latency", "time from credit to batch"},
    {"waited", "the trainer has waited, and workers for credit"},
    {"memory", "more are needed, and batches.memory or batch.memory allows no more"},
};

static json_t *trainer_window_json(const struct msg_plan_is *plan, size_t i)
{
    uint64_t bytes = plan->windows.at[i], batch = plan->window_batches.at[i];
    const char *state = plan->window_whys.at[i];
    return JSON_FIELDS(
        JSON_NUMBER("bytes", bytes), JSON_NUMBER("needed_bytes", plan->window_needs.at[i]),
        JSON_NEW("batches", batch > 0 ? json_real((double)bytes / (double)batch) : json_null()),
        JSON_TEXT("state", state), JSON_TEXT("why", why(WINDOWS, WEIR_COUNT(WINDOWS), state)),
        JSON_DOUBLE("loop_batches_per_second", plan->window_wanted.at[i] / THOUSAND),
        JSON_DOUBLE("worker_batches_per_second", plan->window_made.at[i] / THOUSAND),
        JSON_DOUBLE("variance", plan->window_spreads.at[i] / THOUSAND),
        JSON_DOUBLE("lead_seconds", (double)plan->window_lead_ns.at[i] / NS_PER_SECOND));
}

/* Bytes in flight of each trainer, and what they were reckoned from. */
static json_t *windows_json(const struct msg_plan_is *plan)
{
    json_t *trainers = json_array();
    for (size_t i = 0; i < plan->windows.count; i++)
        json_array_append_new(trainers, trainer_window_json(plan, i));
    uint64_t memory = plan->window_memory;
    return JSON_FIELDS(
        JSON_NEW("memory", memory > 0 ? json_integer((json_int_t)memory) : json_null()),
        JSON_NEW("trainers", trainers));
}

static const struct state LIMITS[] = {
    {"cores", "its processors"},
    {"stage", "a stage that cannot be in more than one place at once"},
    {"bandwidth", "how fast the bytes of samples come"},
    {"consumers", "its trainers, which take no more"},
    {"nothing", "nothing that was measured"},
};

/* The stage of the limit: of processors the one that takes most of them. */
static const char *limit_stage(const struct msg_plan_is *plan)
{
    uint32_t place = plan->limit_stage;
    if (place == 0 || place > plan->order.count)
        return "read";
    return plan->operators.at[plan->order.at[place - 1]];
}

static json_t *rate_json(double rate)
{
    return rate > 0 ? json_real(rate) : json_null();
}

/* The most that the host could make of the run, and what would change it; null: not enough is measured. */
static json_t *limits_json(const struct msg_plan_is *plan)
{
    uint32_t after = plan->with_kept_after;
    if (plan->limit[0] == '\0')
        return json_null();
    return JSON_FIELDS(
        JSON_NEW("optimum", rate_json(plan->optimum)), JSON_NUMBER("cores", plan->cores),
        JSON_DOUBLE("delivered", plan->delivered), JSON_DOUBLE("wanted", plan->wanted),
        JSON_TEXT("limit", plan->limit), JSON_TEXT("stage", limit_stage(plan)),
        JSON_TEXT("why", why(LIMITS, WEIR_COUNT(LIMITS), plan->limit)),
        JSON_NEW("with_one_more_core", rate_json(plan->with_core)),
        JSON_NEW("with_reads_twice_as_fast", rate_json(plan->with_reads)),
        JSON_NEW("with_rows_kept", rate_json(plan->with_kept)),
        JSON_NEW("kept_after", after > 0 && after <= plan->order.count
                                   ? json_string(plan->operators.at[plan->order.at[after - 1]])
                                   : json_null()));
}

json_t *orchestrator_plan_json(const char *pipeline, int64_t run, const struct msg_plan_is *plan)
{
    if (!is_whole(plan))
        return NULL;
    return JSON_FIELDS(
        JSON_TEXT("pipeline", pipeline), JSON_NUMBER("run", run), JSON_TEXT("state", plan->state),
        JSON_TEXT("why", why(STATES, WEIR_COUNT(STATES), plan->state)),
        JSON_DOUBLE("promised", plan->promised), JSON_DOUBLE("saved", plan->saved),
        JSON_NUMBER("tried", plan->tried), JSON_FLAG("all_orders", plan->is_best),
        JSON_NEW("kept_after", kept_after(plan)), JSON_NEW("kept", kept_use(plan)),
        JSON_NEW("keeping", keeping_json(plan)), JSON_NEW("place", place_json(plan)),
        JSON_NEW("share", share_json(plan)), JSON_NEW("in_flight", windows_json(plan)),
        JSON_NEW("limits", limits_json(plan)), JSON_NEW("operators", operators_json(plan)));
}
