/* Asking for the datasets, walking over them as READING does, and adding up what would come of it. */
#include "orchestrator/pipeline/rehearsal.h"

#include "core/base/memory.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/reader.h"
#include "orchestrator/pipeline/sizes.h"

#include <stdlib.h>
#include <string.h>

struct rehearsal {
    struct context *context;
    char *file;
    struct weir_buf text;
    struct orchestrator_config *config;
    bool declares;
    uint64_t datasets[ORCHESTRATOR_DATASETS_MAX];
    uint64_t positions[ORCHESTRATOR_DATASETS_MAX];
    size_t asking; /* index of the dataset that a request is open for */
    uint64_t timer;
    struct reader *reader;
    struct set_sizes sizes;
    uint64_t *samples_new; /* of each trigger */
    size_t fired, capacity;
    uint64_t samples;    /* past the policy */
    uint64_t selected;   /* at most, by all triggers */
    uint64_t checks;     /* of the policy */
    uint64_t unanswered; /* of them: what a run would measure, or cost, is not known */
    json_t *scanned, *triggers;
    rehearsal_done_fn *done;
    void *owner;
};

static void fail(struct rehearsal *rehearsal, const struct weir_error *err)
{
    struct weir_error why = *err;
    rehearsal->done(rehearsal->owner, NULL, &why);
}

/* ---- what it costs ---- */

static enum weir_status find_past(const struct rehearsal *rehearsal, struct weir_rows **ret_rows,
                                  const char **ret_basis, struct weir_error *err)
{
    struct weir_db *db = rehearsal->context->db;
    *ret_basis = "earlier trainings of this pipeline";
    enum weir_status status =
        DB_RUN(db, Q_rehearsal_cost, ret_rows, err, DB_TEXT(rehearsal->config->name));
    if (status != WEIR_OK || weir_rows_i64(*ret_rows, 0, "samples") > 0)
        return status;
    weir_rows_free(*ret_rows);
    *ret_rows = NULL;
    *ret_basis = "earlier trainings of other pipelines";
    return DB_RUN(db, Q_rehearsal_cost, ret_rows, err, DB_TEXT(""));
}

/* Cost of as many samples before; null where nothing was ever trained. */
static enum weir_status cost_json(const struct rehearsal *rehearsal, json_t **ret_json,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const char *basis = "";
    enum weir_status status = find_past(rehearsal, &rows, &basis, err);
    if (status != WEIR_OK)
        return status;
    double past = (double)weir_rows_i64(rows, 0, "samples");
    if (past < 1) {
        *ret_json = json_null();
        return WEIR_OK;
    }
    double times = (double)rehearsal->selected * (double)rehearsal->config->epochs / past;
    const struct orchestrator_cost cost = {
        .trainer_cpu_ns = (int64_t)(times * (double)weir_rows_i64(rows, 0, "cpu_ns")),
        .worker_cpu_ns = (int64_t)(times * (double)weir_rows_i64(rows, 0, "worker_cpu_ns")),
        .bytes_read = (uint64_t)(times * (double)weir_rows_i64(rows, 0, "bytes_read")),
        .bytes_sent = (uint64_t)(times * (double)weir_rows_i64(rows, 0, "bytes_sent")),
        .gpu_ns = (int64_t)(times * (double)weir_rows_i64(rows, 0, "gpu_ns")),
    };
    WEIR_AUTO_BUF text = {0};
    orchestrator_cost_json(&rehearsal->context->prices, &cost, &text);
    *ret_json = orchestrator_json_of(weir_buf_text(&text));
    json_object_set_new(*ret_json, "training_seconds",
                        json_real(times * (double)weir_rows_i64(rows, 0, "spent_ns") / 1e9));
    json_object_set_new(*ret_json, "basis", json_string(basis));
    return WEIR_OK;
}

/* ---- the walk ---- */

static void fire(struct rehearsal *rehearsal)
{
    struct reader *reader = rehearsal->reader;
    WEIR_AUTO_BUF reason = {0};
    orchestrator_trigger_explain(reader->policy, &reason);
    orchestrator_trigger_fired(reader->policy);
    rehearsal->samples_new = weir_grow(rehearsal->samples_new, rehearsal->fired,
                                       &rehearsal->capacity, sizeof(*rehearsal->samples_new));
    rehearsal->samples_new[rehearsal->fired++] = reader->samples_new;
    uint64_t at_most =
        orchestrator_set_sizes_at_most(&rehearsal->sizes, rehearsal->samples_new, rehearsal->fired);
    rehearsal->selected += at_most;
    reader->samples_new = 0;
    if (rehearsal->fired > REHEARSAL_LISTED_MAX)
        return;
    json_array_append_new(
        rehearsal->triggers,
        JSON_FIELDS(
            JSON_NUMBER("trigger", rehearsal->fired), JSON_TEXT("reason", weir_buf_text(&reason)),
            JSON_NUMBER("samples_new", rehearsal->samples_new[rehearsal->fired - 1]),
            JSON_TIME("until", reader->last_time), JSON_NUMBER("selected_at_most", at_most)));
}

