/* Runs pairs, takes medians, prints figures. */
#include "benchmarks/harness.h"

#include "benchmarks/scratch.h"
#include "core/base/memory.h"
#include "core/service/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *runs;
    const char *scale;
    const char *peer;
    bool json;
    bool help;
};

static const struct weir_option OPTIONS[] = {
    {"runs", "N", "measured pairs per figure (7)", offsetof(struct options, runs)},
    {"scale", "F", "part of the data that the figures are stated for (1)",
     offsetof(struct options, scale)},
    {"peer", "P", "figures against that product alone (all: against any)",
     offsetof(struct options, peer)},
    {"json", NULL, "one JSON object per figure and line", offsetof(struct options, json)},
    {"help", NULL, "this text", offsetof(struct options, help)},
    WEIR_OPTION_END,
};

/* One invocation. */
struct session {
    const struct bench *bench;
    size_t runs;
    double scale;
    const char *peer; /* NULL: figures against anything */
    bool json;
    char **wanted; /* beginnings of names; none: all */
    int wanted_count;
};

/* Rates of one figure. */
struct samples {
    double ours[BENCH_RUNS_MAX];
    double theirs[BENCH_RUNS_MAX];
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct bench_spread bench_spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return (struct bench_spread){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .min = values[0],
        .max = values[count - 1],
    };
}

struct bench_spread bench_ratio_of(const struct bench_pairs *pairs)
{
    double ratios[BENCH_RUNS_MAX];

    weir_require(pairs->count > 0 && pairs->count <= BENCH_RUNS_MAX);
    for (size_t i = 0; i < pairs->count; i++)
        ratios[i] = pairs->ours[i] / pairs->theirs[i];
    return bench_spread_of(ratios, pairs->count);
}

/* ---- measuring ---- */

static void show_progress(const struct bench_figure *figure, size_t run, size_t runs)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s: pair %zu of %zu", figure->name, run, runs);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static enum weir_status run_pair(const struct bench_figure *figure, void *state, double *ret_ours,
                                 double *ret_theirs, struct weir_error *err)
{
    enum weir_status status = figure->ours(state, ret_ours, err);
    if (status == WEIR_OK)
        status = figure->theirs(state, ret_theirs, err);
    if (status == WEIR_OK && !(*ret_ours > 0 && *ret_theirs > 0))
        status = weir_fail(err, WEIR_INTERNAL, "found rates %g and %g, expected positive ones",
                           *ret_ours, *ret_theirs);
    return status;
}

static enum weir_status measure(const struct bench_figure *figure, void *state, size_t runs,
                                struct samples *samples, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    show_progress(figure, 0, runs);
    if (runs > 1) /* the warm-up: not counted */
        status = run_pair(figure, state, &samples->ours[0], &samples->theirs[0], err);
    for (size_t i = 0; status == WEIR_OK && i < runs; i++) {
        show_progress(figure, i + 1, runs);
        status = run_pair(figure, state, &samples->ours[i], &samples->theirs[i], err);
    }
    clear_progress();
    return status;
}

/* ---- printing ---- */

static void append_string(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at < 0x20)
            weir_buf_printf(out, "\\u%04x", *at);
        else
            weir_buf_printf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    }
    weir_buf_append(out, "\"", 1);
}

static void append_rates(struct weir_buf *out, const char *side, const double *rates, size_t count)
{
    weir_buf_printf(out, ",\"%s\":[", side);
    for (size_t i = 0; i < count; i++)
        weir_buf_printf(out, "%s%.6g", i > 0 ? "," : "", rates[i]);
    weir_buf_append_text(out, "]");
}

static double tolerance_of(const struct bench_figure *figure)
{
    static const double A_TENTH = 0.1;

    return figure->tolerance > 0 ? figure->tolerance : A_TENTH;
}

static void append_word(struct weir_buf *out, const char *key, const char *text)
{
    weir_buf_printf(out, ",\"%s\":", key);
    append_string(out, text != NULL ? text : "");
}

