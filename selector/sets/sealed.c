/* Files and rows of sealed sets. The file comes first: a row never names a file that is not there,
 * and a file without its row is written again, the same, under the same name. */
#include "selector/sets/sealed.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "selector/sql/queries.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum weir_status add_all(struct weir_sample_set_writer *writer,
                                const struct selector_sealing *sealing, struct weir_error *err)
{
    const struct selector_set *set = sealing->set;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*ids));
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < set->block_count; i++)
        status = scoring_goes_on(&sealing->progress, i, set->block_count)
                     ? weir_sample_set_add(writer, ids, selector_set_ids(set, i, ids), err)
                     : scoring_given_up(err);
    return status;
}

enum weir_status selector_sealed_write(const struct selector_sealing *sealing,
                                       struct selector_sealed *sealed, struct weir_error *err)
{
    const struct selector_set *set = sealing->set;
    const struct selector_parts *parts = sealing->parts;
    if (set->count == 0)
        return WEIR_OK;
    struct weir_digest digest;
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    WEIR_AUTO_FREE char *fresh =
        weir_format("%s/sets/sealing.%zu.set", sealing->data_dir, sealing->writer);
    enum weir_status status =
        weir_sample_set_begin(fresh, set->count, sealing->weights, &writer, err);
    if (status == WEIR_OK && parts != NULL)
        weir_sample_set_divide(
            writer, &(struct weir_epoch_parts){parts->indices, parts->samples, parts->count});
    if (status == WEIR_OK)
        status = add_all(writer, sealing, err);
    if (status == WEIR_OK)
        status = weir_sample_set_finish(writer, &digest, err);
    if (status != WEIR_OK)
        return status;
    weir_digest_text(&digest, sealed->digest);
    sealed->samples = set->count;
    WEIR_AUTO_FREE char *path = selector_sealed_path(sealing->data_dir, sealed);
    if (weir_fault("selector.sealing"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault selector.sealing");
    status = weir_sample_set_publish(writer, path, err);
    if (status == WEIR_OK && weir_fault("selector.sealed"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault selector.sealed");
    return status;
}

enum weir_status selector_sealed_window(const char *data_dir, size_t writer,
                                        const struct msg_window_seal *asked,
                                        struct selector_sealed *sealed, struct weir_error *err)
{
    const uint64_t *ids = asked->ids.at;
    for (size_t i = 1; i < asked->ids.count; i++)
        if (ids[i] <= ids[i - 1])
            return weir_fail(err, WEIR_INVALID,
                             "window_seal.ids: found %" PRIu64 " behind %" PRIu64
                             ", expected ids that ascend",
                             ids[i], ids[i - 1]);
    struct selector_set set = {0};
    selector_set_of_ids(&set, ids, asked->ids.count);
    const struct selector_sealing sealing = {.data_dir = data_dir, .writer = writer, .set = &set};
    enum weir_status status = selector_sealed_write(&sealing, sealed, err);
    selector_set_fini(&set);
    return status;
}

enum weir_status selector_sealed_find_trigger(struct weir_db *db, const char *pipeline,
                                              uint64_t trigger, uint32_t round,
                                              struct selector_sealed *ret_sealed,
                                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_find_selection, &rows, err, DB_TEXT(pipeline), DB_I64(trigger), DB_I64(round));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "trigger %" PRIu64 " of pipeline '%s' is not sealed",
                         trigger, pipeline);
    struct selector_sealed sealed = {
        .samples = (uint64_t)weir_rows_i64(rows, 0, "samples"),
        .candidates = (uint64_t)weir_rows_i64(rows, 0, "candidates"),
        .seed = (uint64_t)weir_rows_i64(rows, 0, "seed"),
        .round = round,
        .period = (uint32_t)weir_rows_i64(rows, 0, "period"),
    };
    (void)snprintf(sealed.digest, sizeof(sealed.digest), "%s", weir_rows_text(rows, 0, "digest"));
    (void)snprintf(sealed.policy, sizeof(sealed.policy), "%s", weir_rows_text(rows, 0, "policy"));
    (void)snprintf(sealed.reason, sizeof(sealed.reason), "%s", weir_rows_text(rows, 0, "reason"));
    (void)snprintf(sealed.scored_by, sizeof(sealed.scored_by), "%s",
                   weir_rows_text(rows, 0, "scored_by"));
    *ret_sealed = sealed;
    return WEIR_OK;
}

enum weir_status selector_sealed_find_interval(struct weir_db *db,
                                               const struct msg_interval_seal *asked,
                                               struct selector_sealed *ret_sealed,
                                               struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_find_interval, &rows, err, DB_TEXT(asked->pipeline), DB_I64(asked->from_time),
               DB_I64(asked->to_time), DB_I64S(asked->positions.at, asked->positions.count));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "that interval of pipeline '%s' is not sealed",
                         asked->pipeline);
    struct selector_sealed sealed = {
        .samples = (uint64_t)weir_rows_i64(rows, 0, "samples"),
        .candidates = (uint64_t)weir_rows_i64(rows, 0, "samples"),
        .policy = "interval",
    };
    (void)snprintf(sealed.digest, sizeof(sealed.digest), "%s", weir_rows_text(rows, 0, "digest"));
    (void)snprintf(sealed.reason, sizeof(sealed.reason), "%s", weir_rows_text(rows, 0, "reason"));
    *ret_sealed = sealed;
    return WEIR_OK;
}

