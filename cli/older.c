/* Page by page: see older.h. */
#include "cli/older.h"

#include "cli/arguments.h"
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

enum weir_status cli_follow_models(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    json_t *arguments = cli_arguments_pipeline(call, err);
    if (arguments == NULL)
        return err->status;
    enum weir_status status = cli_add_older(platform, "models", arguments, "models", *answer, err);
    json_decref(arguments);
    return status;
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
