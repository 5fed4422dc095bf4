/* Requests of browsers, and the round in which topics are asked: see live.h. */
#include "orchestrator/live/live.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/http/http.h"
#include "orchestrator/live/certificate.h"
#include "orchestrator/live/excerpt.h"
#include "orchestrator/live/gate.h"
#include "orchestrator/live/parts.h"
#include "orchestrator/live/recent.h"
#include "orchestrator/live/viewers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NS_PER_MS = 1000000,
    PACE_MS = 1000,
    LOOK_MS = 2000, /* between two looks at the files of certificate and key */
    REST = 20, /* times as long as the loop was busy with a round, it is left to itself after it */
};

#define TYPE_HTML "text/html; charset=utf-8"
#define TYPE_TEXT "text/plain; charset=utf-8"

/* page/, by tools/embed_page */
extern const char orchestrator_live_page_text[], orchestrator_live_page_gzip[];
extern const size_t orchestrator_live_page_text_size, orchestrator_live_page_gzip_size;

/* A topic that the page shows. */
struct live_kind {
    const char *topic, *event;
    live_excerpt_fn *excerpt;
    /* asked for each, and again after its events; else in each round, for each scope */
    bool of_pipeline;
};

static const struct live_kind KINDS[] = {
    {"status", "status", orchestrator_live_status, false},
    {"workers", "workers", orchestrator_live_workers, false},
    {"erase_list", "erasures", orchestrator_live_erasures, false},
    {"report", "report", orchestrator_live_report, true},
    {"models", "models", orchestrator_live_models, true},
    {"plan", "plan", orchestrator_live_plan, true},
};

struct live {
    struct weir_loop *loop;
    struct http *http;
    char *address,
        *cookie;    /* the latter with a port: a browser keeps one jar for all ports of a host */
    bool is_secure; /* encrypted, for those who have a token */
    struct topics *topics; /* NULL: they do not answer */
    struct http_page *whole, *packed;
    struct live_parts parts;
    struct live_scopes scopes;
    struct live_viewers viewers;
    struct live_certificate_files files; /* of no certificate: NULL */
    uint64_t look_timer;                 /* 0: none */
    uint64_t timer;                      /* of the next round, or step of one; 0: none */
    int64_t busy_ns;                     /* in this round */
    int64_t rests_until_ms;              /* no round begins before */
};

/* ---- answers ---- */

/* NULL: it is of no pipeline. */
static const struct pipeline *pipeline_of(const struct live *live, const struct live_part *part)
{
    return orchestrator_pipeline_by_id(live->topics->pipelines, part->of.pipeline);
}

static const char *name_of(const struct pipeline *pipeline)
{
    return orchestrator_pipeline_config(pipeline)->name;
}

static json_t *arguments_of(const struct pipeline *pipeline)
{
    json_t *arguments = json_object();
    if (pipeline != NULL) {
        json_object_set_new(arguments, "pipeline", json_string(name_of(pipeline)));
        json_object_set_new(arguments, "newest", json_integer(LIVE_TRIGGERS_MAX));
    } else {
        json_object_set_new(arguments, "open_first", json_true());
        json_object_set_new(arguments, "most", json_integer(LIVE_ROWS_MAX));
    }
    return arguments;
}

