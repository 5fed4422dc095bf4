/* Decisions about jobs of Slurm: see slurm_jobs.h. */
#include "orchestrator/launchers/slurm_jobs.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static struct slurm_group *find_group(const struct slurm_jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (strcmp(jobs->groups[i]->name, name) == 0)
            return jobs->groups[i];
    return NULL;
}

static struct slurm_task *find_task(const struct slurm_jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->count; i++)
        for (size_t j = 0; j < jobs->groups[i]->count; j++) {
            struct slurm_task *task = &jobs->groups[i]->tasks[j];
            if (task->name != NULL && strcmp(task->name, name) == 0)
                return task;
        }
    return NULL;
}

/* Empties the place of a task, which stays: indices of an array do not move. */
static void forget(struct slurm_task *task)
{
    free(task->name);
    *task = (struct slurm_task){.is_over = true, .is_told = true};
}

static void group_free(struct slurm_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        free(group->tasks[i].name);
    free(group->tasks);
    free(group->name);
    free(group);
}

void orchestrator_slurm_jobs_fini(struct slurm_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        group_free(jobs->groups[i]);
    free(jobs->groups);
}

bool orchestrator_slurm_jobs_has(const struct slurm_jobs *jobs, const char *group)
{
    return find_group(jobs, group) != NULL;
}

enum weir_status orchestrator_slurm_jobs_check(const struct slurm_jobs *jobs,
                                               const struct launcher_group *group,
                                               struct weir_error *err)
{
    if (strlen(group->name) >= SLURM_NAME_SIZE)
        return weir_fail(err, WEIR_LIMIT, "%s: a name of at most %d bytes is expected", group->name,
                         SLURM_NAME_SIZE - 1);
    if (find_group(jobs, group->name) != NULL)
        return weir_fail(err, WEIR_EXISTS, "%s: it is in Slurm already", group->name);
    for (size_t i = 0; i < group->count; i++) {
        const struct slurm_task *task = find_task(jobs, group->members[i].name);
        if (task != NULL && !task->is_over)
            return weir_fail(err, WEIR_EXISTS, "%s: process %s is in Slurm already", group->name,
                             task->name);
    }
    return WEIR_OK;
}

/* "weir-0011223344556677-12" -> "weir-0011223344556677-" */
static void learn_prefix(struct slurm_jobs *jobs, const char *name)
{
    const char *first = strchr(name, '-');
    const char *second = first != NULL ? strchr(first + 1, '-') : NULL;
    if (second != NULL)
        (void)snprintf(jobs->prefix, sizeof(jobs->prefix), "%.*s", (int)(second - name) + 1, name);
}

static void add_task(const struct slurm_jobs *jobs, struct slurm_task *task,
                     const struct orchestrator_child *member)
{
    struct slurm_task *before = find_task(jobs, member->name);
    if (before != NULL)
        forget(before); /* it is over: its name is given to another one */
    *task = (struct slurm_task){
        .name = weir_strdup(member->name),
        .state = LAUNCHER_PENDING,
        .exited = member->exited,
        .owner = member->owner,
    };
}

void orchestrator_slurm_jobs_add(struct slurm_jobs *jobs, const struct launcher_group *wanted,
                                 bool is_adopted)
{
    struct slurm_group *group = weir_calloc(1, sizeof(*group));
    *group = (struct slurm_group){
        .name = weir_strdup(wanted->name),
        .stage = is_adopted ? SLURM_UNSURE : SLURM_NEW,
        .is_gang = wanted->is_gang,
        .is_adopted = is_adopted,
        .each = wanted->each,
        .pause_ms = SLURM_SUBMIT_MS_MIN,
        .tasks = weir_calloc(wanted->count, sizeof(*group->tasks)),
        .count = wanted->count,
    };
    for (size_t i = 0; i < wanted->count; i++) {
        group->tasks[i] = (struct slurm_task){.is_over = true, .is_told = true};
        if (wanted->members[i].name != NULL)
            add_task(jobs, &group->tasks[i], &wanted->members[i]);
    }
    jobs->groups = weir_grow(jobs->groups, jobs->count, &jobs->capacity, sizeof(*jobs->groups));
    jobs->groups[jobs->count++] = group;
    learn_prefix(jobs, wanted->name);
}

