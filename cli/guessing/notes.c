/* Lines for people: what was seen, what is guessed, what should be looked at. */
#include "cli/guessing/pipeline.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CLASSES_COMPARED_MAX = 200 };

static const double COMMON_SHARE = 0.95, FAR_DEVIATIONS = 15;

static void note(json_t *list, struct weir_buf *line)
{
    json_array_append_new(list, json_stringn((const char *)line->at, line->size));
    weir_buf_clear(line);
}

static void see(const struct cli_guess *guess, json_t *list)
{
    static const char *const KINDS[] = {[CLI_GUESS_JPEG] = "JPEG pictures",
                                        [CLI_GUESS_PNG] = "PNG pictures",
                                        [CLI_GUESS_TEXTS] = "texts"};
    WEIR_AUTO_BUF line = {0};
    const struct cli_guess_folder *folder = &guess->folder;
    char delimiter = guess->table.dialect.delimiter;

    weir_buf_printf(&line, "%s: %zu ", folder->path, folder->counted);
    if (!guess->is_table)
        weir_buf_printf(&line, "%s, %zu classes %s", KINDS[folder->kind],
                        json_object_size(folder->classes),
                        folder->has_manifest ? "in manifest.csv" : "by folder");
    else if (guess->table.is_json)
        weir_buf_printf(&line, "%s of JSON lines, %s%lu records, %zu fields",
                        folder->counted == 1 ? "file" : "files", guess->is_whole ? "" : "about ",
                        guess->rows, guess->table.count);
    else
        weir_buf_printf(&line, "CSV %s, %s%lu records of %zu columns divided by %s, %s header",
                        folder->counted == 1 ? "file" : "files", guess->is_whole ? "" : "about ",
                        guess->rows, guess->table.count,
                        delimiter == ','    ? "commas"
                        : delimiter == ';'  ? "semicolons"
                        : delimiter == '\t' ? "tabs"
                                            : "|",
                        guess->table.has_header ? "with a" : "without a");
    note(list, &line);
}

/* ---- guessed ---- */

static void tell_time(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};
    const struct cli_guess_roles *roles = &guess->roles;

    weir_buf_append_text(&line, "time: ");
    if (guess->is_table && roles->time != SIZE_MAX)
        weir_buf_printf(&line, "%s, %s%s", guess->table.columns[roles->time].name,
                        roles->unit != NULL ? "a number since 1970 in " : "written as ",
                        roles->unit != NULL      ? roles->unit
                        : roles->pattern != NULL ? roles->pattern
                                                 : "RFC 3339");
    else if (guess->days != NULL)
        weir_buf_printf(&line, "in the name of each file, %s", guess->days);
    else
        weir_buf_append_text(&line, guess->is_table ? "none, the order of the records is taken"
                                    : guess->folder.has_manifest ? "in manifest.csv"
                                                                 : "when each file was written");
    if (guess->has_time) {
        weir_buf_append_text(&line, ", ");
        cli_guess_put_span(guess->span, &line);
    }
    note(list, &line);
}

static void tell_label(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                       json_t *list)
{
    WEIR_AUTO_BUF line = {0};

    weir_buf_append_text(&line, "label: ");
    if (guess->is_table)
        weir_buf_printf(&line, "%s, by its %s, ", guess->table.columns[guess->roles.label].name,
                        guess->roles.label_by_name ? "name" : "place");
    cli_guess_put_label(guess, plan, &line);
    note(list, &line);
}

