/* Storage as those see it who come with keys: what one of them takes is not taken from the others. */
#include "core/base/clock.h"
#include "core/base/quota.h"
#include "core/db/table_lock.h"
#include "core/rpc/segment.h"
#include "core/wire/sample.h"
#include "tests/component/storage_inside.h"
#include "tests/support/keyed.h"

#include <stdlib.h>
#include <string.h>

enum { ROSA, MALLORY, CREW, ANNA, EVE, BLUE_CREW, BLUE, PEOPLE };

static const struct keyed_person WHO[PEOPLE] = {
    [ROSA] = {"rosa", WEIR_ROLE_TRAINER, ""},
    [MALLORY] = {"mallory", WEIR_ROLE_TRAINER, ""},
    [CREW] = {"crew", WEIR_ROLE_WORKER, ""},
    [ANNA] = {"anna", WEIR_ROLE_SUBMITTER, ""},
    [EVE] = {"eve", WEIR_ROLE_SUBMITTER, ""},
    [BLUE_CREW] = {"blue-crew", WEIR_ROLE_WORKER, "blue"},
    [BLUE] = {"blue", WEIR_ROLE_SUBMITTER, "blue"},
};

struct fixture {
    struct storage_inside inside;
    struct weir_rpc_server *server;
    struct keyed keyed;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct storage_inside *inside = &fixture->inside;

    storage_inside_begin(inside);
    fixture->server = weir_rpc_server_new(inside->loop, STORAGE_HANDLERS, inside->storage);
    keyed_begin(&fixture->keyed, inside->loop, fixture->server, WHO, PEOPLE);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    keyed_end(&fixture->keyed);
    weir_rpc_server_close(fixture->server);
    storage_inside_end(&fixture->inside);
    free(fixture);
    return 0;
}

static enum weir_status hold(struct fixture *fixture, size_t who, uint64_t session, uint64_t epoch)
{
    const struct msg_hold asked = {.holder = "somebody", .session = session, .epoch = epoch};

    return keyed_ask(&fixture->keyed, who, MSG_hold, &asked);
}

/* Holds under a key of trainers until it is refused. */
static void take_all(struct fixture *fixture, const char *key)
{
    struct use_request asked = {.session = 1, .kind = USE_OF_TRAINER, .key = key};
    struct use_grant grant;
    struct weir_error err;

    while (storage_leases_hold(fixture->inside.storage->leases, &asked, weir_now_ms(), &grant,
                               &err) == WEIR_OK)
        asked.session++;
}

static void a_trainer_that_takes_every_lease_shuts_nobody_out(void **state)
{
    struct fixture *fixture = *state;

    take_all(fixture, "mallory");
    assert_int_equal(hold(fixture, MALLORY, UINT64_MAX, 0), WEIR_LIMIT);
    assert_non_null(strstr(fixture->keyed.words, "use leases of trainers are running under key "
                                                 "'mallory', as many as there can be while"));
    assert_int_equal(hold(fixture, ROSA, UINT64_MAX - 1, 0), WEIR_OK);
    assert_int_equal(hold(fixture, CREW, UINT64_MAX - 2, 0), WEIR_OK);
}

/* Neither says for another one that it has dropped what is erased. */
static void whoever_knows_a_session_neither_renews_nor_ends_it(void **state)
{
    static const uint64_t IDS[] = {11};
    struct fixture *fixture = *state;
    struct use_leases *leases = fixture->inside.storage->leases;

    storage_leases_none_before(leases);
    assert_int_equal(hold(fixture, ROSA, 7, 0), WEIR_OK);
    (void)storage_leases_add(leases, IDS, 1);
    assert_int_equal(hold(fixture, MALLORY, 7, 1), WEIR_DENIED);
    assert_int_equal(hold(fixture, CREW, 7, 1), WEIR_DENIED);
    weir_rpc_send(fixture->keyed.peers[MALLORY], MSG_hold_end, &(struct msg_hold_end){7});
    assert_int_equal(hold(fixture, MALLORY, 8, 1), WEIR_OK); /* the end came before */
    assert_int_equal(hold(fixture, ROSA, 7, 0), WEIR_OK);
    assert_false(storage_leases_force(leases, 1, weir_now_ms()).in_force);
    weir_rpc_send(fixture->keyed.peers[ROSA], MSG_hold_end, &(struct msg_hold_end){7});
    assert_int_equal(hold(fixture, ROSA, 9, 1), WEIR_OK);
    assert_true(storage_leases_force(leases, 1, weir_now_ms()).in_force);
}

