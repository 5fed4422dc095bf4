/* Writing a pipeline file: what is made of the samples, and the model that learns from it. */
#include "cli/guessing/pipeline.h"

#include "core/config/yaml.h"

enum { PICTURE_SIDE = 32 };

/* The time as the record says it, so that rows which are not stored have it, too. */
static void put_calendar(const struct cli_guess *guess, struct weir_buf *out)
{
    const struct cli_guess_roles *roles = &guess->roles;

    if (!cli_guess_has_calendar(guess))
        return;
    weir_buf_printf(out, "    - {op: %s_text, field: ", guess->table.is_json ? "json" : "csv");
    weir_yaml_print_text(guess->table.columns[roles->time].name, out);
    weir_buf_append_text(out, ", as: when}  # the time\n    - {op: calendar, on: when");
    if (roles->pattern != NULL)
        weir_buf_printf(out, ", pattern: \"%s\"", roles->pattern);
    if (roles->unit != NULL)
        weir_buf_printf(out, ", unit: %s", roles->unit);
    weir_buf_append_text(out, ", one_hot: [hour_of_week], cyclic: [day_of_year]}\n");
}

static void put_numbers(const struct cli_guess *guess, struct weir_buf *out)
{
    bool has_holes = !guess->is_whole;

    if (guess->roles.used[CLI_GUESS_NUMBER] == 0)
        return;
    for (size_t i = 0; i < guess->table.count; i++)
        if (guess->roles.role[i] == CLI_GUESS_NUMBER)
            has_holes = has_holes || guess->table.columns[i].marked > 0 ||
                        guess->table.columns[i].values < guess->table.rows;
    weir_buf_printf(out, "    - {op: %s_fields, fields: [", guess->table.is_json ? "json" : "csv");
    cli_guess_put_columns(guess, CLI_GUESS_NUMBER, true, out);
    weir_buf_printf(out, "]%s%s}  # numbers\n    - {op: standardize}\n%s",
                    cli_guess_has_commas(guess) ? ", decimal: comma" : "",
                    has_holes ? ", fill: nan" : "",
                    has_holes ? "    - {op: fill_missing}  # by the mean, which is 0 now\n" : "");
}

static void put_categories(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                           struct weir_buf *out)
{
    if (guess->roles.used[CLI_GUESS_CATEGORY] == 0)
        return;
    weir_buf_printf(out, "    - {op: %s_words, fields: [", guess->table.is_json ? "json" : "csv");
    cli_guess_put_columns(guess, CLI_GUESS_CATEGORY, true, out);
    weir_buf_append_text(out, "]}  # categories\n");
    weir_buf_printf(out, "    - {op: tokenize_hash, buckets: %lu, as: kinds}\n", plan->buckets);
}

static void put_tokens(const struct cli_guess_plan *plan, struct weir_buf *out)
{
    weir_buf_printf(out,
                    "    - {op: normalize_text}\n    - {op: tokenize_words}\n"
                    "    - {op: tokenize_hash, ngrams: 2, buckets: %lu}\n",
                    plan->buckets);
}

static void put_texts(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                      struct weir_buf *out)
{
    if (guess->roles.used[CLI_GUESS_TEXT] == 0)
        return;
    weir_buf_printf(out, "    - {op: %s_text, field: [", guess->table.is_json ? "json" : "csv");
    cli_guess_put_columns(guess, CLI_GUESS_TEXT, true, out);
    weir_buf_printf(out, "]%s}  # text\n", guess->table.is_json ? ", optional: true" : "");
    put_tokens(plan, out);
}

static void put_pictures(const struct cli_guess *guess, struct weir_buf *out)
{
    weir_buf_printf(
        out,
        "    - {op: %s}\n    - {op: resize, size: [%d, %d]}\n    - {op: flip}  # while it "
        "trains, half of them are mirrored\n"
        "    - {op: normalize, mean: 0.5, std: 0.25}\n    - {op: to_chw}\n",
        guess->folder.kind == CLI_GUESS_JPEG ? "decode_jpeg" : "decode_png", PICTURE_SIDE,
        PICTURE_SIDE);
}

/* text_bag learns from one tensor of tokens: those of the categories follow those of the text. */
static void put_concat(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                       struct weir_buf *out)
{
    if (plan->model != CLI_GUESS_TEXT_BAG || !guess->is_table ||
        guess->roles.used[CLI_GUESS_CATEGORY] == 0)
        return;
    weir_buf_append_text(out, "    - {op: concat, on: [tokens, kinds]}\n");
}

static void put_training(const struct cli_guess_plan *plan, struct weir_buf *out)
{
    static const char *const LOSSES[] = {[CLI_GUESS_YES_OR_NO] = "logistic",
                                         [CLI_GUESS_CLASSES] = "softmax",
                                         [CLI_GUESS_AMOUNT] = "squared"};

    weir_buf_append_text(
        out, "\n# docs/guides/built-in-models.md has the models; a program of your own: "
             "docs/guides/write-a-training-loop.md\ntraining:\n  model: ");
    if (plan->model == CLI_GUESS_LINEAR)
        weir_buf_append_text(out, "linear\n");
    else if (plan->model == CLI_GUESS_TEXT_BAG)
        weir_buf_printf(out, "{name: text_bag, buckets: %lu}\n", plan->buckets);
    else
        weir_buf_printf(out, "{name: fm, buckets: %lu, factors: %u}\n", plan->buckets,
                        plan->factors);
    weir_buf_printf(out,
                    "  loss: %s\n  epochs: %u\n  seed: 1\n  start_from: scratch\n"
                    "  optimizer: {name: adagrad, lr: %.2g%s}\n",
                    LOSSES[plan->task], plan->epochs, plan->rate,
                    plan->model != CLI_GUESS_FM      ? ""
                    : plan->task == CLI_GUESS_AMOUNT ? ", epsilon: 0.003, weight_decay: 0.003"
                                                     : ", epsilon: 0.003");
}

void cli_guess_write_learning(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                              struct weir_buf *out)
{
    weir_buf_append_text(out,
                         "\n# From records to numbers; docs/guides/read-a-table.md has a picture\n"
                         "preprocess:\n  operators:\n");
    if (plan->task == CLI_GUESS_AMOUNT)
        weir_buf_append_text(
            out, "    - {op: scale_label}  # learnt in deviations, predicted as it is\n");
    if (guess->is_table) {
        put_calendar(guess, out);
        put_numbers(guess, out);
        put_categories(guess, plan, out);
        put_texts(guess, plan, out);
        put_concat(guess, plan, out);
    } else if (guess->folder.kind == CLI_GUESS_TEXTS) {
        put_tokens(plan, out);
    } else {
        put_pictures(guess, out);
    }
    weir_buf_printf(out, "  batch: {samples: %u}\n", plan->batch);
    if (plan->unreadable > 0)
        weir_buf_printf(
            out,
            "  on_error: {skip: %u%%}  # records without time or label, or broken ones, "
            "were seen\n",
            plan->unreadable);
    put_training(plan, out);
}
