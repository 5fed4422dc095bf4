/* One function per event, found by name. */
#include "orchestrator/screen/lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DIGEST_SHOWN = 8, DAY_TEXT = 10 };

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text == NULL ? "" : text;
}

static long long number_of(const json_t *event, const char *key)
{
    return (long long)json_integer_value(json_object_get(event, key));
}

static double real_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* null: it was no number. */
static double loss_of(const json_t *event)
{
    const json_t *loss = json_object_get(event, "loss");
    return json_is_null(loss) ? NAN : json_number_value(loss);
}

/* Appends how many samples were not among the `read` ones, if any: an object with `failed` and `filtered`. */
static void put_unread(const json_t *counts, long long read, struct weir_buf *out)
{
    long long failed = number_of(counts, "failed"), filtered = number_of(counts, "filtered");
    double all = (double)(read + failed + filtered);
    if (failed > 0)
        weir_buf_printf(out, "; %lld could not be read (%.1f %%)", failed,
                        100 * (double)failed / all);
    if (filtered > 0)
        weir_buf_printf(out, "; %lld filtered (%.1f %%)", filtered, 100 * (double)filtered / all);
}

static void dataset_scanned(const json_t *event, struct weir_buf *out)
{
    const json_t *complaints = json_object_get(event, "complaints");
    weir_buf_printf(out, "dataset %s: %lld samples", text_of(event, "dataset"),
                    number_of(event, "samples"));
    if (number_of(event, "quarantined") > 0)
        weir_buf_printf(out, ", %lld refused as malformed", number_of(event, "quarantined"));
    for (size_t i = 0; i < json_array_size(complaints); i++)
        weir_buf_printf(out, "\n  refused: %s", json_string_value(json_array_get(complaints, i)));
}

static void trigger_fired(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "trigger %lld at %.*s: %s", number_of(event, "trigger"), DAY_TEXT,
                    text_of(event, "until"), text_of(event, "reason"));
}

static void trigger_considered(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "check %lld at %.*s: %s", number_of(event, "check"), DAY_TEXT,
                    text_of(event, "at"), text_of(event, "because"));
}

static void trigger_skipped(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  skipped: %s", text_of(event, "reason"));
}

/* Tells the round of a training whose set is chosen again from time to time. */
static void put_round(const json_t *event, struct weir_buf *out)
{
    if (json_object_get(event, "round") != NULL)
        weir_buf_printf(out, ", round %lld: epochs %lld", number_of(event, "round"),
                        number_of(event, "epochs"));
}

static void selection_sealed(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  selected %lld of %lld by %s, set %.*s", number_of(event, "samples"),
                    number_of(event, "candidates"), text_of(event, "policy"), DIGEST_SHOWN,
                    text_of(event, "digest"));
    put_round(event, out);
}

static void scoring_finished(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  %s scored %lld samples (%s) in %.2f s", text_of(event, "model"),
                    number_of(event, "samples"), text_of(event, "mode"), real_of(event, "seconds"));
    put_unread(json_object_get(event, "audit"), number_of(event, "samples"), out);
}

static void holdout_finished(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  %s learnt from %lld held-out samples in %.2f s",
                    text_of(event, "model"), number_of(event, "samples"),
                    real_of(event, "seconds"));
    put_unread(json_object_get(event, "audit"), number_of(event, "samples"), out);
}

static void training_finished(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(
        out, "  trained on %lld samples in %.2f s (%.0f a second, %.0f %% stalled), loss %.4f",
        number_of(event, "samples"), real_of(event, "seconds"),
        real_of(event, "samples_per_second"), 100 * real_of(event, "stall_fraction"),
        loss_of(event));
    put_round(event, out);
    put_unread(json_object_get(event, "audit"), number_of(event, "samples"), out);
}

static void names(const json_t *list, struct weir_buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        weir_buf_printf(out, "%s %s", i > 0 ? "," : "", json_string_value(json_array_get(list, i)));
}

static void plan_changed(const json_t *event, struct weir_buf *out)
{
    const json_t *in_trainers = json_object_get(event, "in_trainers");
    weir_buf_printf(out, "  operators run in this order (%s):", text_of(event, "state"));
    names(json_object_get(event, "order"), out);
    if (json_array_size(in_trainers) > 0)
        weir_buf_append_text(out, "; in trainers:");
    names(in_trainers, out);
    if (text_of(event, "kept_after")[0] != '\0')
        weir_buf_printf(out, "; rows are kept after %s", text_of(event, "kept_after"));
}

