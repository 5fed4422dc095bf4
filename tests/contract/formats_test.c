/* What every format promises, looped over the registry: a written file is indexed and read back whatever
 * the size of the windows; cut, empty and hostile files are refused in words and never crash. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/formats/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RECORDS = 50, FOUND_MAX = 4096, NOISE_ROUNDS = 300 };

/* A format must have a builder here: a file of RECORDS samples (or one), and its options. */
struct builder {
    const char *format;
    const char *options; /* YAML of the source mapping */
    void (*write)(struct weir_buf *out);
    struct format_fields fields;
};

static void write_binary(struct weir_buf *out)
{
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint8_t record[16] = {0};

        weir_put_u32(record, i);
        weir_put_u64(record + 8, UINT64_MAX - i);
        weir_buf_append(out, record, sizeof record);
    }
}

static void write_csv(struct weir_buf *out)
{
    weir_buf_append_text(out, "ts,kind,user\n");
    for (int i = 0; i < RECORDS; i++)
        weir_buf_printf(
            out, i % 5 ? "%d,plain,user%d\r\n" : "%d,\"two\nlines, quoted\",\"us\"\"er%d\"\n", i,
            i);
}

static void write_files(struct weir_buf *out)
{
    weir_buf_append_text(out, "one file is one sample");
}

static void write_jsonl(struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++)
        weir_buf_printf(out, "{\"ts\":%d,\"kind\":\"k\",\"user\":\"user%d\"}\n", i, i);
}

#define NAMED(what)                        \
    {                                      \
        .from = FORMAT_NAMED, .name = what \
    }
static const struct builder BUILDERS[] = {
    {"binary",
     "{record_bytes: 16}",
     write_binary,
     {.label = {.from = FORMAT_AT, .offset = 0, .type = FORMAT_I32},
      .subject = {.from = FORMAT_AT, .offset = 8, .type = FORMAT_U64}}},
    {"csv",
     "{}",
     write_csv,
     {.time = NAMED("ts"), .label = NAMED("kind"), .subject = NAMED("user")}},
    {"files", "{}", write_files, {.time = {.from = FORMAT_MANIFEST}}},
    {"jsonl",
     "{}",
     write_jsonl,
     {.time = NAMED("ts"), .label = NAMED("kind"), .subject = NAMED("user")}},
};

/* What an index run told. */
struct told {
    struct weir_bytes file;
    size_t count, refused;
    uint64_t end; /* of the newest sample */
    struct {
        uint64_t offset, length;
    } samples[FOUND_MAX];
};

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct told *told = owner;

    assert_true(sample->offset >= told->end); /* in order, without overlap */
    assert_true(sample->length > 0);
    assert_true(sample->length <= told->file.size - sample->offset); /* inside the file */
    told->end = sample->offset + sample->length;
    if (told->count < FOUND_MAX) {
        told->samples[told->count].offset = sample->offset;
        told->samples[told->count].length = sample->length;
    }
    told->count++;
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    struct told *told = owner;

    assert_true(refusal->offset <= told->file.size);
    assert_true(strlen(refusal->reason) > 0);
    told->refused++;
}

/* Indexes the file as storage does: windows of `window` bytes, larger when one is not enough. */
static enum weir_status index_file(const struct builder *builder, const void *options,
                                   size_t window, struct told *told)
{
    const struct format *format = format_find(builder->format);
    const struct format_sink sink = {.owner = told, .sample = on_sample, .refuse = on_refuse};
    struct format_progress progress = {.record = format->counts_lines};
    struct weir_bytes file = told->file;
    size_t head = file.size < FORMAT_HEAD_MAX ? file.size : FORMAT_HEAD_MAX, wider = window;
    uint64_t at = 0;

    for (;;) {
        size_t rest = format->is_one_sample ? 0 : file.size - (size_t)at;
        size_t size = rest < wider ? rest : wider;
        struct format_input input = {.head = weir_bytes(file.at, head),
                                     .window = weir_bytes(file.at + at, size),
                                     .at = at,
                                     .record = progress.record,
                                     .size = file.size,
                                     .is_last = size == rest,
                                     .is_full = wider >= FORMAT_RECORD_MAX};
        struct weir_error err;
        enum weir_status status =
            format->index(&input, options, &builder->fields, &sink, &progress, &err);

        if (status != WEIR_OK)
            return status;
        assert_true(progress.consumed <= size);
        at += progress.consumed;
        if (input.is_last)
            return WEIR_OK;
        wider = progress.consumed == 0 ? 2 * wider : window;
    }
}

static const struct builder *builder_of(const struct format *format)
{
    for (size_t i = 0; i < WEIR_COUNT(BUILDERS); i++) {
        if (strcmp(BUILDERS[i].format, format->name) == 0)
            return &BUILDERS[i];
    }
    fail_msg("format '%s' has no builder in this test", format->name);
    return NULL;
}

