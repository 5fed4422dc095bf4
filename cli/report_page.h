/* The report as one page that holds its own numbers: page/README.md has their shape. Pure. */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include "core/base/bytes.h"

#include <jansson.h>

/* A pipeline of the page from the answers of the topics `report` and `models`, which are borrowed. */
json_t *cli_report_pipeline(json_t *report, const json_t *models);
/* Appends the page around its numbers. Nothing in them can end the element that holds them. */
void cli_report_page(const json_t *numbers, struct weir_buf *out);

#endif
