/* The members of arguments and answers that may stand in the log. */
#include "orchestrator/audit/audit.h"

#include <string.h>

/* Names that operators give to things, and numbers of things: nothing that says who somebody's data are of. */
static const char *const KEPT[] = {
    "pipeline", "number",  "model",   "other",   "previous", "dataset", "evaluation",
    "consumer", "export",  "trigger", "erasure", "name",     "role",    "tenant",
    "public",   "workers", "dry_run", "known",   "replaced", "done",    "comparison",
};

static bool may_stay(const json_t *value)
{
    const char *text = json_string_value(value);
    return json_is_integer(value) || json_is_boolean(value) ||
           (text != NULL && strlen(text) < AUDIT_ABOUT_MAX);
}

/* Of erasures that came together: their numbers, from the first to the last. */
static void copy_erasures(const json_t *list, json_t *to)
{
    json_int_t first = 0, last = 0, count = 0;
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
    {
        json_int_t number = json_integer_value(json_object_get(one, "erasure"));
        if (number == 0)
            continue;
        first = first == 0 || number < first ? number : first;
        last = number > last ? number : last;
        count++;
    }
    if (count == 0)
        return;
    json_object_set_new(to, "erasures", json_integer(count));
    json_object_set_new(to, "first", json_integer(first));
    json_object_set_new(to, "last", json_integer(last));
}

void orchestrator_audit_copy(const json_t *from, json_t *to)
{
    for (size_t i = 0; i < WEIR_COUNT(KEPT); i++) {
        json_t *value = json_object_get(from, KEPT[i]);
        if (may_stay(value))
            json_object_set(to, KEPT[i], value);
    }
    copy_erasures(json_object_get(from, "erasures"), to);
}
