/* A pipeline file of Weir's for one of Modyn's. Pure. */
#ifndef CLI_MODYN_WRITE_H
#define CLI_MODYN_WRITE_H

#include "cli/modyn/explain.h"

/* Appends the whole file. */
void cli_modyn_write(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out);

/* ---- its sections, a file each ---- */

void cli_modyn_write_datasets(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out);
void cli_modyn_write_operators(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out);
void cli_modyn_write_trigger(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out);
void cli_modyn_write_selection(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out);
void cli_modyn_write_evaluation(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out);

/* ---- values ---- */

bool cli_modyn_is_true(const struct weir_yaml_node *node, const char *path, bool fallback);
double cli_modyn_number(const struct weir_yaml_node *node, const char *path, double fallback);
/* 52w as it is, 1y as "1 year". free() it. */
char *cli_modyn_period(const char *text);

#endif