/* Ends a task. One that would have waited for ever, and was cancelled here, keeps its reason. */
static void end_task(struct slurm_task *task, enum launcher_state state, const char *reason,
                     int64_t now_ms)
{
    task->is_over = true;
    task->over_ms = now_ms;
    task->state = task->is_stopping ? LAUNCHER_ENDED : task->is_hopeless ? LAUNCHER_REFUSED : state;
    if (!task->is_hopeless)
        weir_utf8_print(task->reason, sizeof(task->reason), "%s", reason);
}

void orchestrator_slurm_jobs_stop(struct slurm_jobs *jobs, const char *name, int64_t kill_ms)
{
    struct slurm_task *task = find_task(jobs, name);
    if (task == NULL)
        return;
    if (task->is_over && task->is_told) {
        forget(task);
        return;
    }
    if (!task->is_stopping) {
        task->is_stopping = true;
        task->kill_ms = kill_ms;
    }
}

enum weir_status orchestrator_slurm_jobs_rename(struct slurm_jobs *jobs, const char *from,
                                                const char *to, struct weir_error *err)
{
    struct slurm_task *task = find_task(jobs, from), *other = find_task(jobs, to);
    if (task == NULL || task->state != LAUNCHER_RUNNING || task->is_stopping)
        return weir_fail(err, WEIR_NOT_FOUND, "process %s does not run in Slurm", from);
    if (other != NULL && !other->is_over)
        return weir_fail(err, WEIR_EXISTS, "process %s is in Slurm already", to);
    if (other != NULL)
        forget(other);
    free(task->name);
    task->name = weir_strdup(to);
    return WEIR_OK;
}

void orchestrator_slurm_jobs_stop_all(struct slurm_jobs *jobs, int64_t kill_ms)
{
    for (size_t i = 0; i < jobs->count; i++)
        for (size_t j = 0; j < jobs->groups[i]->count; j++)
            if (jobs->groups[i]->tasks[j].name != NULL)
                orchestrator_slurm_jobs_stop(jobs, jobs->groups[i]->tasks[j].name, kill_ms);
}

/* ---- the next command ---- */

static void add_target(struct slurm_order *order, const char *name, uint64_t job, int64_t index)
{
    char *target = order->targets[order->count++];
    (void)snprintf(order->name, sizeof(order->name), "%s", name);
    (void)snprintf(target, SLURM_TARGET_SIZE,
                   index == SLURM_NO_INDEX ? "%" PRIu64 : "%" PRIu64 "_%" PRId64, job, index);
}

/* Returns the name for scancel; "" for a task of an array that waits: given one, scancel ends all that wait. */
static const char *name_to_ask_for(const char *name, int64_t index, enum launcher_state state)
{
    return index == SLURM_NO_INDEX || state == LAUNCHER_RUNNING ? name : "";
}

/* Returns the order to scancel that is due for a task, or SLURM_WAIT. */
static enum slurm_order_kind due(const struct slurm_group *group, const struct slurm_task *task,
                                 int64_t now_ms)
{
    bool is_there = task->name != NULL && group->stage == SLURM_SUBMITTED && task->is_seen &&
                    !task->is_over && !task->is_cancelled;
    if (!is_there)
        return SLURM_WAIT;
    if (task->is_hopeless)
        return SLURM_CANCEL;
    if (!task->is_stopping)
        return SLURM_WAIT;
    if (task->state != LAUNCHER_RUNNING || now_ms >= task->kill_ms)
        return SLURM_CANCEL;
    return task->is_signalled ? SLURM_WAIT : SLURM_SIGNAL;
}

/* Gathers the tasks of a group that `kind` is due for and that one name stands for; those of a gang as one. */
static void gather_of(struct slurm_group *group, enum slurm_order_kind kind, int64_t now_ms,
                      struct slurm_order *order)
{
    for (size_t i = 0; i < group->count && order->count < SLURM_TARGETS_MAX; i++) {
        struct slurm_task *task = &group->tasks[i];
        int64_t index = group->is_gang ? SLURM_NO_INDEX : (int64_t)i;
        const char *name = name_to_ask_for(group->name, index, task->state);
        bool is_of_next = order->count > 0 && strcmp(order->name, name) != 0;
        if (due(group, task, now_ms) != kind || is_of_next)
            continue;
        if (!group->is_gang || order->count == 0)
            add_target(order, name, group->job, index);
        task->is_signalled = true;
        task->is_cancelled = task->is_cancelled || kind == SLURM_CANCEL;
    }
    if (order->count > 0) {
        order->kind = kind;
        order->is_gang = group->is_gang;
    }
}

