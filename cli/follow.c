/* Asking again and again how far an erasure or an examination is; taking away what was exported. */
#include "cli/follow.h"

#include "cli/answer.h"
#include "cli/platform.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/wire/model_pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MS = 200, TELL_MS = 1000 };

/* The lines announced last, so that only news is. */
struct announced {
    char doing[200];
    size_t models_done;
    char trouble[1024];
    int64_t next_ms; /* nothing is announced before */
};

/* A call that is asked until its answer says that all is over. */
struct query {
    const char *call;
    json_t *which; /* owned */
    bool (*is_over)(const json_t *answer);
    void (*tell)(const json_t *answer, struct announced *announced);
};

static enum weir_status poll_until_over(struct cli_platform *platform, struct query query,
                                        json_t **answer, struct weir_error *err)
{
    struct announced announced = {.doing = ""};
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && !query.is_over(*answer)) {
        json_t *newer = NULL;
        status = cli_platform_request(platform, query.call, query.which, &newer, err);
        if (status != WEIR_OK)
            break;
        json_decref(*answer);
        *answer = newer;
        query.tell(newer, &announced);
        if (!query.is_over(newer))
            status = cli_platform_pause(platform, POLL_MS, err);
    }
    json_decref(query.which);
    return status;
}

/* True when `text` differs from the one announced last, which it replaces. */
static bool is_news(char *announced, size_t size, const char *text)
{
    bool same = strncmp(announced, text, size - 1) == 0;
    (void)snprintf(announced, size, "%s", text);
    return !same;
}

/* ---- erasures ---- */

static size_t count_done(const json_t *answer)
{
    const json_t *models = json_object_get(answer, "models");
    size_t done = 0;
    for (size_t i = 0; i < json_array_size(models); i++)
        done += cli_flag(json_array_get(models, i), "done") ? 1 : 0;
    return done;
}

static void tell_trouble(const json_t *answer, struct announced *announced)
{
    const char *error = cli_text(answer, "error"), *trouble = cli_text(answer, "trouble");
    char line[sizeof(announced->trouble)] = "";
    if (trouble[0] != '\0')
        weir_utf8_print(line, sizeof(line), "%s", trouble);
    else if (error[0] != '\0')
        weir_utf8_print(line, sizeof(line), "%s; it is tried again", error);
    if (is_news(announced->trouble, sizeof(announced->trouble), line) && line[0] != '\0')
        (void)fprintf(stderr, "erasure %lld: %s\n", (long long)cli_number(answer, "erasure"), line);
}

static void tell_erasure(const json_t *answer, struct announced *announced)
{
    long long number = (long long)cli_number(answer, "erasure");
    size_t done = count_done(answer);
    if (is_news(announced->doing, sizeof(announced->doing), cli_text(answer, "state")))
        (void)fprintf(stderr, "erasure %lld: %s\n", number, cli_text(answer, "doing"));
    if (done > announced->models_done) {
        announced->models_done = done;
        (void)fprintf(stderr, "erasure %lld: %zu of %zu models done\n", number, done,
                      json_array_size(json_object_get(answer, "models")));
    }
    tell_trouble(answer, announced);
}

static bool is_finished(const json_t *answer)
{
    return cli_text(answer, "finished")[0] != '\0';
}

/* Or something stands in the way, and the promise is broken or a whole attempt has failed: a person has to know. */
static bool is_finished_or_given_up(const json_t *answer)
{
    bool given_up = cli_text(answer, "trouble")[0] != '\0' &&
                    (cli_flag(answer, "overdue") || cli_flag(answer, "unverified"));
    return is_finished(answer) || given_up;
}

/* Nobody serves this directory but this command, which is over now. */
static void tell_who_goes_on(const struct cli_platform *platform, const struct cli_call *call)
{
    if (cli_platform_is_own(platform)) {
        (void)fprintf(
            stderr,
            "weir: the platform stops with this command, and the erasure rests: use --wait, or "
            "serve it: orchestrator serve --data-dir %s\n",
            call->options.place.name);
    }
}

enum weir_status cli_follow_erasure(struct cli_platform *platform, const struct cli_call *call,
                                    json_t **answer, struct weir_error *err)
{
    long long number = (long long)cli_number(*answer, "erasure");
    if (!call->options.wait) {
        if (!is_finished(*answer))
            tell_who_goes_on(platform, call);
        return WEIR_OK;
    }
    struct query query = {.call = "erase_status",
                          .which = json_pack("{sI}", "erasure", (json_int_t)number),
                          .is_over = is_finished_or_given_up,
                          .tell = tell_erasure};
    json_t *unmatched = json_incref(json_object_get(*answer, "unmatched"));
    enum weir_status status = poll_until_over(platform, query, answer, err);
    if (unmatched != NULL) /* only the first answer has it */
        json_object_set_new(*answer, "unmatched", unmatched);
    return status == WEIR_OK
               ? WEIR_OK
               : weir_error_wrap(err, status,
                                 "erasure %lld is accepted and goes on whenever the platform is up "
                                 "(weir erase status %lld)",
                                 number, number);
}

