/* Two passes: each member by what is seen of it, then each place by its target. */
#include "orchestrator/pool/plan.h"

#include "core/base/utf8.h"

#include <stdio.h>
#include <string.h>

static void enter(struct pool_member *member, const struct pool_view *view, enum pool_state state,
                  const char *why)
{
    member->state = state;
    member->since_ms = view->now_ms;
    member->since_us = view->now_us;
    weir_utf8_print(member->why, sizeof(member->why), "%s", why);
}

static bool is_there(const struct pool_sight *sight)
{
    return sight->state == LAUNCHER_PENDING || sight->state == LAUNCHER_RUNNING;
}

/* ---- by what is seen ---- */

static void miss(struct pool_member *member, const struct pool_view *view,
                 const struct pool_sight *sight)
{
    static const char *const WORDS[] = {
        [LAUNCHER_DRAINED] = "its machine was taken away",
        [LAUNCHER_LOST] = "it is gone",
        [LAUNCHER_REFUSED] = "its launcher does not start it",
        [LAUNCHER_ENDED] = "it ended by itself",
    };
    bool is_refused = sight->state == LAUNCHER_REFUSED;
    enter(member, view, is_refused ? POOL_REFUSED : POOL_LOST,
          sight->reason[0] != '\0' ? sight->reason : WORDS[sight->state]);
}

static void watch(struct pool_member *member, const struct pool_view *view,
                  const struct pool_sight *sight)
{
    if (!is_there(sight))
        miss(member, view, sight);
    else if (sight->state == LAUNCHER_RUNNING && member->state == POOL_STARTING)
        enter(member, view, POOL_RUNNING, "");
    else if (sight->state == LAUNCHER_PENDING &&
             (member->state == POOL_RUNNING ||
              (sight->reason[0] != '\0' && strcmp(member->why, sight->reason) != 0)))
        enter(member, view, POOL_STARTING, sight->reason);
}

/* Returns true when the member is to go: somebody has named another launcher since. */
static bool leave_launcher(struct pool_member *member, const struct pool_view *view)
{
    char why[64];
    if (member->group == 0 || strcmp(member->launcher, view->launchers[member->place]) == 0)
        return false;
    weir_utf8_print(why, sizeof(why), "its launcher, %s, is no longer that of its place",
                    member->launcher);
    enter(member, view, POOL_ENDING, why);
    return true;
}

static void drain(struct pool_member *member, const struct pool_view *view,
                  const struct pool_sight *sight)
{
    if (sight->is_drained)
        enter(member, view, POOL_ENDING, "");
    else if (view->now_ms - member->since_ms >= POOL_DRAIN_MS)
        enter(member, view, POOL_ENDING, "it still held batches when patience was over");
}

/* Returns false when nothing of the member is left. */
static bool step(struct pool_member *member, const struct pool_view *view,
                 const struct pool_sight *sight)
{
    bool is_over = view->now_ms - member->since_ms >= POOL_AGAIN_MS || member->since_ms == 0;
    switch (member->state) {
    case POOL_STARTING:
    case POOL_RUNNING:
        if (!leave_launcher(member, view))
            watch(member, view, sight);
        return true;
    case POOL_REFUSED:
    case POOL_LOST:
        if (is_over)
            member->group = 0; /* the second pass asks for it again */
        return true;
    case POOL_DRAINING:
        drain(member, view, sight);
        return is_there(sight);
    case POOL_ENDING:
        return is_there(sight);
    case POOL_STATES:
        break;
    }
    weir_require(false);
}

/* ---- by the target ---- */

static void drop(struct pool_members *members, const struct pool_member *member)
{
    size_t at = (size_t)(member - members->at);
    members->count--;
    for (size_t i = at; i < members->count; i++)
        members->at[i] = members->at[i + 1];
}

/* The member of the place and state with the lowest number, or NULL. */
static struct pool_member *lowest(struct pool_members *members, enum pool_place place,
                                  enum pool_state state)
{
    struct pool_member *found = NULL;
    for (size_t i = 0; i < members->count; i++) {
        struct pool_member *member = &members->at[i];
        if (member->place == place && member->state == state &&
            (found == NULL || member->number < found->number))
            found = member;
    }
    return found;
}

/* The one that is missed least: one that does not work anyhow, or else the last of them. */
static struct pool_member *least(struct pool_members *members, enum pool_place place)
{
    struct pool_member *found = NULL;
    for (size_t i = 0; i < members->count; i++) {
        struct pool_member *member = &members->at[i];
        if (member->place != place || !orchestrator_pool_is_present(member))
            continue;
        bool is_idle = member->state == POOL_REFUSED || member->state == POOL_LOST;
        bool found_idle =
            found != NULL && (found->state == POOL_REFUSED || found->state == POOL_LOST);
        if (found == NULL || is_idle > found_idle ||
            (is_idle == found_idle && member->number > found->number))
            found = member;
    }
    return found;
}

static void shrink(const struct pool_view *view, enum pool_place place,
                   struct pool_members *members)
{
    uint32_t present = orchestrator_pool_present(members, place);
    for (; present > view->targets[place]; present--) {
        struct pool_member *member = least(members, place);
        if (member->state == POOL_REFUSED || member->state == POOL_LOST)
            drop(members, member);
        else
            enter(member, view, POOL_DRAINING, "");
    }
}

static void add(const struct pool_view *view, enum pool_place place, struct pool_members *members)
{
    uint32_t number = 1;
    while (orchestrator_pool_find(members, place, number) != NULL)
        number++;
    struct pool_member *member = &members->at[members->count++];
    *member = (struct pool_member){.place = place, .number = number};
    enter(member, view, POOL_STARTING, "");
}

static uint32_t count_all(const struct pool_members *members, enum pool_place place)
{
    uint32_t count = 0;
    for (size_t i = 0; i < members->count; i++)
        count += members->at[i].place == place;
    return count;
}

/* One that is to end is taken back before another one is started; and there are never more processes than may be, so
 * that one is started only when another one is gone. */
static void grow(const struct pool_view *view, enum pool_place place, struct pool_members *members)
{
    uint32_t present = orchestrator_pool_present(members, place);
    for (; present < view->targets[place]; present++) {
        struct pool_member *member = lowest(members, place, POOL_DRAINING);
        if (member != NULL)
            enter(member, view, POOL_RUNNING, "");
        else if (count_all(members, place) < view->max[place] && members->count < POOL_MEMBERS_MAX)
            add(view, place, members);
    }
}

static void gather_group(const struct pool_view *view, enum pool_place place,
                         struct pool_members *members)
{
    int64_t group = members->groups + 1;
    for (size_t i = 0; i < members->count; i++) {
        struct pool_member *member = &members->at[i];
        if (member->place != place || member->group != 0)
            continue;
        member->state = POOL_STARTING; /* why it is started again is kept until it runs */
        member->since_ms = view->now_ms;
        member->since_us = view->now_us;
        member->group = members->groups = group;
        (void)snprintf(member->launcher, sizeof(member->launcher), "%s", view->launchers[place]);
    }
}

void orchestrator_pool_plan(const struct pool_view *view, struct pool_members *members)
{
    size_t kept = 0;
    for (size_t i = 0; i < members->count; i++)
        if (step(&members->at[i], view, &view->sights[i]))
            members->at[kept++] = members->at[i];
    members->count = kept;
    for (enum pool_place place = 0; place < POOL_PLACES; place++) {
        shrink(view, place, members);
        grow(view, place, members);
        gather_group(view, place, members);
    }
}
