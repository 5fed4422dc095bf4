/* Running a pipeline on a stream, and reading its events: see stream.h. */
#include "benchmarks/suite/stream.h"

#include "benchmarks/rig.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { FILE_BYTES_MAX = 1 << 16, LOG_BYTES_MAX = 1 << 26 };

/* ---- running ---- */

/* The streams below `streams` that are not there yet, made by the program beside this file. */
static enum weir_status prepare_stream(const struct stream_plan *plan, const char *bin,
                                       const char *streams, const char *log, struct weir_error *err)
{
    enum { ABSENT = 3 };
    const char *data = getenv("WEIR_TEST_DATA");
    WEIR_AUTO_FREE char *from = weir_format("--data=%s", data != NULL ? data : "");
    WEIR_AUTO_FREE char *generate = weir_format("--generate=%s/generate_clicks", bin);
    WEIR_AUTO_FREE char *into = weir_strdup(streams);
    WEIR_AUTO_FREE char *stream = weir_strdup(plan->folder);
    char *const prepare[] = {
        (char[]){WEIR_SOURCE_DIR "/benchmarks/suite/prepare"}, from, generate, into, stream, NULL};
    char line[256];
    int ended = 0;
    enum weir_status status = rig_spawn_ended(
        &(struct orchestrator_spawn){.argv = prepare, .log_path = log}, &ended, err);
    if (status != WEIR_OK || (WIFEXITED(ended) && WEXITSTATUS(ended) == 0))
        return status;
    orchestrator_log_last_line(log, line, sizeof(line));
    return weir_fail(err,
                     WIFEXITED(ended) && WEXITSTATUS(ended) == ABSENT ? WEIR_UNAVAILABLE : WEIR_IO,
                     "%s", line);
}

/* The file with the line `trigger:` replaced. */
static void put_trigger(const char *text, const char *trigger, struct weir_buf *out)
{
    const char *line = strstr(text, "\ntrigger:");
    weir_require(line != NULL);
    const char *behind = line + 1 + strcspn(line + 1, "\n");
    weir_buf_append(out, text, (size_t)(line + 1 - text));
    weir_buf_printf(out, "trigger: %s%s", trigger, behind);
}

static enum weir_status write_pipeline(const struct stream_plan *plan, const char *path,
                                       struct weir_error *err)
{
    WEIR_AUTO_BUF shipped = {0};
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_FREE char *from = weir_format(WEIR_SOURCE_DIR "/benchmarks/suite/%s", plan->file);
    enum weir_status status = weir_file_read(from, FILE_BYTES_MAX, &shipped, err);
    if (status != WEIR_OK)
        return status;
    if (plan->trigger != NULL)
        put_trigger(weir_buf_text(&shipped), plan->trigger, &text);
    else
        weir_buf_append(&text, shipped.at, shipped.size);
    return weir_file_write_atomic(path, weir_buf_view(&text), err);
}

enum weir_status stream_run(const struct stream_plan *plan, const char *directory, char **ret_log,
                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *orchestrator = weir_format("%s/orchestrator", bin);
    WEIR_AUTO_FREE char *file = weir_format("%s/%s", directory, plan->file);
    WEIR_AUTO_FREE char *data_dir = weir_format("%s/data", directory);
    WEIR_AUTO_FREE char *log = weir_format("%s/events", directory);
    WEIR_AUTO_FREE char *streams = weir_format("%s/streams", directory);
    WEIR_AUTO_BUF events = {0};
    char *const run[] = {orchestrator, (char[]){"run"},    file, (char[]){"--data-dir"},
                         data_dir,     (char[]){"--json"}, NULL};
    enum weir_status status = weir_remove_tree(data_dir, err);
    if (status == WEIR_OK)
        status = weir_remove_tree(log, err);
    if (status == WEIR_OK)
        status = prepare_stream(plan, bin, streams, log, err);
    if (status == WEIR_OK)
        status = weir_remove_tree(log, err);
    if (status == WEIR_OK)
        status = write_pipeline(plan, file, err);
    if (status == WEIR_OK)
        status = rig_spawn_wait(
            &(struct orchestrator_spawn){.argv = run, .directory = streams, .log_path = log}, err);
    if (status == WEIR_OK)
        status = weir_file_read(log, LOG_BYTES_MAX, &events, err);
    if (status == WEIR_OK)
        *ret_log = weir_strdup(weir_buf_text(&events));
    return status;
}

/* ---- what the events say ---- */

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text != NULL ? text : "";
}

struct reading {
    const struct stream_plan *plan;
    const char *metric;
    char first[64],
        last[64]; /* where the first interval begins, and the last; empty: there was none yet */
    struct stream_curve *curve;
};

static void take_evaluation(struct reading *reading, const json_t *event)
{
    const json_t *value = json_object_get(event, "value");
    const char *from = text_of(json_object_get(event, "interval"), "from");
    if (strcmp(text_of(event, "event"), "evaluation") != 0 ||
        strcmp(text_of(event, "name"), reading->plan->evaluation) != 0 ||
        strcmp(text_of(event, "metric"), reading->metric) != 0 || !json_is_number(value))
        return;
    if (reading->curve->count == 0 || strcmp(from, reading->first) < 0)
        (void)snprintf(reading->first, sizeof(reading->first), "%s", from);
    if (strcmp(from, reading->last) > 0) {
        (void)snprintf(reading->last, sizeof(reading->last), "%s", from);
        reading->curve->last = json_number_value(value);
    }
    if (reading->plan->later != NULL && strcmp(from, reading->plan->later) >= 0) {
        reading->curve->later += json_number_value(value);
        reading->curve->later_count++;
    }
    reading->curve->mean += json_number_value(value);
    reading->curve->count++;
}

static void take_training(struct reading *reading, const json_t *event)
{
    if (strcmp(text_of(event, "event"), "trigger_fired") == 0 &&
        strcmp(text_of(event, "until"), reading->first) >= 0)
        reading->curve->trainings++;
}

/* Lines that are no events come from elsewhere. */
static void read_events(const char *log, struct reading *reading,
                        void (*take)(struct reading *reading, const json_t *event))
{
    for (const char *line = log; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        json_t *event = json_loadb(line, size, 0, NULL);
        if (json_is_object(event))
            take(reading, event);
        json_decref(event);
        line += size + (line[size] == '\n');
    }
}

enum weir_status stream_curve(const char *log, const struct stream_plan *plan, const char *metric,
                              struct stream_curve *ret_curve, struct weir_error *err)
{
    struct stream_curve curve = {0};
    struct reading reading = {.plan = plan, .metric = metric, .curve = &curve};
    read_events(log, &reading, take_evaluation);
    if (curve.count == 0)
        return weir_fail(err, WEIR_INVALID, "no model was measured by %s", metric);
    read_events(log, &reading, take_training);
    curve.mean /= (double)curve.count;
    if (curve.later_count > 0)
        curve.later /= (double)curve.later_count;
    *ret_curve = curve;
    return WEIR_OK;
}
