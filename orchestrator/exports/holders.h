/* Exports as holders of samples. A folder that is whole is out of Weir's reach: an erasure names it. One that is not is
 * Weir's own: an erasure removes what is in it, and the export begins again without the samples. */
#ifndef ORCHESTRATOR_EXPORTS_HOLDERS_H
#define ORCHESTRATOR_EXPORTS_HOLDERS_H

#include "orchestrator/context/context.h"
#include "orchestrator/models/blocks.h"

#include <jansson.h>

/* Zero-initialised: there are none. */
struct export_holders {
    struct weir_rows *exports; /* complete exports */
    struct id_blocks *held;    /* of each: ids of its set, in the blocks that were asked for */
};

/* The exports whose set has a block in common with `ids`. */
enum weir_status orchestrator_export_holders_load(struct context *context,
                                                  const struct id_blocks *ids,
                                                  struct export_holders *ret_holders,
                                                  struct weir_error *err) WEIR_MUST_USE;
void orchestrator_export_holders_fini(struct export_holders *holders);
/* A list of {export, directory, format, samples, finished, there} of those that were written before the erasure epoch
 * and may hold some of `ids`, which are among those that they were loaded for. */
json_t *orchestrator_export_holders_json(const struct export_holders *holders,
                                         const struct id_blocks *ids, int64_t erasure_epoch);
/* Loads them and returns that list; of an erasure (0: of none yet) those written before it. */
enum weir_status orchestrator_export_holders_of(struct context *context, int64_t erasure,
                                                const struct id_blocks *ids, json_t **ret_list,
                                                struct weir_error *err) WEIR_MUST_USE;

/* While no run is under way: removes what unfinished exports have written, and adds their number. */
enum weir_status orchestrator_exports_purge(struct context *context, int64_t *removed,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