/* ---- tenants ---- */

static const char LINES[] = "  - name: lines\n"
                            "    source: {path: %s, format: jsonl}\n"
                            "    time: {from: field, field: ts}\n";

static const char KEYED_LINES[] = "  - name: lines\n"
                                  "    source: {path: %s, format: jsonl}\n"
                                  "    time: {from: field, field: ts}\n"
                                  "    key: {field: key}\n";

static const char ROW[] = "{\"ts\":1}\n";

static uint64_t declare_a_row(struct fixture *fixture)
{
    storage_inside_write(&fixture->inside, "a.jsonl", ROW);
    return weir_sample_id(storage_inside_declare(&fixture->inside, LINES)->number, 0, 0);
}

/* Holds and loans are their keys', as tests of their own show; certificates of authorities are no secret. */
static void every_message_about_samples_is_refused_to_other_tenants(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id = declare_a_row(fixture), number = weir_sample_dataset(id);
    const struct weir_u64s ids = {&id, 1}, datasets = {&number, 1};
    const struct msg_locate locates = {.ids = ids};
    const struct msg_read reads = {.ids = ids};
    const struct msg_locate_chunks locates_chunks = {.ids = ids}, asks = {.datasets = datasets};
    const struct msg_grant grants = {.ids = ids};
    const struct msg_push pushes = {.dataset = "lines", .client = "c", .batch = 1};
    const struct msg_rows_lend lends = {.dataset = "lines", .loan = 1};
    const struct {
        enum weir_message type;
        size_t who;
        const void *message;
    } REFUSED[] = {
        {MSG_locate, BLUE_CREW, &locates},
        {MSG_read, BLUE_CREW, &reads},
        {MSG_locate_chunks, BLUE_CREW, &locates_chunks},
        {MSG_locate_chunks, BLUE_CREW, &asks},
        {MSG_grant, BLUE_CREW, &grants},
        {MSG_push, BLUE, &pushes},
        {MSG_rows_lend, BLUE, &lends},
    };
    enum weir_message cases[WEIR_COUNT(REFUSED) + 4] = {MSG_hold, MSG_hold_end, MSG_rows_return,
                                                        MSG_authority};

    for (size_t i = 0; i < WEIR_COUNT(REFUSED); i++) {
        cases[i + 4] = REFUSED[i].type;
        assert_int_equal(
            keyed_ask(&fixture->keyed, REFUSED[i].who, REFUSED[i].type, REFUSED[i].message),
            WEIR_DENIED);
        assert_non_null(strstr(fixture->keyed.words, "is for tenant 'blue', who has no pipeline"));
    }
    keyed_assert_covered(STORAGE_HANDLERS, cases, WEIR_COUNT(cases));
    assert_int_equal(keyed_ask(&fixture->keyed, CREW, MSG_locate, &locates), WEIR_OK);
}

/* ---- rows that are lent ---- */

static enum weir_status lend(struct fixture *fixture, size_t who, uint64_t loan, bool has_rows)
{
    const struct msg_rows_lend asked = {.dataset = "lines", .loan = loan};
    struct weir_frames frames = {.count = 0};

    if (has_rows)
        weir_frames_copy(&frames, ROW, strlen(ROW));
    return keyed_ask_framed(&fixture->keyed, who, MSG_rows_lend, &asked, &frames);
}

/* So many times the line. */
static enum weir_status lend_lines(struct fixture *fixture, size_t who, uint64_t loan,
                                   const char *line, size_t count, int64_t deadline_ms)
{
    const struct msg_rows_lend asked = {.dataset = "lines", .loan = loan};
    struct weir_frames frames = {.count = 0};
    WEIR_AUTO_BUF lines = {0};
    const struct weir_framed_call call = {.type = MSG_rows_lend,
                                          .message = &asked,
                                          .frames = &frames,
                                          .deadline_ms = deadline_ms,
                                          .done = keyed_on_reply,
                                          .owner = &fixture->keyed};

    for (size_t i = 0; i < count; i++)
        weir_buf_append(&lines, line, strlen(line));
    weir_frames_copy(&frames, lines.at, lines.size);
    fixture->keyed.done = false;
    weir_rpc_call_framed(fixture->keyed.peers[who], &call);
    test_loop_until(fixture->inside.loop, &fixture->keyed.done);
    return fixture->keyed.status;
}

