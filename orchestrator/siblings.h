/* The other programs of this installation, asked about a pipeline file before anything is started. Each service knows
 * its own sections; together they know all. */
#ifndef ORCHESTRATOR_SIBLINGS_H
#define ORCHESTRATOR_SIBLINGS_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "orchestrator/processes/identity.h"

/* Runs `PROGRAM OPTION [FILE]` for each of them, all at once. What they print is appended to `out` in a fixed order,
 * what they complain of to `complaints`. INVALID when one of them refuses the file, IO or NOT_FOUND when one cannot be
 * run. */
enum weir_status orchestrator_siblings_query(const char *bin_dir, const char *option,
                                             const char *file, struct weir_buf *out,
                                             struct weir_buf *complaints,
                                             struct weir_error *err) WEIR_MUST_USE;
/* `PROGRAM --check-config FILE` in the same way, of the selector and the dispatcher: storage and the trainer check
 * their sections when orchestrator_siblings_look() asks them. */
enum weir_status orchestrator_siblings_check(const char *bin_dir, const char *file,
                                             struct weir_buf *out, struct weir_buf *complaints,
                                             struct weir_error *err) WEIR_MUST_USE;

/* One program, to be asked about the file against what others have found, as JSON. */
struct sibling_look {
    const char *bin_dir, *program, *file;
    struct weir_bytes found;
    const struct orchestrator_identity *identity; /* user that it runs as; NULL: as this process */
};
/* The same as above for it alone: `program --check-config file --found`, which checks its sections, too. */
enum weir_status orchestrator_siblings_look(const struct sibling_look *look, struct weir_buf *out,
                                            struct weir_buf *complaints,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
