/* Objects out of fields. */
#include "orchestrator/values/json_object.h"

#include "core/base/clock.h"

#include <string.h>

struct json_field orchestrator_field_or_null(const char *key, const char *text)
{
    return JSON_NEW(key, text == NULL ? json_null() : json_string(text));
}

struct json_field orchestrator_field_if_any(const char *key, const char *text)
{
    return (struct json_field){key, text == NULL ? NULL : json_string(text), text == NULL};
}

struct json_field orchestrator_field_shared(const char *key, json_t *value)
{
    return (struct json_field){key, json_incref(value), value == NULL};
}

json_t *orchestrator_json_object(const struct json_field *fields, size_t count)
{
    json_t *object = json_object();
    bool is_whole = true;
    for (size_t i = 0; i < count; i++)
        if (!fields[i].left_out && json_object_set_new(object, fields[i].key, fields[i].value) != 0)
            is_whole = false;
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}

json_t *orchestrator_json_time(int64_t time_us)
{
    char text[WEIR_TIME_TEXT_MAX];
    weir_time_format(time_us, text);
    return json_string(text);
}

json_t *orchestrator_json_texts(struct weir_strs texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts.count; i++)
        json_array_append_new(list, json_string(texts.at[i]));
    return list;
}

json_t *orchestrator_json_lines(const char *lines)
{
    json_t *array = json_array();
    while (*lines) {
        size_t size = strcspn(lines, "\n");
        json_array_append_new(array, json_stringn(lines, size));
        lines += size + (lines[size] == '\n');
    }
    return array;
}
