/* Look-ups in sorted runs find what is there and nothing else, read one segment a run, and need no filter;
 * merging keeps the number of runs small. */
#include "storage/keys/key_index.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/keys/sorted_run_policy.h"
#include "storage/keys/sorted_run_sort.h"
#include "storage/keys/sorted_run_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUNS_MAX = 8 };

/* Runs as Postgres would keep them. */
struct stored_runs {
    struct {
        struct weir_buf bytes;
        struct id_list sizes;
    } runs[RUNS_MAX];
    size_t reads;
    bool is_broken;
};

static enum weir_status read_segments(void *owner, uint64_t run, const uint64_t *numbers,
                                      size_t count, struct weir_bytes *ret_bytes,
                                      struct weir_error *err)
{
    struct stored_runs *stored = owner;

    if (stored->is_broken)
        return weir_fail(err, WEIR_UNAVAILABLE, "no database");
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        assert_true(i == 0 || numbers[i] > numbers[i - 1]);
        for (size_t s = 0; s < numbers[i]; s++)
            at += stored->runs[run].sizes.at[s];
        ret_bytes[i] =
            weir_bytes(stored->runs[run].bytes.at + at, stored->runs[run].sizes.at[numbers[i]]);
        stored->reads++;
    }
    return WEIR_OK;
}

/* Puts the entries into the index as run `number`. */
static void store_run(struct stored_runs *stored, struct key_index *index, uint64_t number,
                      struct sorted_run_entry *entries, size_t count)
{
    struct sorted_run_writer writer;
    struct sorted_run run = {.number = number, .count = count};

    storage_sorted_run_sort(entries, count, (struct sorted_run_pause){0});
    storage_sorted_run_writer_init(&writer, count, 10, 1 << 20);
    storage_sorted_run_writer_add(&writer, entries, count / 3); /* in pieces, as a merge does */
    storage_sorted_run_writer_add(&writer, entries + count / 3, count - count / 3);
    storage_sorted_run_writer_end(&writer);
    run.segments = writer.fences.size / sizeof(uint32_t);
    run.fences = weir_calloc(run.segments + 1, sizeof(*run.fences));
    memcpy(run.fences, writer.fences.at, writer.fences.size);
    run.filter = writer.filter;
    writer.filter = (struct sorted_run_filter){0};
    stored->runs[number].bytes = writer.bytes;
    writer.bytes = (struct weir_buf){0};
    stored->runs[number].sizes = writer.sizes;
    writer.sizes = (struct id_list){0};
    storage_sorted_run_writer_fini(&writer);
    storage_key_index_add(index, &run);
}

static void clear(struct stored_runs *stored, struct key_index *index)
{
    for (size_t i = 0; i < RUNS_MAX; i++) {
        weir_buf_fini(&stored->runs[i].bytes);
        free(stored->runs[i].sizes.at);
    }
    storage_key_index_fini(index);
}

static size_t count_of(const struct sorted_run_entry *entries, size_t count, uint64_t hash)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += entries[i].hash == hash;
    return found;
}

/* A look-up in one go. */
static enum weir_status find(const struct key_index *index, const uint64_t *hashes, size_t count,
                             const struct key_source *source, struct key_hits *hits)
{
    struct key_walk walk = {.hashes = hashes, .hash_count = count};
    enum weir_status status = WEIR_OK;
    struct weir_error err;

    for (bool is_done = false; status == WEIR_OK && !is_done;)
        status = storage_key_index_walk(index, &walk, source, hits, &is_done, &err);
    storage_key_walk_fini(&walk);
    return status;
}

