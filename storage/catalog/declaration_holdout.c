/* Reads and prints `holdout`: see declaration_holdout.h. */
#include "storage/catalog/declaration_holdout.h"

#include "core/base/memory.h"
#include "core/config/schema.h"

enum held_by { HELD_BY_SAMPLE, HELD_BY_SUBJECT };
struct holdout_section {
    double share;
    int by;
};
static const char *const HELD_BYS[] = {"sample", "subject", NULL};

const struct cfg_key STORAGE_HOLDOUT_KEYS[] = {
    CFG_F64(struct holdout_section, share, .required = true, .min = 0.000001, .max = 0.9,
            .doc = "how much is held out"),
    CFG_CHOICE(struct holdout_section, by, .choices = HELD_BYS, .fallback = "sample",
               .doc = "what is drawn: samples, or subjects with all their samples"),
    CFG_END,
};

enum weir_status storage_holdout_declared(struct declaration *d, const char *path,
                                          const struct weir_yaml_node *node, struct weir_error *err)
{
    struct holdout_section section = {0};
    WEIR_AUTO_FREE char *place = weir_format("%s.holdout", path);
    enum weir_status status = WEIR_OK;

    if (node)
        status = cfg_read(STORAGE_HOLDOUT_KEYS, CFG_CLOSED, node, place, NULL, &section, err);
    if (status != WEIR_OK || section.by != HELD_BY_SUBJECT)
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
