/* Errors as values with a story. A `struct weir_error` lives in the caller's frame: no allocation,
 * nothing to free, nothing stale. It is raised once (weir_fail), gains context on the way up
 * (weir_error_wrap), and is logged once by whoever decides what to do about it. Texts: lower case,
 * no full stop; object, value, what was expected. */
#ifndef WEIR_BASE_ERROR_H
#define WEIR_BASE_ERROR_H

#include "core/base/attributes.h"
#include "core/base/require.h"
#include "core/base/status.h"

#include <stdbool.h>

enum { WEIR_ERROR_TEXT_MAX = 512 };

struct weir_error {
    enum weir_status status;
    const char *file; /* where it was raised */
    int line;
    char text[WEIR_ERROR_TEXT_MAX];
};

/* Fills `err` (NULL is fine) and returns `status`: functions end with `return weir_fail(…)`.
 * `status` is evaluated twice: so compilers and analysers see that a failure is never WEIR_OK. */
#define weir_fail(err, status, ...) \
    weir_error_passes(weir_error_raise((err), (status), __FILE__, __LINE__, __VA_ARGS__), (status))

enum weir_status weir_error_raise(struct weir_error *err, enum weir_status status, const char *file,
                                  int line, const char *format, ...) WEIR_PRINTF(5, 6);

static inline enum weir_status weir_error_passes(enum weir_status raised, enum weir_status status)
{
    (void)raised;
    return status;
}

/* Puts "context: " before the text and returns `status`: "dataset 'mails': width 0 is zero". */
enum weir_status weir_error_wrap(struct weir_error *err, enum weir_status status,
                                 const char *format, ...) WEIR_PRINTF(3, 4);

/* Drops a status on purpose; say why in a comment beside it. */
static inline void weir_ignore(enum weir_status status)
{
    (void)status;
}

#endif
