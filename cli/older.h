/* Lists that are answered in pages, the last page first. */
#ifndef CLI_OLDER_H
#define CLI_OLDER_H

#include "cli/command.h"

/* Asks the topic for what is older, as long as the answer names with "before" what that is, and puts it in front of its
 * list of that name. `arguments` are those that the answer was asked with; NULL: none. */
enum weir_status cli_add_older(struct cli_platform *platform, const char *topic,
                               const json_t *arguments, const char *list, json_t *answer,
                               struct weir_error *err) WEIR_MUST_USE;

/* The same of the measures of a model that an answer has left out of `row`. Where `is_flat` they are put there as
 * reports have them, with the ends of their interval beside the rest. */
enum weir_status cli_add_measures(struct cli_platform *platform, const char *model, json_t *row,
                                  bool is_flat, struct weir_error *err) WEIR_MUST_USE;

/* Ask for what the answer has left out. */
cli_follow_fn cli_follow_model, cli_follow_models, cli_follow_exports, cli_follow_keys_list,
    cli_follow_comparisons, cli_follow_lineage, cli_follow_erase_plan;

#endif
