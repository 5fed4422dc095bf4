/* The rim of the pool: timer, dispatcher, database, launcher. */
#include "orchestrator/pool/pool.h"

#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "orchestrator/context/events.h"
#include "orchestrator/keys/passes.h"
#include "orchestrator/pool/plan.h"
#include "orchestrator/pool/resizing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool {
    struct context *context;
    struct orchestrator_workers bounds;
    struct orchestrator_crew crew;
    struct passes passes;
    struct pool_standing standing;
    struct pool_members durable,
        members;              /* as committed; and with what launchers have said since */
    struct weir_arena *arena; /* of the advice */
    struct msg_pool_is advice;
    struct weir_error refusal; /* newest of a launcher; its status OK: none */
    uint64_t timer, look_timer;
    bool is_asking, asks_again; /* one request at a time: answers cannot overtake each other */
    bool is_resting;
};

/* ---- bounds ---- */

static uint32_t bounded(int64_t number, uint32_t min, uint32_t max)
{
    return number < min ? min : number > max ? max : (uint32_t)number;
}

/* Returns the workers that there may be at a place: as a person has set, or as the system file says. */
static struct orchestrator_workers bounds_of(const struct pool *pool,
                                             const struct pool_standing *standing)
{
    struct orchestrator_workers bounds = pool->bounds;
    if (standing->wanted != POOL_AUTO)
        bounds.min = bounds.max = bounded(standing->wanted, bounds.min, bounds.max);
    return bounds;
}

static void aim(const struct pool *pool, int64_t workers, int64_t host,
                struct pool_standing *standing)
{
    const struct orchestrator_workers bounds = bounds_of(pool, standing);
    standing->targets[POOL_PLACE_POOL] = bounded(workers, bounds.min, bounds.max);
    standing->targets[POOL_PLACE_HOST] = bounded(host, 0, bounds.host_max);
}

/* ---- what is seen ---- */

static bool is_named(const struct weir_strs *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (weir_str_equal(names->at[i], name))
            return true;
    return false;
}

static struct pool_sight sight_of(const struct launcher_process *processes, size_t count,
                                  const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (weir_str_equal(processes[i].name, name))
            return (struct pool_sight){.state = processes[i].state, .reason = processes[i].reason};
    return (struct pool_sight){.state = LAUNCHER_LOST, .reason = ""};
}

static void look(const struct pool *pool, const struct weir_strs *drained,
                 struct pool_sight sights[POOL_MEMBERS_MAX])
{
    enum { PROCESSES_MAX = 2 * POOL_MEMBERS_MAX }; /* trainers are among them */
    struct launcher_process processes[PROCESSES_MAX];
    size_t count = pool->crew.list(pool->crew.owner, processes, PROCESSES_MAX);
    count = count < PROCESSES_MAX ? count : PROCESSES_MAX;
    for (size_t i = 0; i < pool->members.count; i++) {
        char name[POOL_NAME_SIZE];
        orchestrator_pool_name(&pool->members.at[i], name);
        sights[i] = sight_of(processes, count, name);
        sights[i].is_drained = is_named(drained, name);
    }
}

/* ---- what is done ---- */

enum { POOL_GROUP_SIZE = 64 };

/* Members of a group, as their launcher is asked for them. */
struct gathered {
    char name[POOL_GROUP_SIZE];
    bool is_elsewhere;
    char names[POOL_MEMBERS_MAX][POOL_NAME_SIZE];
    const char *at[POOL_MEMBERS_MAX];
    struct crew_group group;
};

static void name_group(const struct pool *pool, int64_t number, char name[POOL_GROUP_SIZE])
{
    (void)snprintf(name, POOL_GROUP_SIZE, "weir-%s-%" PRId64, pool->standing.token, number);
}

