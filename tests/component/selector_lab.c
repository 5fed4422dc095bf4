/* The lab of the selector's tests: the storage it asks, and questions to it. */
#include "tests/component/selector_lab.h"

#include "core/wire/outputs.h"

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

/* Rows of the feed, as they are told. */
struct page {
    uint64_t sequences[CHANGES_MAX], firsts[CHANGES_MAX];
    uint32_t kinds[CHANGES_MAX], counts[CHANGES_MAX];
    size_t count;
};

static void add_row(struct page *page, size_t change, const struct change *row)
{
    page->sequences[page->count] = change + 1;
    page->firsts[page->count] = row->first;
    page->kinds[page->count] = row->kind;
    page->counts[page->count++] = row->count;
}

static void tell_page(const struct script *script, struct page *page, uint64_t passed,
                      struct weir_request *request)
{
    const struct msg_feed_is feed = {
        .head = script->change_count,
        .sequences = {page->sequences, page->count},
        .kinds = {page->kinds, page->count},
        .firsts = {page->firsts, page->count},
        .counts = {page->counts, page->count},
        .passed = passed,
    };
    weir_rpc_reply(request->server, &request->route, MSG_feed_is, &feed, NULL);
}

/* The rows of each change that are still live, less those that a later one took from its front. */
static void tell_snapshot(const struct script *script, struct weir_request *request)
{
    struct page page = {.count = 0};
    for (size_t i = 0; i < script->floor; i++) {
        uint64_t first = script->changes[i].first, end = first + script->changes[i].count;
        while (first < end && !is_live(script, first))
            first++;
        if (script->changes[i].kind != WEIR_CHANGE_ADDED || first == end)
            continue;
        add_row(&page, i, &(struct change){WEIR_CHANGE_ADDED, first, (uint32_t)(end - first)});
    }
    tell_page(script, &page, script->floor, request);
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
    struct page page = {.count = 0};
    /* Two rows a page, so that reading on is the rule. */
    for (size_t i = asked->after; i < script->change_count && page.count < 2; i++)
        add_row(&page, i, &script->changes[i]);
    tell_page(script, &page, 0, request);
}

static void on_columns_read(void *owner, struct weir_request *request)
{
    struct fixture *fixture = owner;
    const struct msg_columns_read *asked = request->message;
    struct script *script = &fixture->script;
    if (script->is_silent && request->route.request <= script->untold)
        return;
    script->column_reads++;
    script->untold = request->route.request;
    if (script->is_silent)
        return;
    uint64_t *ids = weir_calloc(asked->count, sizeof(*ids));
    int64_t *times = weir_calloc(asked->count, sizeof(*times));
    int64_t *labels = weir_calloc(asked->count, sizeof(*labels));
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
    for (const struct weir_rpc_handler *row = SELECTOR_HANDLERS; row->fn != NULL; row++)
        if (row->type == request->type)
            row->fn(fixture->selector, request);
}

static const struct weir_rpc_handler FORWARD[] = {
    WEIR_ON(selection_open, on_request),
    WEIR_ON(select, on_request),
    WEIR_ON(interval_seal, on_request),
    WEIR_ON(preview, on_request),
    WEIR_ON(scores_take, on_request),
    WEIR_ON(scores_purge, on_request),
    WEIR_ON(set_read, on_request),
    WEIR_ON(sets_request, on_request),
    WEIR_ON(owned_examine, on_request),
    WEIR_ON(window_seal, on_request),
    {MSG_none, NULL},
};

void lab_start(struct fixture *fixture)
{
    struct weir_error err;
    const struct weir_service_options options = {
        .data_dir = fixture->dir.path,
        .socket_dir = fixture->dir.path,
        .postgres = fixture->postgres.conninfo,
        .name = "selector",
    };
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(fixture->dir.path, "selector");
    if (weir_rpc_serve(fixture->loop, endpoint, FORWARD, fixture, &fixture->server, &err) !=
            WEIR_OK ||
        selector_open(&options, fixture->loop, fixture->server, &fixture->selector, &err) ||
        weir_rpc_connect(fixture->loop, endpoint, NULL, NULL, &fixture->peer, &err) != WEIR_OK)
        fail_msg("%s", err.text);
}

void lab_stop(struct fixture *fixture)
{
    weir_rpc_peer_close(fixture->peer);
    weir_rpc_server_close(fixture->server);
    selector_close(fixture->selector);
}

void lab_restart(struct fixture *fixture)
{
    lab_stop(fixture);
    lab_start(fixture);
}

int lab_setup_group(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    weir_test_postgres_start(&fixture->postgres);
    *state = fixture;
    return 0;
}

int lab_teardown_group(void **state)
{
    struct fixture *fixture = *state;
    weir_test_postgres_stop(&fixture->postgres);
    free(fixture);
    return 0;
}