static enum weir_status put_components(struct weir_db *db, const char *pipeline, uint64_t trigger,
                                       const struct selector_sealed *sealed, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < sealed->component_count; i++) {
        const struct selection_component *component = &sealed->components[i];
        status =
            DB_RUN(db, Q_put_component, NULL, err, DB_TEXT(pipeline), DB_I64(trigger), DB_I64(i),
                   DB_TEXT(component->name), DB_F64(component->share), DB_I64(component->samples),
                   DB_I64(component->candidates), DB_TEXT(component->why));
    }
    return status;
}

enum weir_status selector_sealed_put_trigger(struct weir_db *db, const char *pipeline,
                                             uint64_t trigger,
                                             const struct selector_boundary *boundary,
                                             const struct selector_sealed *sealed,
                                             struct weir_error *err)
{
    enum weir_status status = weir_db_begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = DB_RUN(db, Q_put_selection, NULL, err, DB_TEXT(pipeline), DB_I64(trigger),
                    DB_I64S(boundary->positions, boundary->position_count),
                    DB_I64(boundary->until_time), DB_I64(boundary->until_id),
                    DB_TEXT(sealed->digest), DB_I64(sealed->samples), DB_I64(sealed->candidates),
                    DB_TEXT(sealed->policy), DB_I64(sealed->seed), DB_TEXT(sealed->reason),
                    DB_TEXT(sealed->scored_by), DB_I64(sealed->round), DB_I64(sealed->period));
    if (status == WEIR_OK)
        status = put_components(db, pipeline, trigger, sealed, err);
    if (status == WEIR_OK)
        return weir_db_commit(db, err);
    weir_db_rollback(db);
    return status;
}

enum weir_status selector_sealed_put_interval(struct weir_db *db,
                                              const struct msg_interval_seal *asked,
                                              const struct selector_sealed *sealed,
                                              struct weir_error *err)
{
    return DB_RUN(db, Q_put_interval, NULL, err, DB_TEXT(asked->pipeline), DB_I64(asked->from_time),
                  DB_I64(asked->to_time), DB_I64S(asked->positions.at, asked->positions.count),
                  DB_TEXT(sealed->digest), DB_I64(sealed->samples), DB_TEXT(sealed->reason));
}

enum weir_status selector_sealed_boundary(struct weir_db *db, const char *pipeline,
                                          uint64_t trigger, uint64_t *positions,
                                          struct selector_boundary *boundary,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_find_boundary, &rows, err, DB_TEXT(pipeline), DB_I64(trigger));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) != boundary->position_count)
        return weir_fail(err, WEIR_INVALID,
                         "pipeline '%s': expected the selection of trigger %" PRIu64
                         " over %zu datasets, found %zu: triggers are selected in order",
                         pipeline, trigger, boundary->position_count, weir_rows_count(rows));
    for (size_t i = 0; i < boundary->position_count; i++)
        positions[i] = (uint64_t)weir_rows_i64(rows, i, "position");
    boundary->positions = positions;
    boundary->until_time = weir_rows_i64(rows, 0, "until_time");
    boundary->until_id = (uint64_t)weir_rows_i64(rows, 0, "until_id");
    return WEIR_OK;
}

enum weir_status selector_sealed_last(struct weir_db *db, const char *pipeline,
                                      uint64_t *ret_trigger, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_last_trigger, &rows, err, DB_TEXT(pipeline));
    if (status == WEIR_OK)
        *ret_trigger = (uint64_t)weir_rows_i64(rows, 0, "trigger");
    return status;
}

struct msg_selected selector_sealed_message(const struct selector_sealed *sealed, const char *path)
{
    return (struct msg_selected){
        .digest = sealed->digest,
        .samples = sealed->samples,
        .path = path,
        .seed = sealed->seed,
        .policy = sealed->policy,
        .reason = sealed->reason,
        .candidates = sealed->candidates,
        .scored_by = sealed->scored_by,
        .period = sealed->period,
    };
}

char *selector_sealed_path(const char *data_dir, const struct selector_sealed *sealed)
{
    if (!sealed->digest[0])
        return weir_strdup("");
    return weir_format("%s/sets/%s.set", data_dir, sealed->digest);
}
