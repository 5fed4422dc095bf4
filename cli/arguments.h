/* Typed options as the arguments of a topic. Pure but for the erasure's uuid, which is drawn. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/command.h"

cli_arguments_fn cli_arguments_pipeline, cli_arguments_model, cli_arguments_export,
    cli_arguments_diff, cli_arguments_lineage, cli_arguments_erase_request,
    cli_arguments_erase_plan, cli_arguments_erasure, cli_arguments_erase_verify,
    cli_arguments_select, cli_arguments_predict, cli_arguments_evaluate, cli_arguments_doctor,
    cli_arguments_feed, cli_arguments_materialize, cli_arguments_exported, cli_arguments_workers;

cli_arguments_fn cli_arguments_named; /* the pipeline that is the operand */
cli_arguments_fn cli_arguments_plan;  /* … or one of its runs */

/* Gives `arguments` back if they are there and `good`; else NULL, and INVALID: a text in them is not UTF-8. */
json_t *cli_arguments_finish(json_t *arguments, bool good, struct weir_error *err);
/* A random UUID, as JSON text. */
json_t *cli_draw_uuid(void);

#endif