static void gather(const struct pool *pool, int64_t number, struct gathered *gathered)
{
    name_group(pool, number, gathered->name);
    gathered->is_elsewhere = false;
    gathered->group =
        (struct crew_group){.name = gathered->name, .names = gathered->at, .count = 0};
    for (size_t i = 0; i < pool->members.count; i++) {
        const struct pool_member *member = &pool->members.at[i];
        if (member->group != number)
            continue;
        size_t at = gathered->group.count++;
        orchestrator_pool_name(member, gathered->names[at]);
        gathered->at[at] = gathered->names[at];
        gathered->group.place = ORCHESTRATOR_POOL_PLACES[member->place];
        gathered->group.launcher = member->launcher;
        gathered->is_elsewhere = pool->crew.are_elsewhere[member->place];
    }
}

static void refuse(struct pool *pool, int64_t group)
{
    const struct weir_error *err = &pool->refusal;
    weir_log(WEIR_LOG_WARN, "workers cannot be started yet", "error=\"%s\"", err->text);
    for (size_t i = 0; i < pool->members.count; i++) {
        struct pool_member *member = &pool->members.at[i];
        if (member->group != group)
            continue;
        member->state = POOL_REFUSED;
        member->since_ms = weir_loop_now_ms(pool->context->loop);
        member->since_us = orchestrator_now_us(pool->context);
        weir_utf8_print(member->why, sizeof(member->why), "%s", err->text);
    }
}

static void end(const struct pool *pool, const struct pool_member *member)
{
    char name[POOL_NAME_SIZE];
    orchestrator_pool_name(member, name);
    if (member->why[0] != '\0' && member->since_ms == weir_loop_now_ms(pool->context->loop))
        weir_log(WEIR_LOG_WARN, "worker is ended", "name=%s because=\"%s\"", name, member->why);
    pool->crew.stop(pool->crew.owner, name);
}

static enum weir_status ask_launcher(struct pool *pool, struct gathered *gathered,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *key = NULL;
    if (gathered->is_elsewhere) {
        enum weir_status status = orchestrator_pass_issue(&pool->passes, gathered->name, err);
        if (status != WEIR_OK)
            return status;
        key = orchestrator_pass_path(&pool->passes, gathered->name);
    }
    gathered->group.key = key;
    return pool->crew.start(pool->crew.owner, &gathered->group, err);
}

static bool has_members(const void *owner, const char *group)
{
    const struct pool *pool = owner;
    char name[POOL_GROUP_SIZE];
    for (size_t i = 0; i < pool->members.count; i++) {
        name_group(pool, pool->members.at[i].group, name);
        if (strcmp(name, group) == 0)
            return true;
    }
    return false;
}

/* Asks for the groups after `since`, and ends those that are to end. */
static void act(struct pool *pool, int64_t since)
{
    struct gathered gathered;
    for (int64_t number = since + 1; number <= pool->members.groups; number++) {
        gather(pool, number, &gathered);
        if (ask_launcher(pool, &gathered, &pool->refusal) != WEIR_OK)
            refuse(pool, number);
    }
    orchestrator_passes_sweep(&pool->passes, has_members, pool);
    for (size_t i = 0; i < pool->members.count; i++)
        if (pool->members.at[i].state == POOL_ENDING)
            end(pool, &pool->members.at[i]);
}

/* ---- one step ---- */

struct step {
    struct pool *pool;
    struct pool_standing standing;
    struct pool_members members;
    const char *why; /* for people; NULL: as the dispatcher says */
    bool resizes;    /* other targets than before */
};

static enum weir_status tell_resizes(struct step *step, struct weir_error *err)
{
    const struct pool *pool = step->pool;
    enum weir_status status = WEIR_OK;
    if (pool->timer == 0) /* at a start it has the size that the system file lets it have */
        return WEIR_OK;
    for (enum pool_place place = 0; status == WEIR_OK && place < POOL_PLACES; place++) {
        const struct pool_resizing resizing = {
            .place = place,
            .from = pool->standing.targets[place],
            .to = step->standing.targets[place],
            .why = step->why,
            .advice = &pool->advice,
            .number = step->standing.resizes + 1,
        };
        if (resizing.from == resizing.to)
            continue;
        status = orchestrator_pool_tell(pool->context, &resizing, err);
        step->standing.resizes++;
    }
    return status;
}

