/* Runs a format over a file in memory as storage does, window by window, and keeps what it told. Values are
 * kept as text: "-" absent, "t:TEXT", "i:-1", "u:1", "f:0.5", "l:1,2,3". */
#ifndef WEIR_TESTS_SUPPORT_FORMAT_RUN_H
#define WEIR_TESTS_SUPPORT_FORMAT_RUN_H

#include "storage/formats/format.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { FORMAT_RUN_MAX = 256, FORMAT_RUN_TEXT = 64, FORMAT_RUN_REASON = 160 };

struct format_run_sample {
    struct format_range payload, extent;
    uint64_t record;
    char values[FORMAT_ROLES][FORMAT_RUN_TEXT];
};

struct format_run_refusal {
    uint64_t record, offset;
    bool is_tail;
    char reason[FORMAT_RUN_REASON];
};

struct format_run {
    struct weir_bytes file;
    enum weir_status status;
    struct weir_error err;
    uint64_t end; /* of the newest extent */
    uint64_t indexed;
    size_t count, refused, scrubbed;
    struct format_run_sample samples[FORMAT_RUN_MAX];
    struct format_run_refusal refusals[FORMAT_RUN_MAX];
};

static inline void format_run_value(const struct format_value *value, char text[FORMAT_RUN_TEXT])
{
    size_t at = 2;

    switch (value->kind) {
    case FORMAT_ABSENT:
        snprintf(text, FORMAT_RUN_TEXT, "-");
        return;
    case FORMAT_TEXT:
        snprintf(text, FORMAT_RUN_TEXT, "t:%.*s", (int)value->text.size,
                 value->text.size > 0 ? (const char *)value->text.at : "");
        return;
    case FORMAT_INT:
        snprintf(text, FORMAT_RUN_TEXT, "i:%lld", (long long)value->i64);
        return;
    case FORMAT_TRUTH:
        snprintf(text, FORMAT_RUN_TEXT, "%s", value->i64 != 0 ? "true" : "false");
        return;
    case FORMAT_UINT:
        snprintf(text, FORMAT_RUN_TEXT, "u:%llu", (unsigned long long)value->u64);
        return;
    case FORMAT_REAL:
        snprintf(text, FORMAT_RUN_TEXT, "f:%g", value->f64);
        return;
    case FORMAT_LIST:
        break;
    }
    snprintf(text, FORMAT_RUN_TEXT, "l:");
    for (size_t i = 0; i < value->list.count && at + 1 < FORMAT_RUN_TEXT; i++)
        at += (size_t)snprintf(text + at, FORMAT_RUN_TEXT - at, i > 0 ? ",%g" : "%g",
                               value->list.at[i]);
}

static inline void format_run_sample(void *owner, const struct format_sample *sample)
{
    struct format_run *run = owner;
    struct format_range payload = {sample->offset, sample->length};
    struct format_range extent = sample->extent.length > 0 ? sample->extent : payload;

    assert_true(sample->length > 0);
    assert_true(extent.offset >= run->end);                       /* in order, without overlap */
    assert_true(extent.length <= run->file.size - extent.offset); /* inside the file */
    assert_true(payload.offset >= extent.offset);
    assert_true(payload.length <= extent.length - (payload.offset - extent.offset));
    run->end = extent.offset + extent.length;
    if (run->count < FORMAT_RUN_MAX) {
        struct format_run_sample *kept = &run->samples[run->count];

        kept->payload = payload;
        kept->extent = extent;
        kept->record = sample->record;
        for (int i = 0; i < FORMAT_ROLES; i++)
            format_run_value(&sample->each[i], kept->values[i]);
    }
    run->count++;
}

