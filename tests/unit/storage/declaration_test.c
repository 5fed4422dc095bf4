/* The datasets section: what is accepted, what is refused with which words. */
#include "storage/catalog/declaration.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum weir_status read(const char *text, struct weir_yaml **document,
                             struct declarations *all, struct weir_error *err)
{
    assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes_of(text), document, err), WEIR_OK);
    return storage_declarations_read(weir_yaml_root(*document), all, err);
}

/* A pipeline file that is shipped with Weir. */
static void read_shipped(const char *path, struct weir_yaml **document, struct declarations *all)
{
    WEIR_AUTO_BUF file = {0};
    struct weir_error err;

    assert_int_equal(weir_file_read(path, WEIR_YAML_BYTES_MAX, &file, &err), WEIR_OK);
    assert_int_equal(read(weir_buf_text(&file), document, all, &err), WEIR_OK);
}

/* Replaces the declarations by those read from their print; their document is over then. */
static void print_and_read(struct declarations *all, const char *root, struct weir_yaml **document)
{
    WEIR_AUTO_BUF printed = {0};
    struct weir_error err;

    weir_buf_append_text(&printed, "datasets:\n");
    for (size_t i = 0; i < all->count; i++)
        storage_declaration_print(&all->at[i], root, &printed);
    storage_declarations_fini(all);
    if (read(weir_buf_text(&printed), document, all, &err) != WEIR_OK)
        fail_msg("%s\n%s", err.text, weir_buf_text(&printed));
}

static const char CLICKS[] =
    "datasets:\n"
    "  - name: clicks\n"
    "    source:  {path: data/clicks, format: binary, record_bytes: 168, import: reference, "
    "on_erase: scrub}\n"
    "    time:    {from: file_name, pattern: \"day_%Y-%m-%d\"}\n"
    "    label:   {offset: 0, type: i32}\n"
    "    subject: {offset: 160, type: u64}\n"
    "    key:     {offset: 152, type: i64}\n";

static void a_whole_declaration_is_understood(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    struct declarations all;
    struct weir_error err;
    const struct declaration *d;

    (void)state;
    assert_int_equal(read(CLICKS, &document, &all, &err), WEIR_OK);
    d = &all.at[0];
    assert_string_equal(d->format->name, "binary");
    assert_int_equal(d->fields.label.from, FORMAT_AT);
    assert_int_equal(d->label_kind, WEIR_LABEL_INT);
    assert_int_equal(d->fields.subject.offset, 160);
    assert_true(d->has_key);
    assert_int_equal(d->fields.key.offset, 152);
    assert_int_equal(d->time_from, TIME_FROM_FILE_NAME);
    assert_false(d->is_copied);
    storage_declarations_fini(&all);
}

static void what_is_printed_reads_as_the_same(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF second = {0};
    struct declarations all;
    struct weir_error err;

    (void)state;
    assert_int_equal(read(CLICKS, &document, &all, &err), WEIR_OK);
    weir_buf_append_text(&first, "datasets:\n");
    storage_declaration_print(&all.at[0], NULL, &first);
    storage_declarations_fini(&all);
    assert_int_equal(read(weir_buf_text(&first), &again, &all, &err), WEIR_OK);
    weir_buf_append_text(&second, "datasets:\n");
    storage_declaration_print(&all.at[0], NULL, &second);
    storage_declarations_fini(&all);
    assert_string_equal(weir_buf_text(&first), weir_buf_text(&second));
}

/* Two datasets that differ by what stands at a break would be taken for the same. */
static void texts_with_line_breaks_are_printed_as_they_were_declared(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;
    struct weir_error err;
    (void)state;
    assert_int_equal(
        read("datasets:\n"
             "  - name: notes\n"
             "    source: {path: \"data/a\\nb\\r\\tc\", format: files, import: reference}\n"
             "    time:   {from: mtime}\n"
             "    label:  {from: folder, classes: [\"one\\n  two\", \"three\\x01\"]}\n",
             &document, &all, &err),
        WEIR_OK);
    print_and_read(&all, NULL, &again);
    assert_string_equal(all.at[0].source.path, "data/a\nb\r\tc");
    assert_string_equal(weir_yaml_text(weir_yaml_at(all.at[0].classes, 0)), "one\n  two");
    assert_string_equal(weir_yaml_text(weir_yaml_at(all.at[0].classes, 1)), "three\x01");
    storage_declarations_fini(&all);
}

