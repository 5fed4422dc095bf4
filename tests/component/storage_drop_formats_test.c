/* Refused records and duplicates in a file of each format: a copy has lost them once it is taken in, and an order to
 * drop them overwrites them in a file that is only referred to, killed wherever it can be. The samples are what they
 * were, byte for byte, and nothing else is left. Samples have the word `kept`, everything else `lost`. */
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

/* Why records are lost. */
enum cause { REFUSED, DUPLICATE };

static struct storage_lab lab;

static bool is_lost(int number)
{
    return number % LOST_EACH == 1;
}

/* A duplicate has the key of the record before it. */
static int key_of(int number, enum cause cause)
{
    return is_lost(number) && cause == DUPLICATE ? number - 1 : number;
}

static bool is_refused(int number, enum cause cause)
{
    return is_lost(number) && cause == REFUSED;
}

/* ---- a file of each format ---- */

static void put_rows(enum cause cause, struct weir_buf *out)
{
    weir_buf_append_text(out, "at,key,text\n");
    for (int i = 0; i < RECORDS; i++)
        weir_buf_printf(out, is_lost(i) ? "%s%d,%d,\"lost\nlost\"\n" : "%s%d,%d,kept\n",
                        is_refused(i, cause) ? "lost " : "", i + 1, key_of(i, cause));
}

static void put_shard(enum cause cause, struct weir_buf *out)
{
    static const uint8_t ZEROS[2 * TAR_BLOCK];

    for (int i = 0; i < RECORDS; i++) {
        char name[32], text[64];

        snprintf(name, sizeof(name), "%d.json", i);
        snprintf(text, sizeof(text), "{\"at\": \"%s%d\", \"key\": %d}",
                 is_refused(i, cause) ? "lost " : "", i + 1, key_of(i, cause));
        put_member(name, weir_bytes_of(text), out);
        snprintf(name, sizeof(name), "%d.txt", i);
        snprintf(text, sizeof(text), is_lost(i) ? "lost %d" : "kept %d", i);
        put_member(name, weir_bytes_of(text), out);
    }
    weir_buf_append(out, ZEROS, sizeof(ZEROS));
}

static void put_examples(enum cause cause, struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++) {
        WEIR_AUTO_FREE char *key = weir_format("%d", key_of(i, cause));
        WEIR_AUTO_BUF features = {0}, example = {0};

        put_feature("text", is_lost(i) ? "lost" : "kept", &features);
        put_feature("key", key, &features);
        put_field(0x0a, &features, &example);
        if (is_refused(i, cause))
            put_framed(weir_bytes_of("lost, for this is no example"), out);
        else
            put_framed(weir_buf_view(&example), out);
    }
}

/* The payload of a refused sample is empty. */
static void put_columns(int number, enum cause cause, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *text = is_refused(number, cause) ? weir_strdup("")
                                : is_lost(number)         ? weir_strdup("lost")
                                                          : weir_format("kept %d", number);
    const char *who = is_lost(number) ? "lost@example.org" : "kept@example.org";
    uint8_t numbers[4 + 4 + 8 + 8];

    weir_put_u32(numbers, (uint32_t)strlen(text));
    weir_put_u32(numbers + 4, (uint32_t)strlen(who));
    weir_put_u64(numbers + 8, (uint64_t)number + 1);
    weir_put_u64(numbers + 16, (uint64_t)key_of(number, cause));
    weir_buf_append(out, numbers, sizeof(numbers));
    weir_buf_append_text(out, text);
    weir_buf_append_text(out, who);
}

static void put_refused_columns(int number, struct weir_buf *out)
{
    put_columns(number, REFUSED, out);
}

static void put_duplicate_columns(int number, struct weir_buf *out)
{
    put_columns(number, DUPLICATE, out);
}

static void put_all_columns(enum cause cause, struct weir_buf *out)
{
    static const char CONFIG[] =
        "{\"column_encodings\": [\"int\", \"int\", \"str\", \"str\"], \"column_names\": [\"at\", "
        "\"key\", \"text\", \"who\"], \"column_sizes\": [8, 8, null, null], \"compression\": null, "
        "\"format\": \"mds\", \"hashes\": [], \"size_limit\": 67108864, \"version\": 2}";

    put_mosaic(CONFIG, RECORDS, cause == REFUSED ? put_refused_columns : put_duplicate_columns,
               out);
}

