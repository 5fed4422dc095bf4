/* weir report: all triggers of a pipeline, page by page; with -o FILE.html pipelines, or a comparison, as one page in a
 * file. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/command.h"

cli_answer_fn cli_answer_report;
/* The pipeline that is the operand or the option. */
cli_arguments_fn cli_arguments_report;
/* Asks for the triggers that the answer has left out. */
cli_follow_fn cli_follow_report;
/* True when a page is asked for. */
bool cli_reports_to_file(const struct cli_call *call);

#endif
