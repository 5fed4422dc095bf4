/* Writing a pipeline file: name, data, trigger, selection, evaluation. */
#include "cli/guessing/pipeline.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/config/yaml.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_guess_column *column_of(const struct cli_guess *guess, size_t index)
{
    return &guess->table.columns[index];
}

/* ---- pieces ---- */

void cli_guess_put_columns(const struct cli_guess *guess, enum cli_guess_role role, bool is_yaml,
                           struct weir_buf *out)
{
    enum { TOLD_MAX = 20 };
    size_t count = 0, all = guess->roles.used[role];

    for (size_t i = 0; i < guess->table.count; i++) {
        if (guess->roles.role[i] != role)
            continue;
        weir_buf_append_text(out, count++ > 0 ? ", " : "");
        if (!is_yaml && all > TOLD_MAX && count == TOLD_MAX) {
            weir_buf_printf(out, "… (%zu in all)", all);
            return;
        }
        if (is_yaml)
            weir_yaml_print_text(column_of(guess, i)->name, out);
        else
            weir_buf_append_text(out, column_of(guess, i)->name);
    }
}

bool cli_guess_has_commas(const struct cli_guess *guess)
{
    for (size_t i = 0; i < guess->table.count; i++)
        if (guess->roles.role[i] == CLI_GUESS_NUMBER && column_of(guess, i)->commas > 0)
            return true;
    return false;
}

void cli_guess_put_span(struct cli_guess_span span, struct weir_buf *out)
{
    enum { DAY_TEXT = 10 }; /* 2024-01-01 of 2024-01-01T00:00:00Z */
    char first[WEIR_TIME_TEXT_MAX], last[WEIR_TIME_TEXT_MAX];

    weir_time_format(span.first_us, first);
    weir_time_format(span.last_us, last);
    weir_buf_printf(out, "%.*s to %.*s", DAY_TEXT, first, DAY_TEXT, last);
}

void cli_guess_put_label(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                         struct weir_buf *out)
{
    const struct cli_guess_column *label =
        guess->is_table ? column_of(guess, guess->roles.label) : NULL;

    if (plan->task == CLI_GUESS_AMOUNT)
        weir_buf_printf(out, "an amount, %g to %g", label->least, label->greatest);
    else if (!plan->has_classes)
        weir_buf_append_text(out, "0 or 1");
    else
        weir_buf_printf(out, "one of %zu classes",
                        label != NULL ? cli_guess_column_distinct(label)
                                      : json_object_size(guess->folder.classes));
}

/* ---- datasets ---- */

static void put_delimiter(char delimiter, struct weir_buf *out)
{
    const char text[] = {delimiter, '\0'};

    if (delimiter == ',')
        return;
    weir_buf_append_text(out, ", delimiter: ");
    if (delimiter == '\t')
        weir_buf_append_text(out, "\"\\t\"");
    else
        weir_yaml_print_text(text, out);
}

static void put_missing(const struct cli_guess *guess, struct weir_buf *out)
{
    json_t *marks = json_object(), *seen;
    const char *mark;
    size_t count = 0;

    for (size_t i = 0; i < guess->table.count; i++)
        if (guess->roles.role[i] != CLI_GUESS_UNUSED &&
            (cli_guess_column_is_numeric(column_of(guess, i)) || i == guess->roles.time))
            json_object_update(marks, column_of(guess, i)->marks);
    json_object_foreach(marks, mark, seen)
    {
        weir_buf_append_text(out, count++ == 0 ? ", missing: [" : ", ");
        weir_yaml_print_text(mark, out);
    }
    weir_buf_append_text(out, count > 0 ? "]" : "");
    json_decref(marks);
}

static void put_csv(const struct cli_guess *guess, struct weir_buf *out)
{
    put_delimiter(guess->table.dialect.delimiter, out);
    if (guess->table.dialect.is_unquoted)
        weir_buf_append_text(out, ", quotes: none");
    if (!guess->table.has_header) {
        weir_buf_append_text(out, ", header: false, columns: [");
        for (size_t i = 0; i < guess->table.count; i++)
            weir_buf_printf(out, "%sc%zu", i > 0 ? ", " : "", i + 1);
        weir_buf_append_text(out, "]");
    }
    put_missing(guess, out);
}

static void put_source(const struct cli_guess *guess, struct weir_buf *out)
{
    weir_buf_append_text(out, "    source: {path: ");
    weir_yaml_print_text(guess->folder.path, out);
    weir_buf_printf(out, ", format: %s, include: ",
                    !guess->is_table       ? "files"
                    : guess->table.is_json ? "jsonl"
                                           : "csv");
    weir_yaml_print_text(guess->folder.include, out);
    if (guess->is_table && !guess->table.is_json)
        put_csv(guess, out);
    if (guess->folder.is_compressed)
        weir_buf_append_text(out, ", import: copy");
    weir_buf_append_text(out, "}\n");
}

static void put_field_time(const struct cli_guess *guess, struct weir_buf *out)
{
    weir_buf_append_text(out, "{from: field, field: ");
    weir_yaml_print_text(column_of(guess, guess->roles.time)->name, out);
    if (guess->roles.pattern != NULL)
        weir_buf_printf(out, ", pattern: \"%s\"", guess->roles.pattern);
    if (guess->roles.unit != NULL)
        weir_buf_printf(out, ", unit: %s", guess->roles.unit);
    weir_buf_append_text(out, "}  # ");
    cli_guess_put_span(guess->span, out);
}

