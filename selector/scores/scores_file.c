/* scores/NAME.scores and, unless all samples have a score, scores/NAME.unscored. */
#include "selector/scores/scores_file.h"

#include "core/base/memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char *path_of(const struct selector_scores_store *store, const char *name, const char *kind)
{
    return weir_format("%s/scores/%s.%s", store->data_dir, name, kind);
}

enum weir_status selector_scores_file_open(const struct selector_scores_store *store,
                                           const char *name, struct scores_file *ret_file,
                                           struct weir_error *err)
{
    WEIR_AUTO_FREE char *scores = path_of(store, name, "scores");
    WEIR_AUTO_FREE char *unscored = path_of(store, name, "unscored");
    struct scores_file file = {0};
    enum weir_status status = selector_scores_packed_open(scores, &file.packed, err);
    file.outputs = file.packed.outputs;
    if (status == WEIR_OK && access(unscored, F_OK) == 0)
        status = weir_sample_set_open(unscored, &file.unscored, err);
    if (status != WEIR_OK)
        selector_scores_file_close(&file);
    else
        *ret_file = file;
    return status;
}

void selector_scores_file_close(struct scores_file *file)
{
    selector_scores_packed_close(&file->packed);
    file->outputs = (struct weir_outputs){0};
    weir_sample_set_close(&file->unscored);
}

enum weir_status selector_scores_file_write(const struct selector_scores_store *store,
                                            const char *name, const struct weir_outputs *outputs,
                                            const uint64_t *unscored, size_t unscored_count,
                                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *scored_path = path_of(store, name, "scores");
    WEIR_AUTO_FREE char *unscored_path = path_of(store, name, "unscored");
    enum weir_status status = selector_scores_packed_write(scored_path, outputs, err);
    if (status == WEIR_OK && unscored_count > 0)
        return weir_sample_set_write(unscored_path, unscored, NULL, unscored_count, NULL, err);
    if (status == WEIR_OK && unlink(unscored_path) != 0 && errno != ENOENT)
        return weir_fail(err, WEIR_IO, "%s: cannot be removed: %s", unscored_path, strerror(errno));
    return status;
}
