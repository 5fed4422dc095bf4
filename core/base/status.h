/* The few outcomes a caller may act on. The list is the only place where a status is declared;
 * names and wire numbers come from it. Append only: the numbers travel in `error` replies. */
#ifndef WEIR_BASE_STATUS_H
#define WEIR_BASE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

// clang-format off
#define WEIR_STATUS_LIST(X)                                                       \
    X(OK,          0)   /* success */                                             \
    X(INVALID,     1)   /* invalid argument or malformed data */                  \
    X(NOT_FOUND,   2)   /* no such object */                                      \
    X(EXISTS,      3)   /* the object exists already and differs */               \
    X(LIMIT,       4)   /* a limit is exceeded */                                 \
    X(TIMEOUT,     5)   /* the deadline has passed */                             \
    X(UNAVAILABLE, 6)   /* not reachable now; asking again may succeed */         \
    X(IO,          7)   /* reading or writing failed */                           \
    X(CORRUPT,     8)   /* stored bytes fail their checksum */                    \
    X(STALE,       9)   /* the caller's view is out of date */                    \
    X(DENIED,      10)  /* not permitted */                                       \
    X(UNSUPPORTED, 11)  /* not supported here */                                  \
    X(INTERNAL,    12)  /* a defect in Weir */                                    \
    X(RESTART,     13)  /* begin again from an earlier state */
// clang-format on

enum weir_status {
#define X(name, number) WEIR_##name = number,
    WEIR_STATUS_LIST(X)
#undef X
};

/* Returns true for the number of a status of the list, as a peer may send any. */
bool weir_status_is_known(uint32_t number);
/* "NOT_FOUND"; "UNKNOWN" for a number that is no status. */
const char *weir_status_name(enum weir_status status);

#endif
