/* A dry run: the trigger policy of a pipeline file goes over the samples that there are, and
 * nothing is trained, recorded or changed. Exact for policies that look at samples alone; what has
 * to be measured is left out, and said so.
 *
 * Owned by: whoever began it. Survives: nothing. */
#ifndef ORCHESTRATOR_PIPELINE_REHEARSAL_H
#define ORCHESTRATOR_PIPELINE_REHEARSAL_H

#include "orchestrator/context/context.h"

#include <jansson.h>

enum { REHEARSAL_LISTED_MAX = 10000 }; /* triggers that are listed one by one */

struct rehearsal;

/* Called once from the loop: with the event `dry_run` (docs/reference/json.md), to be consumed, or NULL and why not. */
typedef void rehearsal_done_fn(void *owner, json_t *json, const struct weir_error *err);

/* `declares`: the datasets are declared to storage first, which scans them; else they have to be known. INVALID when
 * the file is no pipeline. The caller frees the rehearsal, which may be in `done`. */
enum weir_status orchestrator_rehearse(struct context *context, const char *file,
                                       struct weir_bytes text, bool declares,
                                       struct rehearsal **ret_rehearsal,
                                       struct weir_error *err) WEIR_MUST_USE;
void orchestrator_rehearsal_begin(struct rehearsal *rehearsal, rehearsal_done_fn *done,
                                  void *owner);
void orchestrator_rehearsal_free(struct rehearsal *rehearsal);

#endif