/* A worker that its launcher tries in vain again and again is told of once, until there is another reason. */
static bool is_news(const struct pool_member *member, const struct pool_members *before)
{
    const struct pool_member *was = orchestrator_pool_find(before, member->place, member->number);
    return (member->state == POOL_REFUSED || member->state == POOL_LOST) && was != NULL &&
           was->state != member->state && strcmp(was->why, member->why) != 0;
}

static enum weir_status tell_losses(struct step *step, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < step->members.count; i++)
        if (is_news(&step->members.at[i], &step->pool->durable))
            status = orchestrator_pool_tell_lost(step->pool->context, &step->members.at[i],
                                                 ++step->standing.resizes, err);
    return status;
}

/* Points of a resize, for tests. */
static void die_if_told(const struct step *step, const char *point)
{
    if (step->resizes)
        (void)weir_fault(point);
}

static enum weir_status effect_step(void *subject, const void *what, struct weir_error *err)
{
    (void)what;
    struct step *step = subject;
    const struct pool *pool = step->pool;
    die_if_told(step, "pool.resizing");
    enum weir_status status = tell_resizes(step, err);
    if (status == WEIR_OK)
        status = tell_losses(step, err);
    return status == WEIR_OK ? orchestrator_pool_note(pool->context, &step->standing,
                                                      &pool->durable, &step->members, err)
                             : status;
}

static bool has_group(const struct pool_members *members, int64_t group)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->at[i].group == group)
            return true;
    return false;
}

/* Returns true when a group that had members has none. */
static bool is_group_gone(const struct pool_members *before, const struct pool_members *members)
{
    for (size_t i = 0; i < before->count; i++)
        if (!has_group(members, before->at[i].group))
            return true;
    return false;
}

/* Plans, commits, acts. Nothing has changed unless the status is OK. */
static enum weir_status take_step(struct pool *pool, struct step *step,
                                  const struct weir_strs *drained, struct weir_error *err)
{
    struct pool_sight sights[POOL_MEMBERS_MAX];
    look(pool, drained, sights);
    const struct pool_view view = {
        .targets = {step->standing.targets[POOL_PLACE_POOL],
                    step->standing.targets[POOL_PLACE_HOST]},
        .max = {pool->bounds.max, pool->bounds.host_max},
        .now_ms = weir_loop_now_ms(pool->context->loop),
        .now_us = orchestrator_now_us(pool->context),
        .sights = sights,
        .launchers = {pool->crew.launchers[POOL_PLACE_POOL], pool->crew.launchers[POOL_PLACE_HOST]},
    };
    step->pool = pool;
    step->members = pool->members;
    step->resizes =
        memcmp(step->standing.targets, pool->standing.targets, sizeof(pool->standing.targets)) != 0;
    orchestrator_pool_plan(&view, &step->members);
    bool is_noted = orchestrator_pool_same(&step->standing, &pool->standing) &&
                    orchestrator_pool_same_members(&step->members, &pool->durable);
    enum weir_status status =
        is_noted ? WEIR_OK : orchestrator_commit(pool->context, effect_step, step, NULL, err);
    if (status != WEIR_OK)
        return status;
    int64_t since = pool->durable.groups;
    pool->standing = step->standing;
    pool->passes.are_swept &= !is_group_gone(&pool->durable, &step->members);
    pool->members = pool->durable = step->members;
    die_if_told(step, "pool.resized"); /* committed: only death can come between */
    act(pool, since);
    die_if_told(step, "pool.acted");
    return WEIR_OK;
}

static enum weir_status step_to(struct pool *pool, const struct pool_standing *standing,
                                const char *why, const struct weir_strs *drained,
                                struct weir_error *err)
{
    struct step *step = weir_calloc(1, sizeof(*step));
    step->standing = *standing;
    step->why = why;
    enum weir_status status = take_step(pool, step, drained, err);
    free(step);
    return status;
}

/* ---- the dispatcher ---- */

static void ask(struct pool *pool);

