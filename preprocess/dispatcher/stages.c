/* The stage that a trainer waits for. */
#include "preprocess/dispatcher/stages.h"

#include "core/base/number.h"

#include <stddef.h>

enum { IDLE = 10 /* times as long as workers are busy, all together */ };

static struct stages_spent since(const struct stages *stages, const struct stages_spent *now)
{
    return (struct stages_spent){
        .wait_ns = now->wait_ns - stages->before.wait_ns,
        .read_ns = now->read_ns - stages->before.read_ns,
        .operator_ns = now->operator_ns - stages->before.operator_ns,
        .queued_ns = now->queued_ns - stages->before.queued_ns,
    };
}

/* A trainer that waits while batches are ready waits for their way to it; while workers have next to nothing to do, for
 * storage to tell them where samples are; else for whoever spends most. */
static const char *longest(const struct stages_spent *spent)
{
    int64_t making_ns = weir_plus(spent->read_ns, spent->operator_ns);
    if (spent->wait_ns / IDLE > weir_plus(making_ns, spent->queued_ns))
        return "locate";
    if (spent->queued_ns > making_ns)
        return "transfer";
    return spent->read_ns > spent->operator_ns ? "read" : "operators";
}

void preprocess_stages_look(struct stages *stages, const struct stages_spent *spent, int64_t now_ms)
{
    int64_t passed_ms = now_ms - stages->since_ms;
    struct stages_spent part = since(stages, spent);
    bool is_whole = stages->since_ms > 0 && part.wait_ns >= 0 && part.read_ns >= 0 &&
                    part.operator_ns >= 0 && part.queued_ns >= 0;
    if (is_whole && passed_ms < STAGES_LOOK_MS)
        return;
    if (is_whole) {
        int64_t permille = part.wait_ns / 1000 / passed_ms;
        stages->stall_permille = (uint32_t)(permille < 1000 ? permille : 1000);
        bool waits = stages->stall_permille >= STAGES_STALL_PERMILLE;
        stages->stage = waits ? longest(&part) : "trainer";
    }
    stages->since_ms = now_ms;
    stages->before = *spent;
}

const char *preprocess_stages_name(const struct stages *stages)
{
    return stages->stage != NULL ? stages->stage : "";
}

bool preprocess_stages_are_known(const struct stages *stages, int64_t now_ms)
{
    return stages->stage != NULL && now_ms - stages->since_ms < STAGES_FORGET_MS;
}