/* The event that a browser is sent; JSON has no line breaks outside its texts, and escapes them inside. */
static void set_part(struct live *live, struct live_part *part, json_t *excerpt)
{
    const struct live_kind *kind = part->kind;
    const struct pipeline *pipeline = pipeline_of(live, part);
    if (pipeline != NULL)
        json_object_set_new(excerpt, "pipeline", json_string(name_of(pipeline)));
    else if (part->of.scope != NULL && part->of.scope->tenant[0] != '\0')
        orchestrator_live_status_of_tenant(excerpt);
    char *json = json_dumps(excerpt, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    WEIR_AUTO_BUF text = {0};
    weir_buf_printf(&text, "event: %s\ndata: %s\n\n", kind->event, json == NULL ? "{}" : json);
    free(json);
    if (orchestrator_live_part_set(&live->parts, part, weir_buf_view(&text)))
        orchestrator_live_viewers_wake(&live->viewers);
}

/* A refusal changes nothing: there is no plan yet, or a service is away. */
static void on_answered(void *owner, json_t *json, const struct weir_error *err)
{
    struct live_part *part = owner;
    const struct live_kind *kind = part->kind;
    (void)err;
    part->is_asked = false;
    if (json == NULL)
        return;
    json_t *excerpt = kind->excerpt(json);
    set_part(part->owner, part, excerpt);
    json_decref(excerpt);
}

/* Asked as by a viewer of whoever is shown the answer: of a pipeline by one of its tenant. */
static void ask(struct live *live, struct live_part *part)
{
    const struct live_kind *kind = part->kind;
    const struct pipeline *pipeline = pipeline_of(live, part);
    part->is_stale = false;
    if (pipeline == NULL && part->of.pipeline != 0)
        return; /* it is gone, and the part goes with the next round */
    part->is_asked = true;
    const struct topic_request request = {
        .topic = kind->topic,
        .tenant = pipeline != NULL ? orchestrator_pipeline_owner(pipeline) : part->of.scope->tenant,
        .arguments = arguments_of(pipeline)};
    orchestrator_topics_ask(live->topics, &request, on_answered, part);
}

/* ---- rounds ---- */

static void drop_part(struct live *live, struct live_part *part)
{
    if (part->is_asked)
        orchestrator_topics_forget(live->topics, part);
    orchestrator_live_part_drop(&live->parts, part);
}

static void drop_parts(struct live *live)
{
    while (!TAILQ_EMPTY(&live->parts.all))
        drop_part(live, TAILQ_FIRST(&live->parts.all));
}

/* Scopes that nobody looks at any longer go, with their parts. */
static void drop_scopes(struct live *live)
{
    struct live_scope *scope = LIST_FIRST(&live->scopes);
    while (scope != NULL) {
        struct live_scope *next = LIST_NEXT(scope, link);
        for (size_t i = 0; scope->viewers == 0 && i < WEIR_COUNT(KINDS); i++) {
            const struct live_subject of = {.scope = scope};
            struct live_part *part = orchestrator_live_part_of(&live->parts, &KINDS[i], of);
            if (part != NULL)
                drop_part(live, part);
        }
        if (scope->viewers == 0)
            orchestrator_live_scope_drop(scope);
        scope = next;
    }
}

static void need_part(struct live *live, const struct live_kind *kind, struct live_subject of)
{
    struct live_part *part = orchestrator_live_part_of(&live->parts, kind, of);
    if (part == NULL) {
        part = orchestrator_live_part_add(&live->parts, kind, of);
        part->owner = live;
    }
    part->is_stale = part->is_stale || !kind->of_pipeline;
}

/* The newest pipelines that a scope sees, which have pictures in it. One that takes the place of another may have parts
 * that are older than what its viewers were sent last, for another scope has shown it: these are sent again. True:
 * there are such parts. */
static bool list_pipelines(struct live *live, struct live_scope *scope)
{
    int64_t listed[LIVE_PIPELINES_MAX];
    size_t count = 0;
    bool has_news = false;
    for (const struct pipeline *pipeline = live->topics->pipelines->first;
         pipeline != NULL && count < LIVE_PIPELINES_MAX;
         pipeline = orchestrator_pipeline_next(pipeline)) {
        if (orchestrator_pipeline_state(pipeline) == PIPELINE_REMOVED ||
            !orchestrator_pipeline_is_seen_by(pipeline, scope->tenant))
            continue;
        listed[count] = orchestrator_pipeline_id(pipeline);
        if (scope->pipeline_count > 0 && !orchestrator_live_scope_has(scope, listed[count]))
            has_news |= orchestrator_live_parts_renew(&live->parts, listed[count]);
        count++;
    }
    memcpy(scope->pipelines, listed, count * sizeof(*listed));
    scope->pipeline_count = count;
    return has_news;
}

static bool is_looked_at(const struct live *live, int64_t pipeline)
{
    const struct live_scope *scope;
    LIST_FOREACH (scope, &live->scopes, link)
        if (orchestrator_live_scope_has(scope, pipeline))
            return true;
    return false;
}

static void drop_others(struct live *live)
{
    struct live_part *part = TAILQ_FIRST(&live->parts.all);
    while (part != NULL) {
        struct live_part *next = TAILQ_NEXT(part, link);
        if (part->of.pipeline != 0 && !is_looked_at(live, part->of.pipeline))
            drop_part(live, part);
        part = next;
    }
}

static void need_parts(struct live *live, const struct live_scope *scope)
{
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++) {
        if (!KINDS[i].of_pipeline)
            need_part(live, &KINDS[i], (struct live_subject){.scope = scope});
        for (size_t p = 0; KINDS[i].of_pipeline && p < scope->pipeline_count; p++)
            need_part(live, &KINDS[i], (struct live_subject){.pipeline = scope->pipelines[p]});
    }
}