/* Before the first trigger there is no model to measure with. After it there would be one, whose results nobody knows
 * here: the policy is told of a measurement that could read no sample. */
static bool lacks_model(const struct rehearsal *rehearsal, const struct trigger_request *request)
{
    return request->subject != TRIGGER_FEATURES && rehearsal->fired == 0;
}

/* True when the policy has decided as in a run: by labels, which it has seen, or without a model, as there is none. */
static bool is_answered(const struct rehearsal *rehearsal, const struct trigger_request *request,
                        const json_t *decision)
{
    const char *policy = json_string_value(json_object_get(decision, "policy"));
    return request->subject == TRIGGER_NOTHING ? weir_str_equal(policy, "drift")
                                               : lacks_model(rehearsal, request);
}

static void check(struct rehearsal *rehearsal)
{
    struct trigger *policy = rehearsal->reader->policy;
    struct trigger_request request = {0};
    json_t *decision = json_object();
    orchestrator_trigger_request(policy, &request);
    const struct trigger_measured measured = {.has_model = request.subject != TRIGGER_NOTHING &&
                                                           !lacks_model(rehearsal, &request)};
    bool fires = orchestrator_trigger_measured(policy, &measured, decision);
    rehearsal->checks++;
    rehearsal->unanswered += !is_answered(rehearsal, &request, decision);
    json_decref(decision);
    if (fires)
        fire(rehearsal);
}

/* Returns the first dataset that is selected from and not walked over; NULL: there is none. */
static const char *unseen_dataset(const struct orchestrator_config *config)
{
    for (size_t i = 0; i < config->dataset_count; i++)
        if ((config->uses[i] & (CFG_USE_TRIGGER | CFG_USE_SELECTION)) == CFG_USE_SELECTION)
            return config->datasets[i];
    return NULL;
}

/* Returns the reason why the numbers are not those of a run; "": they are. */
static char *why_inexact(const struct rehearsal *rehearsal)
{
    const char *unseen = unseen_dataset(rehearsal->config);
    if (rehearsal->unanswered > 0)
        return weir_strdup("the policy measures samples by a run, or counts what trainings take: "
                           "what it would fire by that is not known before, and left out");
    return unseen == NULL ? weir_strdup("")
                          : weir_format("dataset %s is selected from, and the trigger does not see "
                                        "it (use): what it adds to the sets is left out",
                                        unseen);
}

static void finish(struct rehearsal *rehearsal)
{
    struct weir_error err;
    json_t *cost = NULL;
    const struct orchestrator_config *config = rehearsal->config;
    if (cost_json(rehearsal, &cost, &err) != WEIR_OK) {
        fail(rehearsal, &err);
        return;
    }
    WEIR_AUTO_FREE char *why = why_inexact(rehearsal);
    json_t *json = JSON_FIELDS(
        JSON_TEXT("event", "dry_run"), JSON_TEXT("pipeline", config->name),
        JSON_TEXT("mode", config->mode == MODE_LIVE ? "live" : "replay"),
        JSON_TEXT("policy", orchestrator_trigger_policy(rehearsal->reader->policy)->name),
        JSON_NEW("datasets", json_incref(rehearsal->scanned)),
        JSON_NUMBER("samples", rehearsal->samples), JSON_NUMBER("fired", rehearsal->fired),
        JSON_NEW("triggers", json_incref(rehearsal->triggers)),
        JSON_NUMBER("left_over", rehearsal->reader->samples_new),
        JSON_NUMBER("selected_at_most", rehearsal->selected), JSON_NUMBER("epochs", config->epochs),
        JSON_FLAG("exact", why[0] == '\0'), JSON_NUMBER("checks", rehearsal->checks),
        JSON_TEXT("why", why), JSON_NEW("cost", cost));
    rehearsal->done(rehearsal->owner, json, NULL);
}

static void walk(struct rehearsal *rehearsal);

static void on_page(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct rehearsal *rehearsal = owner;
    if (reply == NULL) {
        fail(rehearsal, err);
        return;
    }
    const struct msg_replay_is *page = reply->message;
    struct reader_page *into = &rehearsal->reader->pages[rehearsal->reader->asked];
    orchestrator_pipeline_page_fill(into, page->ids, page->times, page->labels);
    into->end = page->end || into->count == 0;
    walk(rehearsal);
}

static void walk(struct rehearsal *rehearsal)
{
    struct reader *reader = rehearsal->reader;
    struct reader_page *page = NULL;
    int64_t missing = -1;
    while ((page = orchestrator_pipeline_reader_first(reader, &missing)) != NULL) {
        size_t at = page->at;
        enum reader_passing passing = orchestrator_pipeline_reader_pass(reader, page);
        rehearsal->samples += page->at - at;
        if (passing == READER_FIRES)
            fire(rehearsal);
        else if (passing == READER_IS_DUE)
            check(rehearsal);
    }
    if (missing < 0) {
        finish(rehearsal);
        return;
    }
    page = &reader->pages[missing];
    reader->asked = (size_t)missing;
    struct msg_replay_read request = {
        .dataset = rehearsal->datasets[missing],
        .position = rehearsal->positions[missing],
        .after_time = page->after_time,
        .after_id = page->after_id,
        .limit = READER_PAGE_SAMPLES,
    };
    weir_rpc_call(rehearsal->context->storage, MSG_replay_read, &request, ORCHESTRATOR_REQUEST_MS,
                  on_page, rehearsal);
}

