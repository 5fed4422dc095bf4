/* A list of processes, looked at once a second. */
#include "orchestrator/runs/run_watch.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    LOOK_MS = 1000,
    LEAVES_MS = 30000,
    TAKE_UP_MS = 10000, /* the client library says at once that it has a task */
};

struct watched {
    int64_t run;
    uint32_t rank;
    int64_t patience_ms;
    int64_t first_ms; /* for its first word; 0: no less than for the others */
    int64_t quiet_ms; /* since it was heard, or was done */
    bool leaves, reported, is_silent;
};

struct run_watch {
    struct weir_loop *loop;
    const struct orchestrator_trainers *trainers;
    struct watched *of;
    size_t count, capacity;
    uint64_t timer;
};

static struct watched *find(const struct run_watch *watch, int64_t run, uint32_t rank)
{
    for (size_t i = 0; i < watch->count; i++) {
        if (watch->of[i].run == run && watch->of[i].rank == rank)
            return &watch->of[i];
    }
    return NULL;
}

static void tell_to_end(const struct run_watch *watch, struct watched *watched)
{
    weir_log(WEIR_LOG_WARN, "trainer is ended",
             "run=%" PRId64 " rank=%u because=\"%s for %" PRId64 " s\"", watched->run,
             watched->rank, watched->leaves ? "it is done and has not left" : "it has said nothing",
             watched->quiet_ms / 1000);
    watched->is_silent = !watched->leaves;
    for (size_t i = 0; i < watch->count; i++)
        watch->of[i].reported |= watch->of[i].run == watched->run;
    watch->trainers->end(watch->trainers->owner, watched->run);
}

static bool waits(const struct run_watch *watch, const struct watched *watched)
{
    const struct orchestrator_trainers *trainers = watch->trainers;
    return trainers->waits != NULL && trainers->waits(trainers->owner, watched->run, watched->rank);
}

static int64_t patience_ms(const struct watched *watched)
{
    bool is_first = watched->first_ms > 0 && watched->first_ms < watched->patience_ms;

    if (watched->leaves)
        return LEAVES_MS;
    return is_first ? watched->first_ms : watched->patience_ms;
}

static void look(void *owner)
{
    const struct run_watch *watch = owner;
    for (size_t i = 0; i < watch->count; i++) {
        struct watched *watched = &watch->of[i];
        watched->quiet_ms = waits(watch, watched) ? 0 : watched->quiet_ms + LOOK_MS;
        if (!watched->reported && watched->quiet_ms >= patience_ms(watched))
            tell_to_end(watch, watched);
    }
}

struct run_watch *orchestrator_run_watch_new(struct weir_loop *loop,
                                             const struct orchestrator_trainers *trainers)
{
    struct run_watch *watch = weir_calloc(1, sizeof(*watch));
    watch->loop = loop;
    watch->trainers = trainers;
    watch->timer = weir_loop_timer(loop, LOOK_MS, LOOK_MS, look, watch);
    return watch;
}

void orchestrator_run_watch_free(struct run_watch *watch)
{
    if (watch == NULL)
        return;
    weir_loop_cancel(watch->loop, watch->timer);
    free(watch->of);
    free(watch);
}

void orchestrator_run_watch_begin(struct run_watch *watch, int64_t run, uint32_t rank,
                                  int64_t patience_ms)
{
    watch->of = weir_grow(watch->of, watch->count, &watch->capacity, sizeof(*watch->of));
    watch->of[watch->count++] =
        (struct watched){.run = run, .rank = rank, .patience_ms = patience_ms};
}

void orchestrator_run_watch_given(struct run_watch *watch, int64_t run, int64_t patience_ms)
{
    orchestrator_run_watch_begin(watch, run, 0, patience_ms);
    watch->of[watch->count - 1].first_ms = TAKE_UP_MS;
}

bool orchestrator_run_watch_has(const struct run_watch *watch, int64_t run)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->of[i].run == run)
            return true;
    return false;
}

void orchestrator_run_watch_hear(struct run_watch *watch, int64_t run, uint32_t rank)
{
    struct watched *watched = find(watch, run, rank);
    if (watched == NULL || watched->leaves)
        return;
    watched->quiet_ms = 0;
    watched->first_ms = 0;
}

void orchestrator_run_watch_leaves(struct run_watch *watch, int64_t run)
{
    for (size_t i = 0; i < watch->count; i++) {
        struct watched *watched = &watch->of[i];
        if (watched->run != run || watched->leaves)
            continue;
        watched->quiet_ms = 0;
        watched->leaves = true;
    }
}

int64_t orchestrator_run_watch_end(struct run_watch *watch, int64_t run, uint32_t rank)
{
    struct watched *watched = find(watch, run, rank);
    if (watched == NULL)
        return 0;
    int64_t silent_ms = watched->is_silent ? watched->quiet_ms : 0;
    *watched = watch->of[--watch->count];
    return silent_ms;
}

void orchestrator_run_watch_each(const struct run_watch *watch,
                                 void (*each)(void *owner, int64_t run, uint32_t rank), void *owner)
{
    for (size_t i = 0; i < watch->count; i++)
        each(owner, watch->of[i].run, watch->of[i].rank);
}
