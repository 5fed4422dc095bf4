/* Reading the rows of the pool, and writing those that have changed. */
#include "orchestrator/pool/rows.h"

#include "core/base/rng.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void read_standing(const struct weir_rows *rows, struct pool_standing *standing)
{
    *standing = (struct pool_standing){
        .resizes = weir_rows_i64(rows, 0, "resizes"),
        .wanted = weir_rows_i64(rows, 0, "wanted"),
        .targets = {(uint32_t)weir_rows_i64(rows, 0, "target"),
                    (uint32_t)weir_rows_i64(rows, 0, "host_target")},
    };
    (void)snprintf(standing->token, sizeof(standing->token), "%s",
                   weir_rows_text(rows, 0, "token"));
}

static enum weir_status read_member(const struct weir_rows *rows, size_t row,
                                    struct pool_member *member, struct weir_error *err)
{
    const char *place = weir_rows_text(rows, row, "place");
    const char *state = weir_rows_text(rows, row, "state");
    *member = (struct pool_member){
        .place =
            (enum pool_place)orchestrator_pool_index(ORCHESTRATOR_POOL_PLACES, POOL_PLACES, place),
        .number = (uint32_t)weir_rows_i64(rows, row, "number"),
        .state =
            (enum pool_state)orchestrator_pool_index(ORCHESTRATOR_POOL_STATES, POOL_STATES, state),
        .group = weir_rows_i64(rows, row, "launch_group"),
        .since_us = weir_rows_i64(rows, row, "since_us"),
    };
    weir_utf8_print(member->why, sizeof(member->why), "%s", weir_rows_text(rows, row, "why"));
    (void)snprintf(member->launcher, sizeof(member->launcher), "%s",
                   weir_rows_text(rows, row, "launcher"));
    if (member->place < POOL_PLACES && member->state < POOL_STATES)
        return WEIR_OK;
    return weir_fail(err, WEIR_CORRUPT, "pool_worker: found place '%s' and state '%s'", place,
                     state);
}

static enum weir_status load_members(const struct context *context, struct pool_members *members,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_pool_workers, &rows, err);
    if (status == WEIR_OK && weir_rows_count(rows) > POOL_MEMBERS_MAX)
        status = weir_fail(err, WEIR_CORRUPT, "pool_worker: expected at most %d rows, found %zu",
                           POOL_MEMBERS_MAX, weir_rows_count(rows));
    members->count = 0;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = read_member(rows, i, &members->at[members->count++], err);
    return status;
}

enum weir_status orchestrator_pool_load(const struct context *context, uint32_t target,
                                        struct pool_standing *ret_standing,
                                        struct pool_members *ret_members, struct weir_error *err)
{
    char token[POOL_TOKEN_SIZE];
    WEIR_AUTO(weir_rows) rows = NULL;
    (void)snprintf(token, sizeof(token), "%016" PRIx64, weir_random_u64());
    enum weir_status status =
        DB_RUN(context->db, Q_pool_begin, NULL, err, DB_TEXT(token), DB_I64(target));
    if (status == WEIR_OK)
        status = DB_RUN(context->db, Q_pool_get, &rows, err);
    if (status != WEIR_OK)
        return status;
    read_standing(rows, ret_standing);
    ret_members->groups = weir_rows_i64(rows, 0, "groups");
    return load_members(context, ret_members, err);
}

bool orchestrator_pool_same(const struct pool_standing *standing, const struct pool_standing *as)
{
    return standing->resizes == as->resizes && standing->wanted == as->wanted &&
           memcmp(standing->targets, as->targets, sizeof(as->targets)) == 0;
}

static bool is_same_member(const struct pool_member *member, const struct pool_member *as)
{
    return member->state == as->state && member->group == as->group &&
           member->since_us == as->since_us && strcmp(member->why, as->why) == 0;
}

bool orchestrator_pool_same_members(const struct pool_members *members,
                                    const struct pool_members *as)
{
    bool is_same = members->count == as->count && members->groups == as->groups;
    for (size_t i = 0; is_same && i < members->count; i++) {
        const struct pool_member *member = &members->at[i];
        const struct pool_member *other = orchestrator_pool_find(as, member->place, member->number);
        is_same = other != NULL && is_same_member(member, other);
    }
    return is_same;
}

static enum weir_status note_member(const struct context *context, const struct pool_member *member,
                                    struct weir_error *err)
{
    return DB_RUN(context->db, Q_pool_worker_note, NULL, err,
                  DB_TEXT(ORCHESTRATOR_POOL_PLACES[member->place]), DB_I64(member->number),
                  DB_TEXT(member->launcher), DB_I64(member->group),
                  DB_TEXT(ORCHESTRATOR_POOL_STATES[member->state]), DB_I64(member->since_us),
                  DB_TEXT(member->why));
}

static enum weir_status note_members(const struct context *context,
                                     const struct pool_members *before,
                                     const struct pool_members *members, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < before->count; i++) {
        const struct pool_member *member = &before->at[i];
        if (orchestrator_pool_find(members, member->place, member->number) == NULL)
            status =
                DB_RUN(context->db, Q_pool_worker_drop, NULL, err,
                       DB_TEXT(ORCHESTRATOR_POOL_PLACES[member->place]), DB_I64(member->number));
    }
    for (size_t i = 0; status == WEIR_OK && i < members->count; i++) {
        const struct pool_member *member = &members->at[i];
        const struct pool_member *was =
            orchestrator_pool_find(before, member->place, member->number);
        if (was == NULL || !is_same_member(member, was))
            status = note_member(context, member, err);
    }
    return status;
}

enum weir_status orchestrator_pool_note(const struct context *context,
                                        const struct pool_standing *standing,
                                        const struct pool_members *before,
                                        const struct pool_members *members, struct weir_error *err)
{
    enum weir_status status = DB_RUN(context->db, Q_pool_note, NULL, err, DB_I64(members->groups),
                                     DB_I64(standing->resizes), DB_I64(standing->wanted),
                                     DB_I64(standing->targets[POOL_PLACE_POOL]),
                                     DB_I64(standing->targets[POOL_PLACE_HOST]));
    return status == WEIR_OK ? note_members(context, before, members, err) : status;
}
