/* Server-sent events (HTML Living Standard, 9.2): a part is one event, and so is a line. A beat now and
 * then shows the browser that the platform is there, and us that the browser is. */
#include "orchestrator/live/viewers.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BEAT_MS = 10000 };

/* The first text of a stream: how long a browser waits before it connects again. */
#define HELLO "retry: 2000\n\n"
#define BEAT  "event: beat\ndata: {}\n\n"

struct live_viewer {
    struct live_viewers *all;
    struct http_request *request;
    LIST_ENTRY(live_viewer) link;
    int64_t token; /* number of the one it came with; 0: it needed none */
    struct live_scope *scope;
    uint64_t number;        /* of the newest part that it was sent */
    int64_t line;           /* number of the newest line that it was sent */
    struct live_text *text; /* being sent; NULL: none is */
    size_t sent;            /* of it */
    bool is_greeted, has_beat;
};

static size_t copy(char *to, size_t room, const char *text)
{
    size_t size = strlen(text);
    weir_require(size <= room);
    memcpy(to, text, size);
    return size;
}

/* Takes up the next part, or line. */
static bool take_next(struct live_viewer *viewer)
{
    const struct live_part *part =
        orchestrator_live_part_after(viewer->all->parts, viewer->scope, viewer->number);
    const struct live_line *line = orchestrator_live_log_after(&viewer->scope->log, viewer->line);
    viewer->sent = 0;
    if (part != NULL) {
        viewer->text = orchestrator_live_text_hold(part->text);
        viewer->number = part->number;
    } else if (line != NULL) {
        viewer->text = orchestrator_live_text_hold(line->text);
        viewer->line = line->number;
    }
    return viewer->text != NULL;
}

/* Copies what there is room for of the text that is being sent. */
static size_t copy_rest(struct live_viewer *viewer, char *to, size_t room)
{
    size_t rest = viewer->text->size - viewer->sent, size = rest < room ? rest : room;
    memcpy(to, viewer->text->at + viewer->sent, size);
    viewer->sent += size;
    if (viewer->sent == viewer->text->size) {
        orchestrator_live_text_free(viewer->text);
        viewer->text = NULL;
    }
    return size;
}

static size_t read_more(void *owner, char *to, size_t room)
{
    struct live_viewer *viewer = owner;
    if (!viewer->is_greeted) {
        viewer->is_greeted = true;
        return copy(to, room, HELLO);
    }
    size_t size = 0;
    while (size < room && (viewer->text != NULL || take_next(viewer)))
        size += copy_rest(viewer, to + size, room - size);
    if (size == 0 && viewer->has_beat)
        size = copy(to, room, BEAT);
    viewer->has_beat = false;
    return size;
}

static void end(void *owner)
{
    struct live_viewer *viewer = owner;
    LIST_REMOVE(viewer, link);
    viewer->all->count--;
    orchestrator_live_scope_leave(viewer->scope);
    orchestrator_live_text_free(viewer->text);
    free(viewer);
}

static void beat(void *owner)
{
    struct live_viewers *viewers = owner;
    struct live_viewer *viewer;
    LIST_FOREACH (viewer, &viewers->all, link)
        viewer->has_beat = true;
    orchestrator_live_viewers_wake(viewers);
    viewers->beat_timer =
        viewers->count > 0 ? weir_loop_timer(viewers->loop, BEAT_MS, 0, beat, viewers) : 0;
}

void orchestrator_live_viewers_add(struct live_viewers *viewers, struct http_request *request,
                                   const struct live_looker *looker)
{
    struct live_viewer *viewer = weir_calloc(1, sizeof(*viewer));
    weir_require(viewers->count < LIVE_VIEWERS_MAX);
    viewer->all = viewers;
    viewer->request = request;
    viewer->token = looker->token;
    viewer->line = looker->line;
    viewer->scope = orchestrator_live_scope_join(viewers->scopes, looker->tenant);
    LIST_INSERT_HEAD(&viewers->all, viewer, link);
    viewers->count++;
    if (viewers->beat_timer == 0)
        viewers->beat_timer = weir_loop_timer(viewers->loop, BEAT_MS, 0, beat, viewers);
    orchestrator_http_answer_stream(
        request, &(struct http_stream){
                     .type = "text/event-stream", .read = read_more, .end = end, .owner = viewer});
}

void orchestrator_live_viewers_check(const struct live_viewers *viewers,
                                     const struct tokens *tokens)
{
    const struct live_viewer *viewer;
    LIST_FOREACH (viewer, &viewers->all, link)
        if (viewer->token != 0 && !orchestrator_tokens_has(tokens, viewer->token))
            orchestrator_http_end(viewer->request);
}

void orchestrator_live_viewers_wake(struct live_viewers *viewers)
{
    struct live_viewer *viewer;
    LIST_FOREACH (viewer, &viewers->all, link)
        orchestrator_http_wake(viewer->request);
}

void orchestrator_live_viewers_fini(struct live_viewers *viewers)
{
    weir_loop_cancel(viewers->loop, viewers->beat_timer);
}
