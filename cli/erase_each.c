/* Many erasures from one file: sent in groups, each of which is durable before the next one is sent. */
#include "cli/erase_each.h"

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/erase_names.h"
#include "cli/platform.h"

#include <stdio.h>

enum { GROUP = 500, REPORTED_EVERY = 10000 };

bool cli_erases_each(const struct cli_call *call)
{
    return call->options.each;
}

static const struct {
    const char *list, *kind;
} LISTS[] = {{"subjects", "subject"}, {"keys", "key"}, {"ids", "id"}};

/* Every name, on its way. */
struct sending {
    const struct cli_call *call;
    json_t *names, *lines; /* as cli_erase_names() gives them */
    json_t *requests;      /* one for each name */
    json_t *places; /* of each request, what is said of it when it is refused, but for the error */
    /* The answer's sums. */
    json_int_t accepted, matched, first, last;
    json_t *refused;
};

static void sending_fini(struct sending *sending)
{
    json_decref(sending->names);
    json_decref(sending->lines);
    json_decref(sending->requests);
    json_decref(sending->places);
    json_decref(sending->refused);
}

static json_t *request_of(const struct sending *sending, const char *list, size_t index)
{
    const char *reference = sending->call->options.reference;
    json_t *name = json_array_get(json_object_get(sending->names, list), index);
    json_t *request = json_object();
    json_object_set_new(request, "uuid", cli_draw_uuid());
    json_object_set_new(request, list, json_pack("[O]", name));
    if (reference != NULL)
        json_object_set_new(request, "reference", json_string(reference));
    return request;
}

static json_t *place_of(const struct sending *sending, size_t list, size_t index)
{
    json_t *line = json_array_get(json_object_get(sending->lines, LISTS[list].list), index);
    json_t *place = json_pack("{ss,sI}", "kind", LISTS[list].kind, "place", (json_int_t)index + 1);
    if (json_integer_value(line) > 0)
        json_object_set(place, "line", line);
    return place;
}

static void fill_requests(struct sending *sending)
{
    for (size_t list = 0; list < WEIR_COUNT(LISTS); list++) {
        size_t count = json_array_size(json_object_get(sending->names, LISTS[list].list));
        for (size_t i = 0; i < count; i++) {
            json_array_append_new(sending->requests, request_of(sending, LISTS[list].list, i));
            json_array_append_new(sending->places, place_of(sending, list, i));
        }
    }
}

/* The answer to the requests from `at` on. */
static void add_answer(const json_t *answer, size_t at, struct sending *sending)
{
    const json_t *erasures = json_object_get(answer, "erasures");
    for (size_t i = 0; i < json_array_size(erasures); i++) {
        const json_t *one = json_array_get(erasures, i);
        json_int_t number = (json_int_t)cli_number(one, "erasure");
        if (number == 0) {
            json_t *refused = json_array_get(sending->places, at + i);
            json_object_set_new(refused, "error", json_string(cli_text(one, "error")));
            json_array_append(sending->refused, refused);
            continue;
        }
        sending->accepted++;
        sending->matched += (json_int_t)cli_number(one, "matched");
        if (sending->first == 0 || number < sending->first)
            sending->first = number;
        if (number > sending->last)
            sending->last = number;
    }
}

static json_t *group_from(const struct sending *sending, size_t at)
{
    const struct cli_options *options = &sending->call->options;
    json_t *group = json_array();
    for (size_t i = at; i < json_array_size(sending->requests) && i < at + GROUP; i++)
        json_array_append(group, json_array_get(sending->requests, i));
    return json_pack("{so,ss,sb}", "requests", group, "dataset",
                     options->dataset == NULL ? "" : options->dataset, "allow_none",
                     options->allow_none);
}

static enum weir_status send_all(struct cli_platform *platform, struct sending *sending,
                                 struct weir_error *err)
{
    size_t count = json_array_size(sending->requests);
    enum weir_status status = WEIR_OK;
    for (size_t at = 0; status == WEIR_OK && at < count; at += GROUP) {
        json_t *group = group_from(sending, at), *answer = NULL;
        status = cli_platform_request(platform, "erase_requests", group, &answer, err);
        json_decref(group);
        if (status == WEIR_OK)
            add_answer(answer, at, sending);
        json_decref(answer);
        if (status == WEIR_OK && count > REPORTED_EVERY && (at + GROUP) % REPORTED_EVERY == 0)
            (void)fprintf(stderr, "%lld of %zu erasures accepted\n", (long long)sending->accepted,
                          count);
    }
    return status;
}

enum weir_status cli_answer_erase_each(const struct cli_call *call, json_t **ret_answer,
                                       struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = NULL;
    struct sending sending = {
        .call = call, .requests = json_array(), .places = json_array(), .refused = json_array()};
    enum weir_status status = WEIR_OK;
    if (call->options.wait)
        status = weir_fail(err, WEIR_INVALID,
                           "erase request: --each takes no --wait: weir erase "
                           "list shows how they go");
    if (call->options.drop_refused)
        status = weir_fail(err, WEIR_INVALID,
                           "erase request: --each takes no --drop-refused: make a request of its "
                           "own of it");
    if (status == WEIR_OK) {
        sending.names = cli_erase_names(call, "erase request", &sending.lines, err);
        status = sending.names == NULL ? err->status
                                       : cli_platform_open(&call->options.place, &platform, err);
    }
    if (status == WEIR_OK) {
        fill_requests(&sending);
        status = send_all(platform, &sending, err);
    }
    if (status == WEIR_OK)
        *ret_answer =
            json_pack("{sI,sI,sI,sI,sO}", "accepted", sending.accepted, "matched", sending.matched,
                      "first", sending.first, "last", sending.last, "refused", sending.refused);
    else if (sending.accepted > 0)
        status = weir_error_wrap(err, status, "after %lld accepted erasures, up to number %lld",
                                 (long long)sending.accepted, (long long)sending.last);
    sending_fini(&sending);
    return status;
}
