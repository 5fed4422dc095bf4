/* See checking.h. */
#include "orchestrator/checking.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/comparing/grid.h"
#include "orchestrator/config/extent.h"
#include "orchestrator/config/labels.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/platform/platform.h"
#include "orchestrator/scratch_dir.h"
#include "orchestrator/siblings.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

/* A check under way. */
struct checking {
    const char *file;
    const char *bin_dir;
    const struct orchestrator_site *site; /* NULL: not known */
    struct cfg_complaints *all;
    const struct orchestrator_identity *identity; /* of who opens data; NULL: who we are */
    const char *folders; /* sources that need their folder now: storage/preview/folder.h */
};

/* Adds what a program complains of; where it says nothing, why it could not be asked. */
static void note(const struct checking *checking, enum weir_status status, struct weir_buf *said,
                 const struct weir_error *err)
{
    cfg_note_text(checking->all, status, weir_buf_text(said));
    if (status != WEIR_OK && said->size == 0)
        cfg_note(checking->all, status, err);
}

static void look(const struct checking *checking, const char *program, struct weir_bytes found,
                 struct weir_buf *out)
{
    struct weir_error err;
    WEIR_AUTO_BUF said = {0};
    const struct sibling_look asked = {checking->bin_dir, program, checking->file, found,
                                       checking->identity};
    enum weir_status status = orchestrator_siblings_look(&asked, out, &said, &err);
    note(checking, status, &said, &err);
}

/* The sections of the selector and the dispatcher; appends the tensors that the operators would make. */
static void check_others(const struct checking *checking, struct weir_buf *tensors)
{
    struct weir_error err;
    WEIR_AUTO_BUF said = {0};
    enum weir_status status =
        orchestrator_siblings_check(checking->bin_dir, checking->file, tensors, &said, &err);
    note(checking, status, &said, &err);
}

/* ---- data ---- */

/* Those of the sources, and nothing in them. */
static void check_folders(const struct checking *checking)
{
    WEIR_AUTO_FREE char *asked =
        weir_format("{\"folders\":\"%s\",\"folders_alone\":true}", checking->folders);
    WEIR_AUTO_BUF out = {0};
    look(checking, "storage", weir_bytes_of(asked), &out);
}

static json_t *parsed(struct weir_buf *text)
{
    return json_loadb((const char *)text->at, text->size, 0, NULL);
}

static void append_json(const json_t *json, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);
    weir_buf_append_text(out, text != NULL ? text : "");
}

/* The model, the loss and the metrics against the tensors and labels that there are, triggers and evaluations against
 * the samples. */
static void check_training(const struct checking *checking, struct weir_bytes text, json_t *tensors,
                           const json_t *data)
{
    json_t *labels = json_object_get(data, "labels");
    struct weir_error err;
    WEIR_AUTO_BUF found = {0};
    WEIR_AUTO_BUF out = {0};
    WEIR_AUTO(orchestrator_config) config = NULL;
    json_t *both = json_pack("{sO*,sO*}", "tensors", tensors, "labels", labels);
    append_json(both, &found);
    json_decref(both);
    look(checking, "trainer", weir_buf_view(&found), &out);
    if (orchestrator_config_parse(checking->file, text, &config, &err) != WEIR_OK)
        return;
    orchestrator_config_judge(config, labels, checking->all);
    if (checking->all->status == WEIR_OK)
        orchestrator_extent_judge(config, json_object_get(data, "datasets"), checking->all);
}

/* A folder for what storage copies of the data, which both who looks at it can use; NULL: none can be made. */
static char *make_scratch(const struct checking *checking, int *ret_lock)
{
    struct weir_error err;
    char *path = NULL;
    if (orchestrator_scratch_dir_make(&path, &err) != WEIR_OK)
        return NULL;
    *ret_lock = orchestrator_scratch_dir_lock(path);
    if (checking->identity != NULL)
        (void)!chown(path, checking->identity->uid, checking->identity->gid);
    return path;
}

