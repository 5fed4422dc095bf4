/* Sets that a worker fetches from the selector: whole, whatever they are like, and believed for their digest alone. */
#include "preprocess/worker/sets.h"

#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { EPOCHS = 3, PART = 4 };

/* A selector that has one set, and may lie about it. */
struct fixture {
    struct temp_dir dir;
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *peer;
    struct sets *sets;
    struct weir_sample_set set;
    char digest[WEIR_DIGEST_TEXT_MAX];
    uint32_t page_max; /* it sends no more at once than this */
    uint64_t lie;      /* added to the last id of each page */
    bool refuses;
    unsigned asked;
    bool has_news;
};

static void on_set_read(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_set_read *asked = request->message;
    const struct weir_sample_set *set = &fixture->set;
    uint64_t samples = asked->epoch > 0 ? set->parts.samples : set->count;
    uint64_t count = samples - asked->first;
    struct weir_error err;
    count = count > fixture->page_max ? fixture->page_max : count;
    fixture->asked++;
    if (fixture->refuses) {
        weir_fail(&err, WEIR_NOT_FOUND, "there is no such set");
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count + 1, sizeof(*ids));
    WEIR_AUTO_FREE uint32_t *weights = weir_calloc(count + 1, sizeof(*weights));
    for (size_t i = 0; i < count; i++) {
        size_t at = asked->first + i;
        at = asked->epoch > 0 ? set->parts.indices[(asked->epoch - 1) * samples + at] : at;
        ids[i] = set->ids[at];
        if (set->weights != NULL)
            memcpy(&weights[i], &set->weights[at], sizeof(float));
    }
    if (count > 0)
        ids[count - 1] += fixture->lie;
    weir_rpc_reply(request->server, &request->route, MSG_set_part,
                   &(struct msg_set_part){.samples = samples,
                                          .ids = {ids, count},
                                          .weights = {weights, set->weights != NULL ? count : 0},
                                          .epochs = set->parts.count},
                   NULL);
}

static const struct weir_rpc_handler SELECTOR[] = {
    WEIR_ON(set_read, on_set_read),
    {MSG_none, NULL},
};

static void on_news(void *owner)
{
    struct fixture *fixture = owner;
    fixture->has_news = true;
}

static int begin(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    struct weir_error err;
    char endpoint[600];
    temp_dir_make(&fixture->dir);
    snprintf(endpoint, sizeof(endpoint), "ipc://%s", temp_path(&fixture->dir, "selector.sock"));
    fixture->page_max = 5;
    fixture->loop = weir_loop_new();
    assert_int_equal(
        weir_rpc_serve(fixture->loop, endpoint, SELECTOR, fixture, &fixture->server, &err),
        WEIR_OK);
    assert_int_equal(weir_rpc_connect(fixture->loop, endpoint, NULL, NULL, &fixture->peer, &err),
                     WEIR_OK);
    assert_int_equal(preprocess_sets_open(temp_path(&fixture->dir, "fetched"), fixture->peer,
                                          on_news, fixture, &fixture->sets, &err),
                     WEIR_OK);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    preprocess_sets_close(fixture->sets);
    weir_sample_set_close(&fixture->set);
    weir_rpc_peer_close(fixture->peer);
    weir_rpc_server_close(fixture->server);
    weir_loop_free(fixture->loop);
    temp_dir_remove(&fixture->dir);
    free(fixture);
    return 0;
}

