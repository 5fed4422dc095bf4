/* The check of a pipeline file, by all programs that read sections of it; with its data, if that is wanted. */
#ifndef ORCHESTRATOR_CHECKING_H
#define ORCHESTRATOR_CHECKING_H

#include "core/config/complaints.h"
#include "orchestrator/config/site.h"
#include "orchestrator/platform/datadir.h"

/* A file to check, and what is known of where it is to run. */
struct orchestrator_checked {
    const char *path;
    const struct orchestrator_site *site; /* of the system file; NULL: not known */
    const char *user;  /* user whom root becomes to open data; NULL: the one that is chosen */
    bool is_elsewhere; /* the data: a source folder that is missing here is no mistake */
};

/* Reads the file into `text`, and adds all that is wrong with it, sorted; of a file that is good, the complaints are
 * remarks, as is a missing folder of a live pipeline. INVALID when it has mistakes, else what kept the check from being
 * made. */
enum weir_status orchestrator_checking_file(const struct orchestrator_checked *file,
                                            struct weir_buf *text,
                                            struct cfg_complaints *all) WEIR_MUST_USE;
/* The same, and opens the first records of its datasets. Appends samples to `shown`, as preprocess/preview/look.h has
 * them: an array of JSON. */
enum weir_status orchestrator_checking_data(const struct orchestrator_checked *file,
                                            struct weir_buf *text, struct weir_buf *shown,
                                            struct cfg_complaints *all) WEIR_MUST_USE;
/* The same before a run in the data directory `place`, which judges a share of bad records by all of them: those that
 * are bad beside good ones are remarks, and no program is run. A source folder that is missing is a mistake unless
 * there is such a directory already, which may have the samples. */
enum weir_status orchestrator_checking_run(const char *file, const struct orchestrator_site *site,
                                           const struct orchestrator_datadir_options *place,
                                           struct weir_buf *text,
                                           struct cfg_complaints *all) WEIR_MUST_USE;

#endif