static void a_loan_is_renewed_and_ended_by_the_key_that_began_it(void **state)
{
    struct fixture *fixture = *state;
    const struct msg_rows_return back = {.loan = 5};

    (void)storage_inside_declare(&fixture->inside, LINES);
    assert_int_equal(lend(fixture, ANNA, 5, true), WEIR_OK);
    assert_int_equal(lend(fixture, EVE, 5, false), WEIR_NOT_FOUND);
    assert_int_equal(keyed_ask(&fixture->keyed, EVE, MSG_rows_return, &back), WEIR_OK);
    assert_int_equal(lend(fixture, ANNA, 5, false), WEIR_OK);
    assert_int_equal(lend(fixture, EVE, 5, true), WEIR_OK); /* another one */
    assert_int_equal(keyed_ask(&fixture->keyed, ANNA, MSG_rows_return, &back), WEIR_OK);
    assert_int_equal(lend(fixture, ANNA, 5, false), WEIR_NOT_FOUND);
    assert_int_equal(lend(fixture, EVE, 5, false), WEIR_OK);
}

static enum weir_status claim(const struct fixture *fixture, const char *key, uint64_t first,
                              uint64_t count)
{
    const struct msg_rows_claim asked = {.key = key, .first = first, .count = count};
    struct weir_error err;

    return storage_rows_claim(fixture->inside.storage->lent, &asked, &err);
}

static void on_lent(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    assert_null(err);
    *(uint64_t *)owner = ((const struct msg_rows_lent *)reply->message)->first;
}

static void rows_are_predicted_for_the_key_that_lends_them(void **state)
{
    struct fixture *fixture = *state;
    uint64_t first = 0;

    (void)storage_inside_declare(&fixture->inside, LINES);
    assert_int_equal(lend(fixture, ANNA, 5, true), WEIR_OK);
    const struct msg_rows_lend again = {.dataset = "lines", .loan = 5};
    weir_rpc_call(fixture->keyed.peers[ANNA], MSG_rows_lend, &again, KEYED_MS, on_lent, &first);
    assert_int_equal(lend(fixture, EVE, 5, true), WEIR_OK); /* its row comes next */
    assert_int_equal(lend(fixture, ANNA, 5, false), WEIR_OK);
    assert_int_not_equal(first, 0);
    assert_int_equal(claim(fixture, "anna", first, 1), WEIR_OK);
    assert_int_equal(claim(fixture, "eve", first + 1, 1), WEIR_OK);
    assert_int_equal(claim(fixture, "eve", first, 1), WEIR_NOT_FOUND);
    assert_int_equal(claim(fixture, "eve", first, 2), WEIR_NOT_FOUND);
    assert_int_equal(claim(fixture, "anna", first, 2), WEIR_NOT_FOUND);
    assert_int_equal(claim(fixture, "", first, 1), WEIR_NOT_FOUND);
}

/* The smallest there are: it is their number that counts. */
static void one_key_lends_no_more_than_it_leaves_to_others(void **state)
{
    struct fixture *fixture = *state;
    const struct msg_rows_lend one_more = {.dataset = "lines", .loan = UINT64_MAX};
    uint64_t most = LENT_BYTES_MAX / 2 / (LENT_LOAN_BYTES + strlen(ROW));
    struct weir_frames frames = {.count = 0};

    (void)storage_inside_declare(&fixture->inside, LINES);
    for (uint64_t loan = 1; loan <= most; loan++)
        assert_int_equal(lend(fixture, EVE, loan, true), WEIR_OK);
    weir_frames_copy(&frames, ROW, strlen(ROW));
    const struct weir_framed_call refused = {.type = MSG_rows_lend,
                                             .message = &one_more,
                                             .frames = &frames,
                                             .deadline_ms = 1,
                                             .done = keyed_on_reply,
                                             .owner = &fixture->keyed};

    fixture->keyed.done = false;
    weir_rpc_call_framed(fixture->keyed.peers[EVE], &refused);
    test_loop_until(fixture->inside.loop, &fixture->keyed.done);
    assert_int_not_equal(fixture->keyed.status,
                         WEIR_OK); /* UNAVAILABLE, which is asked again until it is late */
    assert_int_equal(lend(fixture, EVE, UINT64_MAX, false), WEIR_NOT_FOUND);
    assert_int_equal(lend(fixture, ANNA, 1, true), WEIR_OK);
}

