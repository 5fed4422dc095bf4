/* Texts in, configs out. */
#include "orchestrator/config/parse.h"

#include "core/base/memory.h"
#include "orchestrator/config/agreement.h"

/* NULL with complaints. */
static struct orchestrator_config *parse(const char *file, struct weir_bytes text,
                                         struct cfg_complaints *complaints)
{
    struct weir_error err;
    WEIR_AUTO(orchestrator_config) config = weir_calloc(1, sizeof(*config));

    if (cfg_note(complaints, weir_yaml_parse(file, text, &config->document, &err), &err))
        orchestrator_config_read(config, complaints);
    if (complaints->status == WEIR_OK)
        orchestrator_config_agree(config, complaints);
    return complaints->status == WEIR_OK ? WEIR_TAKE(config) : NULL;
}

enum weir_status orchestrator_config_parse(const char *file, struct weir_bytes text,
                                           struct orchestrator_config **ret_config,
                                           struct weir_error *err)
{
    CFG_AUTO_COMPLAINTS complaints = {0};

    *ret_config = parse(file, text, &complaints);
    return cfg_complaints_end(&complaints, err);
}

void orchestrator_config_complain(const char *file, struct weir_bytes text,
                                  const struct orchestrator_site *site,
                                  struct cfg_complaints *complaints)
{
    struct weir_error err;
    WEIR_AUTO(orchestrator_config) config = parse(file, text, complaints);

    if (config == NULL)
        return;
    cfg_note(complaints, orchestrator_config_check_system(config, site, &err), &err);
    orchestrator_config_foresee(config, complaints);
    if (site == NULL)
        orchestrator_config_remark_site(config, complaints);
}
