/* A trainer whose model is every byte of its batches, in order: what python/dump.py writes too. */
#include <stdio.h>
#include <stdlib.h>
#include <weir/client.h>

static struct weir_client_error error;

static void must(enum weir_client_status status)
{
    if (status == WEIR_CLIENT_OK)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static void put(FILE *file, const void *bytes, size_t size)
{
    if (size > 0 && fwrite(bytes, size, 1, file) != 1)
        exit(1);
}

static void put_number(FILE *file, uint64_t number)
{
    put(file, &number, sizeof(number));
}

static void put_labels(FILE *file, const struct weir_batch *batch)
{
    if (batch->label_type == WEIR_LABELS_VALUES)
        put(file, batch->label_values, batch->samples * batch->label_width * sizeof(float));
    else
        put(file, batch->labels, batch->samples * sizeof(*batch->labels));
}

static void put_tensor(FILE *file, const struct weir_tensor *tensor, size_t samples)
{
    fprintf(file, "%s%c", tensor->name, 0);
    put_number(file, tensor->offsets != NULL ? tensor->offsets[samples] : tensor->shape[0]);
    for (uint32_t i = 1; i < tensor->rank; i++)
        put_number(file, tensor->shape[i]);
    for (size_t i = 0; tensor->offsets != NULL && i <= samples; i++)
        put_number(file, tensor->offsets[i]);
    put(file, tensor->data, tensor->bytes);
}

static void dump(FILE *file, const struct weir_batch *batch)
{
    put_number(file, batch->number);
    put_number(file, batch->epoch);
    put_number(file, batch->samples);
    put_number(file, batch->holes);
    put(file, batch->ids, batch->samples * sizeof(*batch->ids));
    put_labels(file, batch);
    put(file, batch->weights, batch->samples * sizeof(*batch->weights));
    for (size_t i = 0; i < batch->tensor_count; i++)
        put_tensor(file, &batch->tensors[i], batch->samples);
}

int main(void)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_result result = {"model", 0};
    struct weir_client_task *task;
    struct weir_client *client;
    struct weir_batch *batch;
    FILE *file = fopen("model", "wb");

    if (file == NULL)
        return 1;
    must(weir_client_task(&options, &task, &error));
    options.task = task;
    must(weir_client_open(&options, &client, &error));
    while (weir_client_next(client, -1, &batch, &error) == WEIR_CLIENT_OK) {
        dump(file, batch);
        must(weir_client_consumed(client, batch->number, &error));
        weir_batch_release(batch);
    }
    if (fclose(file) != 0)
        return 1;
    must(weir_client_finish(client, &result, -1, &error));
    weir_client_close(client);
    weir_client_task_free(task);
    return 0;
}