static void tell_columns(const struct cli_guess *guess, json_t *list)
{
    static const struct {
        enum cli_guess_role role;
        const char *title;
    } PARTS[] = {{CLI_GUESS_NUMBER, "numbers"},
                 {CLI_GUESS_CATEGORY, "categories"},
                 {CLI_GUESS_TEXT, "text"}};
    WEIR_AUTO_BUF line = {0};

    if (!guess->is_table)
        return;
    for (size_t i = 0; i < WEIR_COUNT(PARTS); i++) {
        if (guess->roles.used[PARTS[i].role] == 0)
            continue;
        weir_buf_printf(&line, "%s: ", PARTS[i].title);
        cli_guess_put_columns(guess, PARTS[i].role, false, &line);
        note(list, &line);
    }
    for (size_t i = 0; i < guess->table.count; i++) {
        const char *name = guess->table.columns[i].name;

        if (guess->roles.why[i] == NULL)
            continue;
        weir_buf_append_text(&line, line.size == 0 ? "left out: " : ", ");
        if (name[0] != '\0')
            weir_buf_append_text(&line, name);
        else
            weir_buf_printf(&line, "column %zu", i + 1);
        weir_buf_printf(&line, " (%s)", guess->roles.why[i]);
    }
    if (line.size > 0)
        note(list, &line);
}

static void tell_calendar(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};

    if (!cli_guess_has_calendar(guess))
        return;
    weir_buf_append_text(&line, "of the time: the hour of the week, the day of the year");
    note(list, &line);
}

static void tell_plan(const struct cli_guess_plan *plan, json_t *list)
{
    static const char *const MODELS[] = {
        [CLI_GUESS_LINEAR] = "linear", [CLI_GUESS_FM] = "fm", [CLI_GUESS_TEXT_BAG] = "text_bag"};
    WEIR_AUTO_BUF line = {0};

    weir_buf_printf(&line, "model: %s, ", MODELS[plan->model]);
    if (plan->every != NULL)
        weir_buf_printf(&line, "trained every %s on all so far, and measured on the time after",
                        plan->every);
    else
        weir_buf_printf(&line,
                        "trained after every %lu samples, and measured on a fifth that is held out",
                        plan->samples);
    note(list, &line);
}

/* ---- to be looked at ---- */

/* The parts of a time in columns of their own, which no declaration puts together. */
static bool has_parts_of_time(const struct cli_guess *guess)
{
    static const char *const PARTS[] = {"year", "month", "day"};
    size_t found = 0;

    for (size_t i = 0; i < guess->table.count; i++)
        for (size_t j = 0; j < WEIR_COUNT(PARTS); j++)
            found += strcasecmp(guess->table.columns[i].name, PARTS[j]) == 0 ? 1 : 0;
    return guess->roles.time == SIZE_MAX && found == WEIR_COUNT(PARTS);
}

/* True when the time is a day, and its time of day stands in another column. */
static bool has_time_of_day(const struct cli_guess *guess)
{
    bool is_day = guess->roles.pattern != NULL && strstr(guess->roles.pattern, "%H") == NULL &&
                  strstr(guess->roles.pattern, "%I") == NULL;
    bool has_clock = false;

    for (size_t i = 0; i < guess->table.count; i++)
        has_clock = has_clock || (i != guess->roles.time &&
                                  strcasecmp(guess->table.columns[i].name, "time") == 0);
    return guess->roles.time != SIZE_MAX && is_day && has_clock;
}

/* Returns the share of the commonest value. */
static double commonest(const struct cli_guess_column *column, const char **ret_value)
{
    json_int_t most = 0;
    const char *value;
    json_t *met;

    json_object_foreach(column->distinct, value, met)
    {
        if (json_integer_value(met) <= most)
            continue;
        most = json_integer_value(met);
        *ret_value = value;
    }
    return column->values > 0 ? (double)most / (double)column->values : 0;
}

/* How many standard deviations the value that is farthest from the mean lies off. */
static double farthest(const struct cli_guess_column *column, double *ret_value)
{
    double count = (double)column->numbers, mean = column->sum / count;
    double variance = column->squares / count - mean * mean;
    bool is_greatest = column->greatest - mean >= mean - column->least;

    *ret_value = is_greatest ? column->greatest : column->least;
    return variance > 0 ? fabs(*ret_value - mean) / sqrt(variance) : 0;
}