/* A row of three bytes takes more than ten times as many. */
static void many_rows_count_for_what_each_takes(void **state)
{
    enum { ROWS = LENT_ROWS_MAX / 2, FIT = 5 };
    struct fixture *fixture = *state;

    (void)storage_inside_declare(&fixture->inside, LINES);
    for (uint64_t loan = 1; loan <= FIT; loan++)
        assert_int_equal(lend_lines(fixture, EVE, loan, "{}\n", ROWS, KEYED_MS), WEIR_OK);
    (void)lend_lines(fixture, EVE, FIT + 1, "{}\n", ROWS, 1); /* UNAVAILABLE, or late */
    assert_int_equal(lend(fixture, EVE, FIT + 1, false), WEIR_NOT_FOUND);
    assert_int_equal(lend(fixture, EVE, FIT, false), WEIR_OK);
    assert_int_equal(lend_lines(fixture, ANNA, 1, "{}\n", ROWS, KEYED_MS), WEIR_OK);
}

static void rows_beyond_those_that_can_be_lent_take_no_memory(void **state)
{
    static const char *const LINE[] = {"{}\n", "x\n"}; /* the second one is malformed */
    struct fixture *fixture = *state;

    (void)storage_inside_declare(&fixture->inside, LINES);
    for (size_t i = 0; i < WEIR_COUNT(LINE); i++) {
        assert_int_equal(lend_lines(fixture, EVE, i + 1, LINE[i], LENT_ROWS_MAX + 1, KEYED_MS),
                         WEIR_LIMIT);
        assert_non_null(strstr(fixture->keyed.words, "found more than 1048576 rows"));
    }
}

static void rows_are_lent_only_if_an_answer_can_tell_of_all(void **state)
{
    static const struct {
        const char *line;
        size_t count;
        enum weir_status status;
    } CASES[] = {
        {"{\"key\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}\n",
         1 << 18, WEIR_LIMIT},
        {"{\"key\":1}\n", LENT_ROWS_MAX / 2, WEIR_LIMIT},
        {"{\"key\":\"0123456789\"}\n", 1 << 18, WEIR_OK},
        {"x\n", LENT_ROWS_MAX - 200, WEIR_OK},
    };
    struct fixture *fixture = *state;

    (void)storage_inside_declare(&fixture->inside, KEYED_LINES);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const struct msg_rows_return back = {.loan = i + 1};

        assert_int_equal(
            lend_lines(fixture, EVE, back.loan, CASES[i].line, CASES[i].count, KEYED_MS),
            CASES[i].status);
        assert_true(CASES[i].status == WEIR_OK ||
                    strstr(fixture->keyed.words, "expected that they are lent in several") != NULL);
        assert_int_equal(keyed_ask(&fixture->keyed, EVE, MSG_rows_return, &back), WEIR_OK);
    }
}

/* ---- pushed batches that wait for the disk ---- */

enum { HALF = PUSH_WAITING_BYTES_MAX / 4 }; /* of what one key may have wait, and a little */

struct pushed {
    bool done;
    uint64_t batch; /* of the answer */
};

static void on_pushed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pushed *pushed = owner;

    (void)err;
    pushed->done = true;
    pushed->batch = reply != NULL ? ((const struct msg_pushed *)reply->message)->batch : UINT64_MAX;
}

/* `batch` 0 asks how far the client is. */
static void begin_push(struct fixture *fixture, size_t who, const char *client, uint64_t batch,
                       int64_t deadline_ms, struct pushed *pushed)
{
    const struct msg_push asked = {.dataset = "clicks", .client = client, .batch = batch};
    struct weir_frames frames = {.count = 0};
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(HALF, 1);
    const struct weir_framed_call call = {.type = MSG_push,
                                          .message = &asked,
                                          .frames = &frames,
                                          .deadline_ms = deadline_ms,
                                          .done = on_pushed,
                                          .owner = pushed};

    memset(bytes, '\n', HALF);
    memcpy(bytes, ROW, strlen(ROW));
    if (batch > 0)
        weir_frames_copy(&frames, bytes, HALF);
    *pushed = (struct pushed){.done = false};
    weir_rpc_call_framed(fixture->keyed.peers[who], &call);
}

static void push(struct fixture *fixture, size_t who, const char *client, uint64_t batch,
                 int64_t deadline_ms, struct pushed *pushed)
{
    begin_push(fixture, who, client, batch, deadline_ms, pushed);
    test_loop_until(fixture->inside.loop, &pushed->done);
}