static void take_advice(struct pool *pool, const struct msg_pool_is *advice)
{
    struct weir_error err;
    WEIR_AUTO_BUF packed = {0};
    weir_message_pack(MSG_pool_is, advice, &packed);
    weir_arena_clear(pool->arena);
    if (weir_message_unpack(MSG_pool_is, weir_buf_view(&packed), pool->arena, &pool->advice,
                            &err) != WEIR_OK)
        pool->advice = (struct msg_pool_is){.workers = 0};
}

static void on_advice(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pool *pool = owner;
    struct weir_error problem;
    pool->is_asking = false;
    if (pool->is_resting)
        return;
    if (reply == NULL) {
        weir_log(WEIR_LOG_DEBUG, "nothing is heard of the size of the pool", "reason=\"%s\"",
                 err->text);
    } else if (orchestrator_pool_is_whole(reply->message)) {
        struct pool_standing standing = pool->standing;
        take_advice(pool, reply->message);
        aim(pool, pool->advice.workers, pool->advice.host, &standing);
        if (step_to(pool, &standing, NULL, &pool->advice.drained, &problem) != WEIR_OK)
            weir_log(WEIR_LOG_DEBUG, "the pool stays as it is", "reason=\"%s\"", problem.text);
    }
    if (pool->asks_again)
        ask(pool);
}

/* Names of those that are to end, in `names`. */
static struct weir_strs drains_of(const struct pool *pool, struct gathered *names)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->members.count; i++) {
        if (orchestrator_pool_is_present(&pool->members.at[i]))
            continue;
        orchestrator_pool_name(&pool->members.at[i], names->names[count]);
        names->at[count] = names->names[count];
        count++;
    }
    return (struct weir_strs){names->at, count};
}

static void ask(struct pool *pool)
{
    struct gathered names;
    const struct orchestrator_workers bounds = bounds_of(pool, &pool->standing);
    const struct orchestrator_prices *prices = &pool->context->prices;
    const struct msg_pool_order order = {
        .min = bounds.min,
        .max = bounds.max,
        .host_max = bounds.host_max,
        .drains = drains_of(pool, &names),
        .trainer_hour = prices->trainer_hour,
        .worker_hour = prices->worker_hour,
        .host_hour = prices->host_hour,
    };
    pool->asks_again = pool->is_asking;
    if (pool->is_asking)
        return;
    pool->is_asking = true;
    weir_rpc_call(pool->context->dispatcher, MSG_pool_order, &order, ORCHESTRATOR_REQUEST_MS,
                  on_advice, pool);
}

/* ---- the life of the pool ---- */

static void on_time(void *owner)
{
    struct pool *pool = owner;
    struct weir_error err;
    const struct weir_strs none = {NULL, 0};
    if (step_to(pool, &pool->standing, NULL, &none, &err) != WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "the pool stays as it is", "reason=\"%s\"", err.text);
    if (!pool->is_asking)
        ask(pool);
}

static void on_look(void *owner)
{
    struct pool *pool = owner;
    pool->look_timer = 0;
    on_time(pool);
}

/* Those that nothing is left of are started again at once. */
static void lose(struct pool *pool, int64_t group, const char *why)
{
    for (size_t i = 0; i < pool->members.count; i++) {
        struct pool_member *member = &pool->members.at[i];
        if (member->group != group || !orchestrator_pool_is_present(member))
            continue;
        member->state = POOL_LOST;
        member->since_ms = 0;
        weir_utf8_print(member->why, sizeof(member->why), "%s", why);
    }
}

/* Members are loaded group by group. */
static void adopt(struct pool *pool)
{
    struct gathered gathered;
    struct weir_error err;
    for (size_t i = 0; i < pool->members.count; i++) {
        int64_t group = pool->members.at[i].group;
        if (i > 0 && pool->members.at[i - 1].group == group)
            continue;
        gather(pool, group, &gathered);
        WEIR_AUTO_FREE char *key = orchestrator_pass_path(&pool->passes, gathered.name);
        gathered.group.key = gathered.is_elsewhere ? key : NULL;
        if (pool->crew.adopt(pool->crew.owner, &gathered.group, &err) != WEIR_OK)
            lose(pool, group, err.text);
    }
}

