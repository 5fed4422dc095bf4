/* Names and states of workers. */
#include "orchestrator/pool/members.h"

#include <stdio.h>
#include <string.h>

const char *const ORCHESTRATOR_POOL_PLACES[POOL_PLACES] = {"pool", "host"};
const char *const ORCHESTRATOR_POOL_STATES[POOL_STATES] = {"starting", "running",  "refused",
                                                           "lost",     "draining", "ending"};

/* That names begin with. */
static const char *const WORDS[POOL_PLACES] = {"worker", "host"};

void orchestrator_pool_name(const struct pool_member *member, char name[POOL_NAME_SIZE])
{
    (void)snprintf(name, POOL_NAME_SIZE, "%s-%u", WORDS[member->place], member->number);
}

enum pool_place orchestrator_pool_place_of(const char *name)
{
    size_t size = strcspn(name, "-");
    enum pool_place place = 0;
    while (place < POOL_PLACES &&
           (strlen(WORDS[place]) != size || strncmp(WORDS[place], name, size) != 0))
        place++;
    return name[size] == '-' ? place : POOL_PLACES;
}

size_t orchestrator_pool_index(const char *const *names, size_t count, const char *text)
{
    size_t at = 0;
    while (at < count && strcmp(names[at], text) != 0)
        at++;
    return at;
}

const struct pool_member *orchestrator_pool_find(const struct pool_members *members,
                                                 enum pool_place place, uint32_t number)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->at[i].place == place && members->at[i].number == number)
            return &members->at[i];
    return NULL;
}

bool orchestrator_pool_is_present(const struct pool_member *member)
{
    return member->state < POOL_DRAINING;
}

uint32_t orchestrator_pool_present(const struct pool_members *members, enum pool_place place)
{
    uint32_t present = 0;
    for (size_t i = 0; i < members->count; i++)
        present += members->at[i].place == place && orchestrator_pool_is_present(&members->at[i]);
    return present;
}
