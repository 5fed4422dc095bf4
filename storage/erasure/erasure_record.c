/* Requests, and what is worked on together: see erasure_record.h. */
#include "storage/erasure/erasure_record.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "storage/records/key_identify.h"

#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

static void drop_list(struct id_list *list)
{
    free(list->at);
    *list = (struct id_list){0};
}

void storage_erase_request_forget_names(struct erase_request *request)
{
    free(request->names.at);
    request->names = (struct key_names){0};
    drop_list(&request->subjects);
    drop_list(&request->keys);
    drop_list(&request->wanted);
}

void storage_erase_request_free(struct erase_request *request)
{
    storage_erase_request_forget_names(request);
    weir_buf_fini(&request->remarks);
    free(request->found);
    free(request->trouble);
    free(request);
}

/* ---- remarks ---- */

void storage_remark(struct weir_buf *remarks, const char *remark)
{
    if (remarks->size > 0 && strstr(weir_buf_text(remarks), remark) != NULL)
        return;
    weir_buf_printf(remarks, "%s%s", remarks->size > 0 ? "\n" : "", remark);
}

void storage_scrub_remark(struct erasure_record *erasure, uint64_t id, const char *remark)
{
    struct erase_request *request = storage_page_row(&erasure->page, id)->request;
    size_t before = request->remarks.size;

    storage_remark(&request->remarks, remark);
    request->is_remarked = request->is_remarked || request->remarks.size != before;
}

/* ---- together ---- */

enum weir_erasure_state storage_erasure_state(const char *name)
{
    static const char *const NAMES[] = {
#define X(state, number, text) [number] = text,
        WEIR_ERASURE_STATE_LIST(X)
#undef X
    };
    unsigned state = 0;

    while (state < WEIR_ERASURE_VERIFIED && strcmp(NAMES[state], name) != 0)
        state++;
    return (enum weir_erasure_state)state;
}

struct erasure_record *storage_erasure_record_new(enum weir_erasure_state state)
{
    struct erasure_record *erasure = weir_calloc(1, sizeof(*erasure));

    erasure->state = state;
    return erasure;
}

void storage_erasure_record_free(struct erasure_record *erasure)
{
    if (erasure == NULL)
        return;
    storage_scrub_round_fini(erasure);
    storage_resolving_free(erasure->resolving);
    storage_id_fetch_fini(&erasure->fetch);
    storage_page_fini(&erasure->page);
    storage_key_walk_fini(&erasure->thinning.runs);
    drop_list(&erasure->epochs);
    drop_list(&erasure->blocked);
    drop_list(&erasure->blocked_in);
    storage_scrub_look_end(erasure);
    storage_key_identifier_free(erasure->identifier);
    drop_list(&erasure->hashes);
    drop_list(&erasure->datasets);
    drop_list(&erasure->partitions);
    weir_bits_fini(&erasure->classes.left);
    free(erasure->parent);
    storage_search_free(erasure->search);
    storage_dropping_free(erasure->dropping);
    drop_list(&erasure->found.at);
    drop_list(&erasure->shared.at);
    free(erasure->failing.trouble);
    free(erasure->attempt.trouble);
    for (size_t i = 0; i < erasure->count; i++)
        storage_erase_request_free(erasure->requests[i]);
    free(erasure->requests);
    free(erasure);
}

/* The one with this number, or where it would stand. */
static size_t place_of(const struct erasure_record *erasure, uint64_t number)
{
    size_t low = 0, high = erasure->count;

    WEIR_BISECT(low, high, middle, erasure->requests[middle]->number < number);
    return low;
}

void storage_erasure_record_add(struct erasure_record *erasure, struct erase_request *request)
{
    size_t at = place_of(erasure, request->number);

    erasure->requests = weir_grow(erasure->requests, erasure->count, &erasure->capacity,
                                  sizeof(*erasure->requests));
    memmove(erasure->requests + at + 1, erasure->requests + at,
            (erasure->count++ - at) * sizeof(*erasure->requests));
    erasure->requests[at] = request;
    erasure->samples += request->samples;
    erasure->drops += request->drops_refused;
}

struct erasure_record *storage_erasure_record_part(struct erasure_record *erasure,
                                                   bool (*is_parted)(const struct erase_request *))
{
    struct erasure_record *parted = storage_erasure_record_new(erasure->state);
    size_t kept = 0;

    parted->is_begun = parted->is_blind = true;
    parted->erasure_epoch = erasure->erasure_epoch;
    parted->inherited = erasure->inherited;
    for (size_t i = 0; i < erasure->epochs.count; i++)
        storage_id_list_add(&parted->epochs, erasure->epochs.at[i]);
    for (size_t i = 0; i < erasure->count; i++) {
        struct erase_request *request = erasure->requests[i];

        if (!is_parted(request)) {
            erasure->requests[kept++] = request;
            continue;
        }
        erasure->samples -= request->samples;
        erasure->drops -= request->drops_refused;
        storage_erasure_record_add(parted, request);
    }
    erasure->count = kept;
    return parted;
}

struct erase_request *storage_erasure_record_find(const struct erasure_record *erasure,
                                                  uint64_t number)
{
    size_t at = place_of(erasure, number);

    return at < erasure->count && erasure->requests[at]->number == number ? erasure->requests[at]
                                                                          : NULL;
}

struct id_list storage_erasure_record_numbers(const struct erasure_record *erasure, size_t from,
                                              size_t max)
{
    struct id_list numbers = {0};

    for (size_t i = from; i < erasure->count && i - from < max; i++)
        storage_id_list_add(&numbers, erasure->requests[i]->number);
    return numbers;
}
