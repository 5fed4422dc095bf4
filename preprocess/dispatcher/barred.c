/* Workers that are leased nothing of a job. */
#include "preprocess/dispatcher/barred.h"

bool preprocess_barred_is(const struct barred *barred, uint32_t slot, uint64_t session,
                          int64_t now_ms)
{
    size_t at = slot % POOL_CREW;
    return barred != NULL && barred->at[at].session == session && now_ms < barred->at[at].until_ms;
}

bool preprocess_barred_note(struct barred *barred, const struct pool_worker *worker, uint32_t slot,
                            int64_t now_ms, int64_t for_ms)
{
    size_t at = slot % POOL_CREW;
    bool is_news = !preprocess_barred_is(barred, slot, worker->session, now_ms);
    if (is_news || barred->at[at].until_ms < now_ms + for_ms)
        barred->at[at].until_ms = now_ms + for_ms;
    barred->at[at].session = worker->session;
    return is_news;
}
