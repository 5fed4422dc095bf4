/* tf.data service's sharding policies, simulated: see visitation.h. */
#include "benchmarks/preprocess/visitation.h"

#include "core/base/memory.h"
#include "core/base/require.h"

#include <stdbool.h>

enum { WORKERS_MAX = 16, BUFFER_MAX = 64 };

struct worker {
    size_t next;               /* of its own share: the split that it makes next */
    size_t buffer[BUFFER_MAX]; /* splits made and not fetched, oldest first */
    size_t held;
};

struct service {
    const struct visitation_form *form;
    size_t splits;
    size_t handed; /* by the dispatcher: dynamic */
    struct worker workers[WORKERS_MAX];
    uint32_t *visits; /* by split */
};

/* False: nothing is left for it. */
static bool make_next(struct service *service, size_t number, size_t *ret_split)
{
    const struct visitation_form *form = service->form;
    struct worker *worker = &service->workers[number];
    size_t *next = form->policy == VISITATION_DYNAMIC ? &service->handed : &worker->next;
    size_t step = form->policy == VISITATION_STATIC ? form->workers : 1;
    size_t first = form->policy == VISITATION_STATIC ? number : 0;

    *ret_split = first + *next * step;
    if (*ret_split >= service->splits)
        return false;
    ++*next;
    return true;
}

static void fill(struct service *service, size_t number)
{
    struct worker *worker = &service->workers[number];
    size_t split;

    while (worker->held < service->form->buffered && make_next(service, number, &split))
        worker->buffer[worker->held++] = split;
}

/* The trainer asks the worker for one. False: it has come to its end. */
static bool fetch(struct service *service, size_t number)
{
    struct worker *worker = &service->workers[number];

    fill(service, number);
    if (worker->held == 0)
        return false;
    service->visits[worker->buffer[0]]++;
    worker->held--;
    for (size_t i = 0; i < worker->held; i++)
        worker->buffer[i] = worker->buffer[i + 1];
    fill(service, number);
    return true;
}

static void kill_worker(struct service *service, size_t number)
{
    service->workers[number] = (struct worker){.next = 0};
}

static void account(const struct service *service, struct visitation_audit *audit)
{
    const struct visitation_form *form = service->form;

    audit->set += form->samples;
    for (size_t split = 0; split < service->splits; split++) {
        size_t left = form->samples - split * form->split_samples;
        size_t samples = left < form->split_samples ? left : form->split_samples;
        if (service->visits[split] == 0)
            audit->lost += samples;
        else
            audit->repeated += (service->visits[split] - 1) * samples;
    }
}

/* `kill_after` 0: nobody dies. */
static void run_epoch(struct service *service, size_t kill_after)
{
    bool any = true;

    for (size_t fetched = 0; any;) {
        any = false;
        for (size_t number = 0; number < service->form->workers; number++) {
            if (!fetch(service, number))
                continue;
            any = true;
            if (++fetched == kill_after)
                kill_worker(service, 0);
        }
    }
}

struct visitation_audit visitation_run(const struct visitation_form *form)
{
    weir_require(form->workers <= WORKERS_MAX && form->buffered <= BUFFER_MAX);
    size_t splits = (form->samples + form->split_samples - 1) / form->split_samples;
    struct visitation_audit audit = {0};

    for (size_t epoch = 0; epoch < form->epochs; epoch++) {
        WEIR_AUTO_FREE uint32_t *visits = weir_calloc(splits, sizeof(*visits));
        struct service service = {.form = form, .splits = splits, .visits = visits};
        run_epoch(&service, epoch == 0 ? form->kill_after : 0);
        account(&service, &audit);
    }
    return audit;
}