void bench_figure_json(const struct bench_figure *figure, const struct bench_pairs *pairs,
                       struct weir_buf *out)
{
    struct bench_spread ratio = bench_ratio_of(pairs);

    weir_buf_append_text(out, "{\"bench\":");
    append_string(out, figure->name);
    append_word(out, "against", figure->against);
    weir_buf_printf(out,
                    ",\"ratio\":%.4f,\"min\":%.4f,\"max\":%.4f,\"runs\":%zu,\"bar\":%g,"
                    "\"pass\":%s",
                    ratio.median, ratio.min, ratio.max, pairs->count, figure->bar,
                    ratio.median >= figure->bar ? "true" : "false");
    append_word(out, "unit", figure->unit);
    append_word(out, "peer", figure->peer);
    weir_buf_printf(out, ",\"tolerance\":%g", tolerance_of(figure));
    append_rates(out, "ours", pairs->ours, pairs->count);
    append_rates(out, "theirs", pairs->theirs, pairs->count);
    weir_buf_append_text(out, "}");
}

static void print_json(const struct bench_figure *figure, const struct bench_pairs *pairs)
{
    WEIR_AUTO_BUF line = {0};
    bench_figure_json(figure, pairs, &line);
    puts(weir_buf_text(&line));
}

static void print_text(const struct bench_figure *figure, struct samples *samples, size_t runs,
                       struct bench_spread ratio)
{
    double ours = bench_spread_of(samples->ours, runs).median;
    double theirs = bench_spread_of(samples->theirs, runs).median;
    printf("%s against %s: %.2f (%.2f to %.2f, %zu pairs; bar %g): %s\n", figure->name,
           figure->against, ratio.median, ratio.min, ratio.max, runs, figure->bar,
           ratio.median >= figure->bar ? "pass" : "FAIL");
    printf("    medians in this run: %.4g against %.4g %s\n", ours, theirs, figure->unit);
}

static bool is_against(const struct session *session, const char *peer)
{
    return session->peer == NULL || (peer != NULL && (strcmp(session->peer, "all") == 0 ||
                                                      strcmp(session->peer, peer) == 0));
}

static bool is_wanted(const struct session *session, const char *name)
{
    for (int i = 0; i < session->wanted_count; i++) {
        if (strncmp(name, session->wanted[i], strlen(session->wanted[i])) == 0)
            return true;
    }
    return session->wanted_count == 0;
}

static bool is_chosen(const struct session *session, const struct bench_figure *figure)
{
    return is_wanted(session, figure->name) && is_against(session, figure->peer);
}

static bool has_work(const struct session *session)
{
    for (size_t i = 0; i < session->bench->figure_count; i++) {
        if (is_chosen(session, &session->bench->figures[i]))
            return true;
    }
    return false;
}

/* True when the bar is cleared. */
static bool do_figure(const struct session *session, const struct bench_figure *figure, void *state,
                      struct samples *samples)
{
    struct weir_error err;
    size_t most = figure->runs_max > 0 ? figure->runs_max : session->runs;
    size_t runs = session->runs < most ? session->runs : most;
    enum weir_status status = figure->prepare ? figure->prepare(state, &err) : WEIR_OK;
    if (status == WEIR_UNAVAILABLE) {
        fprintf(stderr, "%s: skipped: %s\n", figure->name, err.text);
        return true;
    }
    if (status == WEIR_OK)
        status = measure(figure, state, runs, samples, &err);
    if (status != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", figure->name, err.text);
        return false;
    }
    const struct bench_pairs pairs = {samples->ours, samples->theirs, runs};
    struct bench_spread ratio = bench_ratio_of(&pairs);
    if (session->json)
        print_json(figure, &pairs);
    else
        print_text(figure, samples, runs, ratio);
    fflush(stdout);
    return ratio.median >= figure->bar;
}

/* ---- from the command line to the figures ---- */

