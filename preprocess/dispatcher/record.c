/* The part of a job that survives a crash of the dispatcher. */
#include "preprocess/dispatcher/record.h"

static void copy_seat(struct dispatcher_seat *to, const struct dispatcher_seat *from)
{
    to->session = from->session;
    to->final = from->final;
    weir_position_copy(&to->begun, &from->begun);
    weir_position_copy(&to->committed, &from->committed);
    weir_position_copy(&to->pending, &from->pending);
    weir_position_copy(&to->reported, &from->reported);
}

void preprocess_record_copy(struct dispatcher_record *to, const struct dispatcher_record *from)
{
    to->attempt = from->attempt;
    to->seats_taken = from->seats_taken;
    to->replayed = from->replayed;
    to->duplicated = from->duplicated;
    to->final = from->final;
    for (size_t i = 0; i < WEIR_RANKS_MAX; i++)
        copy_seat(&to->seats[i], &from->seats[i]);
}

void preprocess_record_fini(struct dispatcher_record *record)
{
    for (size_t i = 0; i < WEIR_RANKS_MAX; i++) {
        struct dispatcher_seat *seat = &record->seats[i];
        weir_position_fini(&seat->begun);
        weir_position_fini(&seat->committed);
        weir_position_fini(&seat->pending);
        weir_position_fini(&seat->reported);
    }
    *record = (struct dispatcher_record){0};
}
