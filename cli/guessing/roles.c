/* From what the values of columns are to what the columns are for: see roles.h. */
#include "cli/guessing/roles.h"

#include "core/base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CLASSES_MAX = 10,    /* different integers that are classes rather than amounts */
    CATEGORIES_MAX = 32, /* different integers that are categories rather than amounts */
    NAMED_CLASSES_MAX = 1000,
    YEARS_MAX = 9999,
    TEXT_WORDS = 3, /* a value of a text has so many on average */
};

/* ---- names ---- */

/* Returns the name without what it lies in: `at` of `event.at`. */
static const char *leaf(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL ? dot + 1 : name;
}

static bool is_called(const char *name, const char *const *words)
{
    name = leaf(name);
    for (size_t i = 0; words[i] != NULL; i++)
        if (strcasecmp(name, words[i]) == 0)
            return true;
    return false;
}

/* Names that labels have; sooner ones are surer. */
static const char *const LABEL_NAMES[] = {
    "label",     "labels", "target",   "class",   "y",       "outcome",  "category",  "sentiment",
    "rating",    "stars",  "churn",    "churned", "clicked", "click",    "bought",    "purchased",
    "converted", "fraud",  "is_fraud", "spam",    "is_spam", "survived", "diagnosis", "quality",
    "price",     "sales",  "demand",   "load",    "cnt",     "delay",    "delayed",   NULL};
static const char *const TIME_NAMES[] = {"t",        "ts",   "time", "timestamp", "date",
                                         "datetime", "when", "at",   "day",       NULL};
static const char *const SUBJECT_NAMES[] = {"user",     "user_id",     "userid",     "username",
                                            "customer", "customer_id", "customerid", "person",
                                            "patient",  "patient_id",  "email",      "client_id",
                                            "visitor",  "visitor_id",  NULL};

static bool ends_in(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);

    return size > tail && strcmp(name + size - tail, end) == 0;
}

/* user, user_id, user.id, and what ends in them: owner_email. */
static bool names_person(const char *name)
{
    char plain[64];

    (void)snprintf(plain, sizeof(plain), "%s", name);
    for (char *at = plain; *at != '\0'; at++)
        *at = *at == '.' ? '_' : *at;
    return is_called(name, SUBJECT_NAMES) || is_called(plain, SUBJECT_NAMES) ||
           ends_in(plain, "_user_id") || ends_in(plain, "_email") || ends_in(plain, "_username");
}

/* user_id, userId, itemID: a number that names something. */
static bool names_something(const char *name)
{
    name = leaf(name);
    return ends_in(name, "_id") || ends_in(name, "Id") || ends_in(name, "ID") ||
           ends_in(name, "_code") || ends_in(name, "_zip") || strcasecmp(name, "id") == 0 ||
           strcasecmp(name, "zip") == 0;
}

static bool contains_time(const char *name)
{
    static const char *const PARTS[] = {"time", "date", "stamp", "unix", "epoch", "created"};

    for (size_t i = 0; i < WEIR_COUNT(PARTS); i++)
        if (strcasestr(name, PARTS[i]) != NULL)
            return true;
    return is_called(name, TIME_NAMES) || ends_in(name, "_at") || ends_in(name, "_ts");
}

/* ---- time ---- */

static bool is_time(const struct cli_guess_column *column)
{
    struct cli_guess_span span;

    return cli_guess_column_form(column) < CLI_GUESS_FORMS_MAX ||
           (cli_guess_column_unit(column, &span) != NULL && contains_time(column->name));
}

static void tell_time(const struct cli_guess_column *column, struct cli_guess_roles *roles)
{
    size_t form = cli_guess_column_form(column);

    if (form == CLI_GUESS_FORMS_MAX) {
        roles->unit = cli_guess_column_unit(column, &roles->span);
        return;
    }
    roles->pattern = cli_guess_form_pattern(form);
    roles->span = column->span[form];
    for (size_t other = form + 1; other < CLI_GUESS_FORMS_MAX && form > 0; other++) {
        bool reads = (column->forms >> other & 1) != 0; /* %m/%d reads what %d/%m does */

        if (reads && roles->rival == NULL && roles->pattern[1] != cli_guess_form_pattern(other)[1])
            roles->rival = cli_guess_form_pattern(other);
    }
}

