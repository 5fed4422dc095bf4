/* Going through what trainings have reported. */
#include "selector/scores/scores_file.h"

#include "selector/sql/queries.h"

static enum weir_status tell_file(const struct selector_scores_store *store, const char *name,
                                  selector_reported_fn *tell, void *owner, struct weir_error *err)
{
    struct scores_file file = {0};
    enum weir_status status = selector_scores_file_open(store, name, &file, err);
    if (status != WEIR_OK)
        return status;
    const struct weir_outputs *outputs = &file.outputs;
    for (size_t i = 0; i < outputs->count && outputs->width > 0; i++)
        tell(owner, outputs->ids[i], outputs->labels[i], outputs->values[i * outputs->width]);
    selector_scores_file_close(&file);
    return WEIR_OK;
}

enum weir_status selector_scores_reported(const struct selector_scores_store *store,
                                          const char *pipeline, const char *model,
                                          selector_reported_fn *tell, void *owner,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_list_reported, &rows, err, DB_TEXT(pipeline), DB_TEXT(model));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = tell_file(store, weir_rows_text(rows, i, "name"), tell, owner, err);
    return status != WEIR_OK ? weir_error_wrap(err, status, "losses by training %s", model)
                             : WEIR_OK;
}
