/* Thousands of holders and a storage, over a network that loses, delays and doubles what they say: an epoch is in force
 * only when nobody may use what it erased, whatever died meanwhile. Time and chance are the test's. */
#include "core/base/heap.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/reading/use_leases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    HOLDERS = 3000,
    EPOCHS = 12,
    STEP_MS = 10,
    DAY_MS = 40000,   /* of deaths, losses and erasures … */
    QUIET_MS = 10000, /* … and of nothing more, at its end */
    DELAY_MAX_MS = 60,
    AGAIN_MS = 500,
    CUT = 30, /* holders that do not hear of an erasure, and go on until their leases are over, … */
    CUT_MS = 4000, /* … and come back after this time */
    DEATH_OF = 20, /* steps, to a death */
    SLOWEST = 95,  /* clocks run so many hundredths as fast as storage's … */
    FASTEST = 105, /* … or as many */
    SEEDS = 4,
};

enum kind { HOLD, HELD, HINT };

struct letter {
    int32_t at_ms;
    int32_t sent_ms; /* of the request */
    uint32_t epoch;
    uint32_t holder, life;
    uint16_t lease_ms, pause_ms;
    uint8_t kind;
};

struct holder {
    uint32_t life;  /* it is born again and again, with another session */
    uint64_t known; /* it has dropped everything up to here */
    int64_t use_until_ms, due_ms, sent_ms;
    int64_t cut_ms; /* until then nothing leaves it and nothing reaches it */
    int speed;      /* of its clock, in hundredths */
    bool is_dead;
};

struct world {
    struct weir_rng rng;
    int64_t now_ms;
    struct use_leases *leases; /* NULL: storage is dead */
    int64_t back_ms;           /* when it is not any more */
    uint64_t epochs, forced;
    struct letter route[STORAGE_HOLDERS_MAX]; /* newest request, by slot */
    struct holder holders[HOLDERS];
    struct letter *letters; /* a heap, by time */
    size_t letter_count, letter_capacity;
    bool is_quiet;
    size_t refused, hinted;
};

static bool is_before(const void *a, const void *b, const void *owner)
{
    (void)owner;
    return ((const struct letter *)a)->at_ms < ((const struct letter *)b)->at_ms;
}

static const struct weir_heap_order BY_TIME = {.element_bytes = sizeof(struct letter),
                                               .is_before = is_before};

static uint64_t draw(struct world *world, uint64_t below)
{
    return weir_rng_below(&world->rng, below);
}

/* ---- the network ---- */

static void post_once(struct world *world, struct letter letter)
{
    letter.at_ms =
        (int32_t)(world->now_ms + 1 + (int64_t)draw(world, world->is_quiet ? 20 : DELAY_MAX_MS));
    world->letters = weir_grow(world->letters, world->letter_count, &world->letter_capacity,
                               sizeof(*world->letters));
    world->letters[world->letter_count++] = letter;
    weir_heap_rise(&BY_TIME, world->letters, world->letter_count - 1, NULL);
}

/* One in forty is lost, one in forty comes twice. */
static void post(struct world *world, struct letter letter)
{
    uint64_t luck = world->is_quiet ? 5 : draw(world, 40);

    if (luck == 0 || world->now_ms < world->holders[letter.holder].cut_ms)
        return;
    post_once(world, letter);
    if (luck == 1)
        post_once(world, letter);
}

/* ---- holders ---- */

/* Their own milliseconds are longer or shorter. */
static int64_t here_ms(const struct holder *holder, int64_t ms)
{
    return ms * 100 / holder->speed;
}

static void ask(struct world *world, uint32_t number)
{
    struct holder *holder = &world->holders[number];

    holder->sent_ms = world->now_ms;
    holder->due_ms = world->now_ms + here_ms(holder, AGAIN_MS); /* unless it is answered */
    post(world, (struct letter){.kind = HOLD,
                                .holder = number,
                                .life = holder->life,
                                .epoch = (uint32_t)holder->known,
                                .sent_ms = (int32_t)world->now_ms});
}

static void on_held(struct world *world, const struct letter *letter)
{
    struct holder *holder = &world->holders[letter->holder];
    int64_t until_ms = letter->sent_ms + here_ms(holder, letter->lease_ms);

    if (until_ms > holder->use_until_ms)
        holder->use_until_ms = until_ms;
    holder->due_ms = letter->sent_ms + here_ms(holder, letter->pause_ms);
    if (letter->epoch <= holder->known)
        return;
    holder->known = letter->epoch;
    ask(world, letter->holder);
}

static void be_born(struct world *world, uint32_t number)
{
    world->holders[number] = (struct holder){
        .life = world->holders[number].life + 1,
        .due_ms = world->now_ms + (int64_t)draw(world, 500),
        .speed = SLOWEST + (int)draw(world, FASTEST - SLOWEST + 1),
    };
}

static void step_holders(struct world *world)
{
    uint32_t killed = (uint32_t)draw(world, HOLDERS), born = (uint32_t)draw(world, HOLDERS);

    if (!world->is_quiet && draw(world, DEATH_OF) == 0)
        world->holders[killed].is_dead = true;
    if (world->holders[born].is_dead)
        be_born(world, born);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        const struct holder *holder = &world->holders[i];

        if (!holder->is_dead && world->now_ms >= holder->due_ms)
            ask(world, i);
    }
}