static void patterns_zones_and_units_are_printed_as_they_were_declared(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;
    struct weir_error err;

    (void)state;
    assert_int_equal(read("dataset: {name: a, source: {path: x, format: csv}, label: none,\n"
                          "          time: {from: field, field: ts, zone: Asia/Kolkata, unit: ns,\n"
                          "                 pattern: [\"%d/%m/%Y %H:%M\", \"%Y \\\"%j\\\"\"]}}\n",
                          &document, &all, &err),
                     WEIR_OK);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(all.at[0].written.count, 2);
        assert_string_equal(all.at[0].written.pattern[1].text, "%Y \"%j\"");
        assert_string_equal(all.at[0].written.zone_name, "Asia/Kolkata");
        assert_int_equal(all.at[0].time_unit, WEIR_TIME_NS);
        if (pass == 0)
            print_and_read(&all, NULL, &again);
    }
    storage_declarations_fini(&all);
}

static void records_without_a_clock_have_one_and_numbers_a_threshold(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;
    struct weir_error err;

    (void)state;
    assert_int_equal(
        read("dataset: {name: a, source: {path: x, format: csv, header: false, columns: [q, y]},\n"
             "          time: {from: record, start: 2024-01-01, every: 250ms},\n"
             "          label: {field: y, at_least: 0.1}}\n",
             &document, &all, &err),
        WEIR_OK);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(all.at[0].time_from, TIME_FROM_RECORD);
        assert_int_equal(all.at[0].start_us, INT64_C(1704067200000000));
        assert_int_equal(all.at[0].every_us, 250000);
        assert_int_equal(all.at[0].label_kind, WEIR_LABEL_INT);
        assert_true(all.at[0].has_threshold && all.at[0].threshold == 0.1);
        if (pass == 0)
            print_and_read(&all, NULL, &again);
    }
    storage_declarations_fini(&all);
}

struct mistake {
    const char *text;
    const char *complaint;
};

static void folders_and_sidecars_are_places_too(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;
    struct weir_error err;

    (void)state;
    assert_int_equal(read("dataset: {name: a, source: {path: x, format: files, sidecar: .json},\n"
                          "          time: {from: sidecar, field: meta.at, unit: ms},\n"
                          "          label: {from: folder, depth: 2, classes: stream}}\n",
                          &document, &all, &err),
                     WEIR_OK);
    assert_int_equal(all.at[0].fields.time.from, FORMAT_SIDECAR);
    assert_string_equal(all.at[0].fields.time.name, "meta.at");
    assert_int_equal(all.at[0].fields.label.from, FORMAT_FOLDER);
    assert_int_equal(all.at[0].fields.label.depth, 2);
    print_and_read(&all, NULL, &again);
    assert_string_equal(all.at[0].source.sidecar, ".json");
    assert_string_equal(all.at[0].fields.time.name, "meta.at");
    assert_int_equal(all.at[0].fields.label.depth, 2);
    storage_declarations_fini(&all);
}

static void a_label_may_be_a_vector(void **state)
{
    static const char *const TEXTS[] = {
        "dataset: {name: a, source: {path: x, format: binary, record_bytes: 40}, time: {from: mtime},\n"
        "          label: {offset: 8, values: [f64, 4]}}\n",
        "dataset: {name: a, source: {path: x, format: binary, record_bytes: 40}, time: {from: mtime},\n"
        "          label: {offset: 8, type: i16, values: [f32, 4]}}\n",
        "dataset: {name: a, source: {path: x, format: jsonl}, time: {from: mtime},\n"
        "          label: {field: at.xy, values: [f32, 4]}}\n",
        "dataset: {name: a, source: {path: x, format: csv}, time: {from: mtime},\n"
        "          label: {fields: [w, x, y, \"z\"], values: [f64, 4]}}\n",
    };
    static const size_t BYTES[] = {32, 16, 16, 32};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO(weir_yaml) again = NULL;
        struct declarations all;
        struct weir_error err;

        if (read(TEXTS[i], &document, &all, &err) != WEIR_OK)
            fail_msg("%s", err.text);
        print_and_read(&all, NULL, &again);
        assert_int_equal(all.at[0].label_kind, WEIR_LABEL_VALUES);
        assert_int_equal(all.at[0].label_width, 4);
        assert_int_equal(all.at[0].fields.label.count, 4);
        assert_int_equal(storage_declaration_value_bytes(&all.at[0]), BYTES[i]);
        storage_declarations_fini(&all);
    }
}

