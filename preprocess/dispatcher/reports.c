/* State that may be stored a little late: how far consumers have come, costs, failures, silences. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>

struct reporting {
    struct dispatcher *dispatcher;
    struct dispatcher_images images;
    struct dispatcher_asking *asking; /* for what came of the rows that are kept; NULL: nobody */
    struct msg_cache_is kept;         /* in its arena */
};

static enum weir_status store(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct reporting *reporting = owner;
    enum weir_status status = preprocess_store_reports(db, &reporting->images, err);
    if (status == WEIR_OK && reporting->asking != NULL)
        status = preprocess_store_kept(db, reporting->asking->arena, &reporting->kept, err);
    return status;
}

static void put_back(const struct reporting *reporting, const struct weir_error *err)
{
    for (size_t i = 0; i < reporting->images.count; i++) {
        const struct dispatcher_image *image = &reporting->images.at[i];
        struct dispatcher_entry *entry =
            preprocess_dispatcher_in_memory(reporting->dispatcher, image->number);
        if (entry != NULL)
            preprocess_image_put_back(image, entry);
    }
    weir_log(WEIR_LOG_DEBUG, "report not stored, trying again", "reason=\"%s\"", err->text);
}

/* Those that were stored before a failure are stored again: that changes nothing. */
static void on_stored(void *owner, const struct weir_error *err)
{
    struct reporting *reporting = owner;
    if (err != NULL)
        put_back(reporting, err);
    if (reporting->asking == NULL)
        reporting->dispatcher->is_reporting = false;
    else
        weir_rpc_answer(&reporting->asking->request, err != NULL ? err->status : WEIR_OK,
                        MSG_cache_is, &reporting->kept, NULL, err);
}

static void drop(void *owner)
{
    struct reporting *reporting = owner;
    preprocess_images_fini(&reporting->images);
    preprocess_asking_free(reporting->asking);
    free(reporting);
}

static void run(struct dispatcher *dispatcher, struct dispatcher_asking *asking)
{
    struct reporting *reporting = weir_calloc(1, sizeof(*reporting));
    *reporting = (struct reporting){.dispatcher = dispatcher, .asking = asking};
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (preprocess_image_is_due(dispatcher->entries[i], DISPATCHER_SILENCE_MS))
            preprocess_image_of_report(&reporting->images, dispatcher->entries[i],
                                       DISPATCHER_SILENCE_MS);
    }
    if (reporting->images.count == 0 && asking == NULL) {
        drop(reporting);
        return;
    }
    dispatcher->is_reporting |= asking == NULL;
    weir_db_thread_run(dispatcher->thread,
                       &(struct weir_db_job){store, on_stored, drop, reporting});
}

void preprocess_dispatcher_report(struct dispatcher *dispatcher)
{
    if (!dispatcher->is_reporting)
        run(dispatcher, NULL);
}

void preprocess_dispatcher_on_cache_request(void *state, struct weir_request *request)
{
    run(state, preprocess_asking_keep(state, request, preprocess_dispatcher_on_cache_request));
}
