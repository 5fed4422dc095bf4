/* Promises of every format, looped over the registry: a written file is indexed and read back whatever
 * the size of the windows; cut, empty and hostile files are refused in words and never crash; an erased
 * record is gone and passed over. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/file_formats.h"
#include "storage/files/blanking.h"
#include "storage/files/extent.h"
#include "storage/intake/unclaimed.h"
#include "tests/support/format_files.h"
#include "tests/support/format_run.h"

#include <sys/mman.h>

enum { RECORDS = 50, NOISE_ROUNDS = 100, CUTS = 2000 };

/* A format must have a builder here: a file of RECORDS samples (or one), its options, and what the
 * sample `index` holds: its payload, and its values as format_run.h writes them. */
struct builder {
    const char *format;
    const char *options; /* YAML of the source mapping */
    void (*write)(struct weir_buf *out);
    struct format_fields fields;
    void (*expect)(int index, struct weir_buf *payload, char values[FORMAT_ROLES][FORMAT_RUN_TEXT]);
};

static void say(char *value, const char *format, ...) WEIR_PRINTF(2, 3);
static void say(char *value, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(value, FORMAT_RUN_TEXT, format, args);
    va_end(args);
}

static void put_binary(int index, struct weir_buf *out)
{
    uint8_t record[16] = {0};

    weir_put_u32(record, (uint32_t)index);
    weir_put_u64(record + 8, UINT64_MAX - (uint32_t)index);
    weir_buf_append(out, record, sizeof(record));
}

static void write_binary(struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++)
        put_binary(i, out);
}

static void expect_binary(int index, struct weir_buf *payload,
                          char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    put_binary(index, payload);
    say(values[FORMAT_LABEL], "i:%d", index);
    say(values[FORMAT_SUBJECT], "u:%llu", UINT64_MAX - (unsigned long long)index);
    say(values[FORMAT_KEY], "l:%d,0", index);
}

static void put_csv(int index, struct weir_buf *out)
{
    weir_buf_printf(out, index % 5 ? "%d,plain,user%d" : "%d,\"two\nlines, quoted\",\"us\"\"er%d\"",
                    index, index);
}

static void write_csv(struct weir_buf *out)
{
    weir_buf_append_text(out, "ts,kind,user\n");
    for (int i = 0; i < RECORDS; i++) {
        put_csv(i, out);
        weir_buf_append_text(out, i % 5 ? "\r\n" : "\n");
    }
}

static void expect_csv(int index, struct weir_buf *payload,
                       char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    put_csv(index, payload);
    say(values[FORMAT_TIME], "t:%d", index);
    say(values[FORMAT_LABEL], "t:%s", index % 5 ? "plain" : "two\nlines, quoted");
    say(values[FORMAT_SUBJECT], index % 5 ? "t:user%d" : "t:us\"er%d", index);
}

static void write_files(struct weir_buf *out)
{
    weir_buf_append_text(out, "one file is one sample");
}

static void expect_files(int index, struct weir_buf *payload,
                         char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    (void)index;
    (void)values;
    write_files(payload);
}

static void put_jsonl(int index, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"ts\":%d,\"kind\":\"k\",\"user\":{\"name\":\"user%d\"}}", index, index);
}

static void write_jsonl(struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++) {
        put_jsonl(i, out);
        weir_buf_append_text(out, "\n");
    }
}

static void expect_jsonl(int index, struct weir_buf *payload,
                         char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    put_jsonl(index, payload);
    say(values[FORMAT_TIME], "i:%d", index);
    say(values[FORMAT_LABEL], "t:k");
    say(values[FORMAT_SUBJECT], "t:user%d", index);
}

static void put_picture(int index, struct weir_buf *out)
{
    for (int i = 0; i <= 12 * index; i++)
        weir_buf_printf(out, "pixel %d ", index);
}

static void write_tar(struct weir_buf *out)
{
    static const uint8_t ZEROS[2 * TAR_BLOCK];

    for (int i = 0; i < RECORDS; i++) {
        char name[64], text[64];
        WEIR_AUTO_BUF picture = {0};

        put_picture(i, &picture);
        snprintf(name, sizeof(name), "train/%04d.cls", i);
        snprintf(text, sizeof(text), "%d\n", i % 7);
        put_member(name, weir_bytes_of(text), out);
        snprintf(name, sizeof(name), "train/%04d.seg.JPG", i);
        put_member(name, weir_buf_view(&picture), out);
        snprintf(name, sizeof(name), "train/%04d.json", i);
        snprintf(text, sizeof(text), "{\"at\": %d,\n \"who\": {\"id\": \"user%d\"}}", i, i);
        put_member(name, weir_bytes_of(text), out);
    }
    weir_buf_append(out, ZEROS, sizeof(ZEROS));
}