/* Leaves the parts that there are to be, and no others; of the events all are read at once. */
static void settle(struct live *live)
{
    struct live_scope *scope;
    bool has_news = false;
    drop_scopes(live);
    LIST_FOREACH (scope, &live->scopes, link) {
        has_news |= list_pipelines(live, scope);
        has_news |= orchestrator_live_recent_read(live->topics->pipelines, scope);
    }
    drop_others(live);
    LIST_FOREACH (scope, &live->scopes, link)
        need_parts(live, scope);
    if (has_news)
        orchestrator_live_viewers_wake(&live->viewers);
}

static struct live_part *first_stale(const struct live *live)
{
    struct live_part *part;
    TAILQ_FOREACH (part, &live->parts.all, link)
        if (part->is_stale && !part->is_asked)
            return part;
    return NULL;
}

static void begin_round(void *owner);

static void rest(struct live *live)
{
    int64_t rest_ms = live->busy_ns * REST / NS_PER_MS;
    rest_ms = rest_ms > PACE_MS ? rest_ms : PACE_MS;
    live->rests_until_ms = weir_loop_now_ms(live->loop) + rest_ms;
    live->timer = weir_loop_timer(live->loop, rest_ms, 0, begin_round, live);
}

/* Asks for one part; the loop goes round between two. */
static void step(void *owner)
{
    struct live *live = owner;
    struct live_part *part = first_stale(live);
    if (part == NULL) {
        rest(live);
        return;
    }
    int64_t before_ns = weir_now_ns();
    live->timer = weir_loop_timer(live->loop, 0, 0, step, live);
    ask(live, part);
    live->busy_ns += weir_now_ns() - before_ns;
}

static void begin_round(void *owner)
{
    struct live *live = owner;
    live->timer = 0;
    live->busy_ns = 0;
    if (live->viewers.count == 0) {
        drop_parts(live);
        drop_scopes(live);
        return;
    }
    int64_t before_ns = weir_now_ns();
    orchestrator_live_viewers_check(&live->viewers, live->topics->tokens);
    settle(live);
    live->busy_ns += weir_now_ns() - before_ns;
    step(live);
}

/* Sets rounds going, unless nobody looks or there is nothing to see. */
static void begin(struct live *live)
{
    int64_t rest_ms = live->rests_until_ms - weir_loop_now_ms(live->loop);
    if (live->timer == 0 && live->topics != NULL && live->viewers.count > 0)
        live->timer = weir_loop_timer(live->loop, rest_ms > 0 ? rest_ms : 0, 0, begin_round, live);
}

void orchestrator_live_happened(struct live *live, int64_t pipeline)
{
    struct live_part *part;
    if (live == NULL)
        return;
    TAILQ_FOREACH (part, &live->parts.all, link)
        if (part->of.pipeline != 0 && (pipeline == 0 || part->of.pipeline == pipeline))
            part->is_stale = true;
}

/* ---- requests ---- */

static void refuse(struct http_request *request, unsigned code, const char *text)
{
    orchestrator_http_answer(request,
                             orchestrator_http_page_new(code, TYPE_TEXT, weir_bytes_of(text)));
}

/* The token that comes with a request; NULL: none does. */
static const char *token_of(const struct live *live, const struct http_request *request)
{
    static const char BEARER[] = "Bearer ";
    const char *header = orchestrator_http_header(request, "Authorization");
    if (header != NULL && strncasecmp(header, BEARER, strlen(BEARER)) == 0)
        return header + strlen(BEARER);
    return orchestrator_http_cookie(request, live->cookie);
}

