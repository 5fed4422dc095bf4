/* weir erase verify FILE…: receipts that somebody was given, looked at without the platform that made them. */
#ifndef CLI_RECEIPTS_H
#define CLI_RECEIPTS_H

#include "cli/command.h"

/* True when its operands are files, and no number of an erasure. */
bool cli_names_receipts(const struct cli_call *call);
cli_answer_fn cli_answer_receipts;

#endif
