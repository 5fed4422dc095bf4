/* Format `files`: one sample a file; time, label, subject and key come from a manifest, a sidecar,
 * the file's path or its mtime. Nothing is read to index it. */
#include "storage/formats/format.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static enum weir_status index_file(const struct format_input *input, const void *options,
                                   const struct format_fields *fields,
                                   const struct format_sink *sink,
                                   struct format_progress *ret_progress, struct weir_error *err)
{
    (void)options;
    (void)fields;
    if (input->size == 0)
        return weir_fail(err, WEIR_INVALID, "found an empty file, expected a sample");
    if (input->size > FORMAT_RECORD_MAX)
        return weir_fail(err, WEIR_LIMIT, "found %llu bytes, expected at most %d in a sample",
                         (unsigned long long)input->size, FORMAT_RECORD_MAX);
    sink->sample(sink->owner, &(struct format_sample){.length = input->size});
    *ret_progress = (struct format_progress){.record = 1};
    return WEIR_OK;
}

const struct format storage_format_files = {
    .name = "files",
    .summary = "one sample a file; time, label, subject and key from a manifest or a sidecar",
    .options = OPTIONS,
    .gives = FORMAT_MANIFEST | FORMAT_SIDECAR,
    .is_one_sample = true,
    .index = index_file,
};
