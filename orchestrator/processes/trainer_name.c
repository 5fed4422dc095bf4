/* Rank 0 is not named: most runs have no other. */
#include "orchestrator/processes/trainer_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "trainer-";

void orchestrator_trainer_name(int64_t run, uint32_t rank,
                               char name[ORCHESTRATOR_TRAINER_NAME_SIZE])
{
    if (rank == 0)
        (void)snprintf(name, ORCHESTRATOR_TRAINER_NAME_SIZE, "%s%" PRId64, PREFIX, run);
    else
        (void)snprintf(name, ORCHESTRATOR_TRAINER_NAME_SIZE, "%s%" PRId64 ".%u", PREFIX, run, rank);
}

bool orchestrator_trainer_name_read(const char *text, int64_t *ret_run, uint32_t *ret_rank,
                                    const char **ret_rest)
{
    char *end = NULL;
    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0 || !isdigit((unsigned char)text[strlen(PREFIX)]))
        return false;
    *ret_run = strtoll(text + strlen(PREFIX), &end, 10);
    *ret_rank = 0;
    if (*end == '.' && isdigit((unsigned char)end[1]))
        *ret_rank = (uint32_t)strtoul(end + 1, &end, 10);
    *ret_rest = end;
    return true;
}