/* ---- all erasures, page by page ---- */

static void keep_findings(const json_t *page, json_t *kept, json_int_t *fine)
{
    const json_t *findings = json_object_get(page, "findings");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        json_t *finding = json_array_get(findings, i);
        if (strcmp(cli_text(finding, "verdict"), "fine") == 0)
            ++*fine;
        else if (json_array_size(kept) < CLI_FINDINGS_MAX)
            json_array_append(kept, finding);
    }
}

enum weir_status cli_follow_verify(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    int64_t next = cli_number(*answer, "next"), erasures = cli_number(*answer, "erasures");
    int64_t reported_ms = weir_now_ms() - TELL_MS;
    json_int_t wrong = cli_number(*answer, "wrong"), fine = 0;
    json_t *kept = json_array();
    enum weir_status status = WEIR_OK;
    (void)call;
    if (next > 0)
        keep_findings(*answer, kept, &fine);
    for (int64_t done = cli_number(*answer, "verified"); status == WEIR_OK && next > 0;) {
        json_t *which = json_pack("{sI}", "after", (json_int_t)next), *page = NULL;
        if (weir_now_ms() >= reported_ms + TELL_MS) {
            reported_ms = weir_now_ms();
            (void)fprintf(stderr, "verified %lld of %lld erasures\n", (long long)done,
                          (long long)erasures);
        }
        status = cli_platform_request(platform, "erase_verify", which, &page, err);
        json_decref(which);
        if (status != WEIR_OK)
            break;
        keep_findings(page, kept, &fine);
        wrong += cli_number(page, "wrong");
        done += cli_number(page, "verified");
        next = cli_number(page, "next");
        json_object_set_new(*answer, "wrong", json_integer(wrong));
        json_object_set_new(*answer, "fine", json_integer(fine));
        json_object_set(*answer, "findings", kept);
        json_decref(page);
    }
    json_object_del(*answer, "next");
    json_object_del(*answer, "verified");
    json_decref(kept);
    return status;
}

/* ---- doctor ---- */

static bool is_examined(const json_t *answer)
{
    return cli_flag(answer, "done");
}

static void tell_examined(const json_t *answer, struct announced *announced)
{
    const char *doing = cli_text(answer, "doing");
    if (is_news(announced->doing, sizeof(announced->doing), doing) && doing[0] != '\0')
        (void)fprintf(stderr, "examining %s\n", doing);
}

enum weir_status cli_follow_doctor(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    json_int_t session = (json_int_t)cli_number(*answer, "session");
    struct query query = {.call = "doctor",
                          .which =
                              json_pack("{sI,sb}", "session", session, "deep", call->options.deep),
                          .is_over = is_examined,
                          .tell = tell_examined};
    return poll_until_over(platform, query, answer, err);
}

/* ---- exports ---- */

static bool is_exported(const json_t *answer)
{
    return strcmp(cli_text(answer, "state"), "open") != 0;
}

/* A line a second at most. */
static void tell_exported(const json_t *answer, struct announced *announced)
{
    char line[sizeof(announced->doing)];
    long long samples = (long long)cli_number(answer, "samples");
    if (weir_now_ms() < announced->next_ms || samples == 0)
        return;
    (void)snprintf(line, sizeof(line), "%lld of %lld samples", samples,
                   (long long)cli_number(answer, "set"));
    if (is_news(announced->doing, sizeof(announced->doing), line))
        (void)fprintf(stderr, "export %lld: %s\n", (long long)cli_number(answer, "export"), line);
    announced->next_ms = weir_now_ms() + TELL_MS;
}

enum weir_status cli_follow_materialize(struct cli_platform *platform, const struct cli_call *call,
                                        json_t **answer, struct weir_error *err)
{
    json_int_t number = (json_int_t)cli_number(*answer, "export");
    bool is_own = cli_platform_is_own(platform);
    struct query query = {.call = "exports",
                          .which = json_pack("{sI}", "export", number),
                          .is_over = is_exported,
                          .tell = tell_exported};
    enum weir_status status = poll_until_over(platform, query, answer, err);
    (void)call;
    if (status != WEIR_UNAVAILABLE)
        return status;
    return weir_error_wrap(err, status, "export %lld %s", (long long)number,
                           is_own ? "rests until the same command goes on with it"
                                  : "goes on by itself (weir exports)");
}

/* ---- pipelines ---- */

static bool is_removed(const json_t *answer)
{
    return strcmp(cli_text(answer, "state"), "REMOVED") == 0;
}

/* Or never will: it has come to another rest, or the order was withdrawn. */
static bool is_paused(const json_t *answer)
{
    return strcmp(cli_text(answer, "wish"), "pause") != 0 ||
           strcmp(cli_text(answer, "state"), "FINISHED") == 0 ||
           strcmp(cli_text(answer, "state"), "FAILED") == 0;
}

/* Tells the obstacles of a removal that is tried again, each once. */
static void tell_obstacle(const json_t *answer, struct announced *announced)
{
    const char *error = cli_text(answer, "error");
    if (strcmp(cli_text(answer, "state"), "REMOVING") == 0 &&
        is_news(announced->trouble, sizeof(announced->trouble), error))
        (void)fprintf(stderr, "is tried again: %s\n", error);
}

