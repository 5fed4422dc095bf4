/* Dumps of a process that has crashed hold samples: Weir's processes write none, and neither do those they start. A
 * developer who wants dumps sets the environment variable WEIR_CORE_DUMPS. */
#ifndef WEIR_BASE_DUMPS_H
#define WEIR_BASE_DUMPS_H

#include <stdbool.h>

/* `is_private`: other processes of the same user may not look into this one either. Not for one that lends memory,
 * which is reached through its descriptors (core/rpc/segment.h). Called again after a change of identity. */
void weir_dumps_forbid(bool is_private);

#endif
