/* Trainers that stay (training.keep_warm). A trainer that has finished its run may ask for the next task instead of
 * leaving: it is spared its start, and so is the run. One waits for each pipeline and program, unless it was one of
 * several ranks; it holds no slot meanwhile, and its folder is empty (warm_folder.h).
 *
 *     WORKING  -- it has finished, and asks -->  IDLE  -- a run begins -->  WORKING, for that run
 *     IDLE     -- training.keep_warm is over, its pipeline rests or takes a model back, an erasure
 *              purges, a GPU is wanted -->  LEAVING
 *     WORKING  -- the same, while it has finished and not asked yet: it will be told to leave
 *
 * A process is known by its newest run, here, to the supervisor, and to the watch. Nothing is lost with an idle one;
 * one that ends before it has said anything of its work on the run it was given costs that run no retry, and one that
 * does not even take it up (run_request), because it is frozen, is ended soon (run_watch.h). */
#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/runs/run_state.h"
#include "orchestrator/runs/warm_folder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEARD_MS = 2 * WEIR_RPC_RESEND_MAX_MS, /* one that waits asks again sooner than this */
    LEAVE_MS = 2000,                       /* then it is ended */
    COMING_MS = 250, /* of waiting for one that is done and has not asked yet */
};

enum warm_state { WORKING, IDLE, LEAVING };

struct warm_trainer {
    LIST_ENTRY(warm_trainer) link;
    struct warm_trainers *all;
    enum warm_state state;
    int64_t run, pipeline;
    uint64_t session;   /* 0: it has not asked for its first task */
    uint64_t key;       /* key of its requests */
    bool is_at_trigger; /* its run is on the way from a trigger to a model */
    bool is_unwanted;   /* nobody waits for its request */
    uint64_t gpus;
    char *program; /* NULL: the built-in one */
    int64_t keep_ms;
    char *aside; /* its folder, once its run is finished; NULL: the run's own */
    struct weir_rpc_server *server;
    struct weir_route route; /* of its newest request, while it is idle */
    int64_t heard_ms;        /* by its newest request, or by its result */
    uint64_t timer;
};

struct warm_trainers {
    struct runs *runs;
    char **staying; /* names of programs that have asked for a next task */
    size_t staying_count, staying_capacity;
    LIST_HEAD(, warm_trainer) all;
};

struct warm_trainers *orchestrator_warm_new(struct runs *runs)
{
    struct warm_trainers *warm = weir_calloc(1, sizeof(*warm));

    warm->runs = runs;
    return warm;
}

static struct weir_loop *loop_of(const struct warm_trainer *trainer)
{
    return trainer->all->runs->context->loop;
}

