/* Silence of workers, and what it means. */
#include "trainer_client/reach.h"

bool trainer_reach_is_due(const struct reach *reach, int64_t now_ms)
{
    return reach->is_far && !reach->is_asked && now_ms - reach->heard_ms >= REACH_ASK_MS;
}

bool trainer_reach_is_lost(const struct reach *reach, int64_t now_ms)
{
    return reach->is_far && now_ms - reach->heard_ms >= REACH_LOST_MS;
}
