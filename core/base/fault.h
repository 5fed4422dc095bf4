/* Counted faults for tests: WEIR_FAULTS="db.commit=3" makes the third pass over that point fail
 * (or, with "!3", kill the process there as kill -9 would; with "?3", stop it until somebody sends
 * SIGCONT, after which the pass is like any other). Points are named where they stand; without the
 * variable a point costs one predictable branch. Several are separated by commas. Never placed in
 * per-sample code. The table of points, filled at the first pass, is the one other
 * mutable global beside core/base/log.c. */
#ifndef WEIR_BASE_FAULT_H
#define WEIR_BASE_FAULT_H

#include <stdbool.h>

#ifdef WEIR_NO_FAULTS /* release builds: what people run cannot be told to fail */
static inline bool weir_fault(const char *point)
{
    (void)point;
    return false;
}
#else
/* True when this pass must fail; does not return when it must die. */
bool weir_fault(const char *point);
#endif

#endif
