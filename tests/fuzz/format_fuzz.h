/* Drives one format over hostile bytes as storage does. The first byte chooses how large the windows are,
 * the rest is the file. */
#ifndef WEIR_TESTS_FUZZ_FORMAT_FUZZ_H
#define WEIR_TESTS_FUZZ_FORMAT_FUZZ_H

#include "core/base/memory.h"
#include "storage/formats/format.h"

struct format_fuzz {
    uint64_t size; /* of the file */
    uint64_t end;  /* of the newest sample */
};

static inline void format_fuzz_sample(void *owner, const struct format_sample *sample)
{
    struct format_fuzz *fuzz = owner;
    struct format_range extent = sample->extent;

    if (extent.length == 0)
        extent = (struct format_range){sample->offset, sample->length};
    weir_require(extent.offset >= fuzz->end);
    weir_require(extent.length <= fuzz->size - extent.offset);
    weir_require(sample->offset >= extent.offset &&
                 sample->length <= extent.length - (sample->offset - extent.offset));
    for (int i = 0; i < FORMAT_ROLES; i++)
        weir_require(sample->each[i].kind != FORMAT_LIST || sample->each[i].list.count > 0);
    fuzz->end = extent.offset + extent.length;
}

static inline void format_fuzz_refuse(void *owner, const struct format_refusal *refusal)
{
    const struct format_fuzz *fuzz = owner;

    weir_require(refusal->offset <= fuzz->size);
    weir_require(refusal->reason[0] != '\0');
}

/* Options out of the YAML that a `source` mapping would hold; they live as long as the program. */
static inline const void *format_fuzz_options(const struct format *format, const char *yaml)
{
    size_t words = format->options_size / sizeof(struct weir_yaml *) + 1;
    struct weir_yaml *document;
    struct weir_yaml **options = weir_calloc(words + 1, sizeof(struct weir_yaml *));
    struct weir_error err;

    weir_require(weir_yaml_parse("fuzz", weir_bytes_of(yaml), &document, &err) == WEIR_OK);
    weir_require(cfg_read(format->options, CFG_CLOSED, weir_yaml_root(document), "source", NULL,
                          options, &err) == WEIR_OK);
    options[words] = document; /* what they borrow from stays reachable */
    return options;
}

static inline struct weir_bytes format_fuzz_head(const struct format *format,
                                                 struct weir_bytes file)
{
    uint64_t size = file.size < FORMAT_HEAD_MAX ? file.size : FORMAT_HEAD_MAX;

    if (format->head_bytes)
        size = format->head_bytes(weir_bytes(file.at, (size_t)size));
    if (size > FORMAT_RECORD_MAX)
        size = FORMAT_RECORD_MAX;
    return weir_bytes(file.at, size < file.size ? (size_t)size : file.size);
}

static inline void format_fuzz_run(const struct format *format, const void *options,
                                   const struct format_fields *fields, struct weir_bytes data)
{
    size_t window = data.size > 0 ? (size_t)data.at[0] + 1 : 1, wider = window;
    struct weir_bytes file = data.size > 0 ? weir_bytes(data.at + 1, data.size - 1) : data;
    struct format_fuzz fuzz = {.size = file.size};
    const struct format_sink sink = {
        .owner = &fuzz, .sample = format_fuzz_sample, .refuse = format_fuzz_refuse};
    struct format_progress progress = {.record = format->counts_lines};
    bool is_last = false;

    for (uint64_t at = 0; !is_last; at += progress.consumed) {
        size_t rest = format->is_one_sample ? 0 : file.size - (size_t)at;
        size_t size = rest < wider ? rest : wider;
        struct weir_error err;
        struct format_input input = {
            .head = format_fuzz_head(format, file),
            .window = weir_bytes(file.at + at, size),
            .at = at,
            .record = progress.record,
            .size = file.size,
            .is_last = size == rest,
            .is_full = wider >= FORMAT_HEAD_MAX,
        };

        if (format->index(&input, options, fields, &sink, &progress, &err) != WEIR_OK)
            return;
        weir_require(progress.consumed <= rest);
        weir_require(progress.consumed > 0 || input.is_last || !input.is_full || progress.is_stuck);
        is_last = input.is_last || progress.is_stuck;
        wider = progress.consumed == 0 ? 2 * wider : window;
    }
}

#endif
