/* The side to compare with: one process, one thread, one loop. It knows where each sample lies in mapped files, and
 * leaves it there if the first operator reads in place, so that nothing but operators and batches is left. */
#include "benchmarks/slice/workload.h"

#include "core/base/clock.h"
#include "preprocess/plan/plan.h"

#include <string.h>

/* Rows of one batch; the memory is kept from batch to batch. */
struct rows {
    uint64_t *ids;
    int64_t *labels;
    float *weights;
};

static void add_sample(const struct preprocess_plan *plan, struct weir_bytes sample,
                       struct column *payload)
{
    if (preprocess_chain_reads_in_place(plan->chain)) {
        weir_buf_append(&payload->places, &sample.at, sizeof(sample.at));
        payload->values.size +=
            sample.size; /* what offsets count; the values themselves are not read */
    } else {
        weir_buf_append(&payload->values, sample.at, sample.size);
    }
    preprocess_column_end_row(payload);
}

static void fill(const struct workload *workload, const struct preprocess_plan *plan,
                 uint64_t batch, struct rows *rows)
{
    struct preprocess_range range = preprocess_positions(&plan->geometry, batch);
    uint32_t epoch = preprocess_epoch_of(&plan->geometry, batch);
    struct column *payload = preprocess_chain_begin(plan->chain);

    for (uint32_t i = 0; i < range.count; i++) {
        uint64_t index = preprocess_plan_index(plan, epoch, range.first + i);
        size_t sample = index * WORKLOAD_STRIDE;

        add_sample(plan, corpus_sample(workload->corpus, sample), payload);
        rows->ids[i] = plan->set.ids[index];
        rows->labels[i] = workload->corpus->labels[sample];
        rows->weights[i] = 1;
    }
}

static void consume(struct chain *chain, const struct rows *rows, uint64_t batch, size_t count,
                    struct tally *tally)
{
    tally_begin(tally, batch, count);
    tally_bytes(tally, rows->ids, count * sizeof(*rows->ids));
    tally_bytes(tally, rows->labels, count * sizeof(*rows->labels));
    tally_bytes(tally, rows->weights, count * sizeof(*rows->weights));
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++) {
        const struct column *output = preprocess_chain_output(chain, i);
        if (output->about.kind == COLUMN_RAGGED)
            tally_bytes(tally, output->offsets.at, output->offsets.size);
        tally_bytes(tally, output->values.at, output->values.size);
    }
    tally_end(tally);
}

static enum weir_status make_batches(const struct workload *workload,
                                     const struct preprocess_plan *plan,
                                     struct workload_share share, struct tally *tally,
                                     struct weir_error *err)
{
    size_t most = plan->geometry.batch_samples;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(most, sizeof(*ids));
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(most, sizeof(*labels));
    WEIR_AUTO_FREE float *weights = weir_calloc(most, sizeof(*weights));
    struct rows all = {.ids = ids, .labels = labels, .weights = weights}, *rows = &all;
    for (uint64_t batch = share.first; batch < preprocess_batches(&plan->geometry);
         batch += share.step) {
        struct preprocess_range range = preprocess_positions(&plan->geometry, batch);

        fill(workload, plan, batch, rows);
        const struct operator_batch about = {.rows = range.count,
                                             .ids = rows->ids,
                                             .seed = plan->seed,
                                             .epoch = preprocess_epoch_of(&plan->geometry, batch),
                                             .trains = plan->trains};
        const uint8_t *failed = preprocess_chain_run(plan->chain, &about);
        if (memchr(failed, OPERATOR_ROW_FAILED, range.count) != NULL)
            return weir_fail(err, WEIR_INTERNAL, "batch %llu: an operator failed",
                             (unsigned long long)batch);
        consume(plan->chain, rows, batch, range.count, tally);
    }
    return WEIR_OK;
}

enum weir_status workload_run_share(const struct workload *workload, struct workload_share share,
                                    struct tally *ret_tally, struct weir_error *err)
{
    const struct preprocess_order_form form = {
        .file = "bench.yaml",
        .config = weir_bytes_of(workload->config),
        .set_path = workload->set_path,
        .set_digest = workload->set_digest,
        .epochs = workload->epochs,
        .seed = WORKLOAD_SEED,
        .mode = "train",
    };
    struct preprocess_plan plan;
    enum weir_status status = preprocess_plan_open(&form, &plan, err);
    if (status != WEIR_OK)
        return status;
    *ret_tally = (struct tally){0};
    status = make_batches(workload, &plan, share, ret_tally, err);
    preprocess_plan_close(&plan);
    return status;
}

enum weir_status workload_run_here(const struct workload *workload, struct tally *ret_tally,
                                   double *ret_seconds, struct weir_error *err)
{
    int64_t started = weir_now_ns();
    enum weir_status status =
        workload_run_share(workload, (struct workload_share){.step = 1}, ret_tally, err);
    *ret_seconds = (double)(weir_now_ns() - started) / 1e9;
    return status;
}
