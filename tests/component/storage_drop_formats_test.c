/* An order to drop what became no sample, in a file of each format, killed wherever it can be: the samples are what
 * they were, byte for byte, and nothing else is left. Samples have the word `kept`, everything else `lost`. */
#include "tests/component/storage_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/support/format_files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { RECORDS = 9, LOST_EACH = 3, LOST = RECORDS / LOST_EACH };

static struct storage_lab lab;

static bool is_lost(int number)
{
    return number % LOST_EACH == 1;
}

/* ---- a file of each format ---- */

static void put_rows(struct weir_buf *out)
{
    weir_buf_append_text(out, "at,text\n");
    for (int i = 0; i < RECORDS; i++) {
        if (is_lost(i))
            weir_buf_printf(out, "lost %d,\"lost\nlost\"\n", i);
        else
            weir_buf_printf(out, "%d,kept %d\n", i + 1, i);
    }
}

static void put_shard(struct weir_buf *out)
{
    static const uint8_t ZEROS[2 * TAR_BLOCK];

    for (int i = 0; i < RECORDS; i++) {
        char name[32], text[64];

        snprintf(name, sizeof(name), "%d.json", i);
        snprintf(text, sizeof(text), is_lost(i) ? "{\"at\": \"lost %d\"}" : "{\"at\": %d}", i + 1);
        put_member(name, weir_bytes_of(text), out);
        snprintf(name, sizeof(name), "%d.txt", i);
        snprintf(text, sizeof(text), is_lost(i) ? "lost %d" : "kept %d", i);
        put_member(name, weir_bytes_of(text), out);
    }
    weir_buf_append(out, ZEROS, sizeof(ZEROS));
}

static void put_examples(struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++) {
        WEIR_AUTO_BUF features = {0}, example = {0};

        put_feature("text", "kept", &features);
        put_field(0x0a, &features, &example);
        if (is_lost(i))
            put_framed(weir_bytes_of("lost, for this is no example"), out);
        else
            put_framed(weir_buf_view(&example), out);
    }
}

/* The payload of a refused sample is empty. */
static void put_columns(int number, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *text = is_lost(number) ? weir_strdup("") : weir_format("kept %d", number);
    const char *who = is_lost(number) ? "lost@example.org" : "kept@example.org";
    uint8_t numbers[4 + 4 + 8];

    weir_put_u32(numbers, (uint32_t)strlen(text));
    weir_put_u32(numbers + 4, (uint32_t)strlen(who));
    weir_put_u64(numbers + 8, (uint64_t)number + 1);
    weir_buf_append(out, numbers, sizeof(numbers));
    weir_buf_append_text(out, text);
    weir_buf_append_text(out, who);
}

static void put_all_columns(struct weir_buf *out)
{
    static const char CONFIG[] =
        "{\"column_encodings\": [\"int\", \"str\", \"str\"], \"column_names\": [\"at\", \"text\", "
        "\"who\"], \"column_sizes\": [8, null, null], \"compression\": null, \"format\": \"mds\", "
        "\"hashes\": [], \"size_limit\": 67108864, \"version\": 2}";

    put_mosaic(CONFIG, RECORDS, put_columns, out);
}

/* A time that is no number. */
static void put_words(struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++) {
        double at = is_lost(i) ? (double)NAN : i + 1;

        weir_buf_append(out, &at, sizeof(at));
        weir_buf_append_text(out, is_lost(i) ? "lostlost" : "keptkept");
    }
}

#define SOURCE(format)  \
    "  - name: files\n" \
    "    source: {path: %s, " format ", import: reference, on_erase: scrub, settle: 0ms}\n"