static inline void format_run_refuse(void *owner, const struct format_refusal *refusal)
{
    struct format_run *run = owner;

    assert_true(refusal->offset <= run->file.size);
    assert_true(strlen(refusal->reason) > 0);
    if (run->refused < FORMAT_RUN_MAX) {
        struct format_run_refusal *kept = &run->refusals[run->refused];

        kept->record = refusal->record;
        kept->offset = refusal->offset;
        kept->is_tail = refusal->is_tail;
        snprintf(kept->reason, sizeof(kept->reason), "%s", refusal->reason);
    }
    run->refused++;
}

static inline void format_run_scrubbed(void *owner, struct format_range extent)
{
    struct format_run *run = owner;

    assert_true(extent.offset >= run->end);
    assert_true(extent.length <= run->file.size - extent.offset);
    run->end = extent.offset + extent.length;
    run->scrubbed++;
}

static inline struct weir_bytes format_run_head(const struct format *format, struct weir_bytes file)
{
    uint64_t size = file.size < FORMAT_HEAD_MAX ? file.size : FORMAT_HEAD_MAX;

    if (format->head_bytes)
        size = format->head_bytes(weir_bytes(file.at, (size_t)size));
    if (size > FORMAT_RECORD_MAX)
        size = FORMAT_RECORD_MAX;
    return weir_bytes(file.at, size < file.size ? (size_t)size : file.size);
}

/* Windows have `window` bytes, and grow when one is not enough. */
static inline void format_run(struct format_run *run, const struct format *format,
                              const void *options, const struct format_fields *fields,
                              struct weir_bytes file, size_t window)
{
    const struct format_sink sink = {.owner = run,
                                     .sample = format_run_sample,
                                     .refuse = format_run_refuse,
                                     .scrubbed = format_run_scrubbed};
    struct format_progress progress = {.record = format->counts_lines};
    size_t wider = window;
    bool is_last = false;

    memset(run, 0, sizeof(*run));
    run->file = file;
    while (!is_last) {
        size_t rest = format->is_one_sample ? 0 : file.size - (size_t)run->indexed;
        size_t size = rest < wider ? rest : wider;
        struct format_input input = {.head = format_run_head(format, file),
                                     .window = weir_bytes(file.at + run->indexed, size),
                                     .at = run->indexed,
                                     .record = progress.record,
                                     .size = file.size,
                                     .is_last = size == rest,
                                     .is_full = wider >= FORMAT_RECORD_MAX};

        run->status = format->index(&input, options, fields, &sink, &progress, &run->err);
        if (run->status != WEIR_OK)
            return;
        assert_true(progress.consumed <= rest);
        assert_true(progress.consumed > 0 || !input.is_full || input.is_last || progress.is_stuck);
        run->indexed += progress.consumed;
        is_last = input.is_last || progress.is_stuck;
        wider = progress.consumed == 0 ? 2 * wider : window;
    }
}

/* Options out of the YAML that a `source` mapping would hold. The caller frees both. */
static inline void *format_run_options(const struct format *format,
                                       const struct format_fields *fields, const char *yaml,
                                       struct weir_yaml **ret_document)
{
    void *options = calloc(1, format->options_size + 1);
    struct weir_error err;

    assert_int_equal(weir_yaml_parse("test", weir_bytes_of(yaml), ret_document, &err), WEIR_OK);
    assert_int_equal(cfg_read(format->options, CFG_CLOSED, weir_yaml_root(*ret_document), "source",
                              NULL, options, &err),
                     WEIR_OK);
    if (format->check)
        assert_int_equal(format->check(options, fields, &err), WEIR_OK);
    return options;
}

/* Scrubs a file as storage does when the sample is erased. */
static inline void format_run_scrub(const struct format *format, const void *options,
                                    struct weir_bytes head, uint8_t *file,
                                    const struct format_run_sample *sample)
{
    uint8_t *extent = file + sample->extent.offset;

    if (format->scrub)
        format->scrub(head, options, extent, (size_t)sample->extent.length);
    else
        memset(extent, format->scrub_byte, (size_t)sample->extent.length);
}

#endif
