/* Removing by number: a folder that many runs have filled is brought down at once. */
#include "orchestrator/trainer_logs.h"

#include "core/base/log.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_old(const char *file, int64_t run)
{
    const char *digits = file + strlen(TRAINER_NAME_PREFIX);
    char *end = NULL;
    if (strncmp(file, TRAINER_NAME_PREFIX, strlen(TRAINER_NAME_PREFIX)) != 0 ||
        !isdigit((unsigned char)digits[0]))
        return false;
    int64_t number = strtoll(digits, &end, 10);
    if (*end == '.' && isdigit((unsigned char)end[1])) /* the rank */
        (void)strtoll(end + 1, &end, 10);
    return (strcmp(end, ".log") == 0 || strcmp(end, ".log.1") == 0) &&
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
