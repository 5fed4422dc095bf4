/* The list of a run's batch digests, a file of each rank, outlives the folder of the run: digests/RUN-RANK. */
#include "orchestrator/runs/run_state.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that a trainer has made there, and no link. */
static bool is_list(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1;
}

static enum weir_status keep(const struct run *run, uint32_t rank, struct weir_error *err)
{
    char name[48];
    (void)snprintf(name, sizeof(name), "%lld-%u", (long long)run->number, rank);
    WEIR_AUTO_FREE char *from = weir_format("%s/digests-%u", run->directory, rank);
    WEIR_AUTO_FREE char *folder = orchestrator_path(run->context, RUN_DIGESTS_FOLDER, ".");
    WEIR_AUTO_FREE char *to = orchestrator_path(run->context, RUN_DIGESTS_FOLDER, name);

    if (!is_list(from))
        return WEIR_OK;
    enum weir_status status = weir_make_directories(folder, 0700, err);
    if (status == WEIR_OK && rename(from, to) != 0)
        status = weir_fail(err, WEIR_IO, "%s: cannot become %s: %s", from, to, strerror(errno));
    return status;
}

void orchestrator_run_keep_digests(const struct run *run)
{
    struct weir_error err;

    for (uint32_t rank = 0; rank < orchestrator_run_ranks(run); rank++)
        if (keep(run, rank, &err) != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "list of digests not kept", "run=%lld because=\"%s\"",
                     (long long)run->number, err.text);
}
