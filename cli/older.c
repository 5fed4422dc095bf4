/* Page by page: see older.h. */
#include "cli/older.h"

#include "cli/arguments.h"
#include "cli/platform.h"

enum weir_status cli_add_older(struct cli_platform *platform, const char *topic,
                               const json_t *arguments, const char *list, json_t *answer,
                               struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    json_t *before = json_incref(json_object_get(answer, "before"));
    json_t *wanted = json_deep_copy(arguments);
    while (status == WEIR_OK && before != NULL) {
        json_t *older = NULL, *next = NULL;
        json_object_set(wanted, "before", before);
        status = cli_platform_request(platform, topic, wanted, &older, err);
        if (status == WEIR_OK) {
            json_t *all = json_object_get(older, list);
            json_array_extend(all, json_object_get(answer, list));
            json_object_set(answer, list, all);
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