int lab_setup(void **state)
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
    lab_start(fixture);
    return 0;
}

int lab_teardown(void **state)
{
    struct fixture *fixture = *state;
    lab_stop(fixture);
    weir_rpc_server_close(fixture->storage);
    weir_loop_free(fixture->loop);
    temp_dir_remove(&fixture->dir);
    return 0;
}

void lab_change(struct fixture *fixture, uint32_t kind, uint32_t row, uint32_t count)
{
    assert_true(fixture->script.change_count < CHANGES_MAX);
    fixture->script.changes[fixture->script.change_count++] =
        (struct change){.kind = kind, .first = weir_sample_id(DATASET, 0, row), .count = count};
}

/* Keeps it as text: "label ham 3/7 its share by the policy", a line a group. */
static void keep_preview(struct fixture *fixture, const struct msg_preview_is *preview)
{
    WEIR_AUTO_BUF out = {0};
    for (size_t i = 0; i < preview->kinds.count; i++)
        weir_buf_printf(&out, "%s %s %d/%d %s\n", preview->kinds.at[i], preview->names.at[i],
                        (int)preview->group_samples.at[i], (int)preview->group_candidates.at[i],
                        preview->whys.at[i]);
    (void)snprintf(fixture->preview, sizeof(fixture->preview), "%s", weir_buf_text(&out));
    (void)snprintf(fixture->model, sizeof(fixture->model), "%s", preview->scored_by);
    fixture->samples = preview->samples;
    fixture->candidates = preview->candidates;
    fixture->unscored = preview->unscored;
}

static void keep_wanted(struct fixture *fixture, const struct msg_scores_wanted *wanted)
{
    (void)snprintf(fixture->mode, sizeof(fixture->mode), "%s", wanted->mode);
    (void)snprintf(fixture->model, sizeof(fixture->model), "%s", wanted->model);
    (void)snprintf(fixture->digest, sizeof(fixture->digest), "%s", wanted->digest);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s", wanted->path);
    fixture->samples = wanted->samples;
    fixture->candidates = wanted->candidates;
}

/* Keeps it as mode "holdout"; the half as candidates. */
static void keep_held(struct fixture *fixture, const struct msg_holdout_wanted *wanted)
{
    (void)snprintf(fixture->mode, sizeof(fixture->mode), "holdout");
    (void)snprintf(fixture->digest, sizeof(fixture->digest), "%s", wanted->digest);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s", wanted->path);
    fixture->samples = wanted->samples;
    fixture->candidates = wanted->half;
}

/* Scores that were taken as samples, samples without one as candidates. */
static void keep_noted(struct fixture *fixture, const struct msg_scores_noted *noted)
{
    fixture->samples = noted->samples;
    fixture->candidates = noted->unscored;
}

void lab_on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct fixture *fixture = owner;
    fixture->done = true;
    fixture->status = reply != NULL ? WEIR_OK : err->status;
    fixture->digest[0] = fixture->path[0] = fixture->mode[0] = fixture->model[0] = '\0';
    fixture->samples = fixture->candidates = 0;
    (void)snprintf(fixture->text, sizeof(fixture->text), "%s", reply != NULL ? "" : err->text);
    if (reply != NULL && reply->type == MSG_preview_is)
        keep_preview(fixture, reply->message);
    if (reply != NULL && reply->type == MSG_scores_wanted)
        keep_wanted(fixture, reply->message);
    if (reply != NULL && reply->type == MSG_holdout_wanted)
        keep_held(fixture, reply->message);
    if (reply != NULL && reply->type == MSG_scores_noted)
        keep_noted(fixture, reply->message);
    if (reply == NULL || reply->type != MSG_selected)
        return;
    const struct msg_selected *selected = reply->message;
    (void)snprintf(fixture->digest, sizeof(fixture->digest), "%s", selected->digest);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s", selected->path);
    (void)snprintf(fixture->text, sizeof(fixture->text), "%s", selected->reason);
    (void)snprintf(fixture->model, sizeof(fixture->model), "%s", selected->scored_by);
    fixture->samples = selected->samples;
    fixture->candidates = selected->candidates;
    fixture->period = selected->period;
}

enum weir_status lab_request(struct fixture *fixture, enum weir_message type, const void *message)
{
    fixture->done = false;
    weir_rpc_call(fixture->peer, type, message, TEST_PATIENCE_MS, lab_on_done, fixture);
    test_loop_until(fixture->loop, &fixture->done);
    return fixture->status;
}

static void put_faults(const void *faults)
{
    (void)setenv("WEIR_FAULTS", faults, 1);
}

