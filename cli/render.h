/* One function per answer: JSON in, a page for a person out. Pure. docs/reference/json.md has the shapes. */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include "cli/command.h"

cli_render_fn cli_render_status, cli_render_datasets, cli_render_dataset_removed;
cli_render_fn cli_render_submit, cli_render_apply, cli_render_list, cli_render_nothing,
    cli_render_order, cli_render_removed;
cli_render_fn cli_render_models, cli_render_model, cli_render_promoted, cli_render_lineage,
    cli_render_exported, cli_render_diff;
cli_render_fn cli_render_erase_accepted, cli_render_erase_plan, cli_render_erasure,
    cli_render_erasures, cli_render_receipt, cli_render_erase_key, cli_render_erase_verify;
cli_render_fn cli_render_init, cli_render_import, cli_render_policies, cli_render_config_check,
    cli_render_config_explain;
cli_render_fn cli_render_contexts;
cli_render_fn cli_render_select, cli_render_predict, cli_render_evaluate, cli_render_report,
    cli_render_push, cli_render_doctor, cli_render_feed, cli_render_feed_forgotten, cli_render_sets,
    cli_render_webhooks, cli_render_workers, cli_render_pool, cli_render_plan,
    cli_render_plan_verify, cli_render_cache, cli_render_cache_dropped, cli_render_materialized,
    cli_render_exports, cli_render_export_dropped;

cli_render_fn cli_render_comparison, cli_render_comparisons, cli_render_comparison_removed;

cli_render_fn cli_render_tokens, cli_render_token_made, cli_render_token_revoked;
cli_render_fn cli_render_keys, cli_render_key_made, cli_render_key_allowed, cli_render_key_revoked,
    cli_render_audit;

/* CLI_EXIT_FAILED when the chain does not hold. */
cli_exit_fn cli_exit_of_audit;
/* CLI_EXIT_OVERDUE when an erasure, or one of a list, is. */
cli_exit_fn cli_exit_of_erasure, cli_exit_of_erasures;
/* CLI_EXIT_OVERDUE when something does not hold, or is overdue. */
cli_exit_fn cli_exit_of_erase_verify;
/* CLI_EXIT_FAILED when something is wrong. */
cli_exit_fn cli_exit_of_doctor;

/* CLI_EXIT_FAILED when the export is. */
cli_exit_fn cli_exit_of_materialize;

/* A line for each export that an erasure cannot reach. */
void cli_show_export_copies(const json_t *exports, struct cli_page *page);
/* A table of how the runs are scaled: those of which anything was measured. */
void cli_show_scaling(const json_t *runs, struct cli_page *page);
/* Returns the words after "waits … % of its time", by the stage that causes it. */
const char *cli_stage_text(const char *stage);
/* "0.0012 EUR"; "0.31 CPU s" where nothing has a price; "-" when nothing is known. */
void cli_put_cost(struct weir_buf *out, const json_t *cost);

#endif
