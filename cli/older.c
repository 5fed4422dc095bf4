/* Page by page: see older.h. */
#include "cli/older.h"

#include "cli/answer.h"
#include "cli/platform.h"

/* Joins the lists of an answer and of the page that comes next, which follows it or stands in front of it. */
static void join(json_t *answer, json_t *next, const char *list, bool follows)
{
    json_t *first = json_object_get(follows ? answer : next, list);
    json_array_extend(first, json_object_get(follows ? next : answer, list));
    json_object_set(answer, list, first);
}

struct listing {
    const char *topic;
    const json_t *arguments; /* NULL: none */
    const char *list;
    bool follows; /* each page, the one before it */
};

static enum weir_status add_pages(struct cli_platform *platform, const struct listing *listing,
                                  json_t *answer, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    json_t *before = json_incref(json_object_get(answer, "before"));
    json_t *wanted =
        listing->arguments != NULL ? json_deep_copy(listing->arguments) : json_object();
    while (status == WEIR_OK && before != NULL) {
        json_t *older = NULL, *next = NULL;
        json_object_set(wanted, "before", before);
        status = cli_platform_request(platform, listing->topic, wanted, &older, err);
        if (status == WEIR_OK) {
            join(answer, older, listing->list, listing->follows);
            next = json_object_get(older, "before");
            next = json_equal(next, before) ? NULL : json_incref(next);
        }
        json_decref(before);
        json_decref(older);
        before = next;
    }
    json_decref(before);
    json_decref(wanted);
    json_object_del(answer, "before");
    return status;
}

enum weir_status cli_add_older(struct cli_platform *platform, const char *topic,
                               const json_t *arguments, const char *list, json_t *answer,
                               struct weir_error *err)
{
    return add_pages(platform, &(struct listing){topic, arguments, list, false}, answer, err);
}

/* ---- measures of a model ---- */

static void flatten(json_t *measure)
{
    json_object_update(measure, json_object_get(measure, "interval"));
    json_object_del(measure, "interval");
}

static enum weir_status request_measures(struct cli_platform *platform, const char *model,
                                         size_t from, json_t **ret_answer, struct weir_error *err)
{
    json_t *arguments = json_pack("{ss,sI}", "model", model, "measures_from", (json_int_t)from);
    enum weir_status status = cli_platform_request(platform, "model", arguments, ret_answer, err);
    json_decref(arguments);
    return status;
}

enum weir_status cli_add_measures(struct cli_platform *platform, const char *model, json_t *row,
                                  bool is_flat, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    json_t *measures = json_object_get(row, "evaluations");
    bool is_partial = cli_number(row, "evaluations_left_out") > 0;
    while (status == WEIR_OK && is_partial) {
        json_t *answer = NULL;
        status = request_measures(platform, model, json_array_size(measures), &answer, err);
        json_t *more = json_object_get(answer, "evaluations");
        for (size_t i = 0; is_flat && i < json_array_size(more); i++)
            flatten(json_array_get(more, i));
        json_array_extend(measures, more);
        is_partial = json_array_size(more) > 0 && cli_number(answer, "evaluations_left_out") > 0;
        json_decref(answer);
    }
    json_object_del(row, "evaluations_left_out");
    return status;
}

enum weir_status cli_follow_model(struct cli_platform *platform, const struct cli_call *call,
                                  json_t **answer, struct weir_error *err)
{
    (void)call;
    return cli_add_measures(platform, cli_text(*answer, "model"), *answer, false, err);
}

/* ---- pages of models ---- */

enum weir_status cli_follow_models(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    enum weir_status status =
        cli_add_older(platform, "models", call->arguments, "models", *answer, err);
    const json_t *models = json_object_get(*answer, "models");
    for (size_t i = 0; status == WEIR_OK && i < json_array_size(models); i++) {
        json_t *model = json_array_get(models, i);
        status = cli_add_measures(platform, cli_text(model, "model"), model, false, err);
    }
    return status;
}

enum weir_status cli_follow_lineage(struct cli_platform *platform, const struct cli_call *call,
                                    json_t **answer, struct weir_error *err)
{
    return cli_add_older(platform, "lineage", call->arguments, "models", *answer, err);
}

enum weir_status cli_follow_erase_plan(struct cli_platform *platform, const struct cli_call *call,
                                       json_t **answer, struct weir_error *err)
{
    return cli_add_older(platform, "erase_plan", call->arguments, "models", *answer, err);
}

enum weir_status cli_follow_exports(struct cli_platform *platform, const struct cli_call *call,
                                    json_t **answer, struct weir_error *err)
{
    (void)call;
    return cli_add_older(platform, "exports", NULL, "exports", *answer, err);
}

enum weir_status cli_follow_keys_list(struct cli_platform *platform, const struct cli_call *call,
                                      json_t **answer, struct weir_error *err)
{
    (void)call; /* with --all the first page has had the revoked ones */
    return cli_add_older(platform, "keys_list", NULL, "keys", *answer, err);
}

enum weir_status cli_follow_comparisons(struct cli_platform *platform, const struct cli_call *call,
                                        json_t **answer, struct weir_error *err)
{
    (void)call;
    return add_pages(platform, &(struct listing){"comparisons", NULL, "comparisons", true}, *answer,
                     err);
}