/* The records that storage finds, and what the operators make of them, or would make; NULL where nothing was found. */
static void look_at_records(const struct checking *checking, bool is_before_run, json_t **ret_found,
                            json_t **ret_tried)
{
    WEIR_AUTO_FD int lock = -1;
    WEIR_AUTO_FREE char *scratch = make_scratch(checking, &lock);
    WEIR_AUTO_BUF asked = {0};
    WEIR_AUTO_BUF records = {0};
    WEIR_AUTO_BUF made = {0};
    json_t *about = json_pack("{sb,ss,ss*}", "before_run", is_before_run, "folders",
                              checking->folders, "scratch", scratch);
    append_json(about, &asked);
    json_decref(about);
    look(checking, "storage", weir_buf_view(&asked), &records);
    look(checking, "dispatcher", weir_buf_view(&records), &made);
    if (scratch != NULL)
        orchestrator_scratch_dir_remove(scratch);
    *ret_found = parsed(&records);
    *ret_tried = parsed(&made);
}

static void check_data(const struct checking *checking, struct weir_bytes text,
                       struct weir_buf *shown)
{
    json_t *found = NULL, *tried = NULL;
    WEIR_AUTO_BUF out = {0};
    look(checking, "selector", (struct weir_bytes){0}, &out);
    look_at_records(checking, shown == NULL, &found, &tried);
    check_training(checking, text, json_object_get(tried, "tensors"), found);
    if (shown != NULL && tried != NULL)
        append_json(json_object_get(tried, "shown"), shown);
    json_decref(tried);
    json_decref(found);
}

/* As root, data is opened as the user that a platform of `place` becomes, if it does (decision 003). */
static bool drops(const struct checking *checking, struct orchestrator_datadir_options place,
                  struct orchestrator_identity *ret_identity)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *missed = NULL;
    const struct orchestrator_reach file = {checking->file, R_OK};
    place.bin_dir = checking->bin_dir;
    return geteuid() == 0 &&
           orchestrator_datadir_user(&place, ret_identity, &missed, &err) == WEIR_OK &&
           missed == NULL && orchestrator_identity_unreachable(ret_identity, &file, 1) < 0;
}

/* ---- grids ---- */

/* The text of a cell, by all programs; what they say of it is said of the grid. */
static void check_cell(const struct checking *grid_checking, const struct comparison_grid *grid,
                       size_t cell, const char *folder)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *file = weir_format("%s/cell.yaml", folder);
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF tensors = {0};
    WEIR_AUTO_BUF out = {0};
    CFG_AUTO_COMPLAINTS found = {0};
    const struct checking checking = {
        .file = file,
        .bin_dir = grid_checking->bin_dir,
        .all = &found,
        .folders = grid_checking->folders,
    };
    orchestrator_grid_cell_text(grid, cell, &text);
    if (!cfg_note(grid_checking->all, weir_file_write_atomic(file, weir_buf_view(&text), &err),
                  &err))
        return;
    orchestrator_config_complain(file, weir_buf_view(&text), grid_checking->site, &found);
    check_others(&checking, &tensors);
    check_folders(&checking);
    look(&checking, "trainer", weir_buf_view(&tensors), &out);
    if (found.status == WEIR_OK)
        return;
    for (const char *line = weir_buf_text(&found.lines); *line != '\0';) {
        orchestrator_grid_note_cell(grid, cell, line, grid_checking->all);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* Of cells that differ by an entry of an axis the first ones, which have every entry. */
static void check_cells(const struct checking *checking, const struct comparison_grid *grid)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *folder = NULL;
    if (!cfg_note(checking->all, orchestrator_scratch_dir_make(&folder, &err), &err))
        return;
    for (size_t i = 0; i < orchestrator_grid_cell_count(grid); i++)
        if (orchestrator_grid_is_first_of_entry(grid, i))
            check_cell(checking, grid, i, folder);
    orchestrator_scratch_dir_remove(folder);
}