/* Against a plain search, with hashes that fill several segments, and with and without filters. */
static void a_look_up_finds_exactly_what_is_there(void **state)
{
    enum { COUNT = 20000 };
    WEIR_AUTO_FREE struct sorted_run_entry *all = weir_calloc(COUNT, sizeof(*all));
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 3);
    for (size_t budget_bytes = 0; budget_bytes <= 1 << 20; budget_bytes += 1 << 20) {
        struct key_budget budget = {.bytes_max = budget_bytes};
        struct key_index index = {.kind = KEY_SUBJECT, .budget = &budget};
        struct stored_runs stored = {0};
        const struct key_source source = {.owner = &stored, .segments = read_segments};
        WEIR_AUTO_FREE struct sorted_run_entry *entries = weir_calloc(COUNT, sizeof(*entries));

        for (size_t i = 0; i < COUNT; i++) {
            uint64_t who = weir_rng_below(&rng, 4) == 0 ? 0 : weir_rng_below(&rng, 500);

            all[i] = (struct sorted_run_entry){.hash = weir_mix64(who), .id = i};
        }
        memcpy(entries, all, COUNT * sizeof(*all));
        for (uint64_t r = 0; r < 4; r++)
            store_run(&stored, &index, r, entries + r * COUNT / 4, COUNT / 4);
        for (uint64_t who = 0; who < 520; who++) { /* twenty that are not there */
            uint64_t hash = weir_mix64(who);
            struct key_hits hits = {0};

            assert_int_equal(find(&index, &hash, 1, &source, &hits), WEIR_OK);
            assert_int_equal(hits.count, count_of(all, COUNT, hash));
            assert_int_equal(count_of(hits.at, hits.count, hash), hits.count);
            free(hits.at);
        }
        assert_true(budget.bytes <= budget.bytes_max);
        clear(&stored, &index);
        assert_int_equal(budget.bytes, 0);
    }
}

