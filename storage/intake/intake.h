/* From what a format found to rows of a batch: times, labels and subjects are converted, what was
 * erased before is kept out, what is malformed is refused with its place. One intake per file. */
#ifndef WEIR_STORAGE_INTAKE_H
#define WEIR_STORAGE_INTAKE_H

#include "storage/catalog/guard.h"
#include "storage/formats/manifest.h"
#include "storage/formats/text.h"
#include "storage/intake/batch.h"
#include "storage/intake/unclaimed.h"

/* True when the file's name holds a time. */
enum named { NAMED_UNREAD, NAMED_TIME, NAMED_NONE };

struct intake {
    struct dataset *dataset;
    struct batch *batch;
    const struct storage_secret *secret;
    const struct erased_names *erased;
    struct stored_file *file;
    const struct manifest_row *row; /* NULL: not in a manifest */
    int64_t mtime_us;
    int64_t ctime_ns; /* of the source */
    enum named named;
    int64_t name_time_us;

    struct weir_bytes window;  /* what the format is reading, */
    uint64_t window_at;        /* and where it begins */
    struct weir_bytes head;    /* the beginning of the file */
    struct weir_bytes content; /* of a one-sample file; not set where nothing was erased */

    const char *origin; /* what complaints call the file; NULL: its path */
    void (*refusing)(void *listener, uint64_t record, const char *reason); /* optional */
    void *listener;

    uint8_t *values; /* of a label that is a vector; owned, made when first needed */

    size_t refused; /* listed so far */
    uint64_t refused_more;
    uint64_t blocked; /* kept out, and not staged as such */
    bool is_kept_out; /* the newest sample was */

    /* Records that become no sample, which a file that Weir owns loses. */
    enum intake_blanks { INTAKE_BLANKS_NOTHING, INTAKE_BLANKS_KEPT_OUT, INTAKE_BLANKS_ALL } blanks;
    struct unclaimed unclaimed;
};

void storage_intake_fini(struct intake *intake);
/* intake_times.c: the time that all samples of the file have, from its name or mtime; false when there is none. */
bool storage_intake_file_time(struct intake *intake, int64_t *ret_time_us);
/* Converts the value of a time, or takes what the file or the record's number says in its place. False, with `reason`
 * filled, when there is no time: it names the field, and shows the form of the value alone, for the value may be a
 * person's. */
enum { INTAKE_REASON_MAX = 256 };
/* The reason that counts refusals beyond those that are listed. */
#define STORAGE_MORE_LIKE_THESE "more like these"

bool storage_intake_time(struct intake *intake, const struct format_value *value, uint64_t record,
                         int64_t *ret_time_us, char reason[INTAKE_REASON_MAX]);
/* intake_records.c: what the sink does with records that come all at once. */
bool storage_intake_records(void *owner, const struct format_records *records);
/* intake_names.c: the subject and the key of a record. Values are borrowed from the sample. */
struct record_names {
    struct format_value subject, key;
    uint64_t subject_hash, key_hash;
    bool has_subject, has_key;
};
struct record_names storage_intake_names(const struct intake *intake,
                                         const struct format_sample *sample);
/* The value that the sample, its manifest row or its folder has in this role. */
struct format_value storage_intake_value(const struct intake *intake, enum format_role role,
                                         const struct format_sample *sample);
/* True when one of the names, or the content of the sample, was erased before. Looks at the intake's dataset, file,
 * window and head alone. */
bool storage_intake_was_erased(const struct intake *intake, const struct record_names *names,
                               const struct format_sample *sample);
/* The sink to hand to format->index(); its owner is `intake`. */
struct format_sink storage_intake_sink(struct intake *intake);
/* A record is refused that no call of index() tells. */
void storage_intake_refuse(struct intake *intake, const struct format_refusal *refusal);
/* A complaint about the whole file. */
void storage_intake_refuse_file(struct intake *intake, const char *reason);
/* Stages what was refused beyond the listed ones; call when the file is done, and before what came of it so far is
 * committed. */
void storage_intake_finish(struct intake *intake);
/* The same of a file that holds nothing but what was erased before: its name, which may be a person's, is forgotten.
 * False, and nothing is done, when it holds anything else. */
bool storage_intake_forget(struct intake *intake, const struct stat *source);
#endif
