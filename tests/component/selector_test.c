/* The selector against real Postgres and a scripted storage: what it selects, that it says the same
 * again, and that dying anywhere changes nothing. */
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "selector/selector.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { DATASET = 2, CHANGES_MAX = 64, PATIENCE_MS = 30000 };

struct change {
    uint32_t kind;
    uint64_t first;
    uint32_t count;
};

/* What the scripted storage serves: a feed, and columns that follow from the id. */
struct script {
    struct change changes[CHANGES_MAX];
    size_t change_count;
    size_t floor; /* changes up to here are told as a snapshot only */
    size_t feed_reads;
    size_t column_reads;
};

struct fixture {
    struct weir_test_postgres postgres;
    struct temp_dir dir;
    struct weir_loop *loop;
    struct weir_rpc_server *storage;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *peer;
    void *selector;
    struct script script;
    /* The newest answer. */
    bool done;
    enum weir_status status;
    char digest[WEIR_DIGEST_TEXT_MAX];
    char path[512];
    char text[512]; /* reason or error */
    uint64_t samples;
    uint64_t candidates;
};

/* ---- the scripted storage: sample r has time 1000 + r and label r % 3 == 0 ---- */

static int64_t time_of(uint64_t id)
{
    return 1000 + weir_sample_row(id);
}

static bool is_live(const struct script *script, uint64_t id)
{
    bool live = false;
    for (size_t i = 0; i < script->change_count; i++) {
        const struct change *change = &script->changes[i];
        if (id >= change->first && id < change->first + change->count)
            live = change->kind == WEIR_CHANGE_ADDED;
    }
    return live;
}

/* The rows of each change that are still live, less those that a later one took from its front. */
static void tell_snapshot(const struct script *script, struct weir_request *request)
{
    uint64_t sequences[CHANGES_MAX];
    uint64_t firsts[CHANGES_MAX];
    uint32_t kinds[CHANGES_MAX];
    uint32_t counts[CHANGES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < script->floor; i++) {
        uint64_t first = script->changes[i].first, end = first + script->changes[i].count;
        while (first < end && !is_live(script, first))
            first++;
        if (script->changes[i].kind != WEIR_CHANGE_ADDED || first == end)
            continue;
        sequences[count] = i + 1;
        firsts[count] = first;
        kinds[count] = WEIR_CHANGE_ADDED;
        counts[count++] = (uint32_t)(end - first);
    }
    const struct msg_feed_is page = {
        .head = script->change_count,
        .sequences = {sequences, count},
        .kinds = {kinds, count},
        .firsts = {firsts, count},
        .counts = {counts, count},
        .passed = script->floor,
    };
    weir_rpc_reply(request->server, &request->route, MSG_feed_is, &page, NULL);
}

/* True when the changes asked for are kept no longer; then it is answered. */
static bool is_too_late(const struct script *script, struct weir_request *request)
{
    const struct msg_feed_read *asked = request->message;
    struct weir_error err;
    if (asked->after >= script->floor)
        return false;
    if (asked->snapshot) {
        tell_snapshot(script, request);
        return true;
    }
    weir_fail(&err, WEIR_STALE, "start from a snapshot");
    weir_rpc_refuse(request->server, &request->route, &err);
    return true;
}

static void on_feed_read(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    struct script *script = &fixture->script;
    const struct msg_feed_read *asked = request->message;
    script->feed_reads++;
    if (is_too_late(script, request))
        return;
    uint64_t sequences[CHANGES_MAX];
    uint64_t firsts[CHANGES_MAX];
    uint32_t kinds[CHANGES_MAX];
    uint32_t counts[CHANGES_MAX];
    size_t count = 0;
    /* Two rows a page, so that reading on is the rule. */
    for (size_t i = asked->after; i < script->change_count && count < 2; i++) {
        sequences[count] = i + 1;
        firsts[count] = script->changes[i].first;
        kinds[count] = script->changes[i].kind;
        counts[count++] = script->changes[i].count;
    }
    const struct msg_feed_is page = {
        .head = script->change_count,
        .sequences = {sequences, count},
        .kinds = {kinds, count},
        .firsts = {firsts, count},
        .counts = {counts, count},
    };
    weir_rpc_reply(request->server, &request->route, MSG_feed_is, &page, NULL);
}