static void batches_shared(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  shared its batches with %lld other runs: %lld of them were found made",
                    number_of(event, "runs") - 1, number_of(event, "batches"));
}

static void plan(const json_t *event, struct weir_buf *out)
{
    const json_t *operators = json_object_get(event, "operators");
    weir_buf_printf(out, "  plan of run %lld: %s", number_of(event, "run"), text_of(event, "why"));
    if (number_of(event, "tried") > 0)
        weir_buf_printf(
            out, "; %lld beginnings of orders were looked at, the best promises %.1f %% less",
            number_of(event, "tried"), 100 * real_of(event, "promised"));
    weir_buf_printf(out, "; %s; %s", text_of(json_object_get(event, "place"), "why"),
                    text_of(json_object_get(event, "share"), "why"));
    for (size_t i = 0; i < json_array_size(operators); i++) {
        const json_t *of = json_array_get(operators, i);
        if (number_of(of, "rows") == 0 && text_of(of, "fused")[0] != '\0') {
            weir_buf_printf(out, "\n    %-24s in one with that above", text_of(of, "operator"));
            continue;
        }
        weir_buf_printf(out, "\n    %-24s %8.3f s, %.1f ns a byte, %.1f %% kept%s",
                        text_of(of, "operator"), real_of(of, "cpu_seconds"),
                        real_of(of, "ns_per_byte"), 100 * real_of(of, "share_kept"),
                        json_is_true(json_object_get(of, "moved")) ? ", moved up" : "");
    }
}

static void model_stored(const json_t *event, struct weir_buf *out)
{
    const char *parent = text_of(event, "parent");
    weir_buf_printf(out, "  stored %s, checksum %.*s, from %s", text_of(event, "model"),
                    DIGEST_SHOWN, text_of(event, "checksum"),
                    parent[0] == '\0' ? "scratch" : parent);
}

static void model_promoted(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  %s is the active model: %s", text_of(event, "model"),
                    text_of(event, "reason"));
}

static void model_kept_back(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  %s is kept back, %s stays: %s", text_of(event, "model"),
                    text_of(event, "active"), text_of(event, "reason"));
}

static void model_dropped(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  dropped %s", text_of(event, "model"));
}

/* False for a year with more than four digits: that side is without end. */
static bool is_day(const char *time)
{
    return strlen(time) >= DAY_TEXT && time[0] != '-' && time[4] == '-';
}

static void put_interval(const json_t *interval, struct weir_buf *out)
{
    const char *from = text_of(interval, "from"), *to = text_of(interval, "to");
    if (is_day(from) && is_day(to))
        weir_buf_printf(out, "on %.*s to %.*s", DAY_TEXT, from, DAY_TEXT, to);
    else if (is_day(from))
        weir_buf_printf(out, "from %.*s on", DAY_TEXT, from);
    else if (is_day(to))
        weir_buf_printf(out, "until %.*s", DAY_TEXT, to);
    else
        weir_buf_append_text(out, "on all samples");
}

/* Why it has no value. */
static void put_undefined(const json_t *event, struct weir_buf *out)
{
    weir_buf_append_text(out, number_of(event, "samples") == 0
                                  ? "nothing was measured"
                                  : "undefined (one class only, or predictions are nan)");
}

static void evaluation(const json_t *event, struct weir_buf *out)
{
    const json_t *value = json_object_get(event, "value");
    weir_buf_printf(out, "  %s of %s ", text_of(event, "metric"), text_of(event, "model"));
    put_interval(json_object_get(event, "interval"), out);
    weir_buf_append_text(out, ": ");
    if (json_is_number(value))
        weir_buf_printf(out, "%.4f", json_number_value(value));
    else
        put_undefined(event, out);
    weir_buf_printf(out, " over %lld samples", number_of(event, "samples"));
    put_unread(event, number_of(event, "samples"), out);
}

static void evaluation_empty(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "  evaluation %s ", text_of(event, "name"));
    put_interval(json_object_get(event, "interval"), out);
    weir_buf_printf(out, ": nothing was measured, dataset %s has no samples there",
                    text_of(event, "dataset"));
}

static void erasure_step(const json_t *event, struct weir_buf *out)
{
    const char *step = text_of(event, "step");
    weir_buf_printf(out, "erasure %lld: %s", number_of(event, "erasure"), step);
    if (strcmp(step, "in_force") == 0) {
        weir_buf_printf(out, ", %lld samples in no batch from now on", number_of(event, "samples"));
    } else if (strcmp(step, "traced") == 0) {
        weir_buf_printf(out, ", %zu models have seen them",
                        json_array_size(json_object_get(event, "models")));
    } else if (strcmp(step, "model_replaced") == 0) {
        weir_buf_printf(out, ", %s by %s", text_of(event, "model"), text_of(event, "replacement"));
    } else if (strcmp(step, "receipt") == 0) {
        weir_buf_printf(out, " %.*s", 2 * DIGEST_SHOWN, text_of(event, "hash"));
    }
}