static void gather(struct slurm_jobs *jobs, enum slurm_order_kind kind, int64_t now_ms,
                   struct slurm_order *order)
{
    for (size_t i = 0; i < jobs->count && order->kind == SLURM_WAIT; i++)
        gather_of(jobs->groups[i], kind, now_ms, order);
}

/* True when something is to be ended. */
static bool is_any_due(const struct slurm_jobs *jobs, int64_t now_ms)
{
    for (size_t i = 0; i < jobs->count; i++)
        for (size_t j = 0; j < jobs->groups[i]->count; j++)
            if (due(jobs->groups[i], &jobs->groups[i]->tasks[j], now_ms) != SLURM_WAIT)
                return true;
    return jobs->orphan_count > 0;
}

/* Gathers the orphans that one name stands for. */
static void gather_orphans(struct slurm_jobs *jobs, struct slurm_order *order)
{
    size_t kept = 0;
    for (size_t i = 0; i < jobs->orphan_count; i++) {
        const struct slurm_sight orphan = jobs->orphans[i];
        const char *name = name_to_ask_for(orphan.name, orphan.index, orphan.state);
        if (order->count == 0 || strcmp(order->name, name) == 0)
            add_target(order, name, orphan.job, orphan.index);
        else
            jobs->orphans[kept++] = orphan;
    }
    jobs->orphan_count = kept;
    if (order->count > 0)
        order->kind = SLURM_CANCEL;
}

/* Finds what is to be ended of all that squeue has just shown: orphans, then tasks to cancel, then tasks to signal. */
static void find_to_end(struct slurm_jobs *jobs, int64_t now_ms, struct slurm_order *order)
{
    gather_orphans(jobs, order);
    if (order->kind != SLURM_WAIT)
        return;
    gather(jobs, SLURM_CANCEL, now_ms, order);
    gather(jobs, SLURM_SIGNAL, now_ms, order);
}

/* Ends the members that were to end before the group was submitted: they never begin. Returns false when no other is
 * left. */
static bool end_unwanted(struct slurm_group *group, int64_t now_ms)
{
    size_t wanted = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct slurm_task *task = &group->tasks[i];
        if (task->name != NULL && task->is_stopping && !task->is_over)
            end_task(task, LAUNCHER_ENDED, "", now_ms);
        wanted += task->name != NULL && !task->is_over;
    }
    return wanted > 0;
}

static struct slurm_group *to_submit(struct slurm_jobs *jobs, int64_t now_ms)
{
    for (size_t i = 0; i < jobs->count; i++) {
        struct slurm_group *group = jobs->groups[i];
        if (group->stage == SLURM_NEW && now_ms >= group->submit_ms && end_unwanted(group, now_ms))
            return group;
    }
    return NULL;
}

static bool is_settled(const struct slurm_group *group)
{
    bool is_settled = group->stage == SLURM_SUBMITTED;
    for (size_t i = 0; is_settled && i < group->count; i++) {
        const struct slurm_task *task = &group->tasks[i];
        is_settled = task->name == NULL || task->is_over ||
                     (task->state == LAUNCHER_RUNNING && !task->is_stopping && task->missing == 0);
    }
    return is_settled;
}

static bool is_look_due(const struct slurm_jobs *jobs, int64_t now_ms)
{
    int64_t pause_ms = SLURM_LOOK_IDLE_MS;
    for (size_t i = 0; i < jobs->count; i++)
        if (!is_settled(jobs->groups[i]))
            pause_ms = SLURM_LOOK_MS;
    return now_ms - jobs->looked_ms >= pause_ms;
}

