/* Reads and prints `holdout`: see declaration_holdout.h. */
#include "storage/catalog/declaration_holdout.h"

#include "core/base/memory.h"
#include "core/config/sections.h"

enum weir_status storage_holdout_declared(struct declaration *d, const char *path,
                                          const struct weir_yaml_node *node, struct weir_error *err)
{
    struct cfg_holdout section = {0};
    WEIR_AUTO_FREE char *place = weir_format("%s.holdout", path);
    enum weir_status status = WEIR_OK;

    if (node != NULL)
        status = cfg_read(CFG_HOLDOUT_KEYS, CFG_CLOSED, node, place, NULL, &section, err);
    if (status != WEIR_OK || section.by != CFG_HOLDOUT_BY_SUBJECT)
        return status;
    if (!d->has_subject)
        return weir_yaml_fail(
            node, err, "%s.by: found subject, expected subject: {field: NAME} beside it", place);
    d->held_share = section.share;
    return WEIR_OK;
}

void storage_holdout_print(const struct declaration *d, struct weir_buf *out)
{
    if (d->held_share > 0)
        weir_buf_printf(out, "    holdout: {share: %.17g, by: subject}\n", d->held_share);
}
