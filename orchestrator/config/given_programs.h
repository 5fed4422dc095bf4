/* Programs of the command line: `orchestrator run --program NAME=COMMAND`. Whoever types it is the operator. */
#ifndef ORCHESTRATOR_CONFIG_GIVEN_PROGRAMS_H
#define ORCHESTRATOR_CONFIG_GIVEN_PROGRAMS_H

#include "core/config/yaml.h"

/* Returns the mapping `programs` with those of `given` (NAME=COMMAND, `count` of them) beside the ones that `named`
 * has, as a document. A command is split into words at spaces; quotes and backslashes keep them, as in a shell, and
 * nothing else means anything. Its first word is looked up in PATH unless it has a slash; words that are files where
 * this process stands become absolute paths. Each does all modes, in as many ranks as a pipeline
 * says. INVALID names the program, and says what to write. */
enum weir_status orchestrator_given_programs(const char *const *given, size_t count,
                                             const struct weir_yaml_node *named,
                                             struct weir_yaml **ret_programs,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
