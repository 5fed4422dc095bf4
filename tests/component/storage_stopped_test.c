/* Storage while Postgres stands still: what needs no statement is answered for as long as it does, all else after it,
 * and an erasure is seen by everybody from when it is acknowledged. */
#include "core/wire/sample.h"
#include "tests/component/storage_lab.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WORKER = 7, MAILS = 3, ROUNDS = 20 };

static const char ANNA[] = "anna@example.org";
static const uint64_t IDS[MAILS] = {1ULL << 44, (1ULL << 44) + 1, (1ULL << 44) + 2};

static struct storage_lab lab;

/* ---- asking ---- */

/* The outcome of a request. */
struct heard {
    bool is_done;
    enum weir_status status;
    uint64_t epoch;
    size_t erased;          /* of `hold` */
    uint32_t states[MAILS]; /* of samples */
    size_t bytes;           /* of a payload that came in a frame */
};

static void copy_states(struct heard *heard, const struct weir_u32s *states)
{
    assert_int_equal(states->count, MAILS);
    memcpy(heard->states, states->at, sizeof(heard->states));
}

static void on_reply(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct heard *heard = owner;

    heard->is_done = true;
    heard->status = err != NULL ? err->status : WEIR_OK;
    if (reply == NULL)
        return;
    if (reply->type == MSG_hold_is) {
        heard->epoch = ((const struct msg_hold_is *)reply->message)->epoch;
        heard->erased = ((const struct msg_hold_is *)reply->message)->erased.count;
    } else if (reply->type == MSG_located) {
        heard->epoch = ((const struct msg_located *)reply->message)->epoch;
        copy_states(heard, &((const struct msg_located *)reply->message)->states);
    } else if (reply->type == MSG_read_is) {
        heard->epoch = ((const struct msg_read_is *)reply->message)->epoch;
        copy_states(heard, &((const struct msg_read_is *)reply->message)->states);
        heard->bytes = weir_frames_at(reply->frames, 0).size;
    }
}

static void tell(enum weir_message type, const void *message, struct heard *heard)
{
    *heard = (struct heard){.is_done = false};
    weir_rpc_call(lab.peer, type, message, INT32_MAX, on_reply, heard);
}

static struct heard ask(enum weir_message type, const void *message)
{
    struct heard heard;

    tell(type, message, &heard);
    test_loop_until(lab.loop, &heard.is_done);
    assert_int_equal(heard.status, WEIR_OK);
    return heard;
}

static struct heard hold(uint64_t epoch)
{
    return ask(MSG_hold,
               &(struct msg_hold){.holder = "worker-1", .session = WORKER, .epoch = epoch});
}

static struct heard locate(void)
{
    return ask(MSG_locate, &(struct msg_locate){.ids = {IDS, MAILS}});
}

static struct heard read_all(void)
{
    return ask(MSG_read, &(struct msg_read){.ids = {IDS, MAILS}});
}

static struct heard locate_chunks(void)
{
    return ask(MSG_locate_chunks,
               &(struct msg_locate_chunks){.datasets = {&(uint64_t){1}, 1}, .ids = {IDS, 1}});
}

static const char *read_lent(uint64_t id)
{
    uint32_t state;

    return storage_lab_read(&lab, id, &state);
}

/* A request whose answer needs a statement: what is asked later comes while that is waited for. */
static void ask_postgres(struct heard *heard)
{
    tell(MSG_feed_request, &(struct msg_feed_request){.dataset = "mails"}, heard);
}

static void accept_erasure(struct heard *heard)
{
    static const char *subject = ANNA;

    tell(MSG_erase_accept, &(struct msg_erase_accept){.uuid = "u1", .subjects = {&subject, 1}},
         heard);
}

static void await(const struct heard *heard)
{
    test_loop_until(lab.loop, &heard->is_done);
    assert_int_equal(heard->status, WEIR_OK);
}

static void declare_mails(void)
{
    storage_lab_write(&lab, "a.txt", "Anna saw the weir");
    storage_lab_write(&lab, "b.txt", "Bob answers");
    storage_lab_write(&lab, "c.txt", "Anna again");
    storage_lab_write(&lab, "manifest.csv",
                      "path,time,label,subject\na.txt,2002-08-01,ham,anna@example.org\n"
                      "b.txt,2002-08-02,spam,bob@example.org\n"
                      "c.txt,2002-08-03,ham,anna@example.org\n");
    storage_lab_must_declare(&lab, STORAGE_LAB_MAILS);
    (void)storage_lab_await(&lab, "mails", 1);
}

