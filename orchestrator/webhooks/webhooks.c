/* Cursors, one thread for each hook that posts, and pauses: see webhooks.h. */
#include "orchestrator/webhooks/webhooks.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/config/hooks.h"
#include "orchestrator/context/events.h"
#include "orchestrator/webhooks/posting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_MS = 100, SECRET_BYTES_MAX = 4096, SECRET_BYTES_MIN = 16, HASH_DIGITS = 12 };

#define US_PER_SECOND INT64_C(1000000)

struct hook {
    struct webhooks *all;
    struct orchestrator_hook config;
    char *name;
    int64_t position, sent; /* as they are in Postgres, or will be */
    int64_t number;         /* of the event that is being posted */
    struct posting posting;
    struct weir_work *work;
    uint64_t timer; /* of the pause after a failure */
    unsigned failures;
    int64_t failing_since_us, again_us;
    struct weir_error error; /* the newest; "": the newest was taken */
};

struct webhooks {
    struct context *context;
    uint64_t timer;
    size_t count;
    struct hook hooks[ORCHESTRATOR_HOOKS_MAX];
};

static void look(struct hook *hook);

/* ---- what is posted ---- */

static bool is_wanted(const struct hook *hook, const char *event)
{
    const struct cfg_texts *events = &hook->config.events;
    for (size_t i = 0; i < events->count; i++)
        if (strcmp(weir_yaml_text(weir_yaml_at(events->node, i)), event) == 0)
            return true;
    return events->count == 0;
}

/* Read each time: it may have been changed for another. */
static enum weir_status read_secret(const char *path, struct weir_buf *secret,
                                    struct weir_error *err)
{
    struct stat found;
    if (stat(path, &found) == 0 && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return weir_fail(err, WEIR_DENIED, "%s: others may read the secret: chmod 600", path);
    enum weir_status status = weir_file_read(path, SECRET_BYTES_MAX, secret, err);
    if (status != WEIR_OK)
        return status;
    while (secret->size > 0 && strchr("\r\n", secret->at[secret->size - 1]) != NULL)
        secret->size--;
    return secret->size >= SECRET_BYTES_MIN
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID, "%s: expected a secret of at least %d bytes", path,
                           SECRET_BYTES_MIN);
}

static enum weir_status fill(struct hook *hook, const char *event, const char *body,
                             struct weir_error *err)
{
    WEIR_AUTO_BUF secret = {0};
    char signature[WEBHOOK_SIGNATURE_TEXT];
    int64_t now_s = weir_now_wall_us() / US_PER_SECOND;
    enum weir_status status = read_secret(hook->config.secret, &secret, err);
    if (status == WEIR_OK) {
        orchestrator_webhook_sign(secret.at, secret.size, now_s, body, signature);
        hook->posting = (struct posting){
            .url = hook->config.url,
            .headers = {weir_strdup("Content-Type: application/json"),
                        weir_strdup("User-Agent: weir"), weir_format("Weir-Event: %s", event),
                        weir_format("Weir-Delivery: %" PRId64, hook->number),
                        weir_format("Weir-Timestamp: %" PRId64, now_s),
                        weir_format("Weir-Signature: v1=%s", signature), weir_strdup("Expect:")},
            .body = weir_strdup(body),
        };
    }
    weir_buf_wipe(&secret);
    return status;
}

/* ---- what comes of it ---- */

/* A note that is not written is written with the next one; after a death the event is posted once more. */
static void note(const struct hook *hook)
{
    struct weir_error err;
    if (DB_RUN(hook->all->context->db, Q_webhook_note, NULL, &err, DB_TEXT(hook->name),
               DB_I64(hook->position), DB_I64(hook->sent)) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "how far a webhook has come is not noted", "because=\"%s\"",
                 err.text);
}

static void on_pause_over(void *owner)
{
    struct hook *hook = owner;
    hook->timer = 0;
    look(hook);
}

