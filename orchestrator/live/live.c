/* Requests of browsers, and the round in which topics are asked: see live.h. */
#include "orchestrator/live/live.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/http/http.h"
#include "orchestrator/live/certificate.h"
#include "orchestrator/live/excerpt.h"
#include "orchestrator/live/gate.h"
#include "orchestrator/live/parts.h"
#include "orchestrator/live/viewers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NS_PER_MS = 1000000,
    PACE_MS = 1000,
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
    bool of_pipeline; /* asked for each, and again after its events; else in each round */
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
    struct live_viewers viewers;
    uint64_t timer;         /* of the next round, or step of one; 0: none */
    int64_t busy_ns;        /* in this round */
    int64_t rests_until_ms; /* no round begins before */
};

/* ---- answers ---- */

/* NULL: it is of no pipeline. */
static const char *name_of(const struct live *live, const struct live_part *part)
{
    const struct pipeline *pipeline =
        orchestrator_pipeline_by_id(live->topics->pipelines, part->about);
    return pipeline != NULL ? orchestrator_pipeline_config(pipeline)->name : NULL;
}

static json_t *arguments_of(const struct live *live, const struct live_part *part)
{
    const char *name = name_of(live, part);
    json_t *arguments = json_object();
    if (name != NULL) {
        json_object_set_new(arguments, "pipeline", json_string(name));
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
    const char *name = name_of(live, part);
    if (name != NULL)
        json_object_set_new(excerpt, "pipeline", json_string(name));
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

static void need_part(struct live *live, const struct live_kind *kind, int64_t about)
{
    struct live_part *part = orchestrator_live_part_of(&live->parts, kind, about);
    if (part == NULL) {
        part = orchestrator_live_part_add(&live->parts, kind, about);
        part->owner = live;
    }
    part->is_stale = part->is_stale || !kind->of_pipeline;
}

/* The newest pipelines, which have pictures; returns how many. */
static size_t list_pipelines(const struct live *live, int64_t ret_ids[LIVE_PIPELINES_MAX])
{
    size_t count = 0;
    const struct pipeline *pipeline = live->topics->pipelines->first;
    for (; pipeline != NULL && count < LIVE_PIPELINES_MAX;
         pipeline = orchestrator_pipeline_next(pipeline))
        if (orchestrator_pipeline_state(pipeline) != PIPELINE_REMOVED)
            ret_ids[count++] = orchestrator_pipeline_id(pipeline);
    return count;
}

static bool is_among(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void drop_others(struct live *live, const int64_t *ids, size_t count)
{
    struct live_part *part = TAILQ_FIRST(&live->parts.all);
    while (part != NULL) {
        struct live_part *next = TAILQ_NEXT(part, link);
        if (part->about != 0 && !is_among(ids, count, part->about))
            drop_part(live, part);
        part = next;
    }
}

/* Leaves the parts that there are to be, and no others. */
static void settle_parts(struct live *live)
{
    int64_t ids[LIVE_PIPELINES_MAX];
    size_t count = list_pipelines(live, ids);
    drop_others(live, ids, count);
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++) {
        if (!KINDS[i].of_pipeline)
            need_part(live, &KINDS[i], 0);
        for (size_t p = 0; KINDS[i].of_pipeline && p < count; p++)
            need_part(live, &KINDS[i], ids[p]);
    }
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
    const struct live_kind *kind = part->kind;
    int64_t before_ns = weir_now_ns();
    part->is_stale = false;
    part->is_asked = true;
    live->timer = weir_loop_timer(live->loop, 0, 0, step, live);
    orchestrator_topics_ask(live->topics, kind->topic, arguments_of(live, part), on_answered, part);
    live->busy_ns += weir_now_ns() - before_ns;
}

static void begin_round(void *owner)
{
    struct live *live = owner;
    live->timer = 0;
    live->busy_ns = 0;
    if (live->viewers.count == 0) {
        drop_parts(live);
        return;
    }
    orchestrator_live_viewers_check(&live->viewers, live->topics->tokens);
    settle_parts(live);
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
        if (part->about != 0 && (pipeline == 0 || part->about == pipeline))
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
    orchestrator_live_viewers_add(&live->viewers, request, token);
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
    live->viewers = (struct live_viewers){.loop = loop, .parts = &live->parts};
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
    if (place->certificate != NULL)
        status =
            orchestrator_live_certificate_read(place->certificate, place->key, &certificate, err);
    struct live *live = status == WEIR_OK ? new_live(loop) : NULL;
    if (live != NULL) {
        live->is_secure = place->certificate != NULL;
        status = listen_at(live, &address, &certificate, err);
    }
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
    orchestrator_http_close(live->http);
    orchestrator_live_viewers_fini(&live->viewers);
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
