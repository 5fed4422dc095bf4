/* The workers of a platform, each in its state. A name is a place and a number, and is given again once its worker is
 * gone. A worker that is started again has the name that it had, and another group. Pure. */
#ifndef ORCHESTRATOR_POOL_MEMBERS_H
#define ORCHESTRATOR_POOL_MEMBERS_H

#include "orchestrator/config/workers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pool_place { POOL_PLACE_POOL, POOL_PLACE_HOST, POOL_PLACES };

enum pool_state {
    POOL_STARTING, /* its launcher has been asked for it, or is going to be */
    POOL_RUNNING,
    POOL_REFUSED,  /* its launcher would not start it: asked again after a while */
    POOL_LOST,     /* gone, and nobody had ended it: started again */
    POOL_DRAINING, /* it is to end, and leased nothing more */
    POOL_ENDING,   /* its launcher is asked to end it */
    POOL_STATES
};

enum {
    POOL_MEMBERS_MAX = 2 * ORCHESTRATOR_WORKERS_MAX, /* those included that are to end */
    POOL_NAME_SIZE = 32,
    POOL_LAUNCHER_SIZE = 16,
    POOL_WHY_SIZE = WEIR_ERROR_TEXT_MAX,
};

struct pool_member {
    enum pool_place place;
    uint32_t number;
    enum pool_state state;
    int64_t group; /* group that it was started in; 0: its launcher is not to be asked for it yet */
    char launcher[POOL_LAUNCHER_SIZE]; /* launcher of the group */
    int64_t since_ms;        /* of the state, by the clock of the loop; of an earlier process: 0 */
    int64_t since_us;        /* … by the calendar */
    char why[POOL_WHY_SIZE]; /* of its state, for a person */
};

struct pool_members {
    int64_t groups; /* so far */
    size_t count;
    struct pool_member at[POOL_MEMBERS_MAX];
};

extern const char *const ORCHESTRATOR_POOL_PLACES[POOL_PLACES];
extern const char *const ORCHESTRATOR_POOL_STATES[POOL_STATES];

/* "worker-3", "host-1" */
void orchestrator_pool_name(const struct pool_member *member, char name[POOL_NAME_SIZE]);
/* Returns the place of a worker of that name, or POOL_PLACES: it is the name of none. */
enum pool_place orchestrator_pool_place_of(const char *name);
/* Index of `text` in `names`, or `count`. */
size_t orchestrator_pool_index(const char *const *names, size_t count, const char *text);
/* The member of that place and number, or NULL. */
const struct pool_member *orchestrator_pool_find(const struct pool_members *members,
                                                 enum pool_place place, uint32_t number);
/* True while it works, or will again. */
bool orchestrator_pool_is_present(const struct pool_member *member);
uint32_t orchestrator_pool_present(const struct pool_members *members, enum pool_place place);

#endif