static void many_hashes_are_found_in_one_pass(void **state)
{
    enum { COUNT = 30000 };
    WEIR_AUTO_FREE struct sorted_run_entry *entries = weir_calloc(COUNT, sizeof(*entries));
    WEIR_AUTO_FREE uint64_t *hashes = weir_calloc(COUNT, sizeof(*hashes));
    struct key_budget budget = {.bytes_max = 1 << 20};
    struct key_index index = {.kind = KEY_SUBJECT, .budget = &budget};
    struct stored_runs stored = {0};
    const struct key_source source = {.owner = &stored, .segments = read_segments};
    struct key_hits hits = {0};

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        entries[i] = (struct sorted_run_entry){.hash = weir_mix64(i), .id = i};
    store_run(&stored, &index, 0, entries, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        hashes[i] = entries[i].hash;
    assert_int_equal(find(&index, hashes, COUNT, &source, &hits), WEIR_OK);
    assert_int_equal(hits.count, COUNT);
    assert_memory_equal(hits.at, entries, COUNT * sizeof(*entries));
    assert_int_equal(stored.reads,
                     (COUNT + SORTED_RUN_SEGMENT_ENTRIES - 1) / SORTED_RUN_SEGMENT_ENTRIES);
    free(hits.at);
    clear(&stored, &index);
}

static void a_look_up_reads_one_segment_and_hardly_ever_in_vain(void **state)
{
    enum { COUNT = 100000, ASKED = 2000 };
    WEIR_AUTO_FREE struct sorted_run_entry *entries = weir_calloc(COUNT, sizeof(*entries));
    struct key_budget budget = {.bytes_max = 1 << 20};
    struct key_index index = {.kind = KEY_SUBJECT, .budget = &budget};
    struct stored_runs stored = {0};
    const struct key_source source = {.owner = &stored, .segments = read_segments};
    struct key_hits hits = {0};

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        entries[i] = (struct sorted_run_entry){.hash = weir_mix64(i), .id = i};
    store_run(&stored, &index, 0, entries, COUNT);
    for (uint64_t i = 0; i < ASKED; i++) {
        uint64_t hash = weir_mix64(i);

        assert_int_equal(find(&index, &hash, 1, &source, &hits), WEIR_OK);
    }
    assert_int_equal(hits.count, ASKED);
    assert_in_range(stored.reads, ASKED, ASKED + ASKED / 20);
    stored.reads = 0;
    for (uint64_t i = COUNT; i < COUNT + ASKED; i++) {
        uint64_t hash = weir_mix64(i);

        assert_int_equal(find(&index, &hash, 1, &source, &hits), WEIR_OK);
    }
    assert_int_equal(hits.count, ASKED);
    assert_true(stored.reads <= ASKED / 40);
    free(hits.at);
    clear(&stored, &index);
}

static void an_unreadable_run_is_an_error_not_an_empty_answer(void **state)
{
    struct sorted_run_entry entry = {.hash = 77, .id = 3};
    struct key_index index = {.kind = KEY_SUBJECT};
    struct stored_runs stored = {0};
    const struct key_source source = {.owner = &stored, .segments = read_segments};
    struct key_hits hits = {0};
    const uint64_t hash = 77;

    (void)state;
    store_run(&stored, &index, 0, &entry, 1);
    stored.is_broken = true;
    assert_int_equal(find(&index, &hash, 1, &source, &hits), WEIR_UNAVAILABLE);
    stored.is_broken = false;
    stored.runs[0].bytes.at[0] ^= 0xff;
    assert_int_equal(find(&index, &hash, 1, &source, &hits), WEIR_CORRUPT);
    assert_int_equal(hits.count, 0);
    clear(&stored, &index);
}

static double false_share(unsigned bits)
{
    enum { COUNT = 100000 };
    struct sorted_run_filter filter;
    size_t passed = 0;

    storage_sorted_run_filter_init(&filter, COUNT, bits);
    for (uint64_t i = 0; i < COUNT; i++)
        storage_sorted_run_filter_add(&filter, weir_mix64(i));
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(storage_sorted_run_filter_may_hold(&filter, weir_mix64(i)));
    for (uint64_t i = COUNT; i < 2 * COUNT; i++)
        passed += storage_sorted_run_filter_may_hold(&filter, weir_mix64(i));
    storage_sorted_run_filter_fini(&filter);
    return (double)passed / COUNT;
}

static void a_filter_lets_little_through(void **state)
{
    (void)state;
    assert_true(false_share(10) < 0.015);
    assert_true(false_share(16) < 0.002);
}

/* Batches arrive for ever: runs stay few, and an entry is rewritten about once a tier. */
static void merging_keeps_runs_few_and_writes_bounded(void **state)
{
    enum { BATCHES = 4000, BATCH = 262144 }; /* 1 B samples */
    uint64_t counts[256];
    size_t runs = 0, most = 0, chosen[SORTED_RUN_FAN_IN_MAX], count;
    uint64_t written = 0, in = 0;

    (void)state;
    for (size_t batch = 0; batch < BATCHES; batch++) {
        counts[runs++] = BATCH;
        in += BATCH;
        while ((count = storage_sorted_run_choose(counts, runs, SORTED_RUN_FAN_IN, chosen)) > 0) {
            uint64_t total = 0;

            assert_in_range(count, SORTED_RUN_FAN_IN, SORTED_RUN_FAN_IN_MAX);
            for (size_t i = count; i-- > 0;) {
                total += counts[chosen[i]];
                counts[chosen[i]] = counts[--runs];
            }
            counts[runs++] = total;
            written += total;
        }
        most = runs > most ? runs : most;
    }
    assert_true(most <= 5 * SORTED_RUN_FAN_IN);
    assert_true(written <= 4 * in); /* and once by its batch: 5 times in all */
}

static void while_ingesting_merges_wait_for_many_runs(void **state)
{
    uint64_t counts[SORTED_RUN_FAN_IN_MAX + 1];
    size_t chosen[SORTED_RUN_FAN_IN_MAX];

    (void)state;
    for (size_t i = 0; i <= SORTED_RUN_FAN_IN_MAX; i++)
        counts[i] = 1000;
    assert_int_equal(
        storage_sorted_run_choose(counts, SORTED_RUN_FAN_IN_MAX - 1, SORTED_RUN_FAN_IN_MAX, chosen),
        0);
    assert_int_equal(
        storage_sorted_run_choose(counts, SORTED_RUN_FAN_IN_MAX + 1, SORTED_RUN_FAN_IN_MAX, chosen),
        SORTED_RUN_FAN_IN_MAX);
    assert_int_equal(storage_sorted_run_choose(counts, 0, SORTED_RUN_FAN_IN, chosen), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_up_finds_exactly_what_is_there),
        cmocka_unit_test(many_hashes_are_found_in_one_pass),
        cmocka_unit_test(a_look_up_reads_one_segment_and_hardly_ever_in_vain),
        cmocka_unit_test(an_unreadable_run_is_an_error_not_an_empty_answer),
        cmocka_unit_test(a_filter_lets_little_through),
        cmocka_unit_test(merging_keeps_runs_few_and_writes_bounded),
        cmocka_unit_test(while_ingesting_merges_wait_for_many_runs),
    };

    return cmocka_run_group_tests_name("key_index", tests, NULL, NULL);
}