static void put_unmeasured(const json_t *names, struct weir_buf *out)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        weir_buf_printf(out,
                        "\n  evaluation %s has measured nothing: none of its intervals had both a "
                        "model and samples that could be read",
                        json_string_value(json_array_get(names, i)));
}

static void pipeline_finished(const json_t *event, struct weir_buf *out)
{
    const json_t *cost = json_object_get(event, "cost");
    const char *model = text_of(event, "active_model");
    weir_buf_printf(
        out, "pipeline %s finished: %lld triggers, active model %s, %.1f s of CPU, %.1f MB read",
        text_of(event, "pipeline"), number_of(event, "triggers"), model[0] == '\0' ? "none" : model,
        real_of(cost, "cpu_seconds"), real_of(cost, "bytes_read") / 1e6);
    if (number_of(event, "triggers") == 0)
        weir_buf_append_text(out, ": its trigger policy never fired, nothing was trained");
    else
        put_unmeasured(json_object_get(event, "unmeasured"), out);
}

static void pipeline_paused(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline %s is paused; weir resume %s goes on",
                    text_of(event, "pipeline"), text_of(event, "pipeline"));
}

static void file_applied(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline %s has taken %s after trigger %lld", text_of(event, "pipeline"),
                    text_of(event, "file"), number_of(event, "after_trigger"));
}

static void pipeline_stopped(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline %s is stopped; weir resume %s goes on",
                    text_of(event, "pipeline"), text_of(event, "pipeline"));
}

static void pipeline_resumed(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline %s goes on", text_of(event, "pipeline"));
}

static void pipeline_removed(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline %s is removed: %zu models dropped, %zu kept",
                    text_of(event, "pipeline"),
                    json_array_size(json_object_get(event, "models_dropped")),
                    json_array_size(json_object_get(event, "models_kept")));
}

static void export_finished(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "export %lld of %s@%lld is done: %lld samples", number_of(event, "export"),
                    text_of(event, "pipeline"), number_of(event, "trigger"),
                    number_of(event, "samples"));
}

static void export_dropped(const json_t *event, struct weir_buf *out)
{
    const char *directory = text_of(event, "directory"); /* empty: of an excerpt that names none */
    weir_buf_printf(out, "export %lld of %s is dropped%s%s", number_of(event, "export"),
                    text_of(event, "pipeline"), directory[0] == '\0' ? "" : ": ", directory);
}

static void dry_run_cost(const json_t *cost, struct weir_buf *out)
{
    if (!json_is_object(cost)) {
        weir_buf_append_text(out, "\n  cost: not known, nothing was ever trained here");
        return;
    }
    weir_buf_printf(out, "\n  cost: about %.1f s of training, %.1f s of CPU, %.1f MB read",
                    real_of(cost, "training_seconds"), real_of(cost, "cpu_seconds"),
                    real_of(cost, "bytes_read") / 1e6);
    if (real_of(cost, "money") > 0)
        weir_buf_printf(out, ", %.4f %s", real_of(cost, "money"), text_of(cost, "currency"));
    weir_buf_printf(out, " (by %s)", text_of(cost, "basis"));
}

static void dry_run(const json_t *event, struct weir_buf *out)
{
    const json_t *triggers = json_object_get(event, "triggers");
    weir_buf_printf(out,
                    "pipeline %s over %lld samples would fire %s%lld triggers; nothing was changed",
                    text_of(event, "pipeline"), number_of(event, "samples"),
                    json_is_true(json_object_get(event, "exact")) ? "" : "at least ",
                    number_of(event, "fired"));
    for (size_t i = 0; i < json_array_size(triggers); i++) {
        const json_t *trigger = json_array_get(triggers, i);
        weir_buf_printf(out,
                        "\n  trigger %lld at %.*s: %s, %lld new samples, at most %lld selected",
                        number_of(trigger, "trigger"), DAY_TEXT, text_of(trigger, "until"),
                        text_of(trigger, "reason"), number_of(trigger, "samples_new"),
                        number_of(trigger, "selected_at_most"));
    }
    weir_buf_printf(out,
                    "\n  left over: %lld samples; in all at most %lld selected, over %lld epochs",
                    number_of(event, "left_over"), number_of(event, "selected_at_most"),
                    number_of(event, "epochs"));
    dry_run_cost(json_object_get(event, "cost"), out);
    if (text_of(event, "why")[0] != '\0')
        weir_buf_printf(out, "\n  %lld checks: %s", number_of(event, "checks"),
                        text_of(event, "why"));
}

