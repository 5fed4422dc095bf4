/* Asking for events after the newest one that was shown, again and again. */
#include "cli/watch.h"

#include "cli/answer.h"
#include "cli/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASK_AGAIN_MS = 200,
    RETURN_MS = 24 * 3600 * 1000, /* a platform that stopped may come back */
};

struct watch {
    const struct cli_call *call;
    bool follows;
    json_t *which;  /* arguments: whose events, and after which one */
    json_t *newest; /* answer */
};

static void show(const struct watch *watch)
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

static enum weir_status ask(struct watch *watch, struct cli_platform *platform,
                            struct weir_error *err)
{
    json_t *answer = NULL;
    enum weir_status status = cli_platform_ask(platform, "events", watch->which, &answer, err);
    if (status != WEIR_OK)
        return status;
    json_decref(watch->newest);
    watch->newest = answer;
    json_object_set(watch->which, "after", json_object_get(answer, "after"));
    if (json_object_get(answer, "number") != NULL)
        json_object_set(watch->which, "number", json_object_get(answer, "number"));
    show(watch);
    return WEIR_OK;
}

static bool is_through(const struct watch *watch)
{
    return json_array_size(json_object_get(watch->newest, "events")) == 0 &&
           (!watch->follows || cli_flag(watch->newest, "over"));
}

/* Until everything is shown, and no more will come. STALE when the platform went away before that. */
static enum weir_status watch_platform(struct watch *watch, struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = NULL;
    enum weir_status status = cli_platform_open(watch->call->options.data_dir, &platform, err);
    if (status == WEIR_OK)
        status = ask(watch, platform, err);
    while (status == WEIR_OK && !is_through(watch)) {
        bool is_dry = json_array_size(json_object_get(watch->newest, "events")) == 0;
        if (is_dry && cli_platform_is_own(platform))
            return weir_fail(err, WEIR_STALE, "nobody serves the platform");
        if (is_dry)
            status = cli_platform_pause(platform, ASK_AGAIN_MS, err);
        if (status == WEIR_OK)
            status = ask(watch, platform, err);
    }
    return status;
}

static enum weir_status watch_through(struct watch *watch, struct weir_error *err)
{
    const char *data_dir = watch->call->options.data_dir;
    enum weir_status status = watch_platform(watch, err);
    while (status == WEIR_STALE) {
        if (watch->follows) {
            (void)fprintf(stderr,
                          "nobody serves %s; waiting for: orchestrator serve --data-dir %s\n",
                          data_dir, data_dir);
            status = cli_platform_await(data_dir, RETURN_MS, err);
        }
        if (!watch->follows || status == WEIR_OK)
            status = watch_platform(watch, err);
    }
    return status;
}

static enum weir_status watch_events(const struct cli_call *call, bool follows, json_t **ret_answer,
                                     struct weir_error *err)
{
    struct watch watch = {.call = call, .follows = follows, .which = json_object()};
    if (call->operand_count > 0 &&
        json_object_set_new(watch.which, "pipeline", json_string(call->operands[0])) != 0) {
        json_decref(watch.which);
        return weir_fail(err, WEIR_INVALID, "arguments are expected in UTF-8");
    }
    enum weir_status status = watch_through(&watch, err);
    json_decref(watch.which);
    if (status == WEIR_OK)
        *ret_answer = watch.newest;
    else
        json_decref(watch.newest);
    return status;
}

enum weir_status cli_answer_watch(const struct cli_call *call, json_t **ret_answer,
                                  struct weir_error *err)
{
    return watch_events(call, true, ret_answer, err);
}

enum weir_status cli_answer_logs(const struct cli_call *call, json_t **ret_answer,
                                 struct weir_error *err)
{
    return watch_events(call, call->options.follow, ret_answer, err);
}

int cli_exit_of_watch(const json_t *answer)
{
    if (strcmp(cli_text(answer, "state"), "FAILED") != 0)
        return CLI_EXIT_DONE;
    (void)fprintf(stderr, "weir: %s\n", cli_text(answer, "error"));
    return CLI_EXIT_FAILED;
}