/* True when whoever asks may look; `ret_token` gets the number of the token, 0 where none is needed. */
static bool may_look(const struct live *live, struct http_request *request, int64_t *ret_token)
{
    const char *token = live->is_secure ? token_of(live, request) : NULL;
    *ret_token = token != NULL && live->topics != NULL
                     ? orchestrator_tokens_find(live->topics->tokens, token)
                     : 0;
    if (!live->is_secure || *ret_token != 0)
        return true;
    if (live->topics == NULL)
        refuse(request, HTTP_UNAVAILABLE, "the platform is not up yet, or is being stopped\n");
    else
        refuse(request, HTTP_UNKNOWN,
               "expected a token that is let in: weir tokens new makes one\n");
    return false;
}

/* The token becomes a cookie, which no script sees, and which goes to this page alone. */
static void log_in(const struct live *live, struct http_request *request)
{
    int64_t token;
    if (!may_look(live, request, &token))
        return;
    struct http_page *page =
        orchestrator_http_page_new(HTTP_OK, TYPE_TEXT, weir_bytes_of("welcome\n"));
    if (token != 0) {
        WEIR_AUTO_FREE char *cookie =
            weir_format("%s=%s; Path=/; Secure; HttpOnly; SameSite=Strict", live->cookie,
                        token_of(live, request));
        orchestrator_http_page_add(page, "Set-Cookie", cookie);
    }
    orchestrator_http_answer(request, page);
}

/* The number of the newest line that whoever asks has had: browsers name it when they connect again by themselves, the
 * page's script when it makes them. One that this platform has not given yet is another platform's. */
static int64_t line_of(const struct live *live, const struct http_request *request)
{
    const char *text = orchestrator_http_header(request, "Last-Event-ID");
    if (text == NULL)
        text = orchestrator_http_argument(request, "after");
    long long number = text != NULL ? strtoll(text, NULL, 10) : 0;
    bool is_ours =
        number > 0 && live->topics != NULL && number <= live->topics->context->event_shown;
    return is_ours ? number : 0;
}

static void begin_stream(struct live *live, struct http_request *request)
{
    int64_t token;
    if (!orchestrator_live_is_own_site(orchestrator_http_header(request, "Sec-Fetch-Site"))) {
        refuse(request, HTTP_DENIED, "only this page itself may read its events\n");
        return;
    }
    if (!may_look(live, request, &token))
        return;
    if (live->viewers.count == LIVE_VIEWERS_MAX) {
        refuse(request, HTTP_UNAVAILABLE,
               "as many look at this page as may at once: close one of them\n");
        return;
    }
    const struct live_looker looker = {
        .token = token,
        .tenant = token != 0 ? orchestrator_tokens_tenant(live->topics->tokens, token) : "",
        .line = line_of(live, request)};
    orchestrator_live_viewers_add(&live->viewers, request, &looker);
    begin(live);
}

static void on_get(void *owner, struct http_request *request, const char *path)
{
    struct live *live = owner;
    const char *encodings = orchestrator_http_header(request, "Accept-Encoding");
    const char *host = orchestrator_http_header(request, "Host");
    if (!live->is_secure && !orchestrator_live_is_loopback_name(host))
        refuse(request, HTTP_DENIED,
               "this page is at 127.0.0.1, localhost or [::1], and under no other name\n");
    else if (strcmp(path, "/") == 0)
        orchestrator_http_answer(
            request, orchestrator_http_page_hold(
                         orchestrator_live_takes_gzip(encodings) ? live->packed : live->whole));
    else if (strcmp(path, "/login") == 0)
        log_in(live, request);
    else if (strcmp(path, "/events") == 0)
        begin_stream(live, request);
    else
        refuse(request, HTTP_NOT_FOUND, "expected /, /login or /events\n");
}

/* ---- another certificate ---- */

static enum weir_status renew(struct live *live, struct weir_error *err)
{
    struct live_certificate read;
    enum weir_status status =
        orchestrator_live_certificate_read(live->files.certificate, live->files.key, &read, err);
    const struct http_tls tls = {weir_buf_text(&read.certificate), weir_buf_text(&read.key)};
    if (status == WEIR_OK)
        status = orchestrator_http_renew(live->http, &tls, err);
    orchestrator_live_certificate_fini(&read);
    return status;
}