static void check_grid(const struct checking *checking, struct weir_buf *text,
                       const struct weir_yaml_node *root)
{
    struct weir_error err;
    WEIR_AUTO_BUF base_text = {0};
    WEIR_AUTO_FREE char *base = orchestrator_grid_base_path(checking->file, root);
    if (base != NULL &&
        !cfg_note(checking->all, weir_file_read(base, WEIR_YAML_BYTES_MAX, &base_text, &err), &err))
        return;
    const struct grid_files files = {checking->file, weir_buf_view(text), base == NULL ? "" : base,
                                     weir_buf_view(&base_text)};
    WEIR_AUTO(comparison_grid) grid = orchestrator_grid_complain(&files, checking->all);
    if (grid != NULL)
        check_cells(checking, grid);
}

static bool is_grid(const char *file, struct weir_buf *text, struct weir_yaml **ret_document)
{
    struct weir_error err;
    return weir_yaml_parse(file, weir_buf_view(text), ret_document, &err) == WEIR_OK &&
           orchestrator_grid_is(weir_yaml_root(*ret_document));
}

/* How far a check goes. */
enum extent { WITHOUT_DATA, WITH_DATA, BEFORE_RUN };

static enum weir_status check(struct checking *checking, enum extent extent,
                              const struct orchestrator_datadir_options *place,
                              struct weir_buf *text, struct weir_buf *shown)
{
    struct weir_error err;
    struct orchestrator_identity identity;
    WEIR_AUTO_BUF tensors = {0};
    WEIR_AUTO_BUF out = {0};
    WEIR_AUTO_FREE char *bin_dir = orchestrator_platform_own_directory();
    checking->bin_dir = bin_dir;
    if (!cfg_note(checking->all, weir_file_read(checking->file, WEIR_YAML_BYTES_MAX, text, &err),
                  &err))
        return WEIR_INVALID;
    WEIR_AUTO(weir_yaml) document = NULL;
    if (is_grid(checking->file, text, &document)) {
        check_grid(checking, text, weir_yaml_root(document));
        cfg_complaints_sort(checking->all, checking->file);
        return checking->all->status;
    }
    orchestrator_config_complain(checking->file, weir_buf_view(text), checking->site,
                                 checking->all);
    if (extent != WITHOUT_DATA) {
        checking->identity = drops(checking, *place, &identity) ? &identity : NULL;
        check_data(checking, weir_buf_view(text), extent == BEFORE_RUN ? NULL : shown);
    } else {
        check_others(checking, &tensors);
        check_folders(checking);
        look(checking, "trainer", weir_buf_view(&tensors), &out);
    }
    cfg_complaints_sort(checking->all, checking->file);
    return checking->all->status;
}

static struct checking checking_of(const struct orchestrator_checked *file,
                                   struct cfg_complaints *all)
{
    return (struct checking){
        .file = file->path,
        .site = file->site,
        .all = all,
        .folders = file->is_elsewhere ? "remarked" : "awaited",
    };
}

enum weir_status orchestrator_checking_file(const struct orchestrator_checked *file,
                                            struct weir_buf *text, struct cfg_complaints *all)
{
    struct checking checking = checking_of(file, all);
    return check(&checking, WITHOUT_DATA, NULL, text, NULL);
}

enum weir_status orchestrator_checking_data(const struct orchestrator_checked *file,
                                            struct weir_buf *text, struct weir_buf *shown,
                                            struct cfg_complaints *all)
{
    const struct orchestrator_datadir_options nowhere = {.path = "/", .user = file->user};
    struct checking checking = checking_of(file, all);
    return check(&checking, WITH_DATA, &nowhere, text, shown);
}

enum weir_status orchestrator_checking_run(const char *file, const struct orchestrator_site *site,
                                           const struct orchestrator_datadir_options *place,
                                           struct weir_buf *text, struct cfg_complaints *all)
{
    struct checking checking = {
        .file = file,
        .site = site,
        .all = all,
        .folders = access(place->path, F_OK) == 0 ? "remarked" : "needed", /* it may go on */
    };
    return check(&checking, BEFORE_RUN, place, text, NULL);
}