static void on_columns_read(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_columns_read *asked = request->message;
    fixture->script.column_reads++;
    uint64_t *ids = weir_calloc(asked->count, sizeof *ids);
    int64_t *times = weir_calloc(asked->count, sizeof *times);
    int64_t *labels = weir_calloc(asked->count, sizeof *labels);
    size_t count = 0;
    for (uint64_t id = asked->first; id < asked->first + asked->count; id++) {
        if (!is_live(&fixture->script, id))
            continue;
        ids[count] = id;
        times[count] = time_of(id);
        labels[count++] = weir_sample_row(id) % 3 == 0;
    }
    const struct msg_columns_is columns = {
        .ids = {ids, count}, .times = {times, count}, .labels = {labels, count}};
    weir_rpc_reply(request->server, &request->route, MSG_columns_is, &columns, NULL);
    free(ids);
    free(times);
    free(labels);
}

static const struct weir_rpc_handler STORAGE[] = {
    WEIR_ON(feed_read, on_feed_read),
    WEIR_ON(columns_read, on_columns_read),
    {MSG_none, NULL},
};

/* ---- the fixture ---- */

/* Requests reach the selector through a table bound before its state exists, as in a service. */
static void on_request(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    for (const struct weir_rpc_handler *row = SELECTOR_HANDLERS; row->fn; row++)
        if (row->type == request->type)
            row->fn(fixture->selector, request);
}

static const struct weir_rpc_handler FORWARD[] = {
    WEIR_ON(selection_open, on_request),
    WEIR_ON(select, on_request),
    WEIR_ON(interval_seal, on_request),
    {MSG_none, NULL},
};

static void start_selector(struct fixture *fixture)
{
    struct weir_error err;
    const struct weir_service_options options = {
        .data_dir = fixture->dir.path,
        .socket_dir = fixture->dir.path,
        .postgres = fixture->postgres.conninfo,
        .name = "selector",
    };
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(fixture->dir.path, "selector");
    if (weir_rpc_serve(fixture->loop, endpoint, FORWARD, fixture, &fixture->server, &err) ||
        selector_open(&options, fixture->loop, fixture->server, &fixture->selector, &err) ||
        weir_rpc_connect(fixture->loop, endpoint, NULL, NULL, &fixture->peer, &err))
        fail_msg("%s", err.text);
}

/* Nothing is asked to end, nothing is written: what memory held is lost. */
static void stop_selector(struct fixture *fixture)
{
    weir_rpc_peer_close(fixture->peer);
    weir_rpc_server_close(fixture->server);
    selector_close(fixture->selector);
}

static int setup_group(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof *fixture);
    weir_test_postgres_start(&fixture->postgres);
    *state = fixture;
    return 0;
}

static int teardown_group(void **state)
{
    struct fixture *fixture = *state;
    weir_test_postgres_stop(&fixture->postgres);
    free(fixture);
    return 0;
}

static int setup(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    fixture->script = (struct script){0};
    weir_test_postgres_reset(&fixture->postgres);
    temp_dir_make(&fixture->dir);
    assert_int_equal(weir_make_directories(temp_path(&fixture->dir, "sets"), 0700, &err), WEIR_OK);
    fixture->loop = weir_loop_new();
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(fixture->dir.path, "storage");
    assert_int_equal(
        weir_rpc_serve(fixture->loop, endpoint, STORAGE, fixture, &fixture->storage, &err),
        WEIR_OK);
    start_selector(fixture);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    stop_selector(fixture);
    weir_rpc_server_close(fixture->storage);
    weir_loop_free(fixture->loop);
    temp_dir_remove(&fixture->dir);
    return 0;
}

/* Every change is one sequence number: the first is 1. */
static void change(struct fixture *fixture, uint32_t kind, uint32_t row, uint32_t count)
{
    assert_true(fixture->script.change_count < CHANGES_MAX);
    fixture->script.changes[fixture->script.change_count++] =
        (struct change){.kind = kind, .first = weir_sample_id(DATASET, 0, row), .count = count};
}

