/* The folder of a source, looked for before there is a store. */
#ifndef WEIR_STORAGE_FOLDER_H
#define WEIR_STORAGE_FOLDER_H

#include "core/config/complaints.h"
#include "storage/catalog/declaration.h"

/* The pipelines that may lack a folder of their own: its absence is a remark then, and a mistake else. */
enum folder_need {
    FOLDER_REMARKED, /* any pipeline: the platform is elsewhere, or has its samples already */
    FOLDER_AWAITED,  /* a live pipeline, which may begin later */
    FOLDER_NEEDED,   /* none: it begins at once */
    FOLDER_NEEDS
};

/* Returns the need by its name, "remarked", "awaited" or "needed"; "remarked" for any other text, and for NULL. */
enum folder_need storage_folder_need(const char *name);

/* Complains of a folder that is not there, or is none. Returns false where it is something else than a folder, which
 * cannot be read as one. `path` is that of the dataset: "datasets[0]". */
bool storage_folder_check(const struct declaration *declaration, const char *path,
                          enum folder_need need, bool is_live, struct cfg_complaints *complaints);

#endif
