/* Reading `source.push`: see declaration_push.h. */
#include "storage/catalog/declaration_push.h"

enum weir_status storage_push_declared(const struct declaration *d, const char *path,
                                       const struct weir_yaml_node *node, struct weir_error *err)
{
    static const char *const OF_FOLDERS[] = {"path", "include", "manifest", "import", "settle"};

    if (!d->source.push && d->is_mirrored)
        return WEIR_OK;
    if (!d->source.push)
        return d->source.path != NULL
                   ? WEIR_OK
                   : weir_yaml_fail(node, err, "%s.path: expected a folder, s3, or push: true",
                                    path);
    for (size_t i = 0; i < WEIR_COUNT(OF_FOLDERS); i++) {
        const struct weir_yaml_node *found = weir_yaml_get(node, OF_FOLDERS[i]);

        if (found != NULL)
            return weir_yaml_fail(found, err,
                                  "%s.%s: expected none with push: true: pushed samples have no "
                                  "folder of their own",
                                  path, OF_FOLDERS[i]);
    }
    if (!d->format->is_pushable)
        return weir_yaml_fail(
            weir_yaml_get(node, "format"), err,
            "%s.format: found '%s' with push: true, expected a format whose files "
            "are records end to end, like jsonl",
            path, d->format->name);
    return WEIR_OK;
}

void storage_push_print(const struct declaration *d, const char *on_erase, struct weir_buf *out)
{
    weir_buf_printf(out,
                    "      push: true\n      segment_bytes: %llu\n      format: %s\n"
                    "      on_erase: %s\n",
                    (unsigned long long)d->source.segment_bytes, d->format->name, on_erase);
}