static void on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;
    fixture->done = true;
    fixture->status = reply ? WEIR_OK : err->status;
    fixture->digest[0] = fixture->path[0] = '\0';
    fixture->samples = fixture->candidates = 0;
    (void)snprintf(fixture->text, sizeof fixture->text, "%s", reply ? "" : err->text);
    if (!reply || reply->type != MSG_selected)
        return;
    const struct msg_selected *selected = reply->message;
    (void)snprintf(fixture->digest, sizeof fixture->digest, "%s", selected->digest);
    (void)snprintf(fixture->path, sizeof fixture->path, "%s", selected->path);
    (void)snprintf(fixture->text, sizeof fixture->text, "%s", selected->reason);
    fixture->samples = selected->samples;
    fixture->candidates = selected->candidates;
}

static enum weir_status ask(struct fixture *fixture, enum weir_message type, const void *message)
{
    fixture->done = false;
    weir_rpc_call(fixture->peer, type, message, PATIENCE_MS, on_done, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    return fixture->status;
}

static enum weir_status open_pipeline(struct fixture *fixture, const char *selection, bool replay)
{
    static const uint64_t DATASETS[] = {DATASET};
    WEIR_AUTO_FREE char *config = weir_format("datasets: [{name: mails, label: {from: manifest,"
                                              " classes: [ham, spam]}}]\nselection: %s\n",
                                              selection);
    const struct msg_selection_open open = {
        .pipeline = "quick",
        .file = "quick.yaml",
        .config = weir_bytes_of(config),
        .datasets = {DATASETS, 1},
        .replay = replay,
    };
    return ask(fixture, MSG_selection_open, &open);
}

static enum weir_status select_live(struct fixture *fixture, uint64_t trigger, uint64_t position)
{
    const struct msg_select select = {
        .pipeline = "quick", .trigger = trigger, .positions = {&position, 1}};
    return ask(fixture, MSG_select, &select);
}

static enum weir_status select_replay(struct fixture *fixture, uint64_t trigger, uint64_t position,
                                      uint32_t until_row)
{
    uint64_t until = weir_sample_id(DATASET, 0, until_row);
    const struct msg_select select = {
        .pipeline = "quick",
        .trigger = trigger,
        .positions = {&position, 1},
        .until_time = time_of(until),
        .until_id = until,
    };
    return ask(fixture, MSG_select, &select);
}

static enum weir_status seal_interval(struct fixture *fixture, int64_t from, int64_t to,
                                      uint64_t position)
{
    const struct msg_interval_seal seal = {
        .pipeline = "quick", .from_time = from, .to_time = to, .positions = {&position, 1}};
    return ask(fixture, MSG_interval_seal, &seal);
}

/* The newest set as rows: "0-3 7". */
static const char *rows(struct fixture *fixture)
{
    static char text[1024];
    struct weir_sample_set set = {0};
    struct weir_error err;
    WEIR_AUTO_BUF out = {0};
    if (weir_sample_set_open(fixture->path, &set, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < set.count;) {
        size_t end = i;
        while (end + 1 < set.count && set.ids[end + 1] == set.ids[end] + 1)
            end++;
        weir_buf_printf(&out, "%s%u", i ? " " : "", weir_sample_row(set.ids[i]));
        if (end > i)
            weir_buf_printf(&out, "-%u", weir_sample_row(set.ids[end]));
        i = end + 1;
    }
    weir_sample_set_close(&set);
    (void)snprintf(text, sizeof text, "%s", weir_buf_text(&out));
    return text;
}

/* ---- the tests ---- */

static void live_triggers_select_what_came_since_the_last(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    change(fixture, WEIR_CHANGE_ADDED, 10, 10);
    change(fixture, WEIR_CHANGE_REMOVED, 12, 1);
    change(fixture, WEIR_CHANGE_ADDED, 20, 10);
    change(fixture, WEIR_CHANGE_ADDED, 30, 10);
    assert_int_equal(open_pipeline(fixture, "{policy: new_data}", false), WEIR_OK);
    assert_int_equal(select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(rows(fixture), "0-9");
    assert_int_equal(select_live(fixture, 2, 4), WEIR_OK);
    assert_string_equal(rows(fixture), "10-11 13-29");
    assert_int_equal(select_live(fixture, 3, 4), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_string_equal(fixture->text, "there are no samples to choose from");
    assert_int_equal(select_live(fixture, 4, 5), WEIR_OK);
    assert_string_equal(rows(fixture), "30-39");
}

static void the_tail_reaches_back_over_triggers(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < 4; i++)
        change(fixture, WEIR_CHANGE_ADDED, i * 10, 10);
    assert_int_equal(open_pipeline(fixture, "{policy: new_data, tail_triggers: 1}", false),
                     WEIR_OK);
    assert_int_equal(select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(rows(fixture), "0-9");
    assert_int_equal(select_live(fixture, 2, 2), WEIR_OK);
    assert_string_equal(rows(fixture), "0-19");
    assert_int_equal(select_live(fixture, 3, 3), WEIR_OK);
    assert_string_equal(rows(fixture), "10-29");
}

static void replay_windows_follow_time_and_id(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 40);
    change(fixture, WEIR_CHANGE_ADDED, 40, 40);
    assert_int_equal(open_pipeline(fixture, "{policy: new_data}", true), WEIR_OK);
    assert_int_equal(select_replay(fixture, 1, 1, 9), WEIR_OK);
    assert_string_equal(rows(fixture), "0-9");
    assert_int_equal(select_replay(fixture, 2, 1, 24), WEIR_OK);
    assert_string_equal(rows(fixture), "10-24");
    /* Position 1 hides what was added behind it, erasures behind it count. */
    change(fixture, WEIR_CHANGE_ERASED, 30, 2);
    assert_int_equal(select_replay(fixture, 3, 1, 79), WEIR_OK);
    assert_string_equal(rows(fixture), "25-29 32-39");
    assert_true(fixture->script.column_reads >= 1);
}

static void labels_are_balanced_over_all_past(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 90); /* every third one is spam */
    assert_int_equal(
        open_pipeline(fixture, "{policy: label_balanced, tail_triggers: all, seed: 7}", true),
        WEIR_OK);
    assert_int_equal(select_replay(fixture, 1, 1, 29), WEIR_OK);
    assert_int_equal(fixture->samples, 20);
    assert_int_equal(fixture->candidates, 30);
    assert_int_equal(select_replay(fixture, 2, 1, 59), WEIR_OK);
    assert_int_equal(fixture->samples, 40);
    assert_int_equal(fixture->candidates, 60);
}

static void an_impossible_selection_has_a_reason(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 1, 2); /* rows 1 and 2 are ham */
    assert_int_equal(open_pipeline(fixture, "{policy: label_balanced}", true), WEIR_OK);
    assert_int_equal(select_replay(fixture, 1, 1, 2), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_string_equal(fixture->path, "");
    assert_string_equal(fixture->text, "class 'spam' has no samples yet");
    assert_int_equal(fixture->candidates, 2);
}

static void intervals_hold_all_live_samples_of_their_time(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 50);
    change(fixture, WEIR_CHANGE_ERASED, 15, 1);
    assert_int_equal(open_pipeline(fixture, "{policy: random, limit: 1}", true), WEIR_OK);
    assert_int_equal(seal_interval(fixture, 1010, 1020, 1), WEIR_OK);
    assert_string_equal(rows(fixture), "10-14 16-19");
    assert_int_equal(seal_interval(fixture, 5000, 6000, 1), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_non_null(strstr(fixture->text, "there are no samples from 1970-01-01T00:00:00.005"));
    assert_int_equal(seal_interval(fixture, 1020, 1020, 1), WEIR_INVALID);
}

static void the_same_request_has_the_same_answer(void **state)
{
    struct fixture *fixture = *state;
    char digest[WEIR_DIGEST_TEXT_MAX];
    change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(open_pipeline(fixture, "{policy: random, limit: 20, seed: 3}", false),
                     WEIR_OK);
    assert_int_equal(select_live(fixture, 1, 1), WEIR_OK);
    (void)snprintf(digest, sizeof digest, "%s", fixture->digest);
    change(fixture, WEIR_CHANGE_ERASED, 0, 30); /* later than the answer: readers apply it */
    assert_int_equal(select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(fixture->digest, digest);
    stop_selector(fixture);
    start_selector(fixture);
    assert_int_equal(select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(fixture->digest, digest);
    assert_int_equal(fixture->samples, 20);
}

/* Runs the same two triggers, dying or failing as `disturb` says before each request. */
static void run_twice(struct fixture *fixture, void (*disturb)(struct fixture *),
                      char digests[2][WEIR_DIGEST_TEXT_MAX])
{
    for (uint64_t trigger = 1; trigger <= 2; trigger++) {
        disturb(fixture);
        assert_int_equal(select_live(fixture, trigger, trigger), WEIR_OK);
        (void)snprintf(digests[trigger - 1], WEIR_DIGEST_TEXT_MAX, "%s", fixture->digest);
    }
}

static void leave_alone(struct fixture *fixture)
{
    (void)fixture;
}

static void restart_selector(struct fixture *fixture)
{
    stop_selector(fixture);
    start_selector(fixture);
}

static void restart_postgres(struct fixture *fixture)
{
    weir_test_postgres_kill(&fixture->postgres);
    weir_test_postgres_resume(&fixture->postgres);
}

static void dying_in_between_changes_no_digest(void **state)
{
    struct fixture *fixture = *state;
    static void (*const DISTURB[])(struct fixture *) = {leave_alone, restart_selector,
                                                        restart_postgres};
    char first[2][WEIR_DIGEST_TEXT_MAX];
    change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    change(fixture, WEIR_CHANGE_ADDED, 60, 60);
    for (size_t i = 0; i < WEIR_COUNT(DISTURB); i++) {
        char digests[2][WEIR_DIGEST_TEXT_MAX];
        stop_selector(fixture);
        weir_test_postgres_reset(&fixture->postgres);
        start_selector(fixture);
        assert_int_equal(open_pipeline(fixture, "{policy: random, ratio: 0.5, seed: 3}", false),
                         WEIR_OK);
        run_twice(fixture, DISTURB[i], i == 0 ? first : digests);
        if (i > 0)
            assert_memory_equal(first, digests, sizeof first);
    }
}

/* The real program, in a process that can be killed. */
static pid_t spawn_selector(struct fixture *fixture, const char *faults)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setenv("WEIR_FAULTS", faults, 1);
    (void)execl(WEIR_BIN_DIR "/selector", "selector", "--data-dir", fixture->dir.path,
                "--socket-dir", fixture->dir.path, "--postgres", fixture->postgres.conninfo,
                (char *)NULL);
    _exit(127);
}

static bool has_died(pid_t pid)
{
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return true;
}

/* Asks, while the program dies at `point` and is started again. */
static void select_through_death(struct fixture *fixture, const char *point)
{
    const uint64_t position = 2;
    const struct msg_select select = {
        .pipeline = "quick", .trigger = 1, .positions = {&position, 1}};
    WEIR_AUTO_FREE char *faults = weir_format("%s=!1", point);
    pid_t pid = spawn_selector(fixture, faults);
    fixture->done = false;
    weir_rpc_call(fixture->peer, MSG_select, &select, PATIENCE_MS, on_done, fixture);
    for (int round = 0; !has_died(pid); round++) {
        assert_true(round < 1000);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
    assert_false(fixture->done);
    pid = spawn_selector(fixture, "");
    test_loop_until(fixture->loop, &fixture->done);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(fixture->status, WEIR_OK);
}

static void killed_at_any_point_the_answer_is_the_same(void **state)
{
    struct fixture *fixture = *state;
    static const char *const POINTS[] = {"selector.advance", "selector.sealed", "selector.answer"};
    char digest[WEIR_DIGEST_TEXT_MAX] = "";
    for (size_t i = 0; i < WEIR_COUNT(POINTS); i++) {
        fixture->script = (struct script){0};
        change(fixture, WEIR_CHANGE_ADDED, 0, 60);
        assert_int_equal(open_pipeline(fixture, "{policy: random, limit: 20, seed: 3}", false),
                         WEIR_OK);
        selector_close(fixture->selector);
        weir_rpc_server_close(fixture->server);
        change(fixture, WEIR_CHANGE_ADDED, 60, 60);
        select_through_death(fixture, POINTS[i]);
        assert_int_equal(fixture->samples, 20);
        if (i > 0)
            assert_string_equal(fixture->digest, digest);
        (void)snprintf(digest, sizeof digest, "%s", fixture->digest);
        weir_rpc_peer_close(fixture->peer);
        weir_test_postgres_reset(&fixture->postgres);
        start_selector(fixture);
    }
}

static void feeds_are_followed_without_being_asked(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    assert_int_equal(open_pipeline(fixture, "{policy: new_data}", false), WEIR_OK);
    stop_selector(fixture);
    fixture->script.feed_reads = 0;
    start_selector(fixture);
    for (int round = 0; fixture->script.feed_reads == 0; round++) {
        assert_true(round < 1000);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
}

static void who_comes_too_late_for_the_feed_goes_on_from_a_snapshot(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    assert_int_equal(open_pipeline(fixture, "{policy: new_data, tail_triggers: 1}", false),
                     WEIR_OK);
    assert_int_equal(select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(fixture->samples, 10);
    change(fixture, WEIR_CHANGE_REMOVED, 0, 4);
    change(fixture, WEIR_CHANGE_ADDED, 10, 5);
    fixture->script.floor = 3; /* the selector has passed 1 */
    change(fixture, WEIR_CHANGE_ADDED, 15, 3);
    assert_int_equal(select_live(fixture, 2, 4), WEIR_OK);
    assert_int_equal(fixture->samples, 6 + 5 + 3); /* each once, under the change that added it */
    change(fixture, WEIR_CHANGE_ADDED, 18, 2);
    assert_int_equal(select_live(fixture, 3, 5), WEIR_OK);
    assert_int_equal(fixture->samples, 5 + 3 + 2);
}

static void requests_that_make_no_sense_are_refused(void **state)
{
    struct fixture *fixture = *state;
    change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    assert_int_equal(select_live(fixture, 1, 1), WEIR_NOT_FOUND);
    assert_non_null(strstr(fixture->text, "pipeline 'quick' is not open here"));
    assert_int_equal(open_pipeline(fixture, "{policy: randm}", false), WEIR_INVALID);
    assert_non_null(strstr(fixture->text, "quick.yaml:2:21: selection.policy: expected one of"));
    assert_int_equal(open_pipeline(fixture, "{policy: random}", false), WEIR_OK);
    assert_int_equal(select_live(fixture, 0, 1), WEIR_INVALID);
    assert_int_equal(select_live(fixture, 1, 9), WEIR_INVALID);
    assert_non_null(strstr(fixture->text, "position 9 was asked for, its newest change is 1"));
    assert_int_equal(select_live(fixture, 3, 1), WEIR_INVALID);
    assert_non_null(strstr(fixture->text, "triggers are selected in order"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(live_triggers_select_what_came_since_the_last, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_tail_reaches_back_over_triggers, setup, teardown),
        cmocka_unit_test_setup_teardown(replay_windows_follow_time_and_id, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_are_balanced_over_all_past, setup, teardown),
        cmocka_unit_test_setup_teardown(an_impossible_selection_has_a_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(intervals_hold_all_live_samples_of_their_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_same_request_has_the_same_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(dying_in_between_changes_no_digest, setup, teardown),
        cmocka_unit_test_setup_teardown(killed_at_any_point_the_answer_is_the_same, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(feeds_are_followed_without_being_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(who_comes_too_late_for_the_feed_goes_on_from_a_snapshot,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(requests_that_make_no_sense_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("selector", tests, setup_group, teardown_group);
}
