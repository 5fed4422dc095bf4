/* The loop of handing.py in C: microseconds, in the median, from asking for a batch that is ready to giving it back.
 * A program that a pipeline names; it says the metric `loop`. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <weir/client.h>

enum { BATCHES_MAX = 1 << 16, NAP_US = 200, BURST = 16 };

static struct weir_client_error error;

static void must(enum weir_client_status status)
{
    if (status == WEIR_CLIENT_OK)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Until a burst is ready, or all that is left. */
static void await_batches(struct weir_client *client, uint64_t left)
{
    struct weir_client_stats stats;
    uint64_t wanted = left < BURST ? left : BURST;

    for (weir_client_stats(client, &stats); stats.waiting < wanted;
         weir_client_stats(client, &stats))
        usleep(NAP_US);
}

/* Returns the time that the batch took; 0 at the end. */
static double take(struct weir_client *client)
{
    struct weir_batch *batch;
    double began = now_us();
    enum weir_client_status status = weir_client_next(client, -1, &batch, &error);

    if (status == WEIR_CLIENT_END)
        return 0;
    must(status);
    must(weir_client_consumed(client, batch->number, &error));
    weir_batch_release(batch);
    return now_us() - began;
}

int main(void)
{
    static double taken_us[BATCHES_MAX];
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_result result = {"model", 0};
    struct weir_client_task *task;
    struct weir_client *client;
    struct weir_client_info info;
    size_t count = 0;

    must(weir_client_task(&options, &task, &error));
    options.task = task;
    must(weir_client_open(&options, &client, &error));
    weir_client_info(client, &info);
    uint64_t batches = info.epochs * info.batches_per_epoch;
    for (; count < batches && count < BATCHES_MAX; count++) {
        if (count % BURST == 0)
            await_batches(client, batches - count);
        taken_us[count] = take(client);
    }
    if (take(client) != 0)
        return 1;
    qsort(taken_us, count, sizeof(*taken_us), compare);
    must(weir_client_metric(client, "loop", taken_us[count / 2], &error));
    fclose(fopen("model", "w"));
    must(weir_client_finish(client, &result, -1, &error));
    weir_client_close(client);
    weir_client_task_free(task);
    return 0;
}