static void fail(struct hook *hook, const struct weir_error *err)
{
    int64_t pause_ms = orchestrator_webhook_pause_ms(hook->failures++, weir_random_u64());
    int64_t now_us = weir_now_wall_us();
    if (hook->failures == 1) {
        hook->failing_since_us = now_us;
        weir_log(WEIR_LOG_WARN, "a webhook does not take an event, trying again",
                 "hook=%s because=\"%s\"", hook->name, err->text);
    }
    hook->error = *err;
    hook->again_us = now_us + pause_ms * 1000;
    hook->timer = weir_loop_timer(hook->all->context->loop, pause_ms, 0, on_pause_over, hook);
}

static void on_posted(void *owner)
{
    struct hook *hook = owner;
    struct weir_error err = hook->posting.err;
    enum weir_status status = hook->posting.status;
    hook->work = NULL;
    orchestrator_posting_fini(&hook->posting);
    if (status != WEIR_OK) {
        fail(hook, &err);
        return;
    }
    hook->failures = 0;
    hook->error.text[0] = '\0';
    hook->position = hook->number;
    hook->sent++;
    note(hook);
    look(hook);
}

/* ---- what is next ---- */

static void run(struct weir_work *work, void *owner)
{
    struct hook *hook = owner;
    orchestrator_webhook_post(work, &hook->posting);
}

static void post(struct hook *hook, const char *event, const char *body)
{
    struct weir_error err;
    enum weir_status status = fill(hook, event, body, &err);
    if (status == WEIR_OK) {
        status = weir_work_start(hook->all->context->loop, run, on_posted, hook, &hook->work, &err);
    }
    if (status == WEIR_OK)
        return;
    orchestrator_posting_fini(&hook->posting);
    fail(hook, &err);
}

/* Passes over what is not for it. True when one is on its way. */
static bool go_through(struct hook *hook, const struct weir_rows *rows)
{
    bool is_begun = false;
    for (size_t i = 0; i < weir_rows_count(rows) && !is_begun; i++) {
        const char *text = weir_rows_text(rows, i, "json");
        json_t *json = orchestrator_json_of(text);
        const char *event = json_string_value(json_object_get(json, "event"));
        hook->number = weir_rows_i64(rows, i, "number");
        is_begun = event != NULL && is_wanted(hook, event);
        if (is_begun)
            post(hook, event, text);
        else
            hook->position = hook->number;
        json_decref(json);
    }
    return is_begun;
}

static void look(struct hook *hook)
{
    struct context *context = hook->all->context;
    bool is_busy = hook->work != NULL || hook->timer != 0;
    while (!is_busy && hook->position < context->event_shown) {
        WEIR_AUTO(weir_rows) rows = NULL;
        struct weir_error err;
        int64_t before = hook->position;
        if (DB_RUN(context->db, Q_webhook_next, &rows, &err, DB_I64(before)) != WEIR_OK)
            return; /* with the next look */
        is_busy = go_through(hook, rows);
        if (weir_rows_count(rows) == 0) /* those up to the newest shown one are gone */
            hook->position = context->event_shown;
        if (hook->position != before && !is_busy)
            note(hook);
    }
}

static void on_look(void *owner)
{
    struct webhooks *webhooks = owner;
    for (size_t i = 0; i < webhooks->count; i++)
        look(&webhooks->hooks[i]);
}

/* ---- life ---- */

/* Of a URL people see the host; its hash tells those of one host apart. */
static char *name_of(const char *url)
{
    struct weir_digest digest = weir_digest_of(weir_bytes_of(url));
    char text[WEIR_DIGEST_TEXT_MAX];
    const char *host = strstr(url, "://") + strlen("://");
    weir_digest_text(&digest, text);
    return weir_format("%.*s#%.*s", (int)strcspn(host, "/?#"), host, HASH_DIGITS, text);
}

static enum weir_status open_hook(struct hook *hook, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_db *db = hook->all->context->db;
    hook->name = name_of(hook->config.url);
    enum weir_status status = DB_RUN(db, Q_webhook_begin, NULL, err, DB_TEXT(hook->name));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_webhook_get, &rows, err, DB_TEXT(hook->name));
    if (status == WEIR_OK) {
        hook->position = weir_rows_i64(rows, 0, "position");
        hook->sent = weir_rows_i64(rows, 0, "sent");
    }
    return status;
}