static void expect_all_live(const struct heard *heard)
{
    for (size_t i = 0; i < MAILS; i++)
        assert_int_equal(heard->states[i], WEIR_SAMPLE_LIVE);
}

/* ---- cases ---- */

static void what_is_known_is_answered_while_postgres_stands_still(void **state)
{
    struct heard slow, heard;

    (void)state;
    declare_mails();
    (void)locate();
    weir_test_postgres_pause(&lab.postgres);
    ask_postgres(&slow);
    for (size_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(hold(0).epoch, 0);
        heard = locate();
        expect_all_live(&heard);
        heard = read_all();
        expect_all_live(&heard);
        assert_int_equal(heard.bytes, strlen("Anna saw the weir") + strlen("Bob answers") +
                                          strlen("Anna again"));
        assert_string_equal(read_lent(IDS[1]), "Bob answers");
        (void)locate_chunks();
    }
    assert_false(slow.is_done);
    weir_test_postgres_go_on(&lab.postgres);
    await(&slow);
}

static void what_is_not_in_memory_is_answered_after_it(void **state)
{
    struct heard slow, located, read;

    (void)state;
    declare_mails();
    storage_lab_stop(&lab);
    storage_lab_start(&lab);
    (void)storage_lab_await(&lab, "mails", 1);
    assert_int_equal(ask(MSG_wipe, &(struct msg_wipe){0}).status, WEIR_OK);
    weir_test_postgres_pause(&lab.postgres);
    ask_postgres(&slow);
    tell(MSG_locate, &(struct msg_locate){.ids = {IDS, MAILS}}, &located);
    tell(MSG_read, &(struct msg_read){.ids = {IDS, MAILS}}, &read);
    (void)hold(0);
    test_loop_rounds(lab.loop, ROUNDS);
    assert_false(slow.is_done || located.is_done || read.is_done);
    weir_test_postgres_go_on(&lab.postgres);
    await(&located);
    expect_all_live(&located);
    await(&read);
    expect_all_live(&read);
}

static void an_erasure_is_seen_by_everybody_from_when_it_is_acknowledged(void **state)
{
    struct heard slow, accepted, heard;

    (void)state;
    declare_mails();
    (void)locate();
    (void)hold(0);
    weir_test_postgres_pause(&lab.postgres);
    ask_postgres(&slow);
    accept_erasure(&accepted);
    heard = locate();
    expect_all_live(&heard);
    assert_int_equal(hold(0).epoch, 0);
    assert_false(accepted.is_done);
    weir_test_postgres_go_on(&lab.postgres);
    await(&accepted);
    (void)storage_lab_await_erasure(&lab, 1, "tombstoned");
    weir_test_postgres_pause(&lab.postgres);
    ask_postgres(&slow);
    heard = hold(0);
    assert_int_equal(heard.epoch, 1);
    assert_int_equal(heard.erased, 2);
    for (size_t i = 0; i < 2; i++) {
        heard = i == 0 ? locate() : read_all();
        assert_int_equal(heard.epoch, 1);
        assert_int_equal(heard.states[0], WEIR_SAMPLE_ERASED);
        assert_int_equal(heard.states[1], WEIR_SAMPLE_LIVE);
        assert_int_equal(heard.states[2], WEIR_SAMPLE_ERASED);
    }
    assert_int_equal(heard.bytes, strlen("Bob answers"));
    (void)hold(1);
    weir_test_postgres_go_on(&lab.postgres);
    await(&slow);
    (void)storage_lab_await_erasure(&lab, 1, "verified");
}

static void requests_of_hundreds_wait_for_postgres_and_all_are_answered(void **state)
{
    enum { REQUESTS = 500 };
    static struct heard heard[REQUESTS];

    (void)state;
    declare_mails();
    weir_test_postgres_pause(&lab.postgres);
    for (size_t i = 0; i < REQUESTS; i++)
        ask_postgres(&heard[i]);
    (void)hold(0);
    test_loop_rounds(lab.loop, ROUNDS);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_false(heard[i].is_done);
    weir_test_postgres_go_on(&lab.postgres);
    for (size_t i = 0; i < REQUESTS; i++)
        await(&heard[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, what_is_known_is_answered_while_postgres_stands_still),
        STORAGE_CASE(&lab, what_is_not_in_memory_is_answered_after_it),
        STORAGE_CASE(&lab, an_erasure_is_seen_by_everybody_from_when_it_is_acknowledged),
        STORAGE_CASE(&lab, requests_of_hundreds_wait_for_postgres_and_all_are_answered),
    };

    return storage_lab_run(&lab, "storage while Postgres stands still", tests, WEIR_COUNT(tests));
}