static void expect_tar(int index, struct weir_buf *payload,
                       char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    put_picture(index, payload);
    say(values[FORMAT_TIME], "i:%d", index);
    say(values[FORMAT_LABEL], "t:%d", index % 7);
    say(values[FORMAT_SUBJECT], "t:user%d", index);
    say(values[FORMAT_KEY], "t:train/%04d", index);
}

static void put_bytes(uint8_t tag, struct weir_bytes content, struct weir_buf *out)
{
    weir_buf_append(out, &tag, 1);
    weir_buf_append(out, &(uint8_t){(uint8_t)content.size}, 1);
    weir_buf_append(out, content.at, content.size);
}

/* One entry of the map of features; `kind` is the number of the list in Feature. */
static void put_values(const char *name, int kind, struct weir_bytes values, struct weir_buf *out)
{
    WEIR_AUTO_BUF list = {0}, feature = {0}, entry = {0};

    put_bytes(1 << 3 | 2, values, &list);
    put_bytes((uint8_t)(kind << 3 | 2), weir_buf_view(&list), &feature);
    put_bytes(1 << 3 | 2, weir_bytes_of(name), &entry);
    put_bytes(2 << 3 | 2, weir_buf_view(&feature), &entry);
    put_bytes(1 << 3 | 2, weir_buf_view(&entry), out);
}

static void put_example(int index, struct weir_buf *out)
{
    const uint8_t floats[8] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}; /* 1, -2 */
    WEIR_AUTO_BUF features = {0};
    char user[16];

    snprintf(user, sizeof(user), "user%d", index);
    put_values("at", 3, weir_bytes(&(uint8_t){(uint8_t)index}, 1), &features);
    put_values("user", 1, weir_bytes_of(user), &features);
    put_values("target", 2, weir_bytes(floats, sizeof(floats)), &features);
    put_bytes(1 << 3 | 2, weir_buf_view(&features), out);
}

static void write_tfrecord(struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++) {
        WEIR_AUTO_BUF example = {0};

        put_example(i, &example);
        put_framed(weir_buf_view(&example), out);
    }
}

static void expect_tfrecord(int index, struct weir_buf *payload,
                            char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    put_example(index, payload);
    say(values[FORMAT_TIME], "i:%d", index);
    say(values[FORMAT_LABEL], "l:1,-2");
    say(values[FORMAT_SUBJECT], "t:user%d", index);
}

static void put_text(const char *text, struct weir_buf *out)
{
    weir_buf_append(out, text, strlen(text));
}

static void put_mds_sample(int index, struct weir_buf *out)
{
    uint8_t numbers[8 + 8];
    char json[64], text[64];

    snprintf(json, sizeof(json), "{\"who\": \"user%d\"}", index);
    snprintf(text, sizeof(text), "text of sample %d", index);
    weir_put_u32(numbers, (uint32_t)strlen(json));
    weir_put_u32(numbers + 4, (uint32_t)strlen(text));
    weir_put_u64(numbers + 8, (uint64_t)index);
    weir_buf_append(out, numbers, sizeof(numbers));
    put_text(json, out);
    put_text(text, out);
}

static void write_mds(struct weir_buf *out)
{
    static const char CONFIG[] =
        "{\"column_encodings\": [\"int\", \"json\", \"str\"], \"column_names\": [\"at\", "
        "\"meta\", \"text\"], \"column_sizes\": [8, null, null], \"compression\": null, "
        "\"format\": \"mds\", \"hashes\": [], \"size_limit\": 67108864, \"version\": 2}";

    put_mosaic(CONFIG, RECORDS, put_mds_sample, out);
}