static const struct mistake MISTAKES[] = {
    {"dataset:\n  name: a\n  source: {path: x, format: csv}\n"
     "  time: {from: field, field: ts, zone: Berlin}\n",
     "p.yaml:4:40: datasets[0].time.zone: found no time zone 'Berlin', expected a name of the IANA "
     "database"},
    {"dataset: {name: a, source: {path: x, format: csv}, time: {from: field, field: ts,\n"
     "          pattern: \"%H:%M\"}}\n",
     "datasets[0].time.pattern: found '%H:%M', expected the conversions of strptime() with a year"},
    {"dataset: {name: a, source: {path: x, format: jsonl}, time: {from: mtime},\n"
     "          label: {field: y, values: [i32, 4]}}\n",
     "datasets[0].label.values: expected [f32, COUNT] or [f64, COUNT], with 1 to 4096"},
    {"dataset: {name: a, source: {path: x, format: jsonl}, time: {from: mtime},\n"
     "          label: {field: y, values: [f32, 4097]}}\n",
     "datasets[0].label.values: expected [f32, COUNT] or [f64, COUNT], with 1 to 4096"},
    {"dataset: {name: a, source: {path: x, format: jsonl}, time: {from: mtime},\n"
     "          label: {fields: [x, y], values: [f32, 2]}}\n",
     "datasets[0].label: with format jsonl expected {field: NAME}"},
    {"dataset: {name: a, source: {path: x, format: csv}, time: {from: mtime},\n"
     "          label: {fields: [x, y], values: [f32, 3]}}\n",
     "datasets[0].label.fields: found 2 names, expected 3 as in values"},
    {"dataset: {name: a, source: {path: x, format: csv}, time: {from: mtime},\n"
     "          label: {fields: [x, y]}}\n",
     "datasets[0].label.fields: expected values: [f32, 2] beside it"},
    {"dataset: {name: a, source: {path: x, format: csv}, time: {from: mtime},\n"
     "          label: {from: updates, values: [f32, 2]}}\n",
     "datasets[0].label.values: a vector comes with its sample"},
    {"dataset: {name: a, source: {path: x, format: csv}, time: {from: mtime},\n"
     "          label: {field: x, classes: stream, values: [f32, 2]}}\n",
     "datasets[0].label.values: a vector comes with its sample"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n    time: {from: mtime}\n"
     "    label: {field: x, values: [f32, 2]}\n"
     "  - name: b\n    source: {path: y, format: csv}\n    time: {from: mtime}\n"
     "    label: {field: x, values: [f32, 3]}\n",
     "datasets[1].label: expected the same kind of label as datasets[0] has"},
    {"datasets:\n  - name: a\n    source: {path: x, format: files}\n"
     "    time: {from: sidecar}\n",
     "source.sidecar: expected an ending like .json: a field is in a sidecar"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv, sidecar: .json}\n"
     "    time: {from: sidecar}\n",
     "datasets[0].time: with format csv expected {field: NAME}"},
    {"pipeline: {name: x}\n", "datasets: expected at least one dataset"},
    {"datasets:\n  - name: a\n    source: {path: x, format: cvs}\n    time: {from: mtime}\n",
     "p.yaml:3:31: datasets[0].source.format: unknown format 'cvs' (did you mean csv?)"},
    {"datasets:\n  - name: a\n    source: {path: x, format: parquet}\n    time: {from: mtime}\n",
     "datasets[0].source.format: unknown format 'parquet', expected one of binary, csv, files, jsonl, "
     "mds, tar, tfrecord"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv, delimter: ;}\n"
     "    time: {from: mtime}\n",
     "source.delimter: unknown key (did you mean delimiter?)"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n"
     "    time: {from: manifest}\n",
     "datasets[0].time: with format csv expected {field: NAME}"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n    time: {from: mtime}\n"
     "    subject: {field: user}\n",
     "source.on_erase: expected scrub or unlink, because a subject is declared"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv, on_erase: unlink}\n"
     "    time: {from: mtime}\n    subject: {field: user}\n",
     "source.on_erase: found unlink, expected scrub"},
    {"datasets:\n  - name: a\n    source: {path: x, format: binary, record_bytes: 8}\n"
     "    time: {from: mtime}\n    label: {offset: 6, type: i32}\n",
     "label.offset: 6 leaves no room for 1 x i32 in records of 8 bytes"},
    {"datasets:\n  - name: a\n    source: {path: x, format: binary}\n    time: {from: mtime}\n",
     "record_bytes"},
    {"datasets:\n  - name: ../a\n    source: {path: x, format: csv}\n    time: {from: mtime}\n",
     "datasets[0].name: found '../a'"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n"
     "    time: {from: file_name}\n",
     "time.pattern: expected a pattern"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n    time: {from: record}\n",
     "time.start: expected a time such as 2002-12-01"},
    {"datasets:\n  - name: a\n    source: {push: true, format: csv}\n"
     "    time: {from: record, start: 2002-12-01}\n",
     "time.from: found record, expected field, or mtime"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv, columns: [l]}\n"
     "    time: {from: mtime}\n",
     "source.columns: found names beside header: true"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n    time: {from: mtime}\n"
     "    label: {field: l, classes: stream, at_least: 3}\n",
     "label.at_least: found classes too"},
    {"datasets:\n  - name: a\n    source: {path: x, format: csv}\n    time: {from: mtime}\n"
     "    label: {field: l, classes: [one]}\n",
     "label.classes: expected stream or a list of at least two names"},
    {"datasets:\n  - &d {name: a, source: {path: x, format: csv}, time: {from: mtime}}\n"
     "  - {name: a, source: {path: y, format: csv}, time: {from: mtime}}\n",
     "datasets[1].name: 'a' is the name of datasets[0] already"},
    {"datasets:\n  - {name: a, source: {path: x, format: csv}, time: {from: mtime}}\n"
     "  - {name: b, source: {path: y, format: csv}, time: {from: mtime}, label: {field: l}}\n",
     "p.yaml:3:75: datasets[1].label: expected the same kind of label as datasets[0] has"},
    {"datasets:\n  - {name: a, source: {path: x, format: csv}, time: {from: mtime}, "
     "label: {field: l, classes: [ham, spam]}}\n"
     "  - {name: b, source: {path: y, format: csv}, time: {from: mtime}, "
     "label: {field: l, classes: [spam, ham]}}\n",
     "datasets[1].label.classes: expected the same list of names as in datasets[0]"},
    {"datasets:\n  - {name: a, source: {path: x, format: csv}, time: {from: mtime}, "
     "label: {field: l, classes: stream}}\n"
     "  - {name: b, source: {path: y, format: csv}, time: {from: mtime}, "
     "label: {field: l, classes: stream}}\n",
     "datasets[1].label.classes: expected the same list of names as in datasets[0]"},
};

