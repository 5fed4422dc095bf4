/* Remarks on files that could not be overwritten, as receipts repeat them. */
#include "storage/erasure/erasure_record.h"

#include "core/base/memory.h"

#include <string.h>

enum { REMARKS_BYTES = 4096 };

static const char GONE[] = "is gone: nothing of it could be overwritten";

/* A receipt names files by number: their names may be a person's. */
static char *gone_text(const struct located *found)
{
    return weir_format("dataset '%s': file %llu %s", found->dataset->name,
                       (unsigned long long)storage_file_number(found->file), GONE);
}

static char *another_gone_text(const struct located *found)
{
    return weir_format("dataset '%s': another file %s", found->dataset->name, GONE);
}

void storage_scrub_remark_gone(struct erasure_record *erasure, const struct located *found,
                               uint64_t id)
{
    WEIR_AUTO_FREE char *remark =
        storage_page_row(&erasure->page, id)->request->remarks.size < REMARKS_BYTES
            ? gone_text(found)
            : another_gone_text(found);

    storage_scrub_remark(erasure, id, remark);
}

/* True also of a file that cannot be distinguished from others that were gone: there were too many to name. */
static bool is_remarked(const struct erasure_record *erasure, const struct located *found,
                        uint64_t id)
{
    struct weir_buf *remarks = &storage_page_row(&erasure->page, id)->request->remarks;
    WEIR_AUTO_FREE char *gone = gone_text(found);
    WEIR_AUTO_FREE char *another = another_gone_text(found);

    return remarks->size > 0 && (strstr(weir_buf_text(remarks), gone) != NULL ||
                                 strstr(weir_buf_text(remarks), another) != NULL);
}

void storage_scrub_remark_missing(struct erasure_record *erasure, const struct located *found,
                                  uint64_t id)
{
    struct page_row *row = storage_page_row(&erasure->page, id);
    WEIR_AUTO_FREE char *remark = NULL;

    if (is_remarked(erasure, found, id))
        return;
    if (found->dataset->declaration->on_erase != ON_ERASE_UNLINK) {
        storage_scrub_remark_gone(erasure, found, id);
        return;
    }
    storage_page_row_scrubbed(row, found->dataset, storage_file_number(found->file), found->length);
    remark = weir_format("dataset '%s': files were removed after the erasure had read them, by a "
                         "try of it that was cut short or by somebody else; they are counted",
                         found->dataset->name);
    storage_scrub_remark(erasure, id, remark);
}

/* Labels that came later know their samples by key; whose these are, nobody has told. */
static void remark_labels(struct erasure_record *erasure, uint64_t id,
                          const struct dataset *dataset)
{
    const struct dataset *labels = dataset->updated_by;
    WEIR_AUTO_FREE char *remark = NULL;

    if (labels == NULL || labels->declaration->fields.subject.from != FORMAT_NOWHERE)
        return;
    remark = weir_format("dataset '%s' has given samples of '%s' their labels: its records name no "
                         "subject, and are erased by their key alone (--key)",
                         labels->name, dataset->name);
    storage_scrub_remark(erasure, id, remark);
}

void storage_scrub_remark_source(struct erasure_record *erasure, uint64_t id,
                                 const struct dataset *dataset)
{
    const struct declaration *d = dataset->declaration;
    WEIR_AUTO_FREE char *remark = NULL;

    if (d->is_copied && !d->is_pushed)
        remark = weir_format("dataset '%s' was imported by copy: the source folder %s is outside "
                             "Weir's reach and was not changed",
                             dataset->name, dataset->root);
    if (remark != NULL)
        storage_scrub_remark(erasure, id, remark);
    remark_labels(erasure, id, dataset);
}
