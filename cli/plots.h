/* Numbers of answers as plots of characters: plot.h draws them. */
#ifndef CLI_PLOTS_H
#define CLI_PLOTS_H

#include "cli/page.h"

#include <jansson.h>

/* A metric of an evaluation, and how it is called on a page. */
struct cli_measured {
    const char *evaluation, *metric, *title;
};

/* A line: each window with the newest model whose samples all lie before it. */
void cli_plot_in_use(struct cli_page *page, const json_t *triggers, const struct cli_measured *of);
/* A grid: the models of the newest triggers, by window. */
void cli_plot_models(struct cli_page *page, const json_t *triggers, const struct cli_measured *of);
/* A line for each number that checks of a trigger policy compare with a limit. */
void cli_plot_checks(struct cli_page *page, const json_t *checks);
/* A grid: the policies of a comparison by window, each the mean over its seeds. */
void cli_plot_policies(struct cli_page *page, const json_t *comparison);

#endif