/* The first column that is called what times are, else the first one that is one, else numbers that ascend like one. */
static void find_time(const struct cli_guess_table *table, struct cli_guess_roles *roles)
{
    bool is_named = false;

    roles->time = SIZE_MAX;
    for (size_t i = 0; i < table->count; i++) {
        bool has_name = contains_time(table->columns[i].name);

        if (!is_time(&table->columns[i]) || table->columns[i].name[0] == '\0' ||
            table->columns[i].lists > 0 || (roles->time != SIZE_MAX && (is_named || !has_name)))
            continue;
        roles->time = i;
        is_named = has_name;
    }
    for (size_t i = 0; i < table->count && roles->time == SIZE_MAX; i++)
        if (table->columns[i].name[0] != '\0' && table->columns[i].lists == 0 &&
            cli_guess_column_ascends(&table->columns[i]))
            roles->time = i;
    if (roles->time == SIZE_MAX)
        return;
    roles->role[roles->time] = CLI_GUESS_TIME;
    roles->why[roles->time] = NULL;
    tell_time(&table->columns[roles->time], roles);
}

/* True of numbers too large for hours, days or years, which seconds since 1970 may be, or days of a spreadsheet. */
static bool counts_time(const struct cli_guess_column *column)
{
    return cli_guess_column_is_numeric(column) &&
           (column->least < -YEARS_MAX || column->greatest > YEARS_MAX);
}

/* Values of digits and letters, or large numbers, in a column that is called what times are, or SIZE_MAX. */
static size_t find_unread_time(const struct cli_guess_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct cli_guess_column *column = &table->columns[i];
        const char *value = json_object_iter_key(json_object_iter(column->distinct));

        if (contains_time(column->name) && value != NULL && strpbrk(value, "0123456789") != NULL &&
            (counts_time(column) || !cli_guess_column_is_numeric(column)))
            return i;
    }
    return SIZE_MAX;
}

/* ---- the others ---- */

static bool is_numeric(const struct cli_guess_column *column)
{
    return cli_guess_column_is_numeric(column) && column->quoted == 0;
}

static bool is_text(const struct cli_guess_column *column)
{
    return !cli_guess_column_is_numeric(column) && column->words >= TEXT_WORDS * column->values &&
           (column->has_others || cli_guess_column_distinct(column) * 10 > column->values);
}

/* Nearly every record has another value, and it is no amount. */
static bool is_identity(const struct cli_guess_column *column)
{
    size_t met = column->filled_at > 0 ? column->filled_at : column->values;
    size_t distinct = json_object_size(column->distinct) + column->long_ones;
    bool differs = distinct * 10 > met * 9; /* an hour steps, too, and comes again */

    if (is_numeric(column) && column->steps * 10 > column->numbers * 9 && column->numbers > 2)
        return differs;
    return column->values > 20 && differs && (!is_numeric(column) || names_something(column->name));
}

static bool is_few_integers(const struct cli_guess_column *column)
{
    size_t distinct = cli_guess_column_distinct(column);

    return column->integers == column->numbers && distinct > 2 && distinct <= CATEGORIES_MAX;
}

/* Lists are words of their values, whatever these are. */
static enum cli_guess_role role_of_list(const struct cli_guess_column *column, const char **ret_why)
{
    if (column->numbers == 0 || column->integers == column->numbers)
        return CLI_GUESS_CATEGORY;
    *ret_why = "lists of numbers";
    return CLI_GUESS_UNUSED;
}

