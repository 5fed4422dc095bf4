/* Batches that a consumer of the lab's jobs has seen. */
#include "tests/component/preprocess_seen.h"
#include "tests/support/consume.h"

#include "core/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

uint64_t seen_line(uint64_t id, char line[64])
{
    unsigned long row = id - LAB_FIRST_ID;
    return (uint64_t)snprintf(line, 64, "{\"a\": %lu, \"b\": %lu}", row, row * row);
}

static uint64_t padding_of(const struct weir_batch *batch)
{
    uint64_t sum = 0, longest = 0;
    for (size_t i = 0; i < batch->samples; i++) {
        char line[64];
        uint64_t length = seen_line(batch->ids[i], line);
        longest = length > longest ? length : longest;
        sum += length;
    }
    return longest * batch->samples - sum;
}

void seen_batch(struct seen *seen, const struct weir_batch *batch, bool is_raw)
{
    assert_int_equal(batch->tensor_count, 1);
    const float *x = batch->tensors[0].data;
    for (size_t i = 0; i < batch->samples; i++) {
        uint64_t row = batch->ids[i] - LAB_FIRST_ID;
        assert_true(row < LAB_SAMPLES);
        assert_int_equal(batch->labels[i], row % 2);
        if (is_raw) {
            assert_true(x[2 * i] == (float)row);
            assert_true(x[2 * i + 1] == (float)(row * row));
        }
        seen->times[row]++;
    }
    weir_hasher_add(seen->order, batch->ids, batch->samples * sizeof(uint64_t));
    weir_hasher_add(seen->order, x, batch->samples * 2 * sizeof(float));
    seen->batches++;
    seen->padding += padding_of(batch);
}

bool seen_take(struct seen *seen, struct weir_client *client, uint64_t most, bool is_raw)
{
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    enum weir_client_status status = WEIR_CLIENT_OK;
    for (uint64_t i = 0; i < most; i++) {
        status = weir_client_next(client, TEST_PATIENCE_MS, &batch, &error);
        if (status != WEIR_CLIENT_OK)
            break;
        seen_batch(seen, batch, is_raw);
        consume_batch(client, batch);
    }
    if (status != WEIR_CLIENT_OK && status != WEIR_CLIENT_END)
        fail_msg("batch %lu: %s", (unsigned long)seen->batches, error.text);
    return status == WEIR_CLIENT_END;
}

void seen_commit(struct weir_client *client, bool final)
{
    const void *state;
    size_t size;
    struct weir_client_error error = {0};
    (void)weir_client_state(client, &state, &size, NULL);
    if (weir_client_commit(client, state, size, final, TEST_PATIENCE_MS, &error) != WEIR_CLIENT_OK)
        fail_msg("commit: %s", error.text);
}

void seen_each(const struct seen *seen, unsigned times)
{
    for (size_t i = 0; i < LAB_SAMPLES; i++) {
        if (seen->times[i] != times)
            fail_msg("sample %zu came %u times, expected %u", i, seen->times[i], times);
    }
}

void seen_clean(const struct msg_job_is *audit, uint64_t set)
{
    assert_int_equal(audit->set, set);
    assert_int_equal(audit->lost, 0);
    assert_int_equal(audit->duplicated, 0);
}

/* Waits for the workers' beats, which report the output of operators. */
static void wait_until_shown(struct lab *lab, uint64_t job)
{
    int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS;
    uint64_t bytes = 0;
    while (lab_made(lab, job, &bytes) == 0 || bytes == 0)
        assert_true(weir_now_ms() < end_ms);
}

struct weir_digest seen_whole_run(struct weir_test_postgres *postgres, int workers,
                                  const char *section, uint32_t epochs, bool is_raw)
{
    struct lab *lab = lab_start(postgres, workers, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, section, epochs);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, is_raw));
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, epochs);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)LAB_SAMPLES * epochs);
    assert_int_equal(audit.delivered, (uint64_t)LAB_SAMPLES * epochs);
    assert_int_equal(audit.replayed, 0);
    struct weir_digest digest = weir_hasher_digest(seen.order);
    weir_hasher_free(seen.order);
    wait_until_shown(lab, 1);
    lab_stop(lab);
    weir_test_postgres_reset(postgres);
    return digest;
}
