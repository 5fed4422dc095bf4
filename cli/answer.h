/* Reading an answer whose fields may be missing or of another kind: what is not there reads as nothing. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <jansson.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline const char *cli_text_of(const json_t *value)
{
    const char *text = json_string_value(value);
    return text == NULL ? "" : text;
}

static inline const char *cli_text(const json_t *object, const char *key)
{
    return cli_text_of(json_object_get(object, key));
}

static inline int64_t cli_number_of(const json_t *value)
{
    return json_is_real(value) ? (int64_t)json_real_value(value)
                               : (int64_t)json_integer_value(value);
}

static inline int64_t cli_number(const json_t *object, const char *key)
{
    return cli_number_of(json_object_get(object, key));
}

static inline double cli_real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The member `loss`; NAN when it is null: it was no number. */
static inline double cli_loss(const json_t *object)
{
    const json_t *loss = json_object_get(object, "loss");
    return json_is_null(loss) ? (double)NAN : json_number_value(loss);
}

static inline bool cli_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* Returns the name of the class that `values` of a prediction make the most probable: one value is the probability of
 * the second of two classes, else there is one per class. "" where classes have no names. */
const char *cli_class_of(const json_t *classes, const json_t *values);

#endif