static void look_at_files(void *owner)
{
    struct live *live = owner;
    struct weir_error err;
    live->look_timer = weir_loop_timer(live->loop, LOOK_MS, 0, look_at_files, live);
    if (!orchestrator_live_certificate_files_look(&live->files))
        return;
    if (renew(live, &err) == WEIR_OK)
        weir_log(WEIR_LOG_INFO, "the page has another certificate", "file=\"%s\"",
                 live->files.certificate);
    else
        weir_log(WEIR_LOG_WARN, "the page keeps its certificate: the new one cannot be used",
                 "file=\"%s\" because=\"%s\"", live->files.certificate, err.text);
}

/* ---- opening and closing ---- */

static struct http_page *new_page(struct weir_bytes text)
{
    struct http_page *page = orchestrator_http_page_new(HTTP_OK, TYPE_HTML, text);
    orchestrator_http_page_add(page, "Vary", "Accept-Encoding");
    orchestrator_http_page_add(page, "Content-Security-Policy", "frame-ancestors 'none'");
    return page;
}

static struct live *new_live(struct weir_loop *loop)
{
    struct live *live = weir_calloc(1, sizeof(*live));
    live->loop = loop;
    orchestrator_live_parts_init(&live->parts);
    live->viewers =
        (struct live_viewers){.loop = loop, .parts = &live->parts, .scopes = &live->scopes};
    live->whole =
        new_page(weir_bytes(orchestrator_live_page_text, orchestrator_live_page_text_size));
    live->packed =
        new_page(weir_bytes(orchestrator_live_page_gzip, orchestrator_live_page_gzip_size));
    orchestrator_http_page_add(live->packed, "Content-Encoding", "gzip");
    return live;
}

static enum weir_status listen_at(struct live *live, const struct loopback_address *address,
                                  struct live_certificate *certificate, struct weir_error *err)
{
    const struct http_tls tls = {weir_buf_text(&certificate->certificate),
                                 weir_buf_text(&certificate->key)};
    const struct http_options options = {.what = "page",
                                         .address = address,
                                         .tls = live->is_secure ? &tls : NULL,
                                         .get = on_get,
                                         .owner = live};
    enum weir_status status = orchestrator_http_open(live->loop, &options, &live->http, err);
    if (status != WEIR_OK)
        return status;
    const char *at = orchestrator_http_address(live->http);
    live->address = weir_format("http%s://%s/", live->is_secure ? "s" : "", at);
    live->cookie = weir_format("__Host-weir-%s", strrchr(at, ':') + 1);
    return WEIR_OK;
}

enum weir_status orchestrator_live_open(struct weir_loop *loop, const struct page_place *place,
                                        struct live **ret_live, struct weir_error *err)
{
    struct loopback_address address;
    struct live_certificate certificate = {.key = {0}};
    enum weir_status status = orchestrator_page_place_read(place, &address, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "page");
    struct live *live = new_live(loop);
    live->is_secure = place->certificate != NULL;
    if (live->is_secure) {
        orchestrator_live_certificate_files_init(&live->files, place->certificate, place->key);
        status =
            orchestrator_live_certificate_read(place->certificate, place->key, &certificate, err);
    }
    if (status == WEIR_OK)
        status = listen_at(live, &address, &certificate, err);
    if (status == WEIR_OK && live->is_secure)
        look_at_files(live);
    orchestrator_live_certificate_fini(&certificate);
    if (status == WEIR_OK)
        *ret_live = live;
    else
        orchestrator_live_close(live);
    return status;
}

void orchestrator_live_close(struct live *live)
{
    if (live == NULL)
        return;
    orchestrator_live_detach(live);
    weir_loop_cancel(live->loop, live->look_timer);
    orchestrator_http_close(live->http);
    orchestrator_live_certificate_files_fini(&live->files);
    orchestrator_live_viewers_fini(&live->viewers);
    drop_scopes(live);
    orchestrator_http_page_free(live->whole);
    orchestrator_http_page_free(live->packed);
    free(live->address);
    free(live->cookie);
    free(live);
}

const char *orchestrator_live_address(const struct live *live)
{
    return live->address;
}

void orchestrator_live_attach(struct live *live, struct topics *topics)
{
    live->topics = topics;
    begin(live);
}

void orchestrator_live_detach(struct live *live)
{
    if (live == NULL || live->topics == NULL)
        return;
    weir_loop_cancel(live->loop, live->timer);
    live->timer = 0;
    drop_parts(live);
    live->topics = NULL;
}
