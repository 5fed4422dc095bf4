/* See contexts.h. */
#include "cli/contexts.h"

#include "cli/context.h"

static enum weir_status answer_list(enum weir_status status, json_t **ret_answer,
                                    struct weir_error *err)
{
    return status == WEIR_OK ? cli_context_list(ret_answer, err) : status;
}

enum weir_status cli_answer_context_add(const struct cli_call *call, json_t **ret_answer,
                                        struct weir_error *err)
{
    return answer_list(cli_context_add(call->operands[0], call->options.place.key, err), ret_answer,
                       err);
}

enum weir_status cli_answer_context_use(const struct cli_call *call, json_t **ret_answer,
                                        struct weir_error *err)
{
    const char *name = call->operand_count > 0 ? call->operands[0] : NULL;
    return answer_list(cli_context_use(name, err), ret_answer, err);
}

enum weir_status cli_answer_context_list(const struct cli_call *call, json_t **ret_answer,
                                         struct weir_error *err)
{
    (void)call;
    return cli_context_list(ret_answer, err);
}

enum weir_status cli_answer_context_remove(const struct cli_call *call, json_t **ret_answer,
                                           struct weir_error *err)
{
    return answer_list(cli_context_remove(call->operands[0], err), ret_answer, err);
}
