/* An excerpt for each topic of the page: see excerpt.h. */
#include "orchestrator/live/excerpt.h"

#include "core/base/path.h"

#include <string.h>

/* Members `keys`, with a blank between them, of an object; none for those that it lacks. */
static json_t *pick(const json_t *from, const char *keys)
{
    json_t *found = json_object();
    while (*keys != '\0') {
        size_t size = strcspn(keys, " ");
        json_t *value = json_object_getn(from, keys, size);
        if (value != NULL)
            json_object_setn(found, keys, size, value);
        keys += size + strspn(keys + size, " ");
    }
    return found;
}

/* Puts the name of a file there, without its folders. */
static void set_name(json_t *to, const json_t *from, const char *key)
{
    const char *path = json_string_value(json_object_get(from, key));
    if (path != NULL)
        json_object_set_new(to, key, json_string(weir_path_name(path)));
}

/* An excerpt of each of the first `most` of a list. */
static json_t *pick_each(const json_t *list, const char *keys, size_t most)
{
    json_t *found = json_array();
    for (size_t i = 0; i < json_array_size(list) && i < most; i++)
        json_array_append_new(found, pick(json_array_get(list, i), keys));
    return found;
}

/* Puts such a list in the place of `key`, and how many were left out beside it. */
static void set_each(json_t *to, const json_t *from, const char *key, const char *keys)
{
    const json_t *list = json_object_get(from, key);
    size_t count = json_array_size(list);
    json_object_set_new(to, key, pick_each(list, keys, LIVE_ROWS_MAX));
    json_object_set_new(
        to, "left_out",
        json_integer(count > LIVE_ROWS_MAX ? (json_int_t)(count - LIVE_ROWS_MAX) : 0));
}

static void set_inner(json_t *of, const char *key, const char *keys)
{
    const json_t *value = json_object_get(of, key);
    if (json_is_object(value))
        json_object_set_new(of, key, pick(value, keys));
    else if (json_is_array(value))
        json_object_set_new(of, key, pick_each(value, keys, LIVE_ROWS_MAX));
}

json_t *orchestrator_live_status(const json_t *answer)
{
    json_t *status = pick(answer, "held trainers erasures_open_count");
    set_each(status, answer, "pipelines",
             "pipeline mode state doing triggers skipped models active_model progress check "
             "budgets unread");
    const json_t *pipelines = json_object_get(status, "pipelines");
    for (size_t i = 0; i < json_array_size(pipelines); i++)
        set_inner(json_array_get(pipelines, i), "check", "check at verdict because trigger");
    return status;
}

void orchestrator_live_status_of_tenant(json_t *status)
{
    json_object_del(status, "trainers");
    json_object_del(status, "erasures_open_count");
}

json_t *orchestrator_live_workers(const json_t *answer)
{
    json_t *workers = pick(answer, "pool");
    set_each(workers, answer, "workers", "worker leases queued cpu_seconds bytes_read unreached");
    json_object_set_new(workers, "runs",
                        pick_each(json_object_get(answer, "runs"),
                                  "run stall_fraction stage failed scaling", LIVE_ROWS_MAX));
    json_object_set_new(workers, "pipelines",
                        pick_each(json_object_get(answer, "pipelines"),
                                  "pipeline share workers leases", LIVE_ROWS_MAX));
    set_inner(workers, "pool", "min max host_max set target host_target members");
    set_inner(json_object_get(workers, "pool"), "members", "worker place state since");
    return workers;
}

json_t *orchestrator_live_erasures(const json_t *answer)
{
    json_t *erasures = pick(answer, "left_out");
    json_object_set_new(
        erasures, "erasures",
        pick_each(json_object_get(answer, "erasures"),
                  "erasure state doing dataset samples accepted in_force models_replaced finished "
                  "due overdue unverified",
                  LIVE_ROWS_MAX));
    return erasures;
}

/* Keeps evaluations of the newest triggers, LIVE_CELLS_MAX of them. Returns how many went. */
static size_t cut_evaluations(const json_t *triggers)
{
    size_t kept = 0, gone = 0;
    for (size_t i = json_array_size(triggers); i-- > 0;) {
        json_t *trigger = json_array_get(triggers, i);
        size_t count = json_array_size(json_object_get(trigger, "evaluations"));
        if (kept + count <= LIVE_CELLS_MAX) {
            kept += count;
            continue;
        }
        json_object_set_new(trigger, "evaluations", json_array());
        gone += count;
    }
    return gone;
}

json_t *orchestrator_live_report(const json_t *answer)
{
    json_t *report = pick(answer, "pipeline state checks config");
    set_inner(report, "config", "datasets trigger selection training");
    set_inner(report, "checks",
              "check at verdict because trigger statistics detectors criteria metric value "
              "avoidable avoidable_limit area limit");
    json_t *triggers =
        pick_each(json_object_get(answer, "triggers"),
                  "trigger state reason samples_new until selected skipped costs timeline samples "
                  "seconds samples_per_second stall_fraction model parent evaluations "
                  "evaluations_of",
                  LIVE_TRIGGERS_MAX);
    size_t gone = cut_evaluations(triggers);
    json_object_set_new(report, "triggers", triggers);
    json_object_set_new(report, "evaluations_left_out", json_integer((json_int_t)gone));
    return report;
}

json_t *orchestrator_live_models(const json_t *answer)
{
    json_t *models = json_object();
    json_object_set_new(models, "models",
                        pick_each(json_object_get(answer, "models"),
                                  "pipeline model trigger parent state active until created "
                                  "bytes stored_bytes replaced_by erasure",
                                  LIVE_TRIGGERS_MAX));
    return models;
}

json_t *orchestrator_live_plan(const json_t *answer)
{
    json_t *plan = pick(answer, "pipeline run state why kept_after limits operators");
    set_inner(plan, "operators", "operator place moved cpu_seconds bytes_in bytes_out");
    return plan;
}

/* The members that its line is made of (screen/lines.c), less those that quote records or name folders. */
json_t *orchestrator_live_event(const json_t *answer)
{
    json_t *event = pick(
        answer,
        "event pipeline dataset samples quarantined trigger until reason check at because round epochs "
        "candidates policy digest model mode seconds samples_per_second stall_fraction loss audit "
        "order state in_trainers kept_after run runs batches why tried promised place share operators "
        "parent checksum active metric interval value failed filtered erasure step models replacement "
        "hash triggers active_model cost after_trigger models_dropped models_kept export from to "
        "jobs worker launcher of per spent then money cpu_seconds gpu_seconds");
    set_name(event, answer, "file");
    set_inner(event, "audit", "failed filtered");
    set_inner(event, "spent", "money currency cpu_seconds gpu_seconds");
    if (json_object_get(answer, "error") != NULL)
        json_object_set_new(event, "error", json_string("weir status says why"));
    return event;
}