/* Labels of which the usual metrics and losses say less than it seems. */
static void note_label(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};
    const struct cli_guess_column *column = &guess->table.columns[guess->roles.label];
    const char *value = "";
    double extreme = 0;
    bool is_amount = guess->roles.task == CLI_GUESS_AMOUNT;
    double share = is_amount ? 0 : commonest(column, &value);
    double deviations = is_amount ? farthest(column, &extreme) : 0;

    if (share > COMMON_SHARE)
        weir_buf_printf(
            &line,
            "%.4g %% of the labels are '%s': whoever always says so has that accuracy, "
            "so judge by roc_auc or pr_auc (label_balanced shows the others more often)",
            100 * share, value);
    else if (deviations > FAR_DEVIATIONS)
        weir_buf_printf(&line,
                        "a label of %.6g lies %.0f standard deviations off the mean: is it one? A "
                        "few such rule what is learnt, and rmse and r2 (mae less)",
                        extreme, deviations);
    if (line.size > 0)
        note(list, &line);
}

/* True when two classes are one but for blanks and capitals: *ret_one and *ret_other. */
static bool has_alike(const struct cli_guess_column *column, const char **ret_one,
                      const char **ret_other)
{
    const char *one, *other;
    json_t *met, *too;

    json_object_foreach(column->distinct, one, met)
    {
        struct weir_bytes left = weir_bytes_trim(weir_bytes_of(one));

        json_object_foreach(column->distinct, other, too)
        {
            struct weir_bytes right = weir_bytes_trim(weir_bytes_of(other));

            if (one == other || left.size != right.size ||
                strncasecmp((const char *)left.at, (const char *)right.at, left.size) != 0)
                continue;
            *ret_one = one;
            *ret_other = other;
            return true;
        }
    }
    return false;
}

/* Returns a class that is several of the others, divided by one of |, ; and commas; or NULL. */
static const char *find_several(const struct cli_guess_column *column)
{
    const char *name;
    json_t *met;

    json_object_foreach(column->distinct, name, met)
    {
        size_t first = strcspn(name, "|;,");

        WEIR_AUTO_FREE char *part = weir_strndup(name, first);
        if (name[first] != '\0' && json_object_get(column->distinct, part) != NULL)
            return name;
    }
    return NULL;
}

/* Classes that are not what they seem. */
static void note_classes(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};
    const struct cli_guess_column *column = &guess->table.columns[guess->roles.label];
    const char *several = find_several(column), *one = "", *other = "";

    if (guess->roles.task == CLI_GUESS_AMOUNT ||
        cli_guess_column_distinct(column) > CLASSES_COMPARED_MAX)
        return;
    if (has_alike(column, &one, &other)) {
        weir_buf_printf(&line,
                        "labels '%s' and '%s' are alike but for blanks and capitals, and "
                        "are two classes: write them in one way",
                        one, other);
        note(list, &line);
    }
    if (several != NULL) {
        weir_buf_printf(&line,
                        "label '%s' is several in one, and a class of its own: no built-in model "
                        "learns several labels of one sample",
                        several);
        note(list, &line);
    }
}

static void note_unread_time(const struct cli_guess_column *column, struct weir_buf *line)
{
    if (cli_guess_column_is_numeric(column)) {
        weir_buf_printf(line,
                        "'%s' is called like a time, and its numbers (%.15g to %.15g) are no times "
                        "from 1980 to 2100 in s, ms, us or ns: if they are one, say time: {from: "
                        "field, field: …, unit: …} (excel: days of a spreadsheet)",
                        column->name, column->least, column->greatest);
        return;
    }
    const char *first = json_object_iter_key(json_object_iter(column->distinct));
    bool has_other = column->odd != NULL && strcmp(column->odd, first) != 0;

    weir_buf_printf(line,
                    "'%s' is called like a time, and no single usual pattern reads all of it "
                    "('%s'%s%s%s): time.pattern takes one of its own, or a list of several",
                    column->name, first, has_other ? " and '" : "", has_other ? column->odd : "",
                    has_other ? "'" : "");
}