static void expect_complaints(const struct mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        struct declarations all;
        struct weir_error err;

        assert_int_equal(read(mistakes[i].text, &document, &all, &err), WEIR_INVALID);
        if (strstr(err.text, mistakes[i].complaint) == NULL)
            fail_msg("expected \"%s\" in \"%s\"", mistakes[i].complaint, err.text);
    }
}

static void mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    expect_complaints(MISTAKES, WEIR_COUNT(MISTAKES));
}

static void a_source_lies_outside_of_weirs_own_folders(void **state)
{
    static const struct mistake INSIDE[] = {
        {"datasets:\n  - {name: a, source: {path: /usr/lib/../lib, format: csv}, "
         "time: {from: mtime}}\n",
         "datasets[0].source.path: found /usr/lib/../lib, expected a folder outside of the data"},
        {"datasets:\n  - name: a\n    source: {format: csv, path: /usr/../usr, include: '*.csv'}\n"
         "    time: {from: mtime}\n",
         "p.yaml:3:33: datasets[0].source.path: found /usr/../usr, which contains /usr/lib, a "
         "directory of Weir's own"},
        {"datasets:\n  - {name: a, source: {path: /, format: csv}, time: {from: mtime}}\n",
         "datasets[0].source.path: found /, which contains /var"},
    };
    static const char BESIDE[] =
        "datasets:\n  - {name: a, source: {path: /usr/library, format: csv}, "
        "time: {from: mtime}}\n";
    WEIR_AUTO(weir_yaml) document = NULL;
    struct declarations all;
    struct weir_error err;

    (void)state;
    setenv("WEIR_CLOSED", "/var\n/usr/lib", 1);
    expect_complaints(INSIDE, WEIR_COUNT(INSIDE));
    assert_int_equal(read(BESIDE, &document, &all, &err), WEIR_OK);
    unsetenv("WEIR_CLOSED");
    storage_declarations_fini(&all);
}

