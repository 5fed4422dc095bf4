/* See recording.h. */
#include "preprocess/scale/recording.h"

static const char *const PLACES[SCALE_PLACES] = {"pool", "host"};

static void begin(const char *kind, struct recording_stamp stamp, struct weir_buf *out)
{
    weir_buf_printf(out, "%s job=%llu at_ms=%lld", kind, (unsigned long long)stamp.job,
                    (long long)stamp.at_ms);
}

static void put_numbers(const char *key, const double *numbers, size_t count, struct weir_buf *out)
{
    weir_buf_printf(out, " %s=", key);
    for (size_t i = 0; i < count; i++)
        weir_buf_printf(out, "%s%.17g", i > 0 ? "," : "", numbers[i]);
}

static void put_size(const char *key, const struct scale_size *size, struct weir_buf *out)
{
    weir_buf_printf(out, " %s=%u,%u", key, size->at[SCALE_POOL], size->at[SCALE_HOST]);
}

void preprocess_recording_setting(struct recording_stamp stamp, const char *policy,
                                  const struct scale_setting *setting, struct weir_buf *out)
{
    begin("setting", stamp, out);
    weir_buf_printf(out, " policy=%s", policy);
    put_size("min", &setting->min, out);
    put_size("max", &setting->max, out);
    put_numbers("trainer_hour", &setting->trainer_hour, 1, out);
    put_numbers("worker_hour", setting->worker_hour, SCALE_PLACES, out);
    weir_buf_append_text(out, "\n");
}

void preprocess_recording_report(struct recording_stamp stamp, const struct scale_report *report,
                                 struct weir_buf *out)
{
    begin("report", stamp, out);
    put_numbers("span_s", &report->span_s, 1, out);
    weir_buf_printf(out, " workers=%u,%u", report->workers[SCALE_POOL],
                    report->workers[SCALE_HOST]);
    for (size_t i = 0; i < report->maker_count; i++) {
        const struct scale_maker *maker = &report->makers[i];
        weir_buf_printf(out, " maker=%s,%.17g,%.17g", PLACES[maker->place], maker->batches,
                        maker->busy_s);
    }
    for (size_t i = 0; i < report->taker_count; i++) {
        const struct scale_taker *taker = &report->takers[i];
        put_numbers("taker", (double[]){taker->batches, taker->wait_s, taker->queued}, 3, out);
    }
    weir_buf_append_text(out, "\n");
}

void preprocess_recording_cost(struct recording_stamp stamp, const struct scale_counters *counters,
                               struct weir_buf *out)
{
    begin("cost", stamp, out);
    put_numbers("read", (double[]){counters->read_ns, counters->read_bytes}, 2, out);
    put_numbers("queued", (double[]){counters->queued_ns, counters->sent_bytes}, 2, out);
    for (size_t i = 0; i < counters->operator_count; i++) {
        const struct ordering_cost *cost = &counters->operators[i];
        put_numbers("operator",
                    (double[]){cost->ns, cost->taken, cost->made, cost->rows, cost->kept}, 5, out);
    }
    weir_buf_append_text(out, "\n");
}

void preprocess_recording_decision(struct recording_stamp stamp,
                                   const struct scale_decision *decision, struct weir_buf *out)
{
    begin("decision", stamp, out);
    put_size("size", &decision->size, out);
    put_numbers("need", &decision->need, 1, out);
    weir_buf_printf(out, " why=%s settled=%d\n", decision->why, decision->is_settled);
}