/* ---- storage ---- */

static void start_storage(struct world *world)
{
    const uint64_t id = 1;

    world->leases = storage_leases_new(world->now_ms);
    for (uint64_t epoch = 1; epoch <= world->epochs; epoch++)
        (void)storage_leases_add(world->leases, &id, 1);
}

static void on_hold(struct world *world, const struct letter *letter)
{
    uint64_t session = weir_mix64((uint64_t)letter->holder << 32 | letter->life);
    const struct use_request asked = {.session = session, .epoch = letter->epoch};
    struct use_grant grant;
    struct weir_error err;

    if (world->leases == NULL)
        return;
    if (storage_leases_hold(world->leases, &asked, world->now_ms, &grant, &err) != WEIR_OK) {
        world->refused++;
        return;
    }
    world->route[grant.slot] = *letter;
    post(world, (struct letter){.kind = HELD,
                                .holder = letter->holder,
                                .life = letter->life,
                                .epoch = (uint32_t)grant.epoch,
                                .sent_ms = letter->sent_ms,
                                .lease_ms = (uint16_t)grant.lease_ms,
                                .pause_ms = (uint16_t)grant.pause_ms});
}

static void hint(struct world *world)
{
    size_t slots[STORAGE_HINTS_AT_ONCE];
    size_t count = storage_leases_hint(world->leases, world->now_ms, slots, STORAGE_HINTS_AT_ONCE);

    world->hinted += count;
    for (size_t i = 0; i < count; i++)
        post(world, (struct letter){.kind = HINT,
                                    .holder = world->route[slots[i]].holder,
                                    .life = world->route[slots[i]].life});
}

/* Nobody may use what was erased up to the newest epoch that has been in force. */
static void check_forced(const struct world *world)
{
    for (size_t i = 0; i < HOLDERS; i++) {
        const struct holder *holder = &world->holders[i];

        if (!holder->is_dead && holder->use_until_ms > world->now_ms)
            assert_true(holder->known >= world->forced);
    }
}

static void step_storage(struct world *world)
{
    const uint64_t id = 1;

    if (!world->is_quiet && world->leases != NULL && draw(world, 1000) == 0) {
        storage_leases_free(world->leases);
        world->leases = NULL;
        world->back_ms = world->now_ms + (int64_t)draw(world, 3000);
    }
    if (world->leases == NULL && world->now_ms >= world->back_ms)
        start_storage(world);
    if (world->leases == NULL)
        return;
    if (!world->is_quiet && world->epochs < EPOCHS && draw(world, 100) == 0) {
        world->epochs = storage_leases_add(world->leases, &id, 1);
        for (int i = 0; i < CUT; i++)
            world->holders[draw(world, HOLDERS)].cut_ms = world->now_ms + CUT_MS;
    }
    hint(world);
    for (uint64_t epoch = world->forced + 1; epoch <= world->epochs; epoch++) {
        if (!storage_leases_force(world->leases, epoch, world->now_ms).in_force)
            break;
        world->forced = epoch;
    }
}

/* ---- a day ---- */

static void deliver(struct world *world)
{
    while (world->letter_count > 0 && world->letters[0].at_ms <= world->now_ms) {
        struct letter letter = world->letters[0];
        bool is_there = !world->holders[letter.holder].is_dead &&
                        world->holders[letter.holder].life == letter.life;

        world->letters[0] = world->letters[--world->letter_count];
        weir_heap_sink(&BY_TIME, world->letters, world->letter_count, 0, NULL);
        if (letter.kind == HOLD)
            on_hold(world, &letter);
        else if (is_there && letter.kind == HELD)
            on_held(world, &letter);
        else if (is_there)
            ask(world, letter.holder);
    }
}

static void live(struct world *world)
{
    world->now_ms = 1000;
    start_storage(world);
    for (uint32_t i = 0; i < HOLDERS; i++)
        be_born(world, i);
    for (int64_t end_ms = world->now_ms + DAY_MS; world->now_ms < end_ms;
         world->now_ms += STEP_MS) {
        world->is_quiet = world->now_ms >= end_ms - QUIET_MS;
        deliver(world);
        step_holders(world);
        step_storage(world);
        check_forced(world);
    }
}

static void whatever_dies_and_is_lost_nobody_uses_what_is_in_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world *world = weir_calloc(1, sizeof(*world));

        weir_rng_init(&world->rng, seed);
        live(world);
        assert_int_equal(world->epochs, EPOCHS);
        assert_int_equal(world->forced, EPOCHS);
        assert_int_equal(world->refused, 0);
        assert_true(world->hinted > HOLDERS); /* they were waited for */
        storage_leases_free(world->leases);
        free(world->letters);
        free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_dies_and_is_lost_nobody_uses_what_is_in_force),
    };
    return cmocka_run_group_tests_name("storage: a crowd of holders", tests, NULL, NULL);
}
