/* See recording.h. */
#include "preprocess/scale/recording.h"

#include "core/base/memory.h"
#include "preprocess/operators/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS_MAX = 5 }; /* of one value */

static const double WHOLE_MAX = 9007199254740992.0; /* 2^53: what a double holds exactly */

static const char *const KINDS[RECORDING_KINDS] = {"setting", "report", "cost", "decision"};
static const char *const PLACES[SCALE_PLACES] = {"pool", "host"};

/* ---- writing ---- */

static void begin(enum recording_kind kind, struct recording_stamp stamp, struct weir_buf *out)
{
    weir_buf_printf(out, "%s job=%llu at_ms=%lld", KINDS[kind], (unsigned long long)stamp.job,
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
    begin(RECORDING_SETTING, stamp, out);
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
    begin(RECORDING_REPORT, stamp, out);
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
    begin(RECORDING_COST, stamp, out);
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
    begin(RECORDING_DECISION, stamp, out);
    put_size("size", &decision->size, out);
    put_numbers("need", &decision->need, 1, out);
    weir_buf_printf(out, " why=%s settled=%d\n", decision->why, decision->is_settled);
}

/* ---- reading: values ---- */

/* A value as it is written, and as numbers where it is that. */
struct value {
    struct weir_bytes text;
    double numbers[NUMBERS_MAX];
    size_t count; /* of numbers; 0: it is a word */
};

typedef bool take_fn(struct recording_line *line, const struct value *value);

static bool next_field(struct weir_bytes *rest, char end, struct weir_bytes *ret_field)
{
    if (rest->size == 0)
        return false;
    const uint8_t *found = memchr(rest->at, end, rest->size);
    size_t size = found != NULL ? (size_t)(found - rest->at) : rest->size;
    size_t past = found != NULL ? size + 1 : size;
    *ret_field = weir_bytes(rest->at, size);
    *rest = weir_bytes(rest->at + past, rest->size - past);
    return true;
}

static bool read_numbers(struct weir_bytes text, struct value *value)
{
    struct weir_bytes field;
    while (next_field(&text, ',', &field)) {
        if (value->count == NUMBERS_MAX ||
            !preprocess_number_read(field, &value->numbers[value->count]) ||
            value->numbers[value->count] < 0)
            return false;
        value->count++;
    }
    return true;
}

static bool is_whole(double number, double max)
{
    return number <= max && !(floor(number) < number);
}

static bool take_size(struct scale_size *size, const struct value *value)
{
    for (size_t i = 0; i < SCALE_PLACES; i++) {
        if (!is_whole(value->numbers[i], UINT32_MAX))
            return false;
        size->at[i] = (uint32_t)value->numbers[i];
    }
    return true;
}

static bool take_word(char *word, const struct value *value)
{
    if (value->text.size >= RECORDING_WORD_MAX)
        return false;
    memcpy(word, value->text.at, value->text.size);
    word[value->text.size] = '\0';
    return true;
}

/* ---- reading: keys ---- */

static bool take_job(struct recording_line *line, const struct value *value)
{
    line->stamp.job = (uint64_t)fmin(value->numbers[0], WHOLE_MAX);
    return is_whole(value->numbers[0], WHOLE_MAX);
}

static bool take_at_ms(struct recording_line *line, const struct value *value)
{
    line->stamp.at_ms = (int64_t)fmin(value->numbers[0], WHOLE_MAX);
    return is_whole(value->numbers[0], WHOLE_MAX);
}

static bool take_policy(struct recording_line *line, const struct value *value)
{
    return take_word(line->policy, value);
}

static bool take_min(struct recording_line *line, const struct value *value)
{
    return take_size(&line->setting.min, value);
}

static bool take_max(struct recording_line *line, const struct value *value)
{
    return take_size(&line->setting.max, value);
}

static bool take_trainer_hour(struct recording_line *line, const struct value *value)
{
    line->setting.trainer_hour = value->numbers[0];
    return true;
}

static bool take_worker_hour(struct recording_line *line, const struct value *value)
{
    memcpy(line->setting.worker_hour, value->numbers, sizeof(line->setting.worker_hour));
    return true;
}

static bool take_span(struct recording_line *line, const struct value *value)
{
    line->report.span_s = value->numbers[0];
    return true;
}

static bool take_workers(struct recording_line *line, const struct value *value)
{
    struct scale_size size;
    if (!take_size(&size, value))
        return false;
    memcpy(line->report.workers, size.at, sizeof(line->report.workers));
    return true;
}

static bool take_maker(struct recording_line *line, const struct value *value)
{
    struct weir_bytes rest = value->text, word;
    struct value numbers = {0};
    if (line->report.maker_count == RECORDING_ROWS_MAX || !next_field(&rest, ',', &word) ||
        !read_numbers(rest, &numbers) || numbers.count != 2)
        return false;
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        if (!weir_bytes_equal(word, weir_bytes_of(PLACES[place])))
            continue;
        line->makers = weir_grow(line->makers, line->report.maker_count, &line->maker_capacity,
                                 sizeof(*line->makers));
        line->makers[line->report.maker_count++] = (struct scale_maker){
            .place = place, .batches = numbers.numbers[0], .busy_s = numbers.numbers[1]};
        return true;
    }
    return false;
}

static bool take_taker(struct recording_line *line, const struct value *value)
{
    if (line->report.taker_count == RECORDING_ROWS_MAX)
        return false;
    line->takers = weir_grow(line->takers, line->report.taker_count, &line->taker_capacity,
                             sizeof(*line->takers));
    line->takers[line->report.taker_count++] =
        (struct scale_taker){value->numbers[0], value->numbers[1], value->numbers[2]};
    return true;
}

