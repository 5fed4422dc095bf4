/* Contexts: names for platforms elsewhere, in $XDG_CONFIG_HOME/weir (~/.config/weir). A context is a symbolic link to
 * a key file, contexts/NAME, and the one in use is what the link `context` names: nothing secret is copied. */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include "core/base/error.h"

#include <jansson.h>

/* The key file of the context in use, which WEIR_CONTEXT names, or `weir context use` ("": none), in caller's
 * memory; NULL: none is. NOT_FOUND when there is no such context. */
enum weir_status cli_context_in_use(char **ret_pass, struct weir_error *err) WEIR_MUST_USE;

/* Errors are those of weir_pass_read(), and EXISTS. */
enum weir_status cli_context_add(const char *name, const char *key,
                                 struct weir_error *err) WEIR_MUST_USE;
/* NULL: none from now on. NOT_FOUND. */
enum weir_status cli_context_use(const char *name, struct weir_error *err) WEIR_MUST_USE;
/* NOT_FOUND. */
enum weir_status cli_context_remove(const char *name, struct weir_error *err) WEIR_MUST_USE;
/* {contexts: […]}, by name. */
enum weir_status cli_context_list(json_t **ret_list, struct weir_error *err) WEIR_MUST_USE;

#endif
