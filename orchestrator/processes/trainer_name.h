/* The names of trainers' processes: "trainer-7", of the further ranks of its run "trainer-7.1". Its log is NAME.log. */
#ifndef ORCHESTRATOR_PROCESSES_TRAINER_NAME_H
#define ORCHESTRATOR_PROCESSES_TRAINER_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum { ORCHESTRATOR_TRAINER_NAME_SIZE = 40 };

void orchestrator_trainer_name(int64_t run, uint32_t rank,
                               char name[ORCHESTRATOR_TRAINER_NAME_SIZE]);
/* Reads the name that `text` begins with; `*ret_rest` borrows from it what follows. False: it begins with none. */
bool orchestrator_trainer_name_read(const char *text, int64_t *ret_run, uint32_t *ret_rank,
                                    const char **ret_rest);

#endif
