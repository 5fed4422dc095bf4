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

void preprocess_production_note(struct production *production, const struct production_maker *maker)
{
    struct production_maker *its = &production->makers[place_of(maker->rank, maker->group)];
    bool is_known = its->group == maker->group && its->rank == maker->rank &&
                    its->worker == maker->worker && its->session == maker->session;
    if (!is_known)
        *its = *maker;
    if (maker->group >= production->ends)
        production->ends = maker->group + 1;
}

const struct production_maker *preprocess_production_maker(const struct production *production,
                                                           uint32_t rank, uint64_t group,
                                                           int64_t now_ms)
{
    if (production == NULL || production->jobs < 2)
        return NULL;
    const struct production_maker *maker = &production->makers[place_of(rank, group)];
    bool is_its = maker->session != 0 && maker->group == group && maker->rank == rank &&
                  now_ms - maker->leased_ms < PRODUCTION_KNOWN_MS;
    return is_its ? maker : NULL;
}