/* Returns what keeps a number of JSON from being read as one, or NULL. */
static const char *unread_number(const struct cli_guess_column *column)
{
    if (column->quoted == 0 || column->numbers == 0 || names_something(column->name) ||
        cli_guess_column_distinct(column) <= CATEGORIES_MAX)
        return NULL;
    if (column->quoted < column->values)
        return "texts and numbers";
    return cli_guess_column_is_numeric(column) ? "numbers in quotes: write them without" : NULL;
}

static enum cli_guess_role role_of(const struct cli_guess_column *column, const char **ret_why)
{
    *ret_why = NULL;
    if (column->name[0] == '\0')
        *ret_why = "has no name";
    else if (column->values == column->marked)
        *ret_why = "empty";
    else if (column->lists > 0)
        return role_of_list(column, ret_why);
    else if (cli_guess_column_is_constant(column))
        *ret_why = "always the same";
    else if (is_time(column))
        *ret_why = "another time";
    else if (unread_number(column) != NULL)
        *ret_why = unread_number(column);
    else if (cli_guess_column_is_dressed(column) &&
             cli_guess_column_distinct(column) > CATEGORIES_MAX)
        *ret_why = "numbers with signs, units or marks of thousands: write them as 1234.5";
    else if (is_text(column))
        return CLI_GUESS_TEXT;
    else if (is_identity(column))
        *ret_why = "another value in each record";
    else if (is_numeric(column) && !names_something(column->name) && !is_few_integers(column))
        return CLI_GUESS_NUMBER;
    else
        return CLI_GUESS_CATEGORY;
    return CLI_GUESS_UNUSED;
}

/* ---- label ---- */

static bool is_zero_or_one(const struct cli_guess_column *column)
{
    return is_numeric(column) && column->marked == 0 && column->least == 0 &&
           column->greatest == 1 && column->integers == column->numbers;
}

static bool has_few_classes(const struct cli_guess_column *column)
{
    size_t distinct = cli_guess_column_distinct(column);

    return distinct >= 2 && distinct <= 2 * CLASSES_MAX;
}

static bool can_be_label(const struct cli_guess_column *column, enum cli_guess_role role)
{
    if (column->commas > 0 || column->lists > 0)
        return false; /* storage reads points, and single values */
    return role == CLI_GUESS_NUMBER ||
           (role == CLI_GUESS_CATEGORY && cli_guess_column_distinct(column) <= NAMED_CLASSES_MAX);
}

/* How sure it is by its name: 0 is not at all. */
static size_t label_rank(const char *name)
{
    for (size_t i = 0; LABEL_NAMES[i] != NULL; i++)
        if (strcasecmp(leaf(name), LABEL_NAMES[i]) == 0)
            return WEIR_COUNT(LABEL_NAMES) - i;
    return 0;
}

