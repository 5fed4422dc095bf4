/* The first records of a dataset, as a scan takes them in, for a check of a pipeline file: out of its files or objects
 * alone, without a store, and nothing is kept. Bounded; what was left out is known. */
#ifndef WEIR_STORAGE_PREVIEW_H
#define WEIR_STORAGE_PREVIEW_H

#include "core/config/complaints.h"
#include "storage/files/listing.h"
#include "storage/intake/batch_stage.h"
#include "storage/intake/intake.h"
#include "storage/objects/s3_list.h"

enum {
    PREVIEW_FILES_MAX = 16,     /* of many samples: of each, its first window */
    PREVIEW_SAMPLES_MAX = 2000, /* files of one sample, whose bytes are not read, spread over all */
    PREVIEW_COUNTED_MAX = 20000, /* files that are counted */
};

struct bucket;

struct preview {
    const struct weir_yaml_node *node; /* of the dataset */
    const char *path;                  /* "datasets[0]" */
    /* folder for beginnings of what cannot be read where it is; NULL: there is none */
    const char *scratch;
    struct declaration declared; /* as the file says, but that nothing is copied */
    struct bucket *bucket;       /* NULL: the source is a folder */
    const struct s3_page *page;  /* of its objects */
    char *place;                 /* what people call it */
    struct dataset *dataset;
    struct manifest *manifest;
    struct storage_secret secret; /* zeros: no hash leaves this */
    struct erased_names erased;   /* none */
    struct batch *batch;          /* what was read, and refused */
    size_t files;                 /* looked at */
    uint64_t part;                /* bytes of records that were read, or files of one sample … */
    uint64_t all;                 /* … of so many in the source; 0: not known */
    size_t passed_over;           /* of them, whose records cannot be looked at */
    bool is_whole;                /* there is nothing else */
    bool is_live;                 /* more will come */
    bool is_bare;         /* read without their times and labels, which are not as declared */
    bool has_no_table;    /* a file of a single column, which is none that is declared */
    bool is_lenient;      /* what is wrong beside records that are good is remarked */
    struct weir_buf told; /* of files, each once: many are wrong in the same way */
    struct cfg_complaints of_files; /* about files of which no record was read */
    struct cfg_complaints *complaints;
};

/* Reads what there is. `declaration` is readable, and borrowed; mistakes that concern a whole file or its columns are
 * added to the complaints, those of records are in the batch. */
void storage_preview_read(struct preview *preview, const struct declaration *declaration);
/* Reads them once more, whatever their times and labels are, for who reads nothing else of them. Says nothing. */
void storage_preview_read_bare(struct preview *preview);
/* True when a run may go on in spite of what was refused: other records are good, or were passed over. */
bool storage_preview_bears(const struct preview *preview);
/* Appends the first files that the pattern leaves out. */
void storage_preview_others(const struct preview *preview, struct weir_buf *out);
/* Appends one of them; `told` were before it. False: no more are told. */
bool storage_preview_tell_other(size_t told, const char *path, struct weir_buf *out);
void storage_preview_fini(struct preview *preview);

/* Reads a file whose beginning is in the scratch folder, as objects.c puts it there. */
void storage_preview_read_copy(struct preview *preview, const struct listed *listed);
/* True for a file that a copy holds expanded. */
bool storage_preview_expands(const struct preview *preview, const char *path);
/* Returns the folder that the file, or the beginning of it, was read in. */
const char *storage_preview_folder(const struct preview *preview, const char *path);

/* Returns the place of `time`, `label`, … in the file; that of the dataset if they are not declared. */
const struct weir_yaml_node *storage_preview_place(const struct preview *preview, const char *key);

/* objects.c: opens the bucket and lists it. UNAVAILABLE and NOT_FOUND: it cannot be looked at from here; INVALID: it
 * answers that it is wrong. The same of the two below. */
enum weir_status storage_preview_objects_open(struct preview *preview,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Fetches the manifest to where it is looked for, unless the bucket has none. */
enum weir_status storage_preview_objects_manifest(struct preview *preview,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* Fetches the beginnings of the first objects, or of samples that are spread over the page, and reads each. */
enum weir_status storage_preview_objects_walk(struct preview *preview,
                                              struct weir_error *err) WEIR_MUST_USE;
void storage_preview_objects_others(const struct preview *preview, struct weir_buf *out);
void storage_preview_objects_close(struct preview *preview);

/* mistakes.c: adds what is wrong with the records that were read, of which a share may be unreadable. */
void storage_preview_mistakes(const struct preview *preview, double share);

#endif