struct slurm_order orchestrator_slurm_jobs_next(struct slurm_jobs *jobs, int64_t now_ms)
{
    struct slurm_order order = {.kind = SLURM_WAIT};
    bool is_fresh = jobs->seen_ms != 0 && now_ms - jobs->seen_ms <= SLURM_FRESH_MS;
    bool is_to_look =
        (jobs->count > 0 && jobs->looked_ms == 0) || (!is_fresh && is_any_due(jobs, now_ms));
    if (!is_to_look)
        find_to_end(jobs, now_ms, &order);
    if (order.kind != SLURM_WAIT)
        return order;
    order.group = is_to_look ? NULL : to_submit(jobs, now_ms);
    if (order.group != NULL) {
        order.kind = SLURM_SUBMIT;
        order.group->stage = SLURM_SUBMITTING;
    } else if (is_to_look || (jobs->count > 0 && is_look_due(jobs, now_ms))) {
        order.kind = SLURM_LOOK;
        jobs->looked_ms = now_ms;
    }
    return order;
}

/* ---- answers ---- */

void orchestrator_slurm_jobs_undone(struct slurm_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        for (size_t j = 0; j < jobs->groups[i]->count; j++) {
            struct slurm_task *task = &jobs->groups[i]->tasks[j];
            task->is_signalled = task->is_cancelled = false;
        }
    jobs->looked_ms = jobs->seen_ms = 0;
}

void orchestrator_slurm_jobs_submitted(struct slurm_jobs *jobs, const char *name, uint64_t job,
                                       const char *complaint, int64_t now_ms)
{
    struct slurm_group *group = find_group(jobs, name);
    if (group == NULL)
        return;
    group->stage = job != 0 ? SLURM_SUBMITTED : SLURM_UNSURE;
    group->job = job;
    group->missing = 0;
    weir_utf8_print(group->complaint, sizeof(group->complaint), "%s", complaint);
    jobs->looked_ms = now_ms - SLURM_LOOK_MS + SLURM_LOOK_MS / 4; /* Slurm has begun it soon */
}

static void end_all(struct slurm_group *group, enum launcher_state state, const char *reason,
                    int64_t now_ms)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->tasks[i].name != NULL && !group->tasks[i].is_over)
            end_task(&group->tasks[i], state, reason, now_ms);
}

/* Submits a group again that Slurm certainly does not know, later; or ends it, where that would be in vain. */
static void retry_or_end(struct slurm_group *group, int64_t now_ms)
{
    char reason[SLURM_REASON_SIZE];
    if (group->is_adopted) {
        end_all(group, LAUNCHER_LOST, "Slurm knows nothing of it", now_ms);
    } else if (group->complaint[0] == '\0' || orchestrator_slurm_is_passing(group->complaint)) {
        group->stage = SLURM_NEW;
        group->submit_ms = now_ms + group->pause_ms;
        group->pause_ms *= 2;
        if (group->pause_ms > SLURM_SUBMIT_MS_MAX)
            group->pause_ms = SLURM_SUBMIT_MS_MAX;
    } else {
        weir_utf8_print(reason, sizeof(reason), "Slurm refuses it: %s", group->complaint);
        end_all(group, LAUNCHER_REFUSED, reason, now_ms);
    }
}

static void look_for(struct slurm_group *group, const struct slurm_sight *sights, size_t count,
                     int64_t now_ms)
{
    for (size_t i = 0; i < count; i++) {
        bool is_first = group->job == 0 || sights[i].job < group->job;
        if (strcmp(sights[i].name, group->name) == 0 && is_first)
            group->job = sights[i].job;
    }
    if (group->job != 0)
        group->stage = SLURM_SUBMITTED;
    else if (++group->missing >= SLURM_MISSING_MAX)
        retry_or_end(group, now_ms);
}

static void see(struct slurm_task *task, const struct slurm_sight *sight, int64_t now_ms)
{
    task->missing = 0;
    task->is_seen = true;
    weir_utf8_print(task->host, sizeof(task->host), "%s", sight->host);
    if (sight->is_over) {
        end_task(task, sight->state, sight->reason, now_ms);
        return;
    }
    task->hopeless = sight->is_hopeless ? task->hopeless + 1 : 0;
    task->is_hopeless = task->hopeless >= SLURM_HOPELESS_MAX;
    task->state = sight->state;
    weir_utf8_print(task->reason, sizeof(task->reason), "%s", sight->reason);
}

