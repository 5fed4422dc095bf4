/* Members and the cause of their end: see group.h. */
#include "orchestrator/runs/group.h"

#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/service/service.h"

#include <stdio.h>

enum {
    OURS_AFTER_MS = 1000, /* this long after SIGTERM a process may have been killed by us */
    WEIGHT_OURS = 1,
    WEIGHT_FIRST,
    WEIGHT_LOST, /* killed, or left without an answer: the others lost it, whoever was seen first */
    WEIGHT_SILENT,
};

void orchestrator_group_begin(struct run_group *group, uint32_t ranks)
{
    group->ranks = ranks;
    group->is_ending = false;
    group->cause = (struct group_cause){.weight = 0};
    for (uint32_t i = 0; i < ranks; i++)
        group->members[i] = (struct group_member){.is_here = true};
}

/* Its end came from outside, and is why others fail. No process is made to exit as unanswered by being told to end. */
static bool was_lost(const struct run_group *group, const struct run_exit *ended, int64_t now_ms)
{
    bool may_be_ours = group->is_ending && now_ms - group->ending_ms >= OURS_AFTER_MS;

    if (ended->by_signal)
        return ended->is_kill && !may_be_ours;
    return ended->code == WEIR_EXIT_UNANSWERED;
}

static unsigned weigh(const struct run_group *group, bool is_done, int64_t silent_ms,
                      const struct run_exit *ended, int64_t now_ms)
{
    if (silent_ms > 0)
        return WEIGHT_SILENT;
    if (is_done)
        return WEIGHT_OURS;
    if (was_lost(group, ended, now_ms))
        return WEIGHT_LOST;
    return group->is_ending ? WEIGHT_OURS : WEIGHT_FIRST;
}

void orchestrator_group_exited(struct run_group *group, uint32_t rank, int64_t silent_ms,
                               const struct run_exit *ended, int64_t now_ms)
{
    struct group_member *member = &group->members[rank];
    struct group_cause *cause = &group->cause;
    unsigned weight = weigh(group, member->is_done, silent_ms, ended, now_ms);

    member->is_here = false;
    if (!member->is_done) /* what it may have sent is not heard: all begin again without it */
        member->session = 0;
    if (weight > cause->weight) {
        *cause = (struct group_cause){
            .rank = rank, .weight = weight, .silent_ms = silent_ms, .ended = *ended};
        (void)snprintf(cause->status, sizeof(cause->status), "%s", ended->status);
        weir_utf8_print(cause->why, sizeof(cause->why), "%s", ended->why);
        weir_utf8_print(cause->said, sizeof(cause->said), "%s", ended->said);
        cause->ended.status = cause->status;
        cause->ended.why = cause->why;
        cause->ended.said = cause->said;
    }
    if (group->is_ending || member->is_done)
        return;
    group->is_ending = true;
    group->ending_ms = now_ms;
}

/* The text that says most. */
static const char *reason_of(const struct run_exit *ended, bool is_program)
{
    bool left = ended->code == 0 && !ended->by_signal;
    if (left)
        return "exit code 0, and its run was not done";
    if (ended->why[0] != '\0')
        return ended->why;
    bool tells_itself = !is_program && !ended->by_signal && ended->said[0] != '\0';
    return tells_itself ? ended->said : ended->status;
}

void orchestrator_group_explain(const struct run_exit *ended, bool is_program,
                                struct weir_error *ret_why)
{
    bool is_added = ended->said[0] != '\0' && (is_program || ended->code == 0);
    weir_ignore(weir_fail(ret_why, WEIR_INTERNAL, "%s%s%s", reason_of(ended, is_program),
                          is_added ? "; it said: " : "", is_added ? ended->said : ""));
}

bool orchestrator_group_is_done(const struct run_group *group)
{
    for (uint32_t i = 1; i < group->ranks; i++)
        if (group->members[i].is_here && !group->members[i].is_done)
            return false;
    return group->members[0].is_done;
}

bool orchestrator_group_is_gone(const struct run_group *group)
{
    for (uint32_t i = 0; i < group->ranks; i++)
        if (group->members[i].is_here)
            return false;
    return true;
}

struct group_member *orchestrator_group_member(struct run_group *group, uint32_t rank,
                                               uint64_t session, uint64_t key)
{
    struct group_member *member = rank < group->ranks ? &group->members[rank] : NULL;
    bool is_one =
        member != NULL && session != 0 && member->session == session && member->key == key;

    return is_one ? member : NULL;
}

struct group_member orchestrator_group_sum(const struct run_group *group)
{
    struct group_member sum = {.samples = 0};

    for (uint32_t i = 0; i < group->ranks; i++) {
        const struct group_member *member = &group->members[i];
        sum.samples += member->samples;
        sum.cpu_ns = weir_plus(sum.cpu_ns, member->cpu_ns);
        sum.busy_ns = weir_plus(sum.busy_ns, member->busy_ns / group->ranks);
        sum.wait_ns = weir_plus(sum.wait_ns, member->wait_ns / group->ranks);
    }
    return sum;
}