static void expect_mds(int index, struct weir_buf *payload,
                       char values[FORMAT_ROLES][FORMAT_RUN_TEXT])
{
    weir_buf_printf(payload, "text of sample %d", index);
    say(values[FORMAT_TIME], "i:%d", index);
    say(values[FORMAT_LABEL], "t:text of sample %d", index);
    say(values[FORMAT_SUBJECT], "t:user%d", index);
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
      .subject = {.from = FORMAT_AT, .offset = 8, .type = FORMAT_U64},
      .key = {.from = FORMAT_AT, .offset = 0, .type = FORMAT_I32, .count = 2}},
     expect_binary},
    {"csv",
     "{}",
     write_csv,
     {.time = NAMED("ts"), .label = NAMED("kind"), .subject = NAMED("user")},
     expect_csv},
    {"files", "{}", write_files, {.time = {.from = FORMAT_MANIFEST}}, expect_files},
    {"jsonl",
     "{}",
     write_jsonl,
     {.time = NAMED("ts"), .label = NAMED("kind"), .subject = NAMED("user.name")},
     expect_jsonl},
    {"mds",
     "{sample: text}",
     write_mds,
     {.time = NAMED("at"), .label = NAMED("text"), .subject = NAMED("meta.who")},
     expect_mds},
    {"tar",
     "{sample: [png, seg.jpg]}",
     write_tar,
     {.time = NAMED("json.at"),
      .label = NAMED("cls"),
      .subject = NAMED("json.who.id"),
      .key = NAMED("__key__")},
     expect_tar},
    {"tfrecord",
     "{}",
     write_tfrecord,
     {.time = NAMED("at"), .label = NAMED("target"), .subject = NAMED("user")},
     expect_tfrecord},
};

/* Subject of a case: the format under test, its options, and the file of its builder. */
struct subject {
    const struct builder *builder;
    const struct format *format;
    const void *options;
    struct weir_bytes file;
};

static const struct builder *builder_of(const struct format *format)
{
    for (size_t i = 0; i < WEIR_COUNT(BUILDERS); i++) {
        if (strcmp(BUILDERS[i].format, format->name) == 0)
            return &BUILDERS[i];
    }
    fail_msg("format '%s' has no builder in this test", format->name);
    return NULL;
}

typedef void format_case_fn(const struct subject *subject);

static void for_each_format(format_case_fn *fn)
{
    for (size_t i = 0; i < format_count(); i++) {
        const struct builder *builder = builder_of(format_at(i));
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO_FREE void *options =
            format_run_options(format_at(i), &builder->fields, builder->options, &document);
        WEIR_AUTO_BUF file = {0};

        builder->write(&file);
        fn(&(struct subject){builder, format_at(i), options, weir_buf_view(&file)});
    }
}

static void run_over(const struct subject *subject, struct weir_bytes file, size_t window,
                     struct format_run *run)
{
    format_run(run, subject->format, subject->options, &subject->builder->fields, file, window);
}

static void check_table(const struct subject *subject)
{
    const struct format *format = subject->format;

    assert_ptr_equal(format_find(format->name), format);
    assert_non_null(format->summary);
    assert_non_null(format->options);
    assert_non_null(format->index);
    assert_true(format->gives != 0);
}

static void a_format_has_columns_where_its_records_are_listed_as_rows_of_a_table(void **state)
{
    (void)state;
#define X(name, is_table) assert_true((format_find(#name)->columns != NULL) == is_table);
    FILE_FORMATS(X)
#undef X
}

static void every_table_is_whole(void **state)
{
    (void)state;
    for_each_format(check_table);
}

static void check_content(const struct subject *subject)
{
    static struct format_run run;

    run_over(subject, subject->file, FORMAT_WINDOW_BYTES, &run);
    assert_int_equal(run.status, WEIR_OK);
    assert_int_equal(run.count, subject->format->is_one_sample ? 1 : RECORDS);
    assert_int_equal(run.refused, 0);
    for (size_t i = 0; i < run.count; i++) {
        char values[FORMAT_ROLES][FORMAT_RUN_TEXT] = {"-", "-", "-", "-"};
        struct format_range at = run.samples[i].payload;
        WEIR_AUTO_BUF payload = {0};

        subject->builder->expect((int)i, &payload, values);
        assert_int_equal(at.length, payload.size);
        assert_memory_equal(subject->file.at + at.offset, payload.at, payload.size);
        for (int k = 0; k < FORMAT_ROLES; k++)
            assert_string_equal(run.samples[i].values[k], values[k]);
    }
}

static void a_sample_is_read_back_at_its_position(void **state)
{
    (void)state;
    for_each_format(check_content);
}

static void check_windows(const struct subject *subject)
{
    static const size_t WINDOWS[] = {1, 3, 17, 64, 1000, FORMAT_WINDOW_BYTES};
    static struct format_run first, run;

    for (size_t i = 0; i < WEIR_COUNT(WINDOWS); i++) {
        run_over(subject, subject->file, WINDOWS[i], &run);
        assert_int_equal(run.status, WEIR_OK);
        assert_int_equal(run.count, subject->format->is_one_sample ? 1 : RECORDS);
        assert_int_equal(run.refused, 0);
        if (i == 0)
            first = run;
        assert_memory_equal(first.samples, run.samples, sizeof(run.samples));
    }
}