static bool take_read(struct recording_line *line, const struct value *value)
{
    line->counters.read_ns = value->numbers[0];
    line->counters.read_bytes = value->numbers[1];
    return true;
}

static bool take_queued(struct recording_line *line, const struct value *value)
{
    line->counters.queued_ns = value->numbers[0];
    line->counters.sent_bytes = value->numbers[1];
    return true;
}

static bool take_operator(struct recording_line *line, const struct value *value)
{
    const double *numbers = value->numbers;
    if (line->counters.operator_count == CHAIN_OPERATORS_MAX)
        return false;
    line->counters.operators[line->counters.operator_count++] =
        (struct ordering_cost){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
    return true;
}

static bool take_decided(struct recording_line *line, const struct value *value)
{
    return take_size(&line->decision.size, value);
}

static bool take_need(struct recording_line *line, const struct value *value)
{
    line->decision.need = value->numbers[0];
    return true;
}

static bool take_why(struct recording_line *line, const struct value *value)
{
    line->decision.why = line->why;
    return take_word(line->why, value);
}

static bool take_settled(struct recording_line *line, const struct value *value)
{
    line->decision.is_settled = value->numbers[0] > 0;
    return is_whole(value->numbers[0], 1);
}

enum { OF_ALL = RECORDING_KINDS };

static const struct {
    int kind;
    const char *key;
    size_t numbers; /* 0: a word, or one and numbers */
    take_fn *take;
} KEYS[] = {
    {OF_ALL, "job", 1, take_job},
    {OF_ALL, "at_ms", 1, take_at_ms},
    {RECORDING_SETTING, "policy", 0, take_policy},
    {RECORDING_SETTING, "min", SCALE_PLACES, take_min},
    {RECORDING_SETTING, "max", SCALE_PLACES, take_max},
    {RECORDING_SETTING, "trainer_hour", 1, take_trainer_hour},
    {RECORDING_SETTING, "worker_hour", SCALE_PLACES, take_worker_hour},
    {RECORDING_REPORT, "span_s", 1, take_span},
    {RECORDING_REPORT, "workers", SCALE_PLACES, take_workers},
    {RECORDING_REPORT, "maker", 0, take_maker},
    {RECORDING_REPORT, "taker", 3, take_taker},
    {RECORDING_COST, "read", 2, take_read},
    {RECORDING_COST, "queued", 2, take_queued},
    {RECORDING_COST, "operator", 5, take_operator},
    {RECORDING_DECISION, "size", SCALE_PLACES, take_decided},
    {RECORDING_DECISION, "need", 1, take_need},
    {RECORDING_DECISION, "why", 0, take_why},
    {RECORDING_DECISION, "settled", 1, take_settled},
};

static enum weir_status take_pair(struct recording_line *line, struct weir_bytes pair,
                                  struct weir_error *err)
{
    struct weir_bytes key, rest = pair;
    if (!next_field(&rest, '=', &key))
        return weir_fail(err, WEIR_INVALID, "expected key=value, found two spaces");
    for (size_t i = 0; i < WEIR_COUNT(KEYS); i++) {
        struct value value = {.text = rest};
        if ((KEYS[i].kind != OF_ALL && KEYS[i].kind != (int)line->kind) ||
            !weir_bytes_equal(key, weir_bytes_of(KEYS[i].key)))
            continue;
        if (KEYS[i].numbers > 0 && (!read_numbers(rest, &value) || value.count != KEYS[i].numbers))
            return weir_fail(err, WEIR_INVALID, "%s: expected %zu numbers >= 0, found '%.*s'",
                             KEYS[i].key, KEYS[i].numbers, (int)rest.size, (const char *)rest.at);
        if (!KEYS[i].take(line, &value))
            return weir_fail(err, WEIR_INVALID, "%s: '%.*s' is none", KEYS[i].key, (int)rest.size,
                             (const char *)rest.at);
        return WEIR_OK;
    }
    return weir_fail(err, WEIR_INVALID, "expected a key of a %s, found '%.*s'", KINDS[line->kind],
                     (int)key.size, (const char *)key.at);
}

/* ---- lines ---- */

void preprocess_recording_fini(struct recording_line *line)
{
    free(line->makers);
    free(line->takers);
    *line = (struct recording_line){0};
}

static void clear(struct recording_line *line)
{
    struct recording_line kept = *line;
    *line = (struct recording_line){
        .makers = kept.makers,
        .takers = kept.takers,
        .maker_capacity = kept.maker_capacity,
        .taker_capacity = kept.taker_capacity,
    };
    line->decision.why = line->why;
}

static bool read_kind(struct recording_line *line, struct weir_bytes word)
{
    for (size_t i = 0; i < RECORDING_KINDS; i++) {
        line->kind = (enum recording_kind)i;
        if (weir_bytes_equal(word, weir_bytes_of(KINDS[i])))
            return true;
    }
    return false;
}

enum weir_status preprocess_recording_read(struct recording_line *line, struct weir_bytes text,
                                           struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    struct weir_bytes field = {0};
    clear(line);
    if (!next_field(&text, ' ', &field) || !read_kind(line, field))
        return weir_fail(err, WEIR_INVALID,
                         "expected setting, report, cost or decision, found '%.*s'",
                         (int)field.size, (const char *)field.at);
    while (status == WEIR_OK && next_field(&text, ' ', &field))
        status = take_pair(line, field, err);
    line->report.makers = line->makers;
    line->report.takers = line->takers;
    return status;
}