static void one_key_has_no_more_wait_for_the_disk_than_it_leaves_to_others(void **state)
{
    static const char CLICKS[] = "datasets:\n"
                                 "  - name: clicks\n"
                                 "    source: {push: true, format: jsonl}\n"
                                 "    time: {from: field, field: ts}\n";
    const struct msg_dataset_declare declare = {.file = "p.yaml", .config = weir_bytes_of(CLICKS)};
    struct fixture *fixture = *state;
    struct storage_inside *inside = &fixture->inside;
    struct msg_dataset_declared declared;
    struct pushed first, second, third;
    struct weir_db *rewrite = NULL;
    struct weir_error err;

    assert_int_equal(storage_declare(inside->storage, &declare, inside->arena, &declared, &err),
                     WEIR_OK);
    assert_int_equal(weir_db_open(inside->postgres.conninfo, "storage", NULL, 0, &rewrite, &err),
                     WEIR_OK);
    assert_int_equal(weir_db_exec(rewrite, WEIR_DB_TABLES_LOCK, &err), WEIR_OK);
    begin_push(fixture, EVE, "e-1", 1, KEYED_MS, &first);
    push(fixture, EVE, "e-2", 1, 1, &second); /* too late, and it has come all the same */
    begin_push(fixture, ANNA, "a-1", 1, KEYED_MS, &third);
    (void)lend(fixture, EVE, 0, false);
    (void)lend(fixture, ANNA, 0, false);
    assert_false(first.done || third.done);
    assert_int_equal(weir_db_exec(rewrite, WEIR_DB_TABLES_UNLOCK, &err), WEIR_OK);
    test_loop_until(inside->loop, &first.done);
    test_loop_until(inside->loop, &third.done);
    assert_int_equal(first.batch, 1);
    assert_int_equal(third.batch, 1);
    push(fixture, EVE, "e-2", 0, KEYED_MS, &second);
    assert_int_equal(second.batch, 0); /* it was not taken */
    push(fixture, EVE, "e-2", 1, KEYED_MS, &second);
    assert_int_equal(second.batch, 1);
    weir_db_close(rewrite);
}

/* ---- reads ---- */

struct readers {
    const char *key;
    uint8_t peers; /* by which they come, in turn */
};

/* By hand, as nothing that is read is done while the loop stands. */
static void read_much(struct fixture *fixture, const struct readers *who, uint64_t id, size_t count)
{
    const struct msg_read asked = {.ids = {&id, 1}};
    const struct weir_sender sender = {.role = WEIR_ROLE_WORKER, .name = who->key, .tenant = ""};
    struct weir_request request = {
        .server = fixture->server,
        .type = MSG_read,
        .message = &asked,
        .route = {.identity = {(uint8_t)who->key[0]}, .identity_size = 2},
        .sender = &sender};

    for (size_t i = 0; i < count; i++) {
        request.route.request = i + 1;
        request.route.identity[1] = (uint8_t)(i % who->peers);
        storage_read_queue_add(fixture->inside.storage->read_queue, &request);
    }
}

static size_t reads_of(const struct fixture *fixture, const struct readers *who)
{
    return storage_read_queue_has(fixture->inside.storage->read_queue, weir_quota_key(who->key));
}

static void one_key_has_no_more_reads_wait_than_it_leaves_to_others(void **state)
{
    static const struct readers CREW_OF_MANY = {"crew", 200}, SOLO = {"solo", 1}, HOST = {"", 1};
    struct fixture *fixture = *state;
    uint64_t id = declare_a_row(fixture);

    read_much(fixture, &CREW_OF_MANY, id, READS_WAITING_MAX);
    assert_int_equal(reads_of(fixture, &CREW_OF_MANY), READS_WAITING_MAX / 2);
    read_much(fixture, &SOLO, id, READS_WAITING_MAX);
    assert_int_equal(reads_of(fixture, &SOLO), READS_WAITING_MAX / 4);
    read_much(fixture, &HOST, id, READS_WAITING_MAX);
    assert_int_equal(reads_of(fixture, &HOST), READS_WAITING_MAX / 4);
}