static size_t label_by_name(const struct cli_guess_table *table,
                            const struct cli_guess_roles *roles)
{
    size_t best = SIZE_MAX, best_rank = 0;

    for (size_t i = 0; i < table->count; i++) {
        size_t rank = label_rank(table->columns[i].name);

        if (rank > best_rank && can_be_label(&table->columns[i], roles->role[i])) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* True when nearly every record has a value: one without a label is left out. */
static bool is_filled(const struct cli_guess_table *table, const struct cli_guess_column *column)
{
    return (column->values - column->marked) * 20 >= table->rows * 19;
}

/* A first column of 0 and 1 that has no name, as in click logs; else the last one of few values or of numbers, of those
 * with a value in each record if there is one. */
static size_t label_by_place(const struct cli_guess_table *table,
                             const struct cli_guess_roles *roles)
{
    size_t last = SIZE_MAX, last_of_few = SIZE_MAX, last_filled = SIZE_MAX;

    if (!table->is_json && !table->has_header && is_zero_or_one(&table->columns[0]))
        return 0;
    for (size_t i = 0; i < table->count; i++) {
        if (!can_be_label(&table->columns[i], roles->role[i]))
            continue;
        last = i;
        if (roles->role[i] != CLI_GUESS_NUMBER && !has_few_classes(&table->columns[i]))
            continue;
        last_of_few = i;
        last_filled = is_filled(table, &table->columns[i]) ? i : last_filled;
    }
    if (last_filled != SIZE_MAX)
        return last_filled;
    return last_of_few != SIZE_MAX ? last_of_few : last;
}

static void tell_task(const struct cli_guess_column *column, struct cli_guess_roles *roles)
{
    size_t distinct = cli_guess_column_distinct(column);
    bool is_number = is_numeric(column), is_whole = column->integers == column->numbers;

    if (is_number && (!is_whole || distinct > CLASSES_MAX))
        roles->task = CLI_GUESS_AMOUNT;
    else
        roles->task = distinct == 2 ? CLI_GUESS_YES_OR_NO : CLI_GUESS_CLASSES;
    roles->are_named = !is_zero_or_one(column);
}

static enum weir_status find_label(const struct cli_guess_table *table,
                                   struct cli_guess_roles *roles, struct weir_error *err)
{
    roles->label = label_by_name(table, roles);
    roles->label_by_name = roles->label != SIZE_MAX;
    if (roles->label == SIZE_MAX)
        roles->label = label_by_place(table, roles);
    if (roles->label == SIZE_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "found no column that could be learnt, expected one of numbers, or of at "
                         "most %d different values",
                         NAMED_CLASSES_MAX);
    roles->role[roles->label] = CLI_GUESS_LABEL;
    tell_task(&table->columns[roles->label], roles);
    return WEIR_OK;
}

static enum weir_status fail_unused(const struct cli_guess_table *table,
                                    const struct cli_guess_roles *roles, struct weir_error *err)
{
    enum { TOLD_BYTES_MAX = 300 };
    WEIR_AUTO_BUF told = {0};

    for (size_t i = 0; i < table->count && told.size < TOLD_BYTES_MAX; i++)
        if (roles->why[i] != NULL)
            weir_buf_printf(&told, "%s%s (%s)", told.size > 0 ? ", " : "", table->columns[i].name,
                            roles->why[i]);
    return weir_fail(err, WEIR_INVALID,
                     "found nothing to learn '%s' from, expected another column of numbers, "
                     "categories or text; there are %s",
                     table->columns[roles->label].name,
                     told.size > 0 ? weir_buf_text(&told) : "none");
}

enum weir_status cli_guess_roles_find(const struct cli_guess_table *table,
                                      struct cli_guess_roles *ret_roles, struct weir_error *err)
{
    struct cli_guess_roles roles = {.subject = SIZE_MAX};
    enum weir_status status;

    roles.role = weir_calloc(table->count + 1, sizeof(*roles.role));
    roles.why = weir_calloc(table->count + 1, sizeof(*roles.why));
    for (size_t i = 0; i < table->count; i++) {
        roles.role[i] = role_of(&table->columns[i], &roles.why[i]);
        if (names_person(table->columns[i].name) && roles.subject == SIZE_MAX)
            roles.subject = i;
    }
    find_time(table, &roles);
    roles.unread_time = roles.time == SIZE_MAX ? find_unread_time(table) : SIZE_MAX;
    status = find_label(table, &roles, err);
    for (size_t i = 0; i < table->count; i++)
        roles.used[roles.role[i]]++;
    if (status == WEIR_OK && roles.used[CLI_GUESS_NUMBER] + roles.used[CLI_GUESS_CATEGORY] +
                                     roles.used[CLI_GUESS_TEXT] ==
                                 0)
        status = fail_unused(table, &roles, err);
    if (status != WEIR_OK) {
        cli_guess_roles_fini(&roles);
        return status;
    }
    *ret_roles = roles;
    return WEIR_OK;
}

void cli_guess_roles_fini(struct cli_guess_roles *roles)
{
    free(roles->role);
    free(roles->why);
    *roles = (struct cli_guess_roles){0};
}
