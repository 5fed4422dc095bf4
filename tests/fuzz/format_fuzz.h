/* Drives one format over hostile bytes as storage does. The first byte chooses how large the windows are,
 * the rest is the file. */
#ifndef WEIR_TESTS_FUZZ_FORMAT_FUZZ_H
#define WEIR_TESTS_FUZZ_FORMAT_FUZZ_H

#include "storage/formats/format.h"

struct format_fuzz {
    uint64_t size; /* of the file */
    uint64_t end;  /* of the newest sample */
};

static inline void format_fuzz_sample(void *owner, const struct format_sample *sample)
{
    struct format_fuzz *fuzz = owner;

    weir_require(sample->offset >= fuzz->end);
    weir_require(sample->length <= fuzz->size - sample->offset);
    fuzz->end = sample->offset + sample->length;
}

static inline void format_fuzz_refuse(void *owner, const struct format_refusal *refusal)
{
    const struct format_fuzz *fuzz = owner;

    weir_require(refusal->offset <= fuzz->size);
    weir_require(refusal->reason[0] != '\0');
}

static inline void format_fuzz_run(const struct format *format, const void *options,
                                   const struct format_fields *fields, struct weir_bytes data)
{
    size_t window = data.size > 0 ? (size_t)data.at[0] + 1 : 1, wider = window;
    struct weir_bytes file = data.size > 0 ? weir_bytes(data.at + 1, data.size - 1) : data;
    struct format_fuzz fuzz = {.size = file.size};
    const struct format_sink sink = {&fuzz, format_fuzz_sample, format_fuzz_refuse};
    struct format_progress progress = {.record = format->counts_lines};
    bool is_last = false;

    for (uint64_t at = 0; !is_last; at += progress.consumed) {
        size_t rest = format->is_one_sample ? 0 : file.size - (size_t)at;
        size_t size = rest < wider ? rest : wider;
        struct weir_error err;
        struct format_input input = {
            .head = weir_bytes(file.at, file.size < FORMAT_HEAD_MAX ? file.size : FORMAT_HEAD_MAX),
            .window = weir_bytes(file.at + at, size),
            .at = at,
            .record = progress.record,
            .size = file.size,
            .is_last = size == rest,
            .is_full = wider >= FORMAT_HEAD_MAX,
        };

        if (format->index(&input, options, fields, &sink, &progress, &err) != WEIR_OK)
            return;
        weir_require(progress.consumed <= size);
        weir_require(progress.consumed > 0 || input.is_last || !input.is_full);
        is_last = input.is_last;
        wider = progress.consumed == 0 ? 2 * wider : window;
    }
}

#endif