static const struct slurm_sight *sight_of(const struct slurm_group *group, size_t index,
                                          const struct slurm_sight *sights, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sights[i].job == group->job && strcmp(sights[i].name, group->name) == 0 &&
            (group->is_gang || sights[i].index == (int64_t)index))
            return &sights[i];
    return NULL;
}

static void see_tasks(struct slurm_group *group, const struct slurm_sight *sights, size_t count,
                      int64_t now_ms)
{
    for (size_t i = 0; i < group->count; i++) {
        struct slurm_task *task = &group->tasks[i];
        const struct slurm_sight *sight = sight_of(group, i, sights, count);
        task->is_seen = false;
        if (task->name == NULL || task->is_over)
            continue;
        if (sight != NULL)
            see(task, sight, now_ms);
        else if (++task->missing >= SLURM_MISSING_MAX)
            end_task(task, LAUNCHER_LOST, "Slurm has forgotten it", now_ms);
    }
}

static bool is_awaited(const struct slurm_group *group, const struct slurm_sight *sight)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct slurm_task *task = &group->tasks[i];
        if ((group->is_gang || sight->index == (int64_t)i) && task->name != NULL && !task->is_over)
            return true;
    }
    return false;
}

static void note_orphan(struct slurm_jobs *jobs, const struct slurm_sight *sight, int64_t index)
{
    for (size_t i = 0; i < jobs->orphan_count; i++)
        if (jobs->orphans[i].job == sight->job && jobs->orphans[i].index == index)
            return; /* another task of one that goes as a whole */
    if (jobs->orphan_count == SLURM_TARGETS_MAX)
        return; /* the next look shows the others */
    jobs->orphans[jobs->orphan_count] = *sight;
    jobs->orphans[jobs->orphan_count++].index = index;
}

/* Notes a job of this platform's that nobody waits for: of no group, the second one of its name, or back in the queue
 * after it was over here. */
static void look_for_orphan(struct slurm_jobs *jobs, const struct slurm_sight *sight)
{
    if (sight->is_over || jobs->prefix[0] == '\0' ||
        strncmp(sight->name, jobs->prefix, strlen(jobs->prefix)) != 0)
        return;
    const struct slurm_group *group = find_group(jobs, sight->name);
    bool is_ours = group != NULL && (group->stage != SLURM_SUBMITTED || group->job == sight->job);
    if (is_ours && (group->stage != SLURM_SUBMITTED || is_awaited(group, sight)))
        return;
    note_orphan(jobs, sight, is_ours ? sight->index : SLURM_NO_INDEX /* the whole of it */);
}

void orchestrator_slurm_jobs_seen(struct slurm_jobs *jobs, const struct slurm_sight *sights,
                                  size_t count, int64_t now_ms)
{
    jobs->seen_ms = now_ms;
    jobs->orphan_count = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        struct slurm_group *group = jobs->groups[i];
        if (group->stage == SLURM_UNSURE)
            look_for(group, sights, count, now_ms);
        if (group->stage == SLURM_SUBMITTED)
            see_tasks(group, sights, count, now_ms);
    }
    for (size_t i = 0; i < count; i++)
        look_for_orphan(jobs, &sights[i]);
}

/* ---- the end ---- */

static bool is_left(const struct slurm_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->tasks[i].name != NULL)
            return true;
    return group->stage == SLURM_SUBMITTING;
}

void orchestrator_slurm_jobs_clean(struct slurm_jobs *jobs, int64_t now_ms,
                                   void (*drop)(void *owner, const struct slurm_group *group),
                                   void *owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        struct slurm_group *group = jobs->groups[i];
        for (size_t j = 0; j < group->count; j++) {
            struct slurm_task *task = &group->tasks[j];
            if (task->is_over && task->is_told &&
                (task->is_stopping || now_ms - task->over_ms >= SLURM_KEEP_MS))
                forget(task);
        }
        if (is_left(group)) {
            jobs->groups[kept++] = group;
        } else {
            drop(owner, group);
            group_free(group);
        }
    }
    jobs->count = kept;
}