static int do_bench(const char *directory, void *owner)
{
    const struct session *session = owner;
    const struct bench *bench = session->bench;
    WEIR_AUTO_FREE struct samples *samples = weir_calloc(1, sizeof(*samples));
    struct weir_error err;
    void *state = NULL;
    int code = 0;
    if (!has_work(session))
        return 0;
    if (bench->open(directory, session->scale, &state, &err) != WEIR_OK) {
        fprintf(stderr, "bench_%s: %s\n", bench->name, err.text);
        return 1;
    }
    for (size_t i = 0; i < bench->figure_count; i++) {
        const struct bench_figure *figure = &bench->figures[i];
        if (is_chosen(session, figure) && !do_figure(session, figure, state, samples))
            code = 1;
    }
    bench->close(state);
    return code;
}

static void print_help(const struct bench *bench)
{
    printf(
        "bench_%s: %s\n\nUsage: bench_%s [FIGURE…] [--runs N] [--scale F] [--peer P] [--json]\n\nFigures, each by the "
        "beginning of its name; without one all:\n",
        bench->name, bench->summary, bench->name);
    for (size_t i = 0; i < bench->figure_count; i++)
        printf("  %s against %s: at least %g\n", bench->figures[i].name, bench->figures[i].against,
               bench->figures[i].bar);
    printf("\nOptions:\n");
    weir_options_print(OPTIONS);
    printf("\nExample: bench_%s %s --runs 11\n", bench->name, bench->figures[0].name);
}

static enum weir_status check_wanted(const struct session *session, struct weir_error *err)
{
    for (int i = 0; i < session->wanted_count; i++) {
        struct session one = {.wanted = &session->wanted[i], .wanted_count = 1};
        bool is_known = false;
        for (size_t k = 0; k < session->bench->figure_count; k++)
            is_known = is_known || is_wanted(&one, session->bench->figures[k].name);
        if (!is_known)
            return weir_fail(err, WEIR_INVALID, "no figure '%s': --help lists them",
                             session->wanted[i]);
    }
    return WEIR_OK;
}

static enum weir_status read_runs(const char *text, size_t *ret_runs, struct weir_error *err)
{
    char *end = NULL;
    unsigned long runs = text != NULL ? strtoul(text, &end, 10) : BENCH_RUNS;
    if (text != NULL &&
        (*text < '0' || *text > '9' || *end != '\0' || runs < 1 || runs > BENCH_RUNS_MAX))
        return weir_fail(err, WEIR_INVALID, "--runs: found '%s', expected a number from 1 to %d",
                         text, BENCH_RUNS_MAX);
    *ret_runs = runs;
    return WEIR_OK;
}

static enum weir_status read_scale(const char *text, double *ret_scale, struct weir_error *err)
{
    char *end = NULL;
    double scale = text != NULL ? strtod(text, &end) : 1;
    if (text != NULL && (end == text || *end != '\0' || !(scale > 0 && scale <= 1)))
        return weir_fail(err, WEIR_INVALID,
                         "--scale: found '%s', expected a number above 0, at most 1", text);
    *ret_scale = scale;
    return WEIR_OK;
}

int bench_main(const struct bench *bench, int argc, char **argv)
{
    struct options options = {0};
    struct session session = {.bench = bench, .wanted = argv};
    struct weir_error err;
    enum weir_status status =
        weir_options_read(OPTIONS, argc, argv, &options, &session.wanted_count, &err);
    if (status == WEIR_OK && options.help) {
        print_help(bench);
        return 0;
    }
    if (status == WEIR_OK)
        status = read_runs(options.runs, &session.runs, &err);
    if (status == WEIR_OK)
        status = read_scale(options.scale, &session.scale, &err);
    if (status == WEIR_OK)
        status = check_wanted(&session, &err);
    if (status != WEIR_OK) {
        fprintf(stderr, "bench_%s: %s\n", bench->name, err.text);
        return 2;
    }
    session.peer = options.peer;
    session.json = options.json;
    return scratch_run(do_bench, &session);
}
