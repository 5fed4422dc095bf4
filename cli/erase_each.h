/* weir erase request --each: every subject, key and id is an erasure of its own. */
#ifndef CLI_ERASE_EACH_H
#define CLI_ERASE_EACH_H

#include "cli/command.h"

bool cli_erases_each(const struct cli_call *call);
/* {"accepted": n, "matched": samples, "first": number, "last": number, "refused": [{"kind", "place" (in
 * the list of this kind, from 1), "line" (of the file that named it; absent: none), "error"}]}; tells on stderr how
 * far it is. */
enum weir_status cli_answer_erase_each(const struct cli_call *call, json_t **ret_answer,
                                       struct weir_error *err);

#endif
