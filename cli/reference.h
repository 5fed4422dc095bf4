/* The reference of the pipeline file as data: what `orchestrator --describe-config` prints, which all programs write
 * from their key tables. Its headings are `## section`, `### section.part` and, for what plugs in, `### kind: name`;
 * below stand a sentence and a table of keys. */
#ifndef CLI_REFERENCE_H
#define CLI_REFERENCE_H

#include "core/base/error.h"

#include <jansson.h>

/* [{"title": "selection.policy: random", "kind": "selection.policy", "name": "random", "summary": …,
 *   "keys": [{"key", "type", "default", "bounds", "meaning"}]}]; kind and name only for what plugs in. */
json_t *cli_reference_parse(const char *page);

/* Loads the reference that the installed programs print. */
enum weir_status cli_reference_load(json_t **ret_reference, struct weir_error *err) WEIR_MUST_USE;

/* The entries of `reference` that `words` may mean: a section, a plug-in, or a key, with or without
 * its section: [{"title", "summary", "keys"}] with only the keys that are meant. INVALID with the
 * nearest word when there is none. */
enum weir_status cli_reference_find(const json_t *reference, const char *words,
                                    json_t **ret_entries, struct weir_error *err) WEIR_MUST_USE;

#endif
