/* Events (C11), for people and programs. An event is written in the transaction of what it reports, under a
 * key that keeps it from being written twice, and shown once that is committed. */
#ifndef ORCHESTRATOR_CONTEXT_EVENTS_H
#define ORCHESTRATOR_CONTEXT_EVENTS_H

#include "orchestrator/context/context.h"
#include "orchestrator/values/json_object.h"

#include <jansson.h>

enum { ORCHESTRATOR_EVENTS_AT_ONCE = 256 /* read in one piece */ };

struct event_about {
    int64_t pipeline, erasure; /* 0: of none */
    const char *key;           /* unique per pipeline and erasure: "model_stored/3" */
    const char *event;
};

/* Inside a transaction. `body` (a JSON object without `event`) is consumed. */
enum weir_status orchestrator_event_put(struct context *context, const struct event_about *about,
                                        json_t *body, struct weir_error *err) WEIR_MUST_USE;
/* Shows the events of a pipeline from before this process began. */
enum weir_status orchestrator_events_recall(struct context *context, int64_t pipeline,
                                            struct weir_error *err) WEIR_MUST_USE;

/* Commits an edge of something: opens a transaction, runs `effect` (NULL: none) in it, commits, and shows the events.
 * A statement whose rows the effect does not ask for may fail as late as the commit. */
typedef enum weir_status orchestrator_effect_fn(void *subject, const void *what,
                                                struct weir_error *err);
enum weir_status orchestrator_commit(struct context *context, orchestrator_effect_fn *effect,
                                     void *subject, const void *what,
                                     struct weir_error *err) WEIR_MUST_USE;
/* The same, and the answers to what is asked behind the commit; `rows` is NULL where there is none. */
struct orchestrator_change {
    orchestrator_effect_fn *effect;
    void *subject;
    const void *what;
};
enum weir_status orchestrator_commit_and_ask(struct context *context,
                                             const struct orchestrator_change *change,
                                             struct weir_asked *asked, size_t count,
                                             struct weir_error *err) WEIR_MUST_USE;

/* The line of an event, for statements that write many; the caller's to free. `body` is consumed. */
char *orchestrator_event_line(const char *event, json_t *body) WEIR_MUST_USE;

/* JSON text of a trusted column, or {} */
json_t *orchestrator_json_of(const char *text);

#endif