/* ---- the datasets ---- */

static void request_next(struct rehearsal *rehearsal);

static void on_time(void *owner)
{
    struct rehearsal *rehearsal = owner;
    rehearsal->timer = 0;
    request_next(rehearsal);
}

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct rehearsal *rehearsal = owner;
    struct weir_error problem;
    const struct msg_dataset_is *dataset = reply == NULL ? NULL : reply->message;
    bool is_known = dataset != NULL && dataset->dataset != 0;
    if (reply == NULL && err->status != WEIR_NOT_FOUND) {
        fail(rehearsal, err);
    } else if (!is_known || (!dataset->scanned && !rehearsal->declares)) {
        weir_ignore(weir_fail(
            &problem, WEIR_NOT_FOUND,
            "dataset %s is not known here yet, or not scanned: orchestrator run --dry-run %s looks at "
            "it in a place of its own",
            rehearsal->config->datasets[rehearsal->asking], rehearsal->file));
        fail(rehearsal, &problem);
    } else if (!dataset->scanned) {
        rehearsal->timer =
            weir_loop_timer(rehearsal->context->loop, ORCHESTRATOR_POLL_MS, 0, on_time, rehearsal);
    } else {
        rehearsal->datasets[rehearsal->asking] = dataset->dataset;
        rehearsal->positions[rehearsal->asking++] = dataset->sequence;
        json_array_append_new(rehearsal->scanned,
                              JSON_FIELDS(JSON_TEXT("dataset", dataset->name),
                                          JSON_NUMBER("samples", dataset->live)));
        request_next(rehearsal);
    }
}

static void request_next(struct rehearsal *rehearsal)
{
    const struct orchestrator_config *config = rehearsal->config;
    if (rehearsal->asking == config->dataset_count) {
        walk(rehearsal);
        return;
    }
    struct msg_dataset_request request = {.name = config->datasets[rehearsal->asking]};
    weir_rpc_call(rehearsal->context->storage, MSG_dataset_request, &request,
                  ORCHESTRATOR_REQUEST_MS, on_dataset, rehearsal);
}

static void on_declared(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    if (reply == NULL)
        fail(owner, err);
    else
        request_next(owner);
}

/* ---- life ---- */

void orchestrator_rehearsal_begin(struct rehearsal *rehearsal, rehearsal_done_fn *done, void *owner)
{
    struct msg_dataset_declare declare = {.file = rehearsal->file,
                                          .config = weir_buf_view(&rehearsal->text)};
    rehearsal->done = done;
    rehearsal->owner = owner;
    if (rehearsal->declares)
        weir_rpc_call(rehearsal->context->storage, MSG_dataset_declare, &declare,
                      ORCHESTRATOR_REQUEST_MS, on_declared, rehearsal);
    else
        request_next(rehearsal);
}

enum weir_status orchestrator_rehearse(struct context *context, const char *file,
                                       struct weir_bytes text, bool declares,
                                       struct rehearsal **ret_rehearsal, struct weir_error *err)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    struct trigger *policy = NULL;
    enum weir_status status = orchestrator_config_parse(file, text, &config, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_open(config->trigger, "trigger", &policy, err);
    if (status != WEIR_OK)
        return status;
    struct rehearsal *rehearsal = weir_calloc(1, sizeof(*rehearsal));
    rehearsal->context = context;
    rehearsal->file = weir_strdup(file);
    weir_buf_append(&rehearsal->text, text.at, text.size);
    rehearsal->declares = declares;
    rehearsal->reader =
        orchestrator_pipeline_reader_behind(policy, config, -INT64_MAX, 0); /* all there are */
    orchestrator_set_sizes_read(weir_yaml_get(weir_yaml_root(config->document), "selection"),
                                &rehearsal->sizes);
    rehearsal->scanned = json_array();
    rehearsal->triggers = json_array();
    rehearsal->config = WEIR_TAKE(config);
    *ret_rehearsal = rehearsal;
    return WEIR_OK;
}

void orchestrator_rehearsal_free(struct rehearsal *rehearsal)
{
    if (rehearsal == NULL)
        return;
    weir_rpc_forget(rehearsal->context->storage, rehearsal);
    weir_loop_cancel(rehearsal->context->loop, rehearsal->timer);
    orchestrator_pipeline_reader_free(rehearsal->reader);
    orchestrator_config_free(rehearsal->config);
    json_decref(rehearsal->scanned);
    json_decref(rehearsal->triggers);
    weir_buf_fini(&rehearsal->text);
    free(rehearsal->samples_new);
    free(rehearsal->file);
    free(rehearsal);
}
