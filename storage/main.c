/* storage: knows where samples are, notices what came and went, hands bytes out, erases them. */
#include "core/config/sections.h"
#include "storage/preview/look.h"
#include "storage/storage.h"

static void remark(const struct weir_yaml_node *root, struct weir_buf *out)
{
    struct declarations all;
    struct weir_error err;

    if (storage_declarations_read(root, &all, &err) != WEIR_OK)
        return; /* check() has said so */
    storage_declarations_remark(&all, out);
    storage_declarations_fini(&all);
}

static enum weir_status print(const struct weir_yaml_node *root, struct weir_buf *out,
                              struct weir_error *err)
{
    struct declarations all;
    enum weir_status status = storage_declarations_read(root, &all, err);

    if (status != WEIR_OK)
        return status;
    weir_buf_append_text(out, "datasets:\n");
    for (size_t i = 0; i < all.count; i++) {
        storage_declaration_print(&all.at[i], NULL, out);
        if (all.at[i].uses != CFG_USE_ALL) {
            weir_buf_append_text(out, "    use: ");
            cfg_use_print(all.at[i].uses, out);
            weir_buf_append_text(out, "\n");
        }
    }
    storage_declarations_fini(&all);
    return WEIR_OK;
}

static const struct weir_service STORAGE = {
    .name = "storage",
    .summary = "knows where samples are, notices what came and went, hands bytes out, erases them",
    .example = "storage --data-dir .weir --socket-dir .weir/run --postgres 'host=/tmp dbname=weir'",
    .handlers = STORAGE_HANDLERS,
    .roles = WEIR_ROLE_PLATFORM | WEIR_ROLE_TRAINER,
    .open = storage_open,
    .close = storage_close,
    .meanwhile = storage_meanwhile,
    .wipe = storage_wipe,
    .sections = {.check = storage_declarations_check,
                 .look = storage_look,
                 .remark = remark,
                 .print = print,
                 .describe = storage_declarations_document},
};

int main(int argc, char **argv)
{
    return weir_service_main(&STORAGE, argc, argv);
}
