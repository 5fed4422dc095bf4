/* Which worker makes what of a production. */
#include "preprocess/dispatcher/production.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdbool.h>
#include <stdlib.h>

void preprocess_productions_fini(struct productions *productions)
{
    for (size_t i = 0; i < productions->count; i++)
        free(productions->of[i]);
    free(productions->of);
    *productions = (struct productions){0};
}

struct production *preprocess_production_join(struct productions *productions, uint64_t key)
{
    size_t at = 0;
    while (at < productions->count && productions->of[at]->key != key)
        at++;
    if (at == productions->count) {
        productions->of = weir_grow(productions->of, productions->count, &productions->capacity,
                                    sizeof(struct production *));
        productions->of[productions->count] = weir_calloc(1, sizeof(struct production));
        productions->of[productions->count++]->key = key;
    }
    productions->of[at]->jobs++;
    return productions->of[at];
}

void preprocess_production_leave(struct productions *productions, struct production *production)
{
    size_t at = 0;
    if (production == NULL || --production->jobs > 0)
        return;
    while (productions->of[at] != production)
        at++;
    productions->of[at] = productions->of[--productions->count];
    free(production);
}

static size_t place_of(uint32_t rank, uint64_t group)
{
    return weir_mix64(group ^ (uint64_t)rank << 48) % PRODUCTION_WINDOW;
}

static bool is_lately(const struct production_maker *maker, int64_t now_ms)
{
    return now_ms - maker->leased_ms < PRODUCTION_KNOWN_MS;
}

void preprocess_production_note(struct production *production, const struct production_maker *maker)
{
    struct production_maker *its = &production->makers[place_of(maker->rank, maker->group)];
    bool is_known = its->group == maker->group && its->rank == maker->rank &&
                    its->worker == maker->worker && its->session == maker->session;
    if (is_known && is_lately(its, maker->leased_ms))
        return;
    if (its->session != 0)
        LIST_REMOVE(its, in_bucket);
    *its = *maker;
    LIST_INSERT_HEAD(&production->buckets[its->worker % PRODUCTION_BUCKETS], its, in_bucket);
}

static bool is_shared(const struct production *production)
{
    return production != NULL && production->jobs > 1;
}

const struct production_maker *preprocess_production_maker(const struct production *production,
                                                           uint32_t rank, uint64_t group,
                                                           int64_t now_ms)
{
    if (!is_shared(production))
        return NULL;
    const struct production_maker *maker = &production->makers[place_of(rank, group)];
    bool is_its = maker->session != 0 && maker->group == group && maker->rank == rank;
    return is_its && is_lately(maker, now_ms) ? maker : NULL;
}

const struct production_maker *preprocess_production_own(const struct production *production,
                                                         const struct production_maker *after,
                                                         const struct production_maker *like,
                                                         int64_t now_ms)
{
    if (!is_shared(production))
        return NULL;
    const struct production_maker *maker =
        after != NULL ? LIST_NEXT(after, in_bucket)
                      : LIST_FIRST(&production->buckets[like->worker % PRODUCTION_BUCKETS]);
    while (maker != NULL && (maker->worker != like->worker || maker->session != like->session ||
                             maker->rank != like->rank || !is_lately(maker, now_ms)))
        maker = LIST_NEXT(maker, in_bucket);
    return maker;
}
