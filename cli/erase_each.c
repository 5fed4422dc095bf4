/* Many erasures from one file: sent in groups, each of which is durable before the next one is sent. */
#include "cli/erase_each.h"

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/erase_names.h"
#include "cli/platform.h"

#include <stdio.h>

enum { GROUP = 500, TOLD_EVERY = 10000 };

bool cli_erases_each(const struct cli_call *call)
{
    return call->options.each;
}

/* What the list holds at `index`, as a request. */
static json_t *request_of(const json_t *names, const char *list, size_t index,
                          const struct cli_call *call)
{
    json_t *request = json_object();
    json_object_set_new(request, "uuid", cli_draw_uuid());
    json_object_set_new(request, list,
                        json_pack("[O]", json_array_get(json_object_get(names, list), index)));
    if (call->options.reference != NULL)
        json_object_set_new(request, "reference", json_string(call->options.reference));
    return request;
}

static json_t *requests_of(const json_t *names, const struct cli_call *call)
{
    static const char *const LISTS[] = {"subjects", "keys", "ids"};
    json_t *requests = json_array();
    for (size_t list = 0; list < 3; list++) {
        size_t count = json_array_size(json_object_get(names, LISTS[list]));
        for (size_t i = 0; i < count; i++)
            json_array_append_new(requests, request_of(names, LISTS[list], i, call));
    }
    return requests;
}

/* The answer's sums. */
struct sums {
    json_int_t accepted, matched, first, last;
    json_t *errors;
};

static void add_answer(const json_t *answer, struct sums *sums)
{
    const json_t *erasures = json_object_get(answer, "erasures");
    for (size_t i = 0; i < json_array_size(erasures); i++) {
        const json_t *one = json_array_get(erasures, i);
        json_int_t number = (json_int_t)cli_number(one, "erasure");
        if (number == 0) {
            json_array_append_new(sums->errors, json_string(cli_text(one, "error")));
            continue;
        }
        sums->accepted++;
        sums->matched += (json_int_t)cli_number(one, "matched");
        sums->first = sums->first == 0 || number < sums->first ? number : sums->first;
        sums->last = number > sums->last ? number : sums->last;
    }
}

static enum weir_status send_all(struct cli_platform *platform, const struct cli_call *call,
                                 const json_t *requests, struct sums *sums, struct weir_error *err)
{
    size_t count = json_array_size(requests);
    enum weir_status status = WEIR_OK;
    for (size_t at = 0; status == WEIR_OK && at < count; at += GROUP) {
        json_t *group = json_array(), *answer = NULL;
        for (size_t i = at; i < count && i < at + GROUP; i++)
            json_array_append(group, json_array_get(requests, i));
        json_t *arguments = json_pack("{so,ss}", "requests", group, "dataset",
                                      call->options.dataset == NULL ? "" : call->options.dataset);
        status = cli_platform_ask(platform, "erase_requests", arguments, &answer, err);
        json_decref(arguments);
        if (status == WEIR_OK)
            add_answer(answer, sums);
        json_decref(answer);
        if (status == WEIR_OK && count > TOLD_EVERY && (at + GROUP) % TOLD_EVERY == 0)
            (void)fprintf(stderr, "%lld of %zu erasures accepted\n", (long long)sums->accepted,
                          count);
    }
    return status;
}

enum weir_status cli_answer_erase_each(const struct cli_call *call, json_t **ret_answer,
                                       struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = NULL;
    struct sums sums = {.errors = json_array()};
    json_t *names = NULL, *requests = NULL;
    enum weir_status status = WEIR_OK;
    if (call->options.wait)
        status = weir_fail(err, WEIR_INVALID,
                           "erase request: --each takes no --wait: weir erase "
                           "list shows how they go");
    if (status == WEIR_OK) {
        names = cli_erase_names(call, "erase request", err);
        status =
            names == NULL ? err->status : cli_platform_open(call->options.data_dir, &platform, err);
    }
    if (status == WEIR_OK) {
        requests = requests_of(names, call);
        status = send_all(platform, call, requests, &sums, err);
    }
    if (status == WEIR_OK)
        *ret_answer =
            json_pack("{sI,sI,sI,sI,sO}", "accepted", sums.accepted, "matched", sums.matched,
                      "first", sums.first, "last", sums.last, "refused", sums.errors);
    else if (sums.accepted > 0)
        status = weir_error_wrap(err, status, "after %lld accepted erasures, up to number %lld",
                                 (long long)sums.accepted, (long long)sums.last);
    json_decref(requests);
    json_decref(names);
    json_decref(sums.errors);
    return status;
}