/* A refused one has a time that is no number. */
static void put_words(enum cause cause, struct weir_buf *out)
{
    for (int i = 0; i < RECORDS; i++) {
        double at = is_refused(i, cause) ? (double)NAN : i + 1;
        int64_t key = key_of(i, cause);

        weir_buf_append(out, &at, sizeof(at));
        weir_buf_append(out, &key, sizeof(key));
        weir_buf_append_text(out, is_lost(i) ? "lostlost" : "keptkept");
    }
}

static const struct kind {
    const char *file, *format, *time, *key;
    void (*put)(enum cause cause, struct weir_buf *out);
} KINDS[] = {
    {"a.csv", "csv", "from: field, field: at", "field: key", put_rows},
    {"a.tar", "tar, sample: txt", "from: field, field: json.at", "field: json.key", put_shard},
    {"a.tfrecord", "tfrecord", "from: mtime", "field: key", put_examples},
    {"a.mds", "mds, sample: text", "from: field, field: at", "field: key", put_all_columns},
    {"a.bin", "binary, record_bytes: 24", "from: field, offset: 0, type: f64",
     "offset: 8, type: i64", put_words},
};

static void begin(const struct kind *kind, enum cause cause)
{
    WEIR_AUTO_FREE char *name = weir_format("source/%s", kind->file);
    WEIR_AUTO_BUF content = {0};
    FILE *file;

    storage_lab_kill(&lab);
    storage_lab_end(&lab);
    storage_lab_begin(&lab);
    kind->put(cause, &content);
    file = fopen(storage_lab_path(&lab, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content.at, 1, content.size, file), content.size);
    assert_int_equal(fclose(file), 0);
}

static void declare(const struct kind *kind, const char *import)
{
    storage_lab_must_declare(
        &lab, weir_arena_format(lab.arena,
                                "  - name: files\n"
                                "    source: {path: %%s, format: %s, import: %s, on_erase: scrub, "
                                "settle: 0ms}\n"
                                "    time: {%s}\n    key: {%s}\n    duplicates: {keep: first}\n",
                                kind->format, import, kind->time, kind->key));
    (void)storage_lab_await_counts(&lab, "files", RECORDS - LOST, LOST);
}

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

static uint64_t order(void)
{
    const struct msg_erase_accept asked = {
        .uuid = "u1", .dataset = "files", .reference = "", .drop_refused = true};
    struct msg_erase_accepted accepted = {0};

    if (storage_lab_request(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &accepted) !=
        WEIR_OK)
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

        begin(kind, REFUSED);
        lab.faults = FAULTS[i % WEIR_COUNT(FAULTS)];
        storage_lab_start(&lab);
        declare(kind, "reference");
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

/* ---- copies ---- */

static void take_in(const struct kind *kind, enum cause cause, const char *import,
                    struct read_all *all)
{
    begin(kind, cause);
    storage_lab_start(&lab);
    declare(kind, import);
    read_samples(all);
}

static void expect_samples_alone(const struct kind *kind, enum cause cause,
                                 const struct read_all *expected)
{
    struct read_all found = {0};

    if (storage_lab_holds(&lab, "data", "lost"))
        fail_msg("%s: something that was %s stands in the copy", kind->file,
                 cause == REFUSED ? "refused" : "a duplicate");
    assert_true(storage_lab_holds(&lab, "source", "lost"));
    read_samples(&found);
    assert_memory_equal(&found, expected, sizeof(found));
    storage_lab_expect_fine(&lab);
}

static void copies_of_every_format_hold_samples_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * WEIR_COUNT(KINDS); i++) {
        const struct kind *kind = &KINDS[i / 2];
        enum cause cause = i % 2 == 0 ? REFUSED : DUPLICATE;
        struct read_all referred = {0}, copied = {0};

        take_in(kind, cause, "reference", &referred);
        take_in(kind, cause, "copy", &copied);
        expect_samples_alone(kind, cause, &referred);
        storage_lab_kill(&lab);
        storage_lab_start(&lab);
        (void)storage_lab_await_counts(&lab, "files", RECORDS - LOST, LOST);
        expect_samples_alone(kind, cause, &referred);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, copies_of_every_format_hold_samples_alone),
        STORAGE_CASE(&lab, in_every_format_a_death_anywhere_only_repeats_it),
    };

    return storage_lab_run(&lab, "storage: what became no sample, in every format", tests,
                           WEIR_COUNT(tests));
}