static enum weir_status follow_pipeline(struct cli_platform *platform,
                                        bool is_over(const json_t *answer), json_t **answer,
                                        struct weir_error *err)
{
    json_int_t number = (json_int_t)cli_number(*answer, "number");
    struct query query = {.call = "standing",
                          .which = json_pack("{sI}", "number", number),
                          .is_over = is_over,
                          .tell = tell_obstacle};
    return poll_until_over(platform, query, answer, err);
}

enum weir_status cli_follow_removal(struct cli_platform *platform, const struct cli_call *call,
                                    json_t **answer, struct weir_error *err)
{
    (void)call;
    return follow_pipeline(platform, is_removed, answer, err);
}

/* Or is not before the trigger under way is through. */
static bool is_taken(const json_t *answer)
{
    static const char *const OF_A_TRIGGER[] = {"MEASURING", "SELECTING", "SCORING",   "HOLDING",
                                               "TRAINING",  "STORING",   "EVALUATING"};
    bool is_waiting = strcmp(cli_text(answer, "wish"), "apply") == 0;
    for (size_t i = 0; i < WEIR_COUNT(OF_A_TRIGGER); i++)
        is_waiting = is_waiting && strcmp(cli_text(answer, "state"), OF_A_TRIGGER[i]) != 0;
    return !is_waiting;
}

enum weir_status cli_follow_apply(struct cli_platform *platform, const struct cli_call *call,
                                  json_t **answer, struct weir_error *err)
{
    json_t *first = json_incref(*answer);
    bool again = strcmp(cli_text(first, "done"), "rerun") == 0;
    enum weir_status status = again ? cli_follow_removal(platform, call, answer, err)
                                    : follow_pipeline(platform, is_taken, answer, err);
    json_object_update_missing(*answer, first);
    json_decref(first);
    return status;
}

enum weir_status cli_follow_submit(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    return cli_flag(*answer, "replaced") ? cli_follow_removal(platform, call, answer, err)
                                         : WEIR_OK;
}

enum weir_status cli_follow_pause(struct cli_platform *platform, const struct cli_call *call,
                                  json_t **answer, struct weir_error *err)
{
    bool waits = call->options.wait && !cli_platform_is_own(platform);
    return waits ? follow_pipeline(platform, is_paused, answer, err) : WEIR_OK;
}

/* ---- models export ---- */

/* Returns the path that was given, or the default; in caller's memory. */
static char *destination(const struct cli_call *call, const char *format)
{
    static const char *const ENDINGS[][2] = {
        {"safetensors", ".safetensors"}, {"file", ".weirmodel"}, {"directory", ""}};

    for (size_t i = 0; call->options.to == NULL && i < WEIR_COUNT(ENDINGS); i++)
        if (strcmp(format, ENDINGS[i][0]) == 0)
            return weir_format("%s%s", call->operands[0], ENDINGS[i][1]);
    return weir_strdup(call->options.to != NULL ? call->options.to : call->operands[0]);
}

/* All of it, or nothing: it gets its name when it is complete. */
static enum weir_status unpack_to(const char *to, struct weir_bytes pack, struct weir_error *err)
{
    struct weir_error unseen;
    WEIR_AUTO_FREE char *temporary = weir_format("%s.tmp-%ld", to, (long)getpid());

    if (access(to, F_OK) == 0)
        return weir_fail(err, WEIR_EXISTS, "%s is there already: expected a new directory", to);
    enum weir_status status = weir_model_pack_unpack(pack, temporary, err);
    if (status != WEIR_OK)
        return status;
    if (rename(temporary, to) == 0)
        return WEIR_OK;
    status = weir_fail(err, WEIR_IO, "%s: cannot be put in place: %s", to, strerror(errno));
    weir_ignore(weir_remove_tree(temporary, &unseen));
    return status;
}

/* The platform has written it below its data directory: a copy goes where it is wanted, and that one goes. */
enum weir_status cli_follow_export(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    (void)platform;
    void *bytes = NULL;
    size_t size = 0;
    enum weir_status status = cli_place_check_is_here(&call->options.place, "models export", err);
    if (status != WEIR_OK)
        return status;
    const char *format = cli_text(*answer, "format");
    WEIR_AUTO_FREE char *to = destination(call, format);
    WEIR_AUTO_FREE char *from =
        weir_format("%s/%s", call->options.place.data_dir, cli_text(*answer, "file"));
    status = weir_file_map(from, &bytes, &size, err);
    if (status == WEIR_OK)
        status = strcmp(format, "directory") == 0
                     ? unpack_to(to, weir_bytes(bytes, size), err)
                     : weir_file_write_atomic(to, weir_bytes(bytes, size), err);
    weir_file_unmap(bytes, size);
    struct weir_error problem;
    weir_ignore(weir_remove_tree(from, &problem)); /* an erasure finds it, at the latest */
    json_object_set_new(*answer, "file", json_string(to));
    return status;
}
