/* Workers that a consumer cannot reach. */
#include "preprocess/dispatcher/unreached.h"

bool preprocess_unreached_is(const struct unreached *unreached, uint32_t worker, uint64_t session,
                             int64_t now_ms)
{
    size_t at = worker % POOL_CREW;
    return unreached != NULL && unreached->at[at].session == session &&
           now_ms < unreached->at[at].until_ms;
}

bool preprocess_unreached_note(struct unreached *unreached, uint32_t worker, uint64_t session,
                               int64_t now_ms)
{
    size_t at = worker % POOL_CREW;
    bool is_news = !preprocess_unreached_is(unreached, worker, session, now_ms);
    unreached->at[at].session = session;
    unreached->at[at].until_ms = now_ms + UNREACHED_MS;
    return is_news;
}