static void a_file_has_the_same_samples_whatever_the_windows(void **state)
{
    (void)state;
    for_each_format(check_windows);
}

/* A cut file never invents a sample: each is one of the whole file's, the newest perhaps shorter where
 * the end of a record cannot be told from the end of the file. */
static void check_cuts(const struct subject *subject)
{
    static struct format_run whole, run;

    size_t stride = subject->file.size / CUTS + 1;

    run_over(subject, subject->file, FORMAT_WINDOW_BYTES, &whole);
    for (size_t size = 0; size < subject->file.size; size += stride) {
        run_over(subject, weir_bytes(subject->file.at, size), 300, &run);
        assert_true(run.count <= whole.count);
        for (size_t i = 0; i + 1 < run.count; i++)
            assert_memory_equal(&run.samples[i], &whole.samples[i], sizeof(run.samples[i]));
    }
}

static void a_file_may_end_anywhere(void **state)
{
    (void)state;
    for_each_format(check_cuts);
}

static void check_noise(const struct subject *subject)
{
    static struct format_run run;
    struct weir_rng rng;

    weir_rng_init(&rng, 1);
    for (int round = 0; round < NOISE_ROUNDS; round++) {
        WEIR_AUTO_BUF file = {0};

        weir_buf_append(&file, subject->file.at, subject->file.size);
        for (int k = 0; k < 20; k++)
            file.at[weir_rng_below(&rng, file.size)] = (uint8_t)weir_rng_next(&rng);
        run_over(subject, weir_buf_view(&file), 400, &run); /* which checks what is told */
    }
}

static void a_damaged_file_harms_nobody(void **state)
{
    (void)state;
    for_each_format(check_noise);
}

enum { ERASED = 5 };

static void check_scrubbed(const struct subject *subject)
{
    static struct format_run run, again;
    WEIR_AUTO_BUF file = {0}, twice = {0};
    const struct format *format = subject->format;
    struct format_range gone;

    if (format->is_one_sample)
        return;
    run_over(subject, subject->file, 64, &run);
    gone = run.samples[ERASED].payload;
    weir_buf_append(&file, subject->file.at, subject->file.size);
    format_run_scrub(format, subject->options, format_run_head(format, subject->file), file.at,
                     &run.samples[ERASED]);
    assert_memory_not_equal(file.at + gone.offset, subject->file.at + gone.offset, gone.length);
    weir_buf_append(&twice, file.at, file.size);
    format_run_scrub(format, subject->options, format_run_head(format, subject->file), twice.at,
                     &run.samples[ERASED]);
    assert_memory_equal(twice.at, file.at, file.size);

    run_over(subject, weir_buf_view(&file), 64, &again);
    assert_int_equal(again.status, WEIR_OK);
    assert_int_equal(again.refused, 0);
    if (format->scrub == NULL && format->scrub_byte == 0) /* zeros are a record like any other */
        return;
    assert_int_equal(again.count, RECORDS - 1);
    assert_memory_equal(&again.samples[ERASED].payload, &run.samples[ERASED + 1].payload,
                        sizeof(again.samples[ERASED].payload));
}

static void an_erased_record_is_gone_and_passed_over(void **state)
{
    (void)state;
    for_each_format(check_scrubbed);
}

/* Ranges of two records that follow each other, as storage finds them when it refuses both. */
static void list_refused(const struct format *format, const struct format_run *run,
                         struct unclaimed *unclaimed)
{
    unclaimed->is_by_record = format->scrub != NULL;
    for (size_t i = 0; i < run->count; i++) {
        if (i == ERASED || i == ERASED + 1)
            storage_unclaimed_record(unclaimed, run->samples[i].extent.offset);
        else
            storage_unclaimed_end(unclaimed, run->samples[i].extent.offset);
    }
    storage_unclaimed_pause(unclaimed, run->indexed);
}