static void put_time(const struct cli_guess *guess, struct weir_buf *out)
{
    weir_buf_append_text(out, "    time:   ");
    if (guess->is_table && guess->roles.time != SIZE_MAX) {
        put_field_time(guess, out);
    } else if (guess->folder.has_manifest && !guess->is_table) {
        weir_buf_append_text(out, "{from: manifest}");
    } else if (guess->days != NULL) {
        weir_buf_append_text(out, "{from: file_name, pattern: ");
        weir_yaml_print_text(guess->days, out);
        weir_buf_append_text(out, "}  # ");
        cli_guess_put_span(guess->span, out);
    } else if (guess->is_table) {
        weir_buf_append_text(out,
                             "{from: record, start: 2000-01-01, every: 1s}  # no column holds a "
                             "time: the order of the records is taken for one");
    } else {
        weir_buf_append_text(out, "{from: mtime}  # when the file was written last");
    }
    weir_buf_append_text(out, "\n");
}

static void put_classes(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                        struct weir_buf *out)
{
    const char **classes = cli_guess_classes(guess);

    weir_buf_append_text(out, plan->are_listed ? ", classes: [" : ", classes: stream");
    for (size_t i = 0; plan->are_listed && classes[i] != NULL; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        weir_yaml_print_text(classes[i], out);
    }
    weir_buf_append_text(out, plan->are_listed ? "]" : "");
    free((void *)classes);
}

static void put_label(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                      struct weir_buf *out)
{
    weir_buf_append_text(out, "    label:  {");
    if (guess->is_table) {
        weir_buf_append_text(out, "field: ");
        weir_yaml_print_text(column_of(guess, guess->roles.label)->name, out);
    } else {
        weir_buf_append_text(out, guess->folder.has_manifest ? "from: manifest" : "from: folder");
        if (!guess->folder.has_manifest && guess->folder.depth > 1)
            weir_buf_printf(out, ", depth: %u", guess->folder.depth);
    }
    if (plan->task == CLI_GUESS_AMOUNT)
        weir_buf_append_text(out, ", type: float");
    if (plan->has_classes)
        put_classes(guess, plan, out);
    weir_buf_append_text(out, "}  # ");
    cli_guess_put_label(guess, plan, out);
    weir_buf_append_text(out, "\n");
}

static void put_rest_of_dataset(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                                struct weir_buf *out)
{
    if (guess->roles.subject != SIZE_MAX) {
        weir_buf_append_text(out, "    # subject: {field: ");
        weir_yaml_print_text(column_of(guess, guess->roles.subject)->name, out);
        weir_buf_append_text(out,
                             "}  # whose data a record is: with it, and on_erase: scrub in source, "
                             "they can be erased\n");
    }
    if (plan->every == NULL)
        weir_buf_append_text(out,
                             "    holdout: {share: 0.2}  # never trained on: models are measured "
                             "by it\n");
}

/* ---- when, on what, how good ---- */

static void put_trigger(const struct cli_guess_plan *plan, struct weir_buf *out)
{
    weir_buf_append_text(
        out, "\n# When to train, and on which samples: everything so far. Others: weir policies\n");
    if (plan->every != NULL)
        weir_buf_printf(out, "trigger:   {policy: time, every: %s}\n", plan->every);
    else
        weir_buf_printf(out, "trigger:   {policy: amount, samples: %lu}\n", plan->samples);
    weir_buf_append_text(out, "selection: {policy: new_data, tail_triggers: all, seed: 1}\n");
}

static void put_evaluation(const struct cli_guess_plan *plan, struct weir_buf *out)
{
    static const char *const METRICS[] = {[CLI_GUESS_YES_OR_NO] = "roc_auc, accuracy, log_loss",
                                          [CLI_GUESS_CLASSES] = "accuracy, log_loss",
                                          [CLI_GUESS_AMOUNT] = "rmse, mae, r2"};

    weir_buf_append_text(out, "\n# How good each model is");
    if (plan->every != NULL)
        weir_buf_printf(
            out,
            ": on the time after its newest sample\nevaluation:\n  - {name: next, strategy: "
            "slicing, every: %s, metrics: [%s]}\n",
            plan->every, METRICS[plan->task]);
    else
        weir_buf_printf(
            out,
            ": on the samples that are held out\nevaluation:\n  - {name: held_out, on: holdout, "
            "strategy: static, intervals: [{from: 1970-01-01}], models: matrix, metrics: "
            "[%s]}\n",
            METRICS[plan->task]);
}

void cli_guess_write(const struct cli_guess *guess, const char *name, const char *head,
                     struct weir_buf *out)
{
    struct cli_guess_plan plan = cli_guess_plan_of(guess);

    weir_buf_printf(
        out,
        "%spipeline: {name: %s, mode: replay}  # mode: live goes on with what arrives\n\n"
        "datasets:\n  - name: %s\n",
        head, name, name);
    put_source(guess, out);
    put_time(guess, out);
    put_label(guess, &plan, out);
    put_rest_of_dataset(guess, &plan, out);
    put_trigger(&plan, out);
    cli_guess_write_learning(guess, &plan, out);
    put_evaluation(&plan, out);
}
