/* A worker: turns the samples of leased groups into batches and sends them to trainers. */
#include "preprocess/worker/worker.h"

static const struct weir_service WORKER = {
    .lends_memory = true,
    .name = "worker",
    .summary = "turns samples into batches of tensors and sends them to trainers",
    .example =
        "worker --key rosa.key --data-dir /scratch/weir --listen tcp://10.0.0.7:* --name rosa",
    .handlers = PREPROCESS_WORKER_HANDLERS,
    .roles = WEIR_ROLE_TRAINER,
    .open = preprocess_worker_open,
    .close = preprocess_worker_close,
};

int main(int argc, char **argv)
{
    return weir_service_main(&WORKER, argc, argv);
}
