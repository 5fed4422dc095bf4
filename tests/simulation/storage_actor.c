/* Storage in the simulated world: epochs of erased ids are durable, holders and leases are not. */
#include "storage/reading/use_leases.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/simulation/delivery_lab.h"

enum { EPOCHS_MAX = 64, LAB_HINTS_AT_ONCE = 4 };

struct storage_actor {
    struct lab *lab;
    /* durable */
    uint64_t epochs;
    bool forced[EPOCHS_MAX];
    /* volatile */
    struct use_leases *erasure;
    size_t route[STORAGE_HOLDERS_MAX]; /* by slot */
};

static void start(void *self)
{
    struct storage_actor *actor = self;
    actor->erasure = storage_leases_new(world_clock(actor->lab->world, LAB_STORAGE));
    for (uint64_t epoch = 1; epoch <= actor->epochs; epoch++) {
        uint64_t ids[LAB_SAMPLES_MAX];
        size_t count = 0;
        for (size_t i = 0; i < actor->lab->plan.geometry.samples; i++)
            if (actor->lab->erased_epoch[i] == epoch)
                ids[count++] = LAB_FIRST_ID + i;
        (void)storage_leases_add(actor->erasure, ids, count);
    }
}

static void stop(void *self)
{
    struct storage_actor *actor = self;
    storage_leases_free(actor->erasure);
    actor->erasure = NULL;
}

static void hint_silent_holders(struct storage_actor *actor)
{
    struct lab *lab = actor->lab;
    size_t slots[LAB_HINTS_AT_ONCE];
    struct msg_erased hint = {.epoch = storage_leases_epoch(actor->erasure)};
    size_t count;
    do {
        count = storage_leases_hint(actor->erasure, world_clock(lab->world, LAB_STORAGE), slots,
                                    WEIR_COUNT(slots));
        for (size_t i = 0; i < count; i++)
            world_send(lab->world, LAB_STORAGE, actor->route[slots[i]], MSG_erased, &hint,
                       weir_bytes(NULL, 0));
    } while (count == WEIR_COUNT(slots));
}

static void erase(struct storage_actor *actor)
{
    struct lab *lab = actor->lab;
    uint64_t ids[LAB_SAMPLES_MAX];
    size_t count = 0;
    for (size_t tries = 0; tries < 4 * lab->erase_wanted && count < lab->erase_wanted; tries++) {
        size_t sample = weir_rng_below(world_rng(lab->world), lab->plan.geometry.samples);
        if (lab->erased_epoch[sample] != 0)
            continue;
        lab->erased_epoch[sample] = actor->epochs + 1;
        ids[count++] = LAB_FIRST_ID + sample;
    }
    lab->erase_wanted = 0;
    if (count == 0 || actor->epochs + 1 >= EPOCHS_MAX)
        return;
    actor->epochs++;
    (void)storage_leases_add(actor->erasure, ids, count);
    hint_silent_holders(actor);
}

static int64_t tick(void *self)
{
    struct storage_actor *actor = self;
    if (actor->lab->erase_wanted > 0)
        erase(actor);
    for (uint64_t epoch = 1; epoch <= actor->epochs; epoch++) {
        if (actor->forced[epoch])
            continue;
        if (storage_leases_force(actor->erasure, epoch, world_clock(actor->lab->world, LAB_STORAGE))
                .in_force) {
            actor->forced[epoch] = true;
            if (epoch > actor->lab->forced_epoch)
                actor->lab->forced_epoch = epoch;
        }
    }
    return 20;
}

static void answer_locate(struct storage_actor *actor, size_t from, const struct msg_locate *ask,
                          struct weir_bytes payload)
{
    uint32_t states[LAB_SAMPLES_MAX * LAB_EPOCHS_MAX];
    weir_require(ask->ids.count <= WEIR_COUNT(states));
    for (size_t i = 0; i < ask->ids.count; i++) {
        bool erased = actor->lab->erased_epoch[ask->ids.at[i] - LAB_FIRST_ID] != 0;
        states[i] = erased ? WEIR_SAMPLE_ERASED : WEIR_SAMPLE_LIVE;
    }
    struct msg_located answer = {.epoch = storage_leases_epoch(actor->erasure),
                                 .states = {.at = states, .count = ask->ids.count},
                                 .ids = ask->ids};
    world_send(actor->lab->world, LAB_STORAGE, from, MSG_located, &answer, payload);
}

static void answer_hold(struct storage_actor *actor, size_t from, const struct msg_hold *ask,
                        struct weir_bytes payload)
{
    const struct use_request asked = {.session = ask->session, .epoch = ask->epoch};
    struct use_grant grant;
    if (storage_leases_hold(actor->erasure, &asked, world_clock(actor->lab->world, LAB_STORAGE),
                            &grant, NULL) != WEIR_OK)
        return;
    actor->route[grant.slot] = from;
    struct msg_hold_is answer = {.epoch = grant.epoch,
                                 .lease_ms = grant.lease_ms,
                                 .erased = {.at = grant.erased, .count = grant.erased_count},
                                 .pause_ms = grant.pause_ms};
    world_send(actor->lab->world, LAB_STORAGE, from, MSG_hold_is, &answer, payload);
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    struct storage_actor *actor = self;
    if (type == MSG_locate)
        answer_locate(actor, from, message, payload);
    else if (type == MSG_hold)
        answer_hold(actor, from, message, payload);
}

void *lab_add_storage(struct lab *lab)
{
    struct storage_actor *actor = weir_calloc(1, sizeof(*actor));
    actor->lab = lab;
    lab_add(lab, LAB_STORAGE,
            &(struct world_actor){.name = "storage",
                                  .self = actor,
                                  .start = start,
                                  .stop = stop,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