/* Nothing where the budget has no limit on it. */
static void put_spent(double spent, double limit, const char *unit, struct weir_buf *out)
{
    if (limit > 0)
        weir_buf_printf(out, "%s %.4g of %.4g %s", out->size > 0 ? "," : "", spent, limit, unit);
}

static void budget_spent(const json_t *event, struct weir_buf *out)
{
    const json_t *spent = json_object_get(event, "spent");
    WEIR_AUTO_BUF limits = {0};
    bool of_all = strcmp(text_of(event, "of"), "all") == 0;
    bool is_daily = strcmp(text_of(event, "per"), "day") == 0;
    put_spent(real_of(spent, "money"), real_of(event, "money"), text_of(spent, "currency"),
              &limits);
    put_spent(real_of(spent, "cpu_seconds"), real_of(event, "cpu_seconds"), "CPU s", &limits);
    put_spent(real_of(spent, "gpu_seconds"), real_of(event, "gpu_seconds"), "GPU s", &limits);
    weir_buf_printf(out, "pipeline %s: the budget%s%s is spent:%s", text_of(event, "pipeline"),
                    of_all ? " of all pipelines" : "", is_daily ? " of today" : "",
                    weir_buf_text(&limits));
    if (strcmp(text_of(event, "then"), "hold") == 0)
        weir_buf_printf(out, "; nothing fires any more%s", is_daily ? " today" : "");
}

static void error(const json_t *event, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline %s failed: %s", text_of(event, "pipeline"),
                    text_of(event, "error"));
}

static void pool_resized(const json_t *event, struct weir_buf *out)
{
    const json_t *jobs = json_object_get(event, "jobs");
    bool is_host = strcmp(text_of(event, "place"), "host") == 0;
    weir_buf_printf(out, "workers%s: %lld to %lld (%s)", is_host ? " beside the trainers" : "",
                    number_of(event, "from"), number_of(event, "to"), text_of(event, "why"));
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        weir_buf_printf(out, "%s run %lld needs %.1f", i > 0 ? "," : ":", number_of(job, "job"),
                        real_of(job, "need"));
    }
}

static void worker_lost(const json_t *event, struct weir_buf *out)
{
    bool is_refused = strcmp(text_of(event, "state"), "refused") == 0;
    weir_buf_printf(out, "%s (%s) is %s: %s", text_of(event, "worker"), text_of(event, "launcher"),
                    is_refused ? "not started" : "lost, and started again", text_of(event, "why"));
}

static const struct {
    const char *event;
    void (*line)(const json_t *event, struct weir_buf *out);
} LINES[] = {
    {"dataset_scanned", dataset_scanned},
    {"trigger_fired", trigger_fired},
    {"trigger_considered", trigger_considered},
    {"trigger_skipped", trigger_skipped},
    {"selection_sealed", selection_sealed},
    {"scoring_finished", scoring_finished},
    {"holdout_finished", holdout_finished},
    {"training_finished", training_finished},
    {"plan_changed", plan_changed},
    {"batches_shared", batches_shared},
    {"plan", plan},
    {"model_stored", model_stored},
    {"model_dropped", model_dropped},
    {"model_promoted", model_promoted},
    {"model_kept_back", model_kept_back},
    {"evaluation", evaluation},
    {"evaluation_empty", evaluation_empty},
    {"export_finished", export_finished},
    {"export_dropped", export_dropped},
    {"erasure_step", erasure_step},
    {"pipeline_finished", pipeline_finished},
    {"pipeline_paused", pipeline_paused},
    {"pipeline_stopped", pipeline_stopped},
    {"file_applied", file_applied},
    {"pipeline_resumed", pipeline_resumed},
    {"pipeline_removed", pipeline_removed},
    {"pool_resized", pool_resized},
    {"worker_lost", worker_lost},
    {"budget_spent", budget_spent},
    {"dry_run", dry_run},
    {"error", error},
};

void orchestrator_screen_line_of(const json_t *event, struct weir_buf *out)
{
    for (size_t i = 0; i < WEIR_COUNT(LINES); i++) {
        if (strcmp(LINES[i].event, text_of(event, "event")) == 0) {
            LINES[i].line(event, out);
            return;
        }
    }
}
