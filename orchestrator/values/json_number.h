/* Numbers in JSON, which has neither infinity nor "not a number". */
#ifndef ORCHESTRATOR_VALUES_JSON_NUMBER_H
#define ORCHESTRATOR_VALUES_JSON_NUMBER_H

#include <jansson.h>
#include <math.h>

/* The number, or null when it is not finite: json_real() and json_pack() have no object for such a
 * value, and none for whatever holds it. */
static inline json_t *orchestrator_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

#endif