/* By hand: the memory that is named is the test's own. */
static void memory_that_somebody_elsewhere_names_is_not_written_to(void **state)
{
    static const struct weir_sender SENDERS[] = {{WEIR_ROLE_WORKER, "crew", ""},
                                                 {WEIR_ROLE_PLATFORM, "", ""}};
    struct fixture *fixture = *state;
    uint64_t id = declare_a_row(fixture);
    struct weir_segment *segment = weir_segment_new(1 << 20);
    const struct msg_read asked = {.ids = {&id, 1}, .loan = weir_segment_lend(segment)};
    const struct weir_rpc_handler *handler = STORAGE_HANDLERS;

    while (handler->type != MSG_read)
        handler++;
    for (size_t i = 0; i < WEIR_COUNT(SENDERS); i++) {
        struct weir_request request = {.server = fixture->server,
                                       .type = MSG_read,
                                       .message = &asked,
                                       .arena = fixture->inside.arena,
                                       .route = {.identity_size = 1, .request = i + 1},
                                       .sender = &SENDERS[i]};
        handler->fn(fixture->inside.storage, &request);
        assert_int_equal(((const struct msg_read *)request.message)->loan.size == 0, i == 0);
    }
    weir_segment_free(segment);
}

/* While all threads read, it would be copied, and there may be hundreds. */
static void a_read_of_more_than_an_answer_may_be_asked_for_does_not_wait(void **state)
{
    static uint64_t ids[READ_IDS_MAX + 1];
    static const struct readers SOLO = {"solo", 1};
    static const struct weir_sender CREW_ONE = {WEIR_ROLE_WORKER, "crew", ""};
    struct fixture *fixture = *state;
    const struct msg_read asked = {.ids = {ids, READ_IDS_MAX + 1}};

    ids[0] = declare_a_row(fixture);
    for (size_t i = 1; i <= READ_IDS_MAX; i++)
        ids[i] = ids[0];
    read_much(fixture, &SOLO, ids[0], READ_THREADS);
    for (size_t i = 0; i < READS_WAITING_MAX; i++) {
        struct weir_request request = {.server = fixture->server,
                                       .type = MSG_read,
                                       .message = &asked,
                                       .route = {.identity_size = 1, .request = i + 1},
                                       .sender = &CREW_ONE};
        storage_read_queue_add(fixture->inside.storage->read_queue, &request);
    }
    assert_int_equal(
        storage_read_queue_has(fixture->inside.storage->read_queue, weir_quota_key(CREW_ONE.name)),
        0);
    assert_int_equal(keyed_ask(&fixture->keyed, CREW, MSG_read, &asked), WEIR_LIMIT);
}

/* However many peers it has. */
static void keys_are_read_for_in_turn(void **state)
{
    static const struct readers CREW_OF_MANY = {"crew", 200}, SOLO = {"solo", 1};
    struct fixture *fixture = *state;
    uint64_t id = declare_a_row(fixture);
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    read_much(fixture, &CREW_OF_MANY, id, READS_WAITING_MAX / 2);
    read_much(fixture, &SOLO, id, READS_WAITING_MAX / 4);
    while (reads_of(fixture, &SOLO) > 0) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->inside.loop, TEST_STEP_MS);
    }
    assert_true(reads_of(fixture, &CREW_OF_MANY) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_trainer_that_takes_every_lease_shuts_nobody_out, begin,
                                        end),
        cmocka_unit_test_setup_teardown(whoever_knows_a_session_neither_renews_nor_ends_it, begin,
                                        end),
        cmocka_unit_test_setup_teardown(every_message_about_samples_is_refused_to_other_tenants,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_loan_is_renewed_and_ended_by_the_key_that_began_it, begin,
                                        end),
        cmocka_unit_test_setup_teardown(rows_are_predicted_for_the_key_that_lends_them, begin, end),
        cmocka_unit_test_setup_teardown(one_key_lends_no_more_than_it_leaves_to_others, begin, end),
        cmocka_unit_test_setup_teardown(many_rows_count_for_what_each_takes, begin, end),
        cmocka_unit_test_setup_teardown(rows_are_lent_only_if_an_answer_can_tell_of_all, begin,
                                        end),
        cmocka_unit_test_setup_teardown(rows_beyond_those_that_can_be_lent_take_no_memory, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            one_key_has_no_more_wait_for_the_disk_than_it_leaves_to_others, begin, end),
        cmocka_unit_test_setup_teardown(one_key_has_no_more_reads_wait_than_it_leaves_to_others,
                                        begin, end),
        cmocka_unit_test_setup_teardown(memory_that_somebody_elsewhere_names_is_not_written_to,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            a_read_of_more_than_an_answer_may_be_asked_for_does_not_wait, begin, end),
        cmocka_unit_test_setup_teardown(keys_are_read_for_in_turn, begin, end),
    };
    return cmocka_run_group_tests_name("storage: keys", tests, NULL, NULL);
}
