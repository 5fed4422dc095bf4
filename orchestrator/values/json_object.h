/* JSON objects, member by member in their order:
 * JSON_FIELDS(JSON_TEXT("state", name), JSON_NUMBER("samples", count)). A value of another type does not compile. */
#ifndef ORCHESTRATOR_VALUES_JSON_OBJECT_H
#define ORCHESTRATOR_VALUES_JSON_OBJECT_H

#include "core/base/bytes.h"
#include "core/wire/values.h"

#include <jansson.h>

#include <stdint.h>

struct json_field {
    const char *key;
    json_t *value; /* consumed */
    bool left_out;
};

#define JSON_TEXT(key, text) ((struct json_field){key, json_string(text), false})
/* Member of any integer type: a double has no `|`. */
#define JSON_NUMBER(key, number) \
    ((struct json_field){key, json_integer((json_int_t)((number) | 0)), false})
#define JSON_DOUBLE(key, number) ((struct json_field){key, json_real(number), false})
#define JSON_FLAG(key, flag)     ((struct json_field){key, json_boolean(flag), false})
/* "2002-08-22T11:36:23Z" */
#define JSON_TIME(key, time_us) ((struct json_field){key, orchestrator_json_time(time_us), false})
/* null, or no member, where there is no text. */
#define JSON_TEXT_OR_NULL(key, text) orchestrator_field_or_null(key, text)
#define JSON_TEXT_IF_ANY(key, text)  orchestrator_field_if_any(key, text)
/* Consumes the value. */
#define JSON_NEW(key, value) ((struct json_field){key, value, false})
/* Does not; no member where the value is NULL. */
#define JSON_SHARED_IF_ANY(key, value) orchestrator_field_shared(key, value)

/* NULL when a value is NULL: a text that is no UTF-8, a number that is not finite. */
#define JSON_FIELDS(...)                                                        \
    orchestrator_json_object((const struct json_field[]){__VA_ARGS__},          \
                             sizeof((const struct json_field[]){__VA_ARGS__}) / \
                                 sizeof(struct json_field))

struct json_field orchestrator_field_or_null(const char *key, const char *text);
struct json_field orchestrator_field_if_any(const char *key, const char *text);
struct json_field orchestrator_field_shared(const char *key, json_t *value);
json_t *orchestrator_json_object(const struct json_field *fields, size_t count);
json_t *orchestrator_json_time(int64_t time_us);
json_t *orchestrator_json_texts(struct weir_strs texts);
/* Lines as a list. */
json_t *orchestrator_json_lines(const char *lines);

#endif