static void warn_of_roles(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};
    const struct cli_guess_roles *roles = &guess->roles;

    if (!roles->label_by_name) {
        weir_buf_printf(&line,
                        "is '%s' to be learnt? Name another column in label.field, and take that "
                        "one out of the operators",
                        guess->table.columns[roles->label].name);
        note(list, &line);
    }
    weir_buf_append_text(
        &line, "is any column known only once the label is? It has to leave the operators");
    note(list, &line);
}

static void warn_of_time(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};
    const struct cli_guess_roles *roles = &guess->roles;

    if (has_parts_of_time(guess) || has_time_of_day(guess)) {
        weir_buf_append_text(&line, "the parts of a time are columns: write one column of them, "
                                    "2024-01-31T12:00, for models that follow time");
        note(list, &line);
    }
    if (roles->unread_time != SIZE_MAX) {
        note_unread_time(&guess->table.columns[roles->unread_time], &line);
        note(list, &line);
    }
    if (roles->rival != NULL) {
        weir_buf_printf(&line, "times may be written as %s just as well: time.pattern",
                        roles->rival);
        note(list, &line);
    }
}

/* Values that are not read, or not as they were meant. */
static void warn_of_values(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};

    if (cli_guess_has_commas(guess)) {
        weir_buf_append_text(&line, "numbers are written as 12,5: one that is to be learnt has to "
                                    "be written with a point");
        note(list, &line);
    }
    if (guess->table.lists > 0) {
        weir_buf_append_text(&line, "lists of objects and of lists are not read");
        note(list, &line);
    }
    if (guess->table.dotted > 0) {
        weir_buf_append_text(&line, "fields with a dot in their names are not read: a.b is b "
                                    "inside a");
        note(list, &line);
    }
}

static void warn_of_table(const struct cli_guess *guess, json_t *list)
{
    WEIR_AUTO_BUF line = {0};

    warn_of_roles(guess, list);
    warn_of_time(guess, list);
    if (guess->roles.subject != SIZE_MAX) {
        weir_buf_printf(&line, "'%s' seems to name people: with subject they can be erased",
                        guess->table.columns[guess->roles.subject].name);
        note(list, &line);
    }
    note_label(guess, list);
    note_classes(guess, list);
    warn_of_values(guess, list);
}

static void warn(const struct cli_guess *guess, const struct cli_guess_plan *plan, json_t *list)
{
    WEIR_AUTO_BUF line = {0};

    if (guess->is_table)
        warn_of_table(guess, list);
    if (guess->odd_files > 0) {
        weir_buf_printf(&line,
                        "files with other columns: %zu, which will be refused: put them elsewhere, "
                        "or name the others in source.include",
                        guess->odd_files);
        note(list, &line);
    }
    if (guess->folder.others > 0) {
        weir_buf_printf(
            &line, "files that are left out, of other kinds or with other columns: %zu (%s%s)",
            guess->folder.others, guess->folder.other, guess->folder.others > 1 ? ", …" : "");
        note(list, &line);
    }
    if (guess->is_table && guess->table.broken > 0) {
        weir_buf_printf(
            &line, "%lu line%s no record%s: expected %s", guess->table.broken,
            guess->table.broken == 1 ? " is" : "s are", guess->table.broken == 1 ? "" : "s",
            guess->table.is_json ? "one JSON object a line" : "as many fields as the first has");
        note(list, &line);
    }
    if (plan->unreadable > 0) {
        weir_buf_printf(&line,
                        "records without time or label, or broken ones, were seen: "
                        "preprocess.on_error bears %u %%",
                        plan->unreadable);
        note(list, &line);
    }
}

json_t *cli_guess_notes(const struct cli_guess *guess)
{
    struct cli_guess_plan plan = cli_guess_plan_of(guess);
    json_t *saw = json_array(), *guessed = json_array(), *look = json_array();

    see(guess, saw);
    tell_time(guess, guessed);
    tell_label(guess, &plan, guessed);
    tell_columns(guess, guessed);
    tell_calendar(guess, guessed);
    tell_plan(&plan, guessed);
    warn(guess, &plan, look);
    return json_pack("{so,so,so}", "saw", saw, "guessed", guessed, "look", look);
}
