/* Looking up the scores of samples, and who has given most of them. */
#include "selector/scores/scores_file.h"

#include "core/base/memory.h"
#include "selector/sql/queries.h"

#include <stdlib.h>
#include <string.h>

static enum weir_status make_room(struct selector_scores *scores, size_t count, size_t width,
                                  struct weir_error *err)
{
    if (width == 0)
        return weir_fail(err, WEIR_CORRUPT, "scores of no numbers");
    if (scores->width == width)
        return WEIR_OK;
    if (scores->width != 0)
        return weir_fail(err, WEIR_CORRUPT, "scores of %zu numbers a sample, and of %zu",
                         scores->width, width);
    if (count > SELECTOR_SCORES_FLOATS_MAX / width)
        return weir_fail(err, WEIR_LIMIT,
                         "%zu samples of %zu numbers are more than a choice can look at: presample "
                         "to at most %zu (selection.presample.limit)",
                         count, width, SELECTOR_SCORES_FLOATS_MAX / width);
    scores->width = width;
    scores->values = weir_calloc(count * width + 1, sizeof(*scores->values));
    return WEIR_OK;
}

static void fill(const struct selector_scores_query *query, const struct weir_outputs *outputs,
                 struct selector_scores *scores)
{
    size_t first = query->column == SIZE_MAX ? 0 : query->column;
    for (size_t i = 0, at = 0; i < query->count && at < outputs->count;) {
        if (query->ids[i] != outputs->ids[at]) {
            *(query->ids[i] < outputs->ids[at] ? &i : &at) += 1;
            continue;
        }
        if (scores->states[i] != SELECTOR_SCORED)
            memcpy(scores->values + i * scores->width,
                   outputs->values + at * outputs->width + first,
                   scores->width * sizeof(*scores->values));
        scores->states[i++] = SELECTOR_SCORED;
        at++;
    }
}

static void mark_unscorable(const struct selector_scores_query *query,
                            const struct weir_sample_set *unscored, struct selector_scores *scores)
{
    for (size_t i = 0; i < query->count && unscored->count > 0; i++)
        if (scores->states[i] == SELECTOR_UNSCORED &&
            weir_sample_set_find(unscored, query->ids[i]) >= 0)
            scores->states[i] = SELECTOR_UNSCORABLE;
}

static enum weir_status add_file(const struct selector_scores_store *store,
                                 const struct selector_scores_query *query, const char *name,
                                 struct selector_scores *scores, struct weir_error *err)
{
    struct scores_file file = {0};
    enum weir_status status = selector_scores_file_open(store, name, &file, err);
    if (status != WEIR_OK)
        return status;
    size_t width = query->column == SIZE_MAX ? file.outputs.width : 1;
    if (file.outputs.count > 0 && query->column != SIZE_MAX && query->column >= file.outputs.width)
        status = weir_fail(err, WEIR_CORRUPT, "%zu numbers a sample, expected at least %zu",
                           file.outputs.width, query->column + 1);
    if (status == WEIR_OK && file.outputs.count > 0)
        status = make_room(scores, query->count, width, err);
    if (status == WEIR_OK) {
        fill(query, &file.outputs, scores);
        mark_unscorable(query, &file.unscored, scores);
    }
    selector_scores_file_close(&file);
    return status;
}

enum weir_status selector_scores_find(const struct selector_scores_store *store,
                                      const struct selector_scores_query *query,
                                      struct selector_scores *ret_scores, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    *ret_scores =
        (struct selector_scores){.states = weir_calloc(query->count + 1, sizeof(uint8_t))};
    enum weir_status status = DB_RUN(store->db, Q_list_scores, &rows, err, DB_TEXT(query->pipeline),
                                     DB_TEXT(query->from != NULL ? query->from : ""),
                                     DB_TEXT(query->mode), DB_TEXT(query->model));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = add_file(store, query, weir_rows_text(rows, i, "name"), ret_scores, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "scores by model %s", query->model);
    return WEIR_OK;
}

void selector_scores_fini(struct selector_scores *scores)
{
    free(scores->states);
    free(scores->values);
    *scores = (struct selector_scores){0};
}

/* ---- what another pipeline's models have said ---- */

static enum weir_status count_scored(const struct selector_scores_store *store,
                                     const struct selector_scores_query *query, size_t *ret_count,
                                     struct weir_error *err)
{
    struct selector_scores scores;
    size_t count = 0;
    enum weir_status status = selector_scores_find(store, query, &scores, err);
    for (size_t i = 0; status == WEIR_OK && i < query->count; i++)
        count += scores.states[i] == SELECTOR_SCORED;
    selector_scores_fini(&scores);
    if (status == WEIR_OK)
        *ret_count = count;
    return status;
}

enum weir_status selector_scores_best_model(const struct selector_scores_store *store,
                                            const struct selector_scores_query *query,
                                            char **ret_model, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_list_scorers, &rows, err, DB_TEXT(query->from), DB_TEXT(query->mode));
    const char *best = NULL;
    size_t most = 0;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct selector_scores_query one = *query;
        size_t count = 0;
        one.pipeline = query->from;
        one.from = NULL;
        one.model = weir_rows_text(rows, i, "model");
        status = count_scored(store, &one, &count, err);
        if (count > most)
            best = one.model;
        most = count > most ? count : most;
    }
    if (status == WEIR_OK)
        *ret_model = best != NULL ? weir_strdup(best) : NULL;
    return status;
}
