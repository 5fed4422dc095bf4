/* Asking for events after the newest one that was shown, again and again. */
#include "cli/watch.h"

#include "cli/answer.h"
#include "cli/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POLL_MS = 200,
};

struct watch {
    const struct cli_call *call;
    bool follows;
    const char *topic;
    void (*show)(struct watch *watch);
    json_t *which;    /* arguments: whose, and after which event, or from which byte of which run */
    json_t *newest;   /* answer */
    json_t *progress; /* shown last */
    json_int_t run;   /* run whose output was shown last */
};

static void show_events(struct watch *watch)
{
    const json_t *events = json_object_get(watch->newest, "events");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *entry = json_array_get(events, i);
        const char *line = cli_text(entry, "line");
        if (!watch->call->options.json) {
            if (line[0] != '\0')
                printf("%s\n", line);
            continue;
        }
        char *json = json_dumps(json_object_get(entry, "event"),
                                JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
        printf("%s\n", json == NULL ? "{}" : json);
        free(json);
    }
    (void)fflush(stdout);
}

static void show_progress(struct watch *watch)
{
    const json_t *progress = json_object_get(watch->newest, "progress");
    const char *name;
    json_t *value;

    if (!watch->follows || !json_is_object(progress) || json_equal(progress, watch->progress))
        return;
    json_decref(watch->progress);
    watch->progress = json_deep_copy(progress);
    printf("run %lld: %lld of %lld samples", (long long)cli_number(progress, "run"),
           (long long)cli_number(progress, "samples"),
           (long long)cli_number(progress, "samples_total"));
    json_object_foreach(json_object_get(progress, "metrics"), name, value)
        printf(", %s %.6g", name, json_number_value(value));
    printf("\n");
}

/* Prints the output of a run, under its number. */
static void show_output(struct watch *watch)
{
    const char *text = cli_text(watch->newest, "text");
    json_int_t run = cli_number(watch->newest, "run");

    if (watch->call->options.json) {
        char *json =
            json_dumps(watch->newest, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
        if (text[0] != '\0' || watch->follows)
            printf("%s\n", json == NULL ? "{}" : json);
        free(json);
    } else {
        if (text[0] != '\0' && run != watch->run)
            printf("== run %lld, %s ==\n", (long long)run, cli_text(watch->newest, "mode"));
        if (text[0] != '\0')
            watch->run = run;
        fputs(text, stdout);
        show_progress(watch);
    }
    (void)fflush(stdout);
}

static const char *const PLACES[] = {"after", "number", "run", "offset"};

static enum weir_status request_page(struct watch *watch, struct cli_platform *platform,
                                     struct weir_error *err)
{
    json_t *answer = NULL;
    enum weir_status status =
        cli_platform_request(platform, watch->topic, watch->which, &answer, err);
    if (status != WEIR_OK)
        return status;
    json_decref(watch->newest);
    watch->newest = answer;
    for (size_t i = 0; i < WEIR_COUNT(PLACES); i++) {
        if (json_object_get(answer, PLACES[i]) != NULL)
            json_object_set(watch->which, PLACES[i], json_object_get(answer, PLACES[i]));
    }
    watch->show(watch);
    return WEIR_OK;
}

/* True when the answer brought nothing, and nothing more is there. */
static bool is_dry(const struct watch *watch)
{
    return json_array_size(json_object_get(watch->newest, "events")) == 0 &&
           cli_text(watch->newest, "text")[0] == '\0' && !cli_flag(watch->newest, "more");
}

static bool is_through(const struct watch *watch)
{
    return is_dry(watch) && (!watch->follows || cli_flag(watch->newest, "over"));
}

/* Until everything is shown, and no more will come. STALE when the platform went away before that. */
static enum weir_status watch_platform(struct watch *watch, struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = NULL;
    enum weir_status status = cli_platform_open(&watch->call->options.place, &platform, err);
    if (status == WEIR_OK)
        status = request_page(watch, platform, err);
    while (status == WEIR_OK && !is_through(watch)) {
        if (is_dry(watch) && cli_platform_is_own(platform))
            return weir_fail(err, WEIR_STALE, "nobody serves the platform");
        if (is_dry(watch))
            status = cli_platform_pause(platform, POLL_MS, err);
        if (status == WEIR_OK)
            status = request_page(watch, platform, err);
    }
    return status;
}

static enum weir_status watch_through(struct watch *watch, struct weir_error *err)
{
    const struct cli_place *place = &watch->call->options.place;
    enum weir_status status = watch_platform(watch, err);
    while (status == WEIR_STALE) {
        if (watch->follows)
            status = cli_platform_await_return(place, err);
        if (!watch->follows || status == WEIR_OK)
            status = watch_platform(watch, err);
    }
    return status;
}

static enum weir_status watch_topic(const struct cli_call *call, bool follows, json_t **ret_answer,
                                    struct weir_error *err)
{
    bool is_output = call->options.output;
    struct watch watch = {.call = call,
                          .follows = follows,
                          .topic = is_output ? "output" : "events",
                          .show = is_output ? show_output : show_events,
                          .which = json_object()};
    if (call->operand_count > 0 &&
        json_object_set_new(watch.which, "pipeline", json_string(call->operands[0])) != 0) {
        json_decref(watch.which);
        return weir_fail(err, WEIR_INVALID, "arguments are expected in UTF-8");
    }
    enum weir_status status = watch_through(&watch, err);
    json_decref(watch.which);
    json_decref(watch.progress);
    if (status == WEIR_OK)
        *ret_answer = watch.newest;
    else
        json_decref(watch.newest);
    return status;
}

enum weir_status cli_answer_watch(const struct cli_call *call, json_t **ret_answer,
                                  struct weir_error *err)
{
    return watch_topic(call, true, ret_answer, err);
}

enum weir_status cli_answer_logs(const struct cli_call *call, json_t **ret_answer,
                                 struct weir_error *err)
{
    return watch_topic(call, call->options.follow, ret_answer, err);
}

int cli_exit_of_watch(const json_t *answer)
{
    if (strcmp(cli_text(answer, "state"), "FAILED") != 0)
        return CLI_EXIT_DONE;
    (void)fprintf(stderr, "weir: %s\n", cli_text(answer, "error"));
    return CLI_EXIT_FAILED;
}
