/* slow_loop MS [FILE]: a trainer that learns nothing, and takes MS milliseconds over each batch; FILE grows by a byte
 * with each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weir/client.h>

static struct weir_client_error error;

static void must(enum weir_client_status status)
{
    if (status == WEIR_CLIENT_OK)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static void step(long ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0) {
    }
}

static void note(FILE *taken)
{
    if (taken != NULL && (fputc('.', taken) == EOF || fflush(taken) != 0))
        exit(1);
}

static void write_model(void)
{
    FILE *file = fopen("model", "wb");
    if (file == NULL || fputs("nothing", file) < 0 || fclose(file) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_result result = {"model", 0};
    struct weir_client_task *task;
    struct weir_client *client;
    struct weir_batch *batch;
    long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    FILE *taken = argc > 2 ? fopen(argv[2], "ab") : NULL;

    must(weir_client_task(&options, &task, &error));
    options.task = task;
    must(weir_client_open(&options, &client, &error));
    while (weir_client_next(client, -1, &batch, &error) == WEIR_CLIENT_OK) {
        step(ms);
        must(weir_client_consumed(client, batch->number, &error));
        weir_batch_release(batch);
        note(taken);
    }
    if (taken != NULL)
        fclose(taken);
    write_model();
    must(weir_client_finish(client, &result, -1, &error));
    weir_client_close(client);
    weir_client_task_free(task);
    return 0;
}
