/* The consumer's delivery machine in a job of 8 samples, two a batch, with one worker. */
#ifndef TESTS_UNIT_TRAINER_CLIENT_DELIVERY_FIXTURE_H
#define TESTS_UNIT_TRAINER_CLIENT_DELIVERY_FIXTURE_H

#include "core/wire/sample.h"
#include "trainer_client/delivery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOB = 5, SESSION = 11, ATTEMPT = 2, FENCE = 100, WINDOW = 1000, BYTES = 100, WORKER = 1 };

struct fixture {
    struct delivery *delivery;
    uint64_t ids[64][2]; /* of the batches made, by number */
    uint64_t sent;       /* by the worker */
};

static inline struct msg_client_opened opened_with(bool deterministic)
{
    return (struct msg_client_opened){
        .attempt = ATTEMPT,
        .fence = FENCE,
        .samples = 8,
        .epochs = 2,
        .batches_per_epoch = 4, /* of two samples */
        .batch_samples = 2,
        .group_batches = 2,
        .deterministic = deterministic,
    };
}

static inline void hold(struct fixture *fixture, int64_t sent_ms, uint64_t epoch,
                        const uint64_t *erased, size_t count)
{
    struct msg_hold request;
    trainer_delivery_hold(fixture->delivery, sent_ms, &request);
    struct msg_hold_is answer = {.epoch = epoch, .lease_ms = 2000, .erased = {erased, count}};
    trainer_delivery_held(fixture->delivery, sent_ms, &answer);
}

/* Open, one worker, a lease from 0 to 2000. */
static inline void start_within(struct fixture *fixture, bool deterministic, uint64_t window_bytes)
{
    struct weir_position beginning = {0};
    struct msg_client_opened opened = opened_with(deterministic);
    *fixture =
        (struct fixture){.delivery = trainer_delivery_new(JOB, SESSION, window_bytes, &beginning)};
    assert_int_equal(trainer_delivery_opened(fixture->delivery, &opened, NULL), WEIR_OK);
    trainer_delivery_worker_join(fixture->delivery, WORKER);
    hold(fixture, 0, 0, NULL, 0);
}

static inline void start(struct fixture *fixture, bool deterministic)
{
    start_within(fixture, deterministic, WINDOW);
}

static inline void free_discarded(struct fixture *fixture)
{
    struct delivery_batch *batch = NULL;
    while ((batch = trainer_delivery_discarded(fixture->delivery)) != NULL)
        free(batch);
}

static inline void end(struct fixture *fixture)
{
    trainer_delivery_discard_all(fixture->delivery);
    free_discarded(fixture);
    trainer_delivery_free(fixture->delivery);
}

static inline struct delivery_batch *make(struct fixture *fixture, uint64_t number, uint64_t fence)
{
    struct delivery_batch *batch = calloc(1, sizeof(*batch));
    fixture->ids[number][0] = number % 4 * 2 + 1;
    fixture->ids[number][1] = number % 4 * 2 + 2;
    *batch = (struct delivery_batch){
        .job = JOB,
        .attempt = ATTEMPT,
        .session = SESSION,
        .worker_session = 7,
        .number = number,
        .group = number / 2,
        .fence = fence,
        .erasure_epoch = trainer_delivery_erasure_epoch(fixture->delivery),
        .bytes = BYTES,
        .sent = fixture->sent,
        .ids = fixture->ids[number],
        .samples = 2,
        .worker = WORKER,
    };
    fixture->sent += BYTES;
    return batch;
}

static inline enum delivery_outcome arrive(struct fixture *fixture, struct delivery_batch *batch)
{
    enum delivery_outcome outcome = trainer_delivery_arrive(fixture->delivery, batch);
    if (outcome != DELIVERY_ACCEPTED)
        free(batch);
    return outcome;
}

static inline enum delivery_outcome bring(struct fixture *fixture, uint64_t number)
{
    return arrive(fixture, make(fixture, number, FENCE));
}

/* The number handed out next, or -1 - offer. */
static inline int64_t next(struct fixture *fixture, int64_t now_ms)
{
    struct delivery_batch *batch = NULL;
    enum delivery_offer offer = trainer_delivery_next(fixture->delivery, now_ms, &batch);
    free_discarded(fixture);
    return offer == DELIVERY_BATCH ? (int64_t)batch->number : -1 - (int64_t)offer;
}

static inline struct delivery_batch *take(struct fixture *fixture)
{
    struct delivery_batch *batch = NULL;
    assert_int_equal(trainer_delivery_next(fixture->delivery, 1, &batch), DELIVERY_BATCH);
    return batch;
}

static inline void let_go(struct fixture *fixture, struct delivery_batch *batch)
{
    assert_true(trainer_delivery_consume(fixture->delivery, batch->number));
    free(trainer_delivery_release(fixture->delivery, batch));
}

#endif