static enum weir_status begin(struct pool *pool, struct weir_error *err)
{
    const struct weir_strs none = {NULL, 0};
    enum weir_status status = orchestrator_pool_load(pool->context, pool->bounds.min,
                                                     &pool->standing, &pool->members, err);
    if (status != WEIR_OK)
        return status;
    pool->durable = pool->members;
    adopt(pool);
    struct pool_standing standing = pool->standing;
    aim(pool, standing.targets[POOL_PLACE_POOL], standing.targets[POOL_PLACE_HOST], &standing);
    status = step_to(pool, &standing, NULL, &none, err);
    if (status == WEIR_OK && pool->refusal.status != WEIR_OK) {
        *err = pool->refusal;
        return err->status;
    }
    return status;
}

enum weir_status orchestrator_pool_open(struct context *context, struct keys *keys,
                                        const struct orchestrator_workers *bounds,
                                        const struct orchestrator_crew *crew,
                                        struct pool **ret_pool, struct weir_error *err)
{
    struct pool *pool = weir_calloc(1, sizeof(*pool));
    pool->context = context;
    pool->bounds = *bounds;
    pool->crew = *crew;
    pool->passes = (struct passes){.keys = keys, .kind = "group", .role = WEIR_ROLE_WORKER};
    orchestrator_passes_open(&pool->passes, context->data_dir);
    pool->arena = weir_arena_new();
    enum weir_status status = begin(pool, err);
    if (status != WEIR_OK) {
        orchestrator_pool_free(pool);
        return status;
    }
    pool->timer = weir_loop_timer(context->loop, POOL_ASK_MS, POOL_ASK_MS, on_time, pool);
    *ret_pool = pool;
    return WEIR_OK;
}

void orchestrator_pool_rest(struct pool *pool)
{
    if (pool == NULL)
        return;
    pool->is_resting = true;
    weir_loop_cancel(pool->context->loop, pool->timer);
    weir_loop_cancel(pool->context->loop, pool->look_timer);
    pool->timer = pool->look_timer = 0;
}

void orchestrator_pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    orchestrator_pool_rest(pool);
    if (pool->is_asking)
        weir_rpc_forget(pool->context->dispatcher, pool);
    weir_arena_free(pool->arena);
    orchestrator_passes_fini(&pool->passes);
    free(pool);
}

void orchestrator_pool_stir(struct pool *pool)
{
    if (pool != NULL && !pool->is_resting)
        ask(pool);
}

void orchestrator_pool_look(struct pool *pool)
{
    if (!pool->is_resting && pool->look_timer == 0)
        pool->look_timer = weir_loop_timer(pool->context->loop, 0, 0, on_look, pool);
}

enum weir_status orchestrator_pool_set(struct pool *pool, int64_t wanted, struct weir_error *err)
{
    const struct orchestrator_workers *bounds = &pool->bounds;
    const struct weir_strs none = {NULL, 0};
    struct pool_standing standing = pool->standing;
    if (pool->is_resting)
        return weir_fail(err, WEIR_UNAVAILABLE, "workers: the platform is being stopped");
    if (wanted != POOL_AUTO && (wanted < bounds->min || wanted > bounds->max))
        return weir_fail(err, WEIR_INVALID,
                         "workers: expected auto or a number from %u to %u, found %" PRId64
                         ": workers: {min: A, max: B} of the system file says from where to where",
                         bounds->min, bounds->max, wanted);
    standing.wanted = wanted;
    aim(pool, standing.targets[POOL_PLACE_POOL], standing.targets[POOL_PLACE_HOST], &standing);
    enum weir_status status = step_to(pool, &standing, "set", &none, err);
    if (status == WEIR_OK)
        ask(pool);
    return status;
}

struct pool_shown orchestrator_pool_shown(const struct pool *pool)
{
    return (struct pool_shown){
        .bounds = &pool->bounds,
        .standing = &pool->standing,
        .members = &pool->members,
        .advice = &pool->advice,
    };
}
