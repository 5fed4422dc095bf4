/* The `datasets:` section of a pipeline file, as storage understands it: where the files are, what
 * they look like, and where each sample's time, label, subject and key come from. */
#ifndef WEIR_STORAGE_DECLARATION_H
#define WEIR_STORAGE_DECLARATION_H

#include "core/config/complaints.h"
#include "core/config/written_time.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"
#include "storage/formats/format.h"

enum { STORAGE_NAME_MAX = 64, STORAGE_CLASSES_MAX = 65536 };

enum time_from {
    TIME_FROM_MANIFEST,
    TIME_FROM_FIELD,
    TIME_FROM_FILE_NAME,
    TIME_FROM_MTIME,
    TIME_FROM_SIDECAR,
    TIME_FROM_RECORD
};
/* The samples of one key that stay. */
enum keep { KEEP_ALL, KEEP_FIRST, KEEP_LAST };
extern const char *const STORAGE_KEEPS[]; /* names of these */
enum on_erase { ON_ERASE_SCRUB, ON_ERASE_UNLINK };

enum s3_style { S3_STYLE_PATH, S3_STYLE_HOST };

/* `source.s3`: a bucket instead of a folder. */
struct s3_source {
    const char *endpoint; /* "https://…", or "http://…" of this host */
    const char *bucket;
    const char *prefix; /* "" or something ending in a slash */
    const char *region;
    int style;
    const char *credentials; /* their name in the system file */
    bool names_secret; /* as pipelines once could; the name is then that of the usual variables */
    int64_t every;
    uint64_t transfers;
};

struct source_section {
    const char *path; /* NULL with push */
    bool push;
    uint64_t segment_bytes; /* with push */
    const struct weir_yaml_node *s3;
    const char *format;
    const char *include;
    const char *manifest;
    const char *sidecar;
    int import; /* 0 reference, 1 copy */
    int on_erase;
    int on_return; /* 0 refuse, 1 accept */
    int64_t settle;
};

/* `time:`, `label:`, `subject:` and `key:` before they are resolved against the format. */
struct place_section {
    int from;
    const char *field;
    uint64_t offset;
    int type;
    const struct weir_yaml_node *pattern;
    const char *zone;
    uint64_t depth;
    int unit;
    const char *start;
    int64_t every;
    double at_least;
    const struct weir_yaml_node *classes;
    struct cfg_texts fields;
    struct cfg_texts values;
};

/* Texts are borrowed from the YAML document, which must outlive it. */
struct declaration {
    const char *name;
    struct source_section source;
    const struct weir_yaml_node *source_node, *label_node; /* NULL: there is none */
    const struct format *format;
    void *options; /* of the format; owned */

    struct format_fields fields;
    enum time_from time_from;
    struct weir_written_time written; /* how a time in a text is read; owned */
    enum weir_time_unit time_unit;    /* what a number in a time field counts */
    int64_t start_us,
        every_us; /* of a file's first record, and from one to the next, for TIME_FROM_RECORD */
    enum weir_label_kind label_kind;
    bool has_threshold; /* the label is 1 for numbers as large as this one, else 0 */
    double threshold;
    uint32_t label_width;                 /* numbers of a vector; 0: it is none */
    enum weir_dtype value_type;           /* of these: f32 or f64 */
    const struct weir_yaml_node *classes; /* NULL: in order of first appearance */
    bool has_subject;
    bool has_key;
    enum keep keep;
    double held_share; /* of the subjects whose samples no training set ever holds; 0: none */
    /* enum cfg_use; it is no part of what is stored: another pipeline may have others */
    unsigned uses;
    const char *updates; /* the dataset whose samples get labels from this one; NULL: none */
    bool awaits_label;   /* labels come from the dataset that updates this one */
    bool wants_manifest;
    bool wants_sidecar;
    bool is_copied;   /* readers open files that storage owns: copies, or segments of pushes */
    bool is_pushed;   /* there is no source to scan */
    bool is_mirrored; /* the source is a bucket's mirror, which storage owns */
    bool is_remote;   /* … of shells: bytes stay in the bucket (storage/objects/s3_shell.h) */
    struct s3_source s3;
    enum on_erase on_erase;
    bool is_readable;    /* source, time, label and names are good, whatever is wrong beside them */
    bool says_on_return; /* no part of what makes two declarations the same */
};

struct declarations {
    struct declaration *at;
    size_t count;
};

/* Reads and checks all of `datasets:`. INVALID "file:line:column: datasets[0].source.path: …". */
enum weir_status storage_declarations_read(const struct weir_yaml_node *root,
                                           struct declarations *ret_declarations,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The same for people: with all that is wrong. */
void storage_declarations_check(const struct weir_yaml_node *root,
                                struct cfg_complaints *complaints);
/* The same for a text that was accepted before: datasets need not agree on their labels, which an older
 * Weir did not ask for. */
enum weir_status storage_declarations_load(const struct weir_yaml_node *root,
                                           struct declarations *ret_declarations,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The last check of storage_declarations_read(): names differ, labels mean the same everywhere, labels that come
 * later have somewhere to come from. `list` is where they were read. */
enum weir_status storage_declarations_agree(const struct declarations *all,
                                            const struct weir_yaml_node *list,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Appends a line, "file:line:column: path: …", for each thing that is allowed and that a person may not have meant. */
void storage_declarations_remark(const struct declarations *all, struct weir_buf *out);
/* Reads what can be: those that are readable say so. */
void storage_declarations_salvage(const struct weir_yaml_node *root,
                                  struct declarations *ret_declarations);
void storage_declarations_fini(struct declarations *declarations);

/* Bytes that the numbers of one label take; 0 unless labels are vectors. */
size_t storage_declaration_value_bytes(const struct declaration *declaration);
/* Appends the effective values as an element of a YAML list. `root` replaces source.path: the text
 * is then what makes two declarations the same. */
void storage_declaration_print(const struct declaration *declaration, const char *root,
                               struct weir_buf *out);
/* Appends the reference documentation of the section. */
void storage_declarations_document(struct weir_buf *out);

#endif