static void a_folder_has_no_part_in_pushing(void **state)
{
    static const struct mistake CASES[] = {
        {"datasets:\n  - name: a\n    source: {format: csv}\n    time: {from: mtime}\n",
         "datasets[0].source.path: expected a folder, s3, or push: true"},
        {"datasets:\n  - name: a\n    source: {push: true, path: x, format: csv}\n"
         "    time: {from: mtime}\n",
         "p.yaml:3:32: datasets[0].source.path: expected none with push: true"},
        {"datasets:\n  - name: a\n    source: {push: true, format: files}\n"
         "    time: {from: mtime}\n",
         "datasets[0].source.format: found 'files' with push: true"},
        {"datasets:\n  - name: a\n    source: {push: true, format: csv}\n"
         "    time: {from: file_name, pattern: \"%Y\"}\n",
         "datasets[0].time.from: found file_name, expected field"},
    };

    (void)state;
    expect_complaints(CASES, WEIR_COUNT(CASES));
}

#define BUCKET(endpoint, rest)                                                                \
    "datasets:\n  - name: a\n    source:\n      s3: {endpoint: \"" endpoint "\", " rest "}\n" \
    "      format: csv\n    time: {from: mtime}\n"

static void a_bucket_is_named_exactly(void **state)
{
    static const struct mistake CASES[] = {
        {BUCKET("http://store.example.org", "bucket: b"),
         "p.yaml:4:23: datasets[0].source.s3.endpoint: found 'http://store.example.org', expected "
         "https://HOST"},
        {BUCKET("http://localhost.example.org", "bucket: b"), "expected https://HOST"},
        {BUCKET("https://x", "bucket: b/c"), "s3.bucket: found 'b/c'"},
        {BUCKET("https://x", "bucket: b, prefix: p"), "s3.prefix: found 'p', expected it to end"},
        {BUCKET("https://x", "bucket: b, secret: s"), "datasets[0].source.s3.secret: unknown key"},
        {BUCKET("https://x", "bucket: \"b@y:1\", style: host"), "s3.bucket: found 'b@y:1'"},
        {BUCKET("https://x", "bucket: b, key_id_env: HOME"), "expected the name of credentials"},
        {BUCKET("https://x", "bucket: b, secret_env: HOME"), "expected the name of credentials"},
        {BUCKET("https://x", "bucket: b, credentials: /etc/passwd"),
         "p.yaml:4:11: datasets[0].source.s3: found a secret's variable or file"},
        {"datasets:\n  - name: a\n    source: {path: x, s3: {endpoint: \"https://x\", bucket: b}, "
         "format: csv}\n    time: {from: mtime}\n",
         "expected s3 without path or push"},
    };

    (void)state;
    expect_complaints(CASES, WEIR_COUNT(CASES));
}

static void a_bucket_is_printed_as_it_is_read(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;
    struct weir_error err;

    (void)state;
    assert_int_equal(read(BUCKET("http://127.0.0.1:9000", "bucket: b, prefix: p/, style: host"),
                          &document, &all, &err),
                     WEIR_OK);
    assert_true(all.at[0].is_mirrored);
    print_and_read(&all, "/somewhere", &again);
    assert_string_equal(all.at[0].s3.prefix, "p/");
    assert_int_equal(all.at[0].s3.style, S3_STYLE_HOST);
    assert_int_equal(all.at[0].s3.every, 30000000);
    assert_string_equal(all.at[0].s3.credentials, "environment");
    storage_declarations_fini(&all);
}