/* Gives the selector a set of `count` samples. */
static void seal(struct fixture *fixture, size_t count, bool has_weights, bool has_parts)
{
    uint64_t ids[64];
    float weights[64];
    uint32_t indices[EPOCHS * PART];
    struct weir_error err;
    struct weir_digest digest;
    struct weir_sample_set_writer *writer;
    char path[512];
    snprintf(path, sizeof(path), "%s", temp_path(&fixture->dir, "sealed"));
    for (size_t i = 0; i < count; i++) {
        ids[i] = 100 + 3 * i;
        weights[i] = 0.5f + (float)i;
    }
    for (uint32_t i = 0; i < EPOCHS * PART; i++) /* together all of 12 */
        indices[i] = i / PART + i % PART * EPOCHS;
    assert_int_equal(
        weir_sample_set_begin(path, count, has_weights ? weights : NULL, &writer, &err), WEIR_OK);
    if (has_parts)
        weir_sample_set_divide(writer, &(struct weir_epoch_parts){indices, PART, EPOCHS});
    assert_int_equal(weir_sample_set_add(writer, ids, count, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_finish(writer, &digest, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_publish(writer, path, &err), WEIR_OK);
    weir_sample_set_writer_free(writer);
    assert_int_equal(weir_sample_set_open(path, &fixture->set, &err), WEIR_OK);
    weir_digest_text(&digest, fixture->digest);
}

/* Returns what is said of the set once it has come, or cannot. */
static enum weir_status await(struct fixture *fixture, const char **ret_path,
                              struct weir_error *err)
{
    fixture->has_news = false;
    enum weir_status status = preprocess_sets_find(fixture->sets, fixture->digest, ret_path, err);
    if (status != WEIR_UNAVAILABLE)
        return status;
    test_loop_until(fixture->loop, &fixture->has_news);
    return preprocess_sets_find(fixture->sets, fixture->digest, ret_path, err);
}

static void assert_comes(struct fixture *fixture)
{
    struct weir_error err;
    struct weir_sample_set came;
    const char *path = NULL;
    assert_int_equal(await(fixture, &path, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_open(path, &came, &err), WEIR_OK);
    assert_int_equal(came.count, fixture->set.count);
    assert_memory_equal(came.digest.bytes, fixture->set.digest.bytes, WEIR_DIGEST_BYTES);
    assert_int_equal(came.parts.count, fixture->set.parts.count);
    weir_sample_set_close(&came);
    unsigned asked = fixture->asked;
    assert_int_equal(await(fixture, &path, &err), WEIR_OK);
    assert_int_equal(fixture->asked, asked); /* it is there */
}

static void a_set_comes_by_pages(void **state)
{
    struct fixture *fixture = *state;
    seal(fixture, 12, false, false);
    assert_comes(fixture);
    assert_int_equal(fixture->asked, 3);
}

static void a_set_comes_with_its_weights(void **state)
{
    struct fixture *fixture = *state;
    seal(fixture, 12, true, false);
    assert_comes(fixture);
}

static void a_set_comes_with_the_samples_of_each_epoch(void **state)
{
    struct fixture *fixture = *state;
    fixture->page_max = 3;
    seal(fixture, 12, true, true);
    assert_comes(fixture);
}

static void a_set_of_nothing_comes(void **state)
{
    struct fixture *fixture = *state;
    seal(fixture, 0, false, false);
    assert_comes(fixture);
}

static void another_set_than_the_one_named_is_not_taken(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    const char *path = NULL;
    fixture->lie = 1;
    seal(fixture, 12, false, false);
    assert_int_equal(await(fixture, &path, &err), WEIR_CORRUPT);
    assert_null(path);
    fixture->lie = 0;
    assert_comes(fixture); /* it is tried again */
}

static void pages_that_do_not_follow_each_other_are_not_taken(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    const char *path = NULL;
    fixture->lie = 1000;
    seal(fixture, 12, false, false);
    assert_int_equal(await(fixture, &path, &err), WEIR_INVALID);
}

static void a_set_that_nobody_has_is_said_to_be_so(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    const char *path = NULL;
    seal(fixture, 12, false, false);
    fixture->refuses = true;
    assert_int_equal(await(fixture, &path, &err), WEIR_NOT_FOUND);
    assert_int_equal(preprocess_sets_find(fixture->sets, "../etc", &path, &err), WEIR_INVALID);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_set_comes_by_pages),
        CASE(a_set_comes_with_its_weights),
        CASE(a_set_comes_with_the_samples_of_each_epoch),
        CASE(a_set_of_nothing_comes),
        CASE(another_set_than_the_one_named_is_not_taken),
        CASE(pages_that_do_not_follow_each_other_are_not_taken),
        CASE(a_set_that_nobody_has_is_said_to_be_so),
    };
    return cmocka_run_group_tests_name("worker: sets", tests, NULL, NULL);
}