static void *options_of(const struct builder *builder, struct weir_yaml **document)
{
    const struct format *format = format_find(builder->format);
    void *options = calloc(1, format->options_size + 1);
    struct weir_error err;

    assert_int_equal(weir_yaml_parse("test", weir_bytes_of(builder->options), document, &err),
                     WEIR_OK);
    assert_int_equal(cfg_read(format->options, CFG_CLOSED, weir_yaml_root(*document), "source",
                              NULL, options, &err),
                     WEIR_OK);
    if (format->check)
        assert_int_equal(format->check(options, &builder->fields, &err), WEIR_OK);
    return options;
}

typedef void format_case_fn(const struct builder *builder, const void *options);

static void for_each_format(format_case_fn *fn)
{
    for (size_t i = 0; i < format_count(); i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        const struct builder *builder = builder_of(format_at(i));
        void *options = options_of(builder, &document);

        fn(builder, options);
        free(options);
    }
}

static void check_table(const struct builder *builder, const void *options)
{
    const struct format *format = format_find(builder->format);

    (void)options;
    assert_ptr_equal(format_find(format->name), format);
    assert_non_null(format->summary);
    assert_non_null(format->options);
    assert_non_null(format->index);
    assert_true(format->gives != 0);
}

static void every_table_is_whole(void **state)
{
    (void)state;
    for_each_format(check_table);
}

static void check_windows(const struct builder *builder, const void *options)
{
    static const size_t WINDOWS[] = {1, 3, 17, 64, 1000, FORMAT_WINDOW_BYTES};
    const struct format *format = format_find(builder->format);
    static struct told first, told;
    WEIR_AUTO_BUF file = {0};

    builder->write(&file);
    for (size_t i = 0; i < WEIR_COUNT(WINDOWS); i++) {
        memset(&told, 0, sizeof told);
        told.file = weir_buf_view(&file);
        assert_int_equal(index_file(builder, options, WINDOWS[i], &told), WEIR_OK);
        assert_int_equal(told.count, format->is_one_sample ? 1 : RECORDS);
        assert_int_equal(told.refused, 0);
        if (i == 0)
            first = told;
        assert_memory_equal(first.samples, told.samples, sizeof told.samples);
    }
}

static void a_file_has_the_same_samples_whatever_the_windows(void **state)
{
    (void)state;
    for_each_format(check_windows);
}

static void check_cuts(const struct builder *builder, const void *options)
{
    static struct told told;
    WEIR_AUTO_BUF file = {0};

    builder->write(&file);
    for (size_t size = 0; size < file.size; size++) {
        memset(&told, 0, sizeof told);
        told.file = weir_bytes(file.at, size);
        (void)index_file(builder, options, 64, &told); /* the sink checks what is told */
        assert_true(told.count <= RECORDS);
    }
}

static void a_file_may_end_anywhere(void **state)
{
    (void)state;
    for_each_format(check_cuts);
}

static void check_noise(const struct builder *builder, const void *options)
{
    static struct told told;
    struct weir_rng rng;

    weir_rng_init(&rng, 1);
    for (int round = 0; round < NOISE_ROUNDS; round++) {
        WEIR_AUTO_BUF file = {0};

        builder->write(&file);
        for (int k = 0; k < 20; k++)
            file.at[weir_rng_below(&rng, file.size)] = (uint8_t)weir_rng_next(&rng);
        memset(&told, 0, sizeof told);
        told.file = weir_buf_view(&file);
        (void)index_file(builder, options, 100, &told);
    }
}

static void a_damaged_file_harms_nobody(void **state)
{
    (void)state;
    for_each_format(check_noise);
}

static void check_scrubbed(const struct builder *builder, const void *options)
{
    const struct format *format = format_find(builder->format);
    static struct told told, again;
    WEIR_AUTO_BUF file = {0};

    if (format->is_one_sample || format->scrub_byte == 0) /* zeros are a record like any other */
        return;
    builder->write(&file);
    memset(&told, 0, sizeof told);
    told.file = weir_buf_view(&file);
    assert_int_equal(index_file(builder, options, 64, &told), WEIR_OK);
    memset(file.at + told.samples[5].offset, format->scrub_byte, told.samples[5].length);
    memset(&again, 0, sizeof again);
    again.file = weir_buf_view(&file);
    assert_int_equal(index_file(builder, options, 64, &again), WEIR_OK);
    assert_int_equal(again.count, RECORDS - 1);
    assert_int_equal(again.refused, 0);
}

static void a_scrubbed_record_is_passed_over(void **state)
{
    (void)state;
    for_each_format(check_scrubbed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_whole),
        cmocka_unit_test(a_file_has_the_same_samples_whatever_the_windows),
        cmocka_unit_test(a_file_may_end_anywhere),
        cmocka_unit_test(a_damaged_file_harms_nobody),
        cmocka_unit_test(a_scrubbed_record_is_passed_over),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