static void pushed_samples_need_no_folder(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;

    (void)state;
    read_shipped(WEIR_SOURCE_DIR "/config/pipelines/pushed.yaml", &document, &all);
    assert_true(all.at[0].is_pushed);
    assert_true(all.at[0].is_copied);
    assert_int_equal(all.at[0].source.segment_bytes, 256 << 20);
    print_and_read(&all, NULL, &again);
    assert_true(all.at[0].is_pushed);
    storage_declarations_fini(&all);
}

static void labels_may_come_from_another_dataset(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    struct declarations all;

    (void)state;
    read_shipped(WEIR_SOURCE_DIR "/config/pipelines/late_labels.yaml", &document, &all);
    print_and_read(&all, NULL, &again);
    assert_true(all.at[0].awaits_label);
    assert_int_equal(all.at[0].label_kind, WEIR_LABEL_INT);
    assert_string_equal(all.at[1].updates, "offers");
    storage_declarations_fini(&all);
}

#define LATE(label, more)                                                                        \
    "datasets:\n  - {name: a, source: {path: x, format: jsonl}, time: {field: t, from: field}, " \
    "label: " label more "}\n"
#define LABELS(more)                                                                  \
    "  - {name: b, source: {path: y, format: jsonl}, time: {field: t, from: field}, " \
    "label: {field: l}" more "}\n"

static void keys_labels_and_duplicates_must_fit(void **state)
{
    static const struct mistake CASES[] = {
        {LATE("{from: updates}", ", key: {field: k}"), "datasets[0].label.from: found updates"},
        {LATE("{from: updates}", "") LABELS(", key: {field: k}, updates: a"),
         "datasets[0].label.from: found updates, expected a source.path, a key"},
        {LATE("{from: updates}", ", key: {field: k}, duplicates: {keep: last}")
             LABELS(", key: {field: k}, updates: a"),
         "datasets[0].label.from: found updates"},
        {LATE("{from: updates}", ", key: {field: k}") LABELS(", updates: a"),
         "datasets[1].updates: expected another dataset with label: {from: updates"},
        {LATE("{field: l}", ", key: {field: k}") LABELS(", key: {field: k}, updates: a"),
         "datasets[1].updates: expected another dataset"},
        {LATE("{from: updates}", ", key: {field: k}") LABELS(", key: {field: k}, updates: c"),
         "datasets[0].label.from: found updates"},
        {LATE("{field: l}", ", holdout: {share: 0.1, by: subject}"),
         "datasets[0].holdout.by: found subject, expected subject: {field: NAME} beside it"},
        {LATE("{field: l}", ", duplicates: {keep: first}"),
         "datasets[0].duplicates.keep: found first without a key"},
        {LATE("{field: l}", ", key: {field: k}, duplicates: {keep: frist}"),
         "datasets[0].duplicates.keep:"},
    };

    (void)state;
    expect_complaints(CASES, WEIR_COUNT(CASES));
}

static void a_list_of_one_needs_no_dash(void **state)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    struct declarations all;
    struct weir_error err;

    (void)state;
    assert_int_equal(read("dataset: {name: a, source: {path: x, format: jsonl}, "
                          "time: {from: field, field: ts}, label: none}\n",
                          &document, &all, &err),
                     WEIR_OK);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.at[0].label_kind, WEIR_LABEL_NONE);
    storage_declarations_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_declaration_is_understood),
        cmocka_unit_test(a_label_may_be_a_vector),
        cmocka_unit_test(what_is_printed_reads_as_the_same),
        cmocka_unit_test(folders_and_sidecars_are_places_too),
        cmocka_unit_test(texts_with_line_breaks_are_printed_as_they_were_declared),
        cmocka_unit_test(patterns_zones_and_units_are_printed_as_they_were_declared),
        cmocka_unit_test(records_without_a_clock_have_one_and_numbers_a_threshold),
        cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(a_source_lies_outside_of_weirs_own_folders),
        cmocka_unit_test(a_folder_has_no_part_in_pushing),
        cmocka_unit_test(a_bucket_is_named_exactly),
        cmocka_unit_test(a_bucket_is_printed_as_it_is_read),
        cmocka_unit_test(pushed_samples_need_no_folder),
        cmocka_unit_test(labels_may_come_from_another_dataset),
        cmocka_unit_test(keys_labels_and_duplicates_must_fit),
        cmocka_unit_test(a_list_of_one_needs_no_dash),
    };
    return cmocka_run_group_tests_name("storage: declarations", tests, NULL, NULL);
}