static void forget(struct warm_trainer *trainer)
{
    struct weir_error err;

    if (trainer->aside != NULL && weir_remove_tree(trainer->aside, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "folder of a trainer stays", "because=\"%s\"", err.text);
    weir_loop_cancel(loop_of(trainer), trainer->timer);
    LIST_REMOVE(trainer, link);
    free(trainer->program);
    free(trainer->aside);
    free(trainer);
}

void orchestrator_warm_free(struct warm_trainers *warm)
{
    if (warm == NULL)
        return;
    while (!LIST_EMPTY(&warm->all))
        forget(LIST_FIRST(&warm->all));
    for (size_t i = 0; i < warm->staying_count; i++)
        free(warm->staying[i]);
    free(warm->staying);
    free(warm);
}

static struct warm_trainer *find(const struct warm_trainers *warm, int64_t run)
{
    struct warm_trainer *trainer;

    LIST_FOREACH (trainer, &warm->all, link)
        if (trainer->run == run)
            return trainer;
    return NULL;
}

/* Its run is, and it has not asked for another one yet. */
static bool is_finished(const struct warm_trainer *trainer)
{
    return trainer->state == WORKING && trainer->aside != NULL;
}

/* ---- at work ---- */

void orchestrator_warm_launched(struct warm_trainers *warm, const struct run *run)
{
    const char *program = orchestrator_run_program(run);

    if (run->group.ranks > 1)
        return;
    struct warm_trainer *trainer = weir_calloc(1, sizeof(*trainer));

    *trainer = (struct warm_trainer){
        .all = warm,
        .run = run->number,
        .pipeline = run->pipeline,
        .is_at_trigger = run->trigger != 0,
        .gpus = orchestrator_arbiter_gpus(warm->runs->arbiter, run->number),
        .program = program != NULL ? weir_strdup(program) : NULL,
        .keep_ms = run->outline.config->keep_warm_ms,
    };
    LIST_INSERT_HEAD(&warm->all, trainer, link);
}

void orchestrator_warm_hear(struct warm_trainers *warm, const struct run *run)
{
    struct warm_trainer *trainer = find(warm, run->number);

    if (trainer == NULL || trainer->state != WORKING)
        return;
    trainer->session = run->group.members[0].session;
    trainer->key = run->group.members[0].key;
}

void orchestrator_warm_finished(struct warm_trainers *warm, const struct run *run)
{
    struct warm_trainer *trainer = find(warm, run->number);
    const char *const names[2] = {weir_rows_text(run->row, 0, "model_file"),
                                  weir_rows_text(run->row, 0, "outputs_file")};
    struct weir_error err;

    if (trainer == NULL || trainer->state != WORKING || trainer->keep_ms == 0)
        return;
    char *aside =
        weir_format("%.*s/idle-%" PRId64, (int)(strrchr(run->directory, '/') - run->directory),
                    run->directory, run->number);
    if (orchestrator_warm_folder_part(run->directory, aside, names, &err) == WEIR_OK) {
        trainer->aside = aside;
        trainer->heard_ms = weir_loop_now_ms(loop_of(trainer));
        return;
    }
    weir_log(WEIR_LOG_WARN, "trainer does not stay", "run=%" PRId64 " because=\"%s\"", run->number,
             err.text);
    free(aside);
}

void orchestrator_warm_exited(struct warm_trainers *warm, int64_t run)
{
    struct warm_trainer *trainer = find(warm, run);

    if (trainer != NULL)
        forget(trainer);
}

/* ---- leaving ---- */

static void say_leave(struct weir_rpc_server *server, const struct weir_route *route)
{
    static const struct msg_run_is NOTHING = {.mode = "",
                                              .pipeline = "",
                                              .file = "",
                                              .start_from = "",
                                              .directory = "",
                                              .group = "",
                                              .options = ""};

    weir_rpc_reply(server, route, MSG_run_is, &NOTHING, NULL);
}

static void on_leave_time(void *owner)
{
    struct warm_trainer *trainer = owner;
    const struct runs *runs = trainer->all->runs;

    trainer->timer = 0;
    runs->trainers.end(runs->trainers.owner, trainer->run);
}

static void leave(struct warm_trainer *trainer, const char *why)
{
    if (trainer->state == LEAVING)
        return;
    weir_log(WEIR_LOG_INFO, "idle trainer is to leave", "run=%" PRId64 " because=\"%s\"",
             trainer->run, why);
    if (trainer->state == IDLE)
        say_leave(trainer->server, &trainer->route);
    trainer->state = LEAVING;
    weir_loop_cancel(loop_of(trainer), trainer->timer);
    trainer->timer = weir_loop_timer(loop_of(trainer), LEAVE_MS, 0, on_leave_time, trainer);
}

void orchestrator_warm_end(struct warm_trainers *warm, int64_t pipeline, const char *why)
{
    struct warm_trainer *trainer;

    LIST_FOREACH (trainer, &warm->all, link) {
        if (pipeline != 0 && pipeline != trainer->pipeline)
            continue;
        if (trainer->state == IDLE)
            leave(trainer, why);
        trainer->is_unwanted |= is_finished(trainer);
    }
}

bool orchestrator_warm_must_end(struct warm_trainers *warm, const struct run *run)
{
    uint64_t gpus = orchestrator_arbiter_gpus(warm->runs->arbiter, run->number);
    struct warm_trainer *trainer;
    bool must = false;

    LIST_FOREACH (trainer, &warm->all, link) {
        if (trainer->state == WORKING ||
            ((trainer->gpus & gpus) == 0 && trainer->run != run->number))
            continue;
        leave(trainer, "its place is another's");
        must = true;
    }
    return must;
}

/* ---- idle ---- */

static void on_kept_long_enough(void *owner)
{
    struct warm_trainer *trainer = owner;

    trainer->timer = 0;
    leave(trainer, "training.keep_warm is over");
}

static bool is_same(const struct warm_trainer *trainer, int64_t pipeline, const char *program)
{
    bool is_built_in = trainer->program == NULL || program == NULL;

    return trainer->pipeline == pipeline &&
           (is_built_in ? trainer->program == program : strcmp(trainer->program, program) == 0);
}

static bool has_other(const struct warm_trainer *asking)
{
    const struct warm_trainer *trainer;

    LIST_FOREACH (trainer, &asking->all->all, link)
        if (trainer->state == IDLE && is_same(trainer, asking->pipeline, asking->program))
            return true;
    return false;
}

/* Its run is finished, its files are out of its reach, and somebody may want it. */
static bool may_stay(const struct warm_trainer *trainer)
{
    struct weir_error err;

    return is_finished(trainer) && !trainer->is_unwanted && !trainer->all->runs->are_held &&
           !has_other(trainer) && orchestrator_warm_folder_empty(trainer->aside, &err) == WEIR_OK;
}

/* The built-in one does, and a program that has asked once. */
static bool is_staying(const struct warm_trainers *warm, const char *program)
{
    bool is = program == NULL;

    for (size_t i = 0; i < warm->staying_count && !is; i++)
        is = strcmp(warm->staying[i], program) == 0;
    return is;
}

static void note_staying(struct warm_trainers *warm, const char *program)
{
    if (is_staying(warm, program))
        return;
    warm->staying = weir_grow(warm->staying, warm->staying_count, &warm->staying_capacity,
                              sizeof(*warm->staying));
    warm->staying[warm->staying_count++] = weir_strdup(program);
}

static void begin_idle(struct warm_trainer *trainer)
{
    struct runs *runs = trainer->all->runs;

    note_staying(trainer->all, trainer->program);
    trainer->state = IDLE;
    trainer->timer =
        weir_loop_timer(loop_of(trainer), trainer->keep_ms, 0, on_kept_long_enough, trainer);
    weir_log(WEIR_LOG_INFO, "trainer stays", "run=%" PRId64, trainer->run);
    (void)orchestrator_run_watch_end(runs->watch, trainer->run, 0);
    orchestrator_run_release_slot(runs, trainer->run);
}

/* The answer to run_next may have been lost. */
static bool tell_again(const struct runs *runs, const struct msg_run_next *message,
                       const struct weir_request *request)
{
    struct run *run;

    LIST_FOREACH (run, &runs->all, link) {
        if (run->followed == (int64_t)message->run && !run->trained &&
            orchestrator_group_member(&run->group, 0, message->session,
                                      weir_rpc_quota_key(request)) != NULL) {
            orchestrator_run_tell(run, request->server, &request->route);
            return true;
        }
    }
    return false;
}

void orchestrator_run_next(struct runs *runs, struct weir_request *request)
{
    const struct msg_run_next *message = request->message;
    struct warm_trainer *trainer = find(runs->warm, (int64_t)message->run);
    bool is_known = trainer != NULL && trainer->session == message->session &&
                    trainer->key == weir_rpc_quota_key(request);

    if (is_known && (trainer->state == IDLE || may_stay(trainer))) {
        trainer->server = request->server;
        trainer->route = request->route;
        trainer->heard_ms = weir_loop_now_ms(loop_of(trainer));
        if (trainer->state == WORKING)
            begin_idle(trainer);
    } else if (is_known || !tell_again(runs, message, request)) {
        say_leave(request->server, &request->route);
    }
}

/* ---- given a run ---- */

/* A measurement leaves the trainer to the trigger that is under way, until that has one. */
static bool is_reserved(const struct warm_trainers *warm, const struct run *run)
{
    const struct runs *runs = warm->runs;
    const struct warm_trainer *trainer;

    if (run->trigger != 0 || runs->is_at_trigger == NULL ||
        !runs->is_at_trigger(runs->pipelines, run->pipeline))
        return false;
    LIST_FOREACH (trainer, &warm->all, link)
        if (trainer->state == WORKING && trainer->is_at_trigger &&
            is_same(trainer, run->pipeline, orchestrator_run_program(run)))
            return false;
    return true;
}

static struct warm_trainer *find_idle(const struct warm_trainers *warm, const struct run *run)
{
    uint64_t gpus = orchestrator_arbiter_gpus(warm->runs->arbiter, run->number);
    struct warm_trainer *trainer;

    LIST_FOREACH (trainer, &warm->all, link)
        if (trainer->state == IDLE && trainer->gpus == gpus &&
            is_same(trainer, run->pipeline, orchestrator_run_program(run)))
            return trainer;
    return NULL;
}

/* Between its result and its request lie a few milliseconds, or those that a busy machine makes of them. */
bool orchestrator_warm_is_coming(const struct warm_trainers *warm, const struct run *run)
{
    const char *program = orchestrator_run_program(run);
    const struct warm_trainer *trainer;

    if (find_idle(warm, run) != NULL || !is_staying(warm, program) || is_reserved(warm, run))
        return false;
    LIST_FOREACH (trainer, &warm->all, link)
        if (is_finished(trainer) && !trainer->is_unwanted &&
            is_same(trainer, run->pipeline, program) &&
            weir_loop_now_ms(loop_of(trainer)) - trainer->heard_ms < COMING_MS)
            return true;
    return false;
}

/* Its folder and its name become the run's. */
static enum weir_status hand_over(struct warm_trainer *trainer, struct run *run,
                                  struct weir_error *err)
{
    const struct orchestrator_trainers *trainers = &trainer->all->runs->trainers;
    const struct orchestrator_trainer wanted = orchestrator_run_trainer(run);
    char *base = NULL;
    enum weir_status status = trainers->pass(trainers->owner, trainer->run, &wanted, err);

    if (status != WEIR_OK)
        return status;
    (void)weir_fault("warm.named");
    int64_t before = trainer->run;
    trainer->run = run->number; /* whatever comes now, the process is known by it */
    status =
        orchestrator_warm_folder_give(trainer->aside, run->directory, run->start_from, &base, err);
    if (status != WEIR_OK)
        return status;
    free(run->start_from);
    run->start_from = base;
    run->followed = before;
    return WEIR_OK;
}

static void begin_work(struct warm_trainer *trainer, struct run *run)
{
    weir_loop_cancel(loop_of(trainer), trainer->timer);
    trainer->timer = 0;
    free(trainer->aside);
    trainer->aside = NULL;
    trainer->state = WORKING;
    trainer->is_at_trigger = run->trigger != 0;
    orchestrator_run_given(run, trainer->session, trainer->key);
    weir_log(WEIR_LOG_INFO, "trainer goes on", "run=%" PRId64 " after=%" PRId64, run->number,
             run->followed);
    orchestrator_run_tell(run, trainer->server, &trainer->route);
    (void)weir_fault("warm.given");
}

bool orchestrator_warm_give(struct warm_trainers *warm, struct run *run)
{
    struct warm_trainer *trainer = find_idle(warm, run);
    struct weir_error err;

    if (trainer == NULL || orchestrator_run_ranks(run) > 1 || warm->runs->trainers.pass == NULL ||
        is_reserved(warm, run))
        return false;
    if (weir_loop_now_ms(loop_of(trainer)) - trainer->heard_ms > HEARD_MS) {
        leave(trainer, "it says nothing");
        return false;
    }
    if (hand_over(trainer, run, &err) != WEIR_OK) {
        leave(trainer, err.text);
        return false;
    }
    begin_work(trainer, run);
    return true;
}