static const struct kind {
    const char *file, *yaml;
    void (*put)(struct weir_buf *out);
} KINDS[] = {
    {"source/a.csv", SOURCE("format: csv") "    time: {from: field, field: at}\n", put_rows},
    {"source/a.tar", SOURCE("format: tar, sample: txt") "    time: {from: field, field: json.at}\n",
     put_shard},
    {"source/a.tfrecord",
     SOURCE("format: tfrecord") "    time: {from: mtime}\n    subject: {field: text}\n",
     put_examples},
    {"source/a.mds", SOURCE("format: mds, sample: text") "    time: {from: field, field: at}\n",
     put_all_columns},
    {"source/a.bin",
     SOURCE("format: binary, record_bytes: 16") "    time: {from: field, offset: 0, type: f64}\n",
     put_words},
};

/* ---- deaths ---- */

/* Samples by their number, to compare them with what they become. */
struct read_all {
    char texts[RECORDS - LOST][64];
};

static void read_samples(struct read_all *all)
{
    for (uint32_t i = 0; i < RECORDS - LOST; i++) {
        uint32_t state;
        const char *text = storage_lab_read(&lab, weir_sample_id(1, 0, i), &state);

        assert_non_null(text);
        memcpy(all->texts[i], text, strnlen(text, sizeof(all->texts[i]) - 1) + 1);
    }
}

static void begin(const struct kind *kind, const char *fault)
{
    WEIR_AUTO_BUF content = {0};
    FILE *file;

    storage_lab_kill(&lab);
    storage_lab_end(&lab);
    storage_lab_begin(&lab);
    kind->put(&content);
    file = fopen(storage_lab_path(&lab, kind->file), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content.at, 1, content.size, file), content.size);
    assert_int_equal(fclose(file), 0);
    lab.faults = fault;
    storage_lab_start(&lab);
    storage_lab_must_declare(&lab, kind->yaml);
    (void)storage_lab_await_counts(&lab, "files", RECORDS - LOST, LOST);
}

static uint64_t order(void)
{
    const struct msg_erase_accept asked = {
        .uuid = "u1", .dataset = "files", .reference = "", .drop_refused = true};
    struct msg_erase_accepted accepted = {0};

    if (storage_lab_ask(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &accepted) != WEIR_OK)
        fail_msg("%s", lab.err.text);
    return accepted.erasure;
}

static void expect_dropped(const struct kind *kind, const struct read_all *before)
{
    struct read_all after = {0};
    struct msg_dataset_is is;

    if (storage_lab_holds(&lab, "source", "lost"))
        fail_msg("%s: something that was refused still stands", kind->file);
    storage_lab_expect_fine(&lab);
    storage_lab_kill(&lab);
    storage_lab_start(&lab); /* everything is looked at again */
    is = storage_lab_await_counts(&lab, "files", RECORDS - LOST, LOST);
    assert_int_equal(is.replaced + is.removed, 0);
    read_samples(&after);
    assert_memory_equal(&after, before, sizeof(after));
}

static void in_every_format_a_death_anywhere_only_repeats_it(void **state)
{
    static const char *const FAULTS[] = {"storage.drop.overwrite=!2", "storage.drop.store=!1"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(KINDS) * WEIR_COUNT(FAULTS); i++) {
        const struct kind *kind = &KINDS[i / WEIR_COUNT(FAULTS)];
        struct read_all before = {0};
        struct msg_erase_is erased;
        uint64_t number;

        begin(kind, FAULTS[i % WEIR_COUNT(FAULTS)]);
        read_samples(&before);
        number = order();
        storage_lab_await_death(&lab);
        lab.faults = NULL;
        storage_lab_start(&lab);
        erased = storage_lab_await_erasure(&lab, number, "verified");
        if (erased.dropped.count != 1)
            fail_msg("%s: nothing is said to be dropped", kind->file);
        assert_non_null(strstr(erased.dropped.at[0], "3 refused records"));
        expect_dropped(kind, &before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, in_every_format_a_death_anywhere_only_repeats_it),
    };

    return storage_lab_run(&lab, "storage: dropping from files of every format", tests,
                           WEIR_COUNT(tests));
}
