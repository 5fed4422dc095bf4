/* Jobs on texts, with real dispatcher and worker processes: samples of like length make batches,
 * vocabularies that files give are sealed, whatever dies, is erased, or is gone. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/component/preprocess_seen.h"
#include "tests/support/consume.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char JSON[] = "preprocess:\n"
                           "  operators: [{op: json_fields, fields: [a, b]}]\n"
                           "  batch: {samples: 16, order: deterministic}\n";
static const char BUCKETED[] =
    "preprocess:\n"
    "  operators: [{op: bucket_by_length, on: payload}, {op: json_fields, fields: [a, b]}]\n"
    "  batch: {samples: 16, group: 12}\n";

/* A whole job: by how many bytes lines are shorter than the longest of their batch. */
static uint64_t padding_of_job(struct lab *lab, uint64_t job, const char *section)
{
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, job, section, 1);
    struct weir_client *client = lab_consume(lab, job, NULL, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 1);
    weir_hasher_free(seen.order);
    return seen.padding;
}

static void samples_of_like_length_make_batches(void **state)
{
    struct weir_digest one = seen_whole_run(*state, 1, BUCKETED, 2, true);
    struct weir_digest three = seen_whole_run(*state, 3, BUCKETED, 2, true);
    assert_memory_equal(&one, &three, sizeof(one));
    struct lab *lab = lab_start(*state, 2, -1);
    uint64_t plain = padding_of_job(lab, 1, JSON), bucketed = padding_of_job(lab, 2, BUCKETED);
    assert_in_range(bucketed, 1, plain / 2);
    lab_stop(lab);
}

/* Erases the first of every 50 rows, up to `most`, that has not come yet; returns how many. */
static size_t erase_some(struct lab *lab, const struct seen *seen, size_t most)
{
    size_t erased = 0;
    for (size_t i = 0; i < LAB_SAMPLES && erased < most; i += 50) {
        if (seen->times[i] > 0)
            continue;
        lab_erase(lab, LAB_FIRST_ID + i);
        erased++;
    }
    return erased;
}

/* The loop goes back to the middle of a group, of which samples were erased since: the batches of it that
 * the loop has stay what they were. */
static void an_erasure_moves_no_sample_to_another_batch(void **state)
{
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, BUCKETED, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_false(seen_take(&seen, client, 7, true));
    const void *at;
    size_t size;
    (void)weir_client_state(client, &at, &size, NULL);
    WEIR_AUTO_BUF saved = {0};
    weir_buf_append(&saved, at, size);
    seen_commit(client, false);
    weir_client_close(client);
    size_t erased = erase_some(lab, &seen, 3), missing = 0;
    lab_kill_worker(lab, 0);
    lab_kill_worker(lab, 1);
    lab_kill_dispatcher(lab);
    client = lab_consume(lab, 1, saved.at, saved.size);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    for (size_t i = 0; i < LAB_SAMPLES; i++) {
        assert_in_range(seen.times[i], 0, 1);
        missing += seen.times[i] == 0;
    }
    assert_int_equal(missing, erased);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, LAB_SAMPLES);
    assert_int_equal(audit.erased, erased);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* ---- a given vocabulary ---- */

enum { PACKED_LENGTH = 64, LINE_TOKENS_MAX = 40, DIGITS_AT = 8, DIGITS_BEHIND_AT = 18 };
static const char MARKS[] = "?{}\"ab:,"; /* those in a line, by their numbers in VOCABULARY */
static const char VOCABULARY[] = "[UNK]\n{\n}\n\"\na\nb\n:\n,\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
                                 "##0\n##1\n##2\n##3\n##4\n##5\n##6\n##7\n##8\n##9\n";

/* Writes the tokens of a sample's line. */
static size_t tokens_of(uint64_t id, int32_t tokens[LINE_TOKENS_MAX])
{
    char line[64];
    size_t count = 0;
    bool is_behind = false;
    (void)seen_line(id, line);
    for (const char *at = line; *at != '\0'; at++) {
        bool is_digit = *at >= '0' && *at <= '9';
        if (is_digit)
            tokens[count++] = *at - '0' + (is_behind ? DIGITS_BEHIND_AT : DIGITS_AT);
        else if (*at != ' ')
            tokens[count++] = (int32_t)(strchr(MARKS, *at) - MARKS);
        is_behind = is_digit;
    }
    return count;
}

/* Every sample's tokens stand in the packed rows under its number, and nowhere else. */
static void expect_packed(const struct weir_batch *batch)
{
    assert_int_equal(batch->tensor_count, 2);
    const struct weir_tensor *packed = &batch->tensors[0];
    const int32_t *values = packed->data, *segments = batch->tensors[1].data;
    size_t total = packed->offsets[batch->samples], at = 0, put_in = 0;
    assert_int_equal(total % PACKED_LENGTH, 0);
    for (size_t i = 0; i < total; i++)
        put_in += segments[i] == 0;
    for (size_t i = 0; i < batch->samples; i++) {
        int32_t tokens[LINE_TOKENS_MAX];
        size_t count = tokens_of(batch->ids[i], tokens), first = 0;
        while (first < total && segments[first] != (int32_t)i + 1)
            first++;
        assert_true(first + count <= total);
        assert_memory_equal(values + first, tokens, count * sizeof(*tokens));
        at += count;
    }
    assert_int_equal(at + put_in, total);
}

/* The file is gone once the job is open, and everything dies. */
static void a_given_vocabulary_is_sealed_with_the_job(void **state)
{
    struct temp_dir dir;
    struct weir_error err;
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    uint64_t samples = 0;
    temp_dir_make(&dir);
    const char *path = temp_path(&dir, "vocab.txt");
    WEIR_AUTO_FREE char *section =
        weir_format("preprocess:\n"
                    "  operators: [{op: wordpiece, vocabulary: %s}, {op: pack, length: 64}]\n"
                    "  batch: {samples: 16}\n",
                    path);
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of(VOCABULARY), &err), WEIR_OK);
    struct lab *lab = lab_start(*state, 2, -1);
    lab_open_job(lab, 1, section, 1);
    temp_dir_remove(&dir);
    lab_kill_worker(lab, 0);
    lab_kill_dispatcher(lab);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    while (weir_client_next(client, TEST_PATIENCE_MS, &batch, &error) == WEIR_CLIENT_OK) {
        expect_packed(batch);
        samples += batch->samples;
        consume_batch(client, batch);
    }
    seen_commit(client, true);
    weir_client_close(client);
    assert_int_equal(samples, LAB_SAMPLES);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, LAB_SAMPLES);
    lab_stop(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(samples_of_like_length_make_batches, weir_test_postgres_clean),
        cmocka_unit_test_teardown(an_erasure_moves_no_sample_to_another_batch,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_given_vocabulary_is_sealed_with_the_job,
                                  weir_test_postgres_clean),
    };
    return cmocka_run_group_tests_name("preprocess texts", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
