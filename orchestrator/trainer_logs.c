/* Removing by number: a folder that many runs have filled is brought down at once. */
#include "orchestrator/trainer_logs.h"

#include "core/base/log.h"
#include "orchestrator/processes/trainer_name.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool is_old(const char *file, int64_t run)
{
    int64_t number = 0;
    uint32_t rank = 0;
    const char *end = NULL;
    return orchestrator_trainer_name_read(file, &number, &rank, &end) &&
           (strcmp(end, ".log") == 0 || strcmp(end, ".log.1") == 0) &&
           number <= run - TRAINER_LOGS_MAX;
}

void orchestrator_trainer_logs_remove_old(const char *folder, int64_t run)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry = NULL;
    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL)
        if (is_old(entry->d_name, run) && unlinkat(dirfd(directory), entry->d_name, 0) != 0)
            weir_log(WEIR_LOG_WARN, "old log not removed", "file=%s because=\"%s\"", entry->d_name,
                     strerror(errno));
    (void)closedir(directory);
}
