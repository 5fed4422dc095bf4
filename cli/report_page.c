/* Answers brought into the shape of the page, and the page: see report_page.h. */
#include "cli/report_page.h"

#include "cli/answer.h"
#include "core/base/attributes.h"

#include <stdlib.h>
#include <string.h>

extern const char cli_page_head[], cli_page_tail[]; /* page/, by tools/embed_page */

/* ---- numbers ---- */

/* "accuracy(by=label)[label=cat]" is the metric accuracy(by=label) on the slice label=cat. */
static void set_metric(json_t *row, const char *metric)
{
    size_t size = strlen(metric);
    const char *slice = size > 0 && metric[size - 1] == ']' ? strchr(metric, '[') : NULL;
    size_t before = slice == NULL ? size : (size_t)(slice - metric);
    json_object_set_new(row, "metric", json_stringn(metric, before));
    json_object_set_new(row, "slice",
                        slice == NULL ? json_null()
                                      : json_stringn(slice + 1, size - before - strlen("[]")));
}

/* A cell of model × window; a value that is not defined is null. */
static json_t *matrix_row(const json_t *trigger, const json_t *evaluation)
{
    json_t *value = json_object_get(evaluation, "value");
    json_t *row = json_object();
    json_object_set(row, "model", json_object_get(trigger, "model"));
    json_object_set(row, "trigger", json_object_get(trigger, "trigger"));
    json_object_set(row, "evaluation", json_object_get(evaluation, "name"));
    set_metric(row, cli_text(evaluation, "metric"));
    json_object_set(row, "from", json_object_get(evaluation, "from"));
    json_object_set(row, "until", json_object_get(evaluation, "to"));
    json_object_set(row, "samples", json_object_get(evaluation, "samples"));
    json_object_set_new(row, "value", json_is_number(value) ? json_incref(value) : json_null());
    return row;
}

static json_t *matrix_of(const json_t *report)
{
    const json_t *triggers = json_object_get(report, "triggers");
    json_t *matrix = json_array();
    for (size_t i = 0; i < json_array_size(triggers); i++) {
        const json_t *trigger = json_array_get(triggers, i);
        const json_t *evaluations = json_object_get(trigger, "evaluations");
        for (size_t j = 0; j < json_array_size(evaluations); j++)
            json_array_append_new(matrix, matrix_row(trigger, json_array_get(evaluations, j)));
    }
    return matrix;
}

/* Lineage alone: what was measured is in the matrix. */
static json_t *lineage_of(const json_t *models, const char **ret_active)
{
    static const char *const KEYS[] = {"model", "trigger", "parent", "state", "active", "until"};
    json_t *lineage = json_array();
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *model = json_array_get(models, i);
        json_t *one = json_object();
        for (size_t j = 0; j < WEIR_COUNT(KEYS); j++)
            json_object_set(one, KEYS[j], json_object_get(model, KEYS[j]));
        json_array_append_new(lineage, one);
        if (cli_flag(model, "active"))
            *ret_active = cli_text(model, "model");
    }
    return lineage;
}

json_t *cli_report_pipeline(json_t *report, const json_t *models)
{
    const char *active = NULL;
    json_t *pipeline = json_object();
    json_object_set(pipeline, "name", json_object_get(report, "pipeline"));
    json_object_set(pipeline, "state", json_object_get(report, "state"));
    json_object_set(pipeline, "report", report);
    json_object_set_new(pipeline, "matrix", matrix_of(report));
    json_object_set_new(pipeline, "models", lineage_of(json_object_get(models, "models"), &active));
    json_object_set_new(pipeline, "active", active == NULL ? json_null() : json_string(active));
    return pipeline;
}

/* ---- page ---- */

/* In ASCII, so that no line separator is left, and without '<', which only texts can hold. */
static void put_numbers(const json_t *numbers, struct weir_buf *out)
{
    char *text = json_dumps(numbers, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER |
                                         JSON_REAL_PRECISION(15));
    const char *rest = text == NULL ? "{}" : text;
    for (const char *at; (at = strchr(rest, '<')) != NULL; rest = at + 1) {
        weir_buf_append(out, rest, (size_t)(at - rest));
        weir_buf_append_text(out, "\\u003c");
    }
    weir_buf_append_text(out, rest);
    free(text);
}

void cli_report_page(const json_t *numbers, struct weir_buf *out)
{
    weir_buf_append_text(out, cli_page_head);
    put_numbers(numbers, out);
    weir_buf_append_text(out, cli_page_tail);
}