/* One that the system file no longer names would come back with all that has happened since. */
static enum weir_status forget_others(const struct webhooks *webhooks, struct weir_error *err)
{
    WEIR_AUTO_BUF names = {0};
    weir_buf_append_text(&names, " ");
    for (size_t i = 0; i < webhooks->count; i++)
        weir_buf_printf(&names, "%s ", webhooks->hooks[i].name);
    return DB_RUN(webhooks->context->db, Q_webhooks_keep, NULL, err,
                  DB_TEXT(weir_buf_text(&names)));
}

enum weir_status orchestrator_webhooks_open(struct context *context,
                                            const struct weir_yaml_node *hooks,
                                            struct webhooks **ret_webhooks, struct weir_error *err)
{
    struct webhooks *webhooks = weir_calloc(1, sizeof(*webhooks));
    struct orchestrator_hook configs[ORCHESTRATOR_HOOKS_MAX];
    enum weir_status status = WEIR_OK;
    webhooks->context = context;
    webhooks->count = orchestrator_hooks_read(hooks, configs);
    for (size_t i = 0; i < webhooks->count && status == WEIR_OK; i++) {
        webhooks->hooks[i] = (struct hook){.all = webhooks, .config = configs[i]};
        status = open_hook(&webhooks->hooks[i], err);
    }
    if (status == WEIR_OK)
        status = forget_others(webhooks, err);
    if (status == WEIR_OK && webhooks->count > 0)
        webhooks->timer = weir_loop_timer(context->loop, LOOK_MS, LOOK_MS, on_look, webhooks);
    if (status == WEIR_OK)
        *ret_webhooks = webhooks;
    else
        orchestrator_webhooks_close(webhooks);
    return status;
}

void orchestrator_webhooks_close(struct webhooks *webhooks)
{
    if (webhooks == NULL)
        return;
    weir_loop_cancel(webhooks->context->loop, webhooks->timer);
    for (size_t i = 0; i < webhooks->count; i++) {
        struct hook *hook = &webhooks->hooks[i];
        weir_work_stop(hook->work);
        weir_loop_cancel(webhooks->context->loop, hook->timer);
        orchestrator_posting_fini(&hook->posting);
        free(hook->name);
    }
    free(webhooks);
}

/* ---- for people ---- */

static json_t *hook_json(const struct hook *hook, const struct weir_rows *behind)
{
    bool fails = hook->error.text[0] != '\0';
    int64_t count = weir_rows_i64(behind, 0, "events");
    return JSON_FIELDS(
        JSON_TEXT("webhook", hook->name), JSON_NUMBER("sent", hook->sent),
        JSON_NUMBER("behind", count),
        JSON_NEW("oldest", count > 0 ? orchestrator_json_time(weir_rows_i64(behind, 0, "oldest_us"))
                                     : json_null()),
        JSON_TEXT_OR_NULL("error", fails ? hook->error.text : NULL),
        JSON_NUMBER("tries", hook->failures),
        JSON_NEW("failing_since",
                 fails ? orchestrator_json_time(hook->failing_since_us) : json_null()),
        JSON_NEW("again", fails ? orchestrator_json_time(hook->again_us) : json_null()));
}

enum weir_status orchestrator_webhooks_json(const struct webhooks *webhooks, json_t **ret_json,
                                            struct weir_error *err)
{
    json_t *hooks = json_array();
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < webhooks->count && status == WEIR_OK; i++) {
        WEIR_AUTO(weir_rows) behind = NULL;
        status = DB_RUN(webhooks->context->db, Q_webhook_behind, &behind, err,
                        DB_I64(webhooks->hooks[i].position));
        if (status == WEIR_OK)
            json_array_append_new(hooks, hook_json(&webhooks->hooks[i], behind));
    }
    if (status == WEIR_OK)
        *ret_json = JSON_FIELDS(JSON_NEW("webhooks", hooks));
    else
        json_decref(hooks);
    return status;
}