pid_t lab_spawn(struct fixture *fixture, const char *bin_dir, const char *faults)
{
    WEIR_AUTO_FREE char *program = weir_format("%s/selector", bin_dir);
    const char *const argv[] = {
        program,           "--data-dir", fixture->dir.path,          "--socket-dir",
        fixture->dir.path, "--postgres", fixture->postgres.conninfo, NULL};
    return child_start(argv, put_faults, faults);
}

static bool has_died(pid_t pid)
{
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return true;
}

void lab_wait_for_death(struct fixture *fixture, pid_t pid)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (!has_died(pid)) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
}

enum weir_status lab_request_through_death(struct fixture *fixture, const char *bin_dir,
                                           const char *point, enum weir_message type,
                                           const void *message)
{
    WEIR_AUTO_FREE char *faults = weir_format("%s=!1", point);
    selector_close(fixture->selector);
    weir_rpc_server_close(fixture->server);
    pid_t pid = lab_spawn(fixture, bin_dir, faults);
    fixture->done = false;
    weir_rpc_call(fixture->peer, type, message, TEST_PATIENCE_MS, lab_on_done, fixture);
    lab_wait_for_death(fixture, pid);
    assert_false(fixture->done);
    pid = lab_spawn(fixture, bin_dir, "");
    test_loop_until(fixture->loop, &fixture->done);
    child_end(pid, SIGKILL);
    weir_rpc_peer_close(fixture->peer);
    lab_start(fixture);
    return fixture->status;
}

enum weir_status lab_open_pipeline(struct fixture *fixture, const char *selection, bool replay)
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
    return lab_request(fixture, MSG_selection_open, &open);
}

enum weir_status lab_select_live(struct fixture *fixture, uint64_t trigger, uint64_t position)
{
    const struct msg_select select = {
        .pipeline = "quick", .trigger = trigger, .positions = {&position, 1}};
    return lab_request(fixture, MSG_select, &select);
}

enum weir_status lab_select_replay(struct fixture *fixture, uint64_t trigger, uint64_t position,
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
    return lab_request(fixture, MSG_select, &select);
}

enum weir_status lab_seal_interval(struct fixture *fixture, int64_t from, int64_t to,
                                   uint64_t position)
{
    const struct msg_interval_seal seal = {
        .pipeline = "quick", .from_time = from, .to_time = to, .positions = {&position, 1}};
    return lab_request(fixture, MSG_interval_seal, &seal);
}

const char *lab_rows(struct fixture *fixture)
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
    (void)snprintf(text, sizeof(text), "%s", weir_buf_text(&out));
    return text;
}

/* ---- scores ---- */

enum weir_status lab_select_by(struct fixture *fixture, uint64_t trigger, uint64_t position,
                               const char *model)
{
    const struct msg_select select = {
        .pipeline = "quick", .trigger = trigger, .positions = {&position, 1}, .model = model};
    return lab_request(fixture, MSG_select, &select);
}

const char *lab_write_outputs(struct fixture *fixture, uint32_t missing)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(set.count + 1, sizeof(*ids));
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(set.count + 1, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(set.count + 1, sizeof(*values));
    struct weir_outputs outputs = {.ids = ids, .labels = labels, .values = values, .width = 1};
    bool is_holdouts = fixture->model[0] == 'h';
    for (size_t i = 0; i < set.count; i++) {
        if (weir_sample_row(set.ids[i]) == missing)
            continue;
        uint32_t row = weir_sample_row(set.ids[i]);
        values[outputs.count] = (3 + 0.9F * (float)(is_holdouts ? 99 - row : row)) / 100;
        ids[outputs.count++] = set.ids[i];
    }
    const char *path = temp_path(&fixture->dir, "outputs");
    assert_int_equal(weir_outputs_write(path, &outputs, &err), WEIR_OK);
    weir_sample_set_close(&set);
    return path;
}

enum weir_status lab_bring_through(struct fixture *fixture, uint32_t missing, const char *point)
{
    char mode[16], model[64], digest[WEIR_DIGEST_TEXT_MAX];
    (void)snprintf(mode, sizeof(mode), "%s", fixture->mode);
    (void)snprintf(model, sizeof(model), "%s", fixture->model);
    (void)snprintf(digest, sizeof(digest), "%s", fixture->digest);
    const struct msg_scores_take take = {.pipeline = "quick",
                                         .mode = mode,
                                         .model = model,
                                         .digest = digest,
                                         .outputs = lab_write_outputs(fixture, missing)};
    return point != NULL
               ? lab_request_through_death(fixture, WEIR_BIN_DIR, point, MSG_scores_take, &take)
               : lab_request(fixture, MSG_scores_take, &take);
}

enum weir_status lab_bring(struct fixture *fixture, uint32_t missing)
{
    return lab_bring_through(fixture, missing, NULL);
}