static void check_extent(const struct subject *subject, const struct format_run *run, int fd,
                         size_t i)
{
    const struct declaration declaration = {.format = subject->format,
                                            .options = (void *)(uintptr_t)subject->options};
    const struct format_run_sample *sample = &run->samples[i], *before = &run->samples[i - 1];
    struct file_window window = {.fd = fd};
    struct extent_place place = {.window = &window,
                                 .size = subject->file.size,
                                 .from = before->payload.offset + before->payload.length,
                                 .payload = sample->payload};
    struct extent extent = {0};
    struct weir_error err;

    assert_int_equal(storage_extent_read(&declaration, &place, &extent, &err), WEIR_OK);
    assert_memory_equal(&extent.at, &sample->extent, sizeof(extent.at));
    assert_true(window.at > before->extent.offset);
    storage_extent_fini(&extent);
    place.from = 0;
    assert_int_equal(storage_extent_read(&declaration, &place, &extent, &err), WEIR_OK);
    assert_memory_equal(&extent.at, &sample->extent, sizeof(extent.at));
    storage_extent_fini(&extent);
    storage_window_fini(&window);
}

static void check_extents(const struct subject *subject)
{
    static struct format_run run;
    WEIR_AUTO_FD int fd = memfd_create("file", MFD_CLOEXEC);

    if (subject->format->is_one_sample)
        return;
    assert_true(fd >= 0 && weir_write_all(fd, subject->file));
    run_over(subject, subject->file, 64, &run);
    for (size_t i = 1; i < run.count; i++)
        check_extent(subject, &run, fd, i);
}

static void what_belongs_to_a_sample_is_found_without_reading_what_is_before_it(void **state)
{
    (void)state;
    for_each_format(check_extents);
}

static void blank(const struct subject *subject, const struct unclaimed *unclaimed,
                  struct weir_buf *file)
{
    const struct declaration declaration = {.format = subject->format,
                                            .options = (void *)(uintptr_t)subject->options};
    const struct stored_file stored = {.path = weir_strdup("memory"), .size = file->size};
    const struct dataset dataset = {.declaration = &declaration};
    struct blanking blanking = {.dataset = &dataset,
                                .file = &stored,
                                .fd = memfd_create("file", MFD_CLOEXEC),
                                .head = format_run_head(subject->format, subject->file)};
    struct weir_error err;

    assert_true(blanking.fd >= 0);
    assert_true(weir_write_all(blanking.fd, weir_buf_view(file)));
    for (size_t i = 0; i < unclaimed->count; i++)
        assert_int_equal(storage_blank_records(&blanking, unclaimed->at[i], &err), WEIR_OK);
    assert_int_equal(
        storage_range_read(blanking.fd, (struct format_range){0, stored.size}, file, &err),
        WEIR_OK);
    assert_int_equal(storage_blanking_close(&blanking, &err), WEIR_OK);
    free(stored.path);
}

static void check_blanked(const struct subject *subject)
{
    static struct format_run run, again;
    struct unclaimed unclaimed = {.is_open = false};
    WEIR_AUTO_BUF file = {0};

    if (subject->format->is_one_sample)
        return;
    run_over(subject, subject->file, 64, &run);
    list_refused(subject->format, &run, &unclaimed);
    weir_buf_append(&file, subject->file.at, subject->file.size);
    blank(subject, &unclaimed, &file);
    storage_unclaimed_fini(&unclaimed);
    for (size_t i = ERASED; i < ERASED + 2; i++) {
        struct format_range gone = run.samples[i].payload;

        assert_memory_not_equal(file.at + gone.offset, subject->file.at + gone.offset, gone.length);
    }
    run_over(subject, weir_buf_view(&file), 64, &again);
    assert_int_equal(again.refused, 0);
    if (subject->format->scrub == NULL && subject->format->scrub_byte == 0)
        return; /* zeros are a record like any other */
    assert_int_equal(again.count, RECORDS - 2);
    for (size_t i = ERASED; i < again.count; i++) {
        assert_memory_equal(&again.samples[i].payload, &run.samples[i + 2].payload,
                            sizeof(again.samples[i].payload));
        assert_true(subject->format->scrub != NULL ||
                    again.samples[i].record == run.samples[i + 2].record); /* lines stay */
    }
}

static void records_that_became_no_sample_are_gone_and_passed_over(void **state)
{
    (void)state;
    for_each_format(check_blanked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_whole),
        cmocka_unit_test(a_format_has_columns_where_its_records_are_listed_as_rows_of_a_table),
        cmocka_unit_test(a_sample_is_read_back_at_its_position),
        cmocka_unit_test(a_file_has_the_same_samples_whatever_the_windows),
        cmocka_unit_test(a_file_may_end_anywhere),
        cmocka_unit_test(a_damaged_file_harms_nobody),
        cmocka_unit_test(an_erased_record_is_gone_and_passed_over),
        cmocka_unit_test(what_belongs_to_a_sample_is_found_without_reading_what_is_before_it),
        cmocka_unit_test(records_that_became_no_sample_are_gone_and_passed_over),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
