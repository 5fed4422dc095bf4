/* Writing to stdout: lines, and the block below them on a terminal. */
#include "orchestrator/screen/screen.h"

#include "orchestrator/screen/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REDRAW_MS = 100, BAR_CELLS = 30 };

void screen_init(struct screen *screen, bool json)
{
    *screen = (struct screen){.json = json, .terminal = !json && isatty(STDOUT_FILENO) == 1};
}

void screen_clear(struct screen *screen)
{
    for (; screen->block_lines > 0; screen->block_lines--)
        printf("\033[1A\033[2K");
}

static void put_line(struct screen *screen, const char *text)
{
    screen_clear(screen);
    printf("%s\n", text);
    (void)fflush(stdout);
}

void screen_event(struct screen *screen, const char *json)
{
    if (screen->json) {
        put_line(screen, json);
        return;
    }
    WEIR_AUTO_BUF line = {0};
    json_t *event = json_loads(json, 0, NULL);
    screen_line_of(event, &line);
    json_decref(event);
    if (line.size > 0)
        put_line(screen, weir_buf_text(&line));
}

static void draw(struct screen *screen, const struct run_progress *progress)
{
    double share = progress->samples_total == 0
                       ? 0
                       : (double)progress->samples / (double)progress->samples_total;
    int cells = share >= 1 ? BAR_CELLS : (int)(share * BAR_CELLS);
    double seconds = (double)(progress->busy_ns + progress->wait_ns) / 1e9;
    char bar[BAR_CELLS + 1];
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)cells);
    bar[BAR_CELLS] = '\0';
    printf("  %-9s [%s] %3.0f %%  %llu of %llu samples\n", progress->mode, bar, 100 * share,
           (unsigned long long)progress->samples, (unsigned long long)progress->samples_total);
    printf("            loss %.4f  %.0f samples a second  %.0f %% stalled%s%s\n", progress->loss,
           seconds > 0 ? (double)progress->samples / seconds : 0,
           seconds > 0 ? 100 * (double)progress->wait_ns / 1e9 / seconds : 0,
           progress->stage[0] != '\0' ? ", limited by " : "", progress->stage);
    screen->block_lines = 2;
    (void)fflush(stdout);
}

void screen_progress(struct screen *screen, const struct run_progress *progress, int64_t now_ms)
{
    if (!screen->terminal || now_ms - screen->drawn_ms < REDRAW_MS)
        return;
    screen->drawn_ms = now_ms;
    screen_clear(screen);
    draw(screen, progress);
}

void screen_say(struct screen *screen, const char *format, ...)
{
    if (screen->json)
        return;
    va_list arguments;
    screen_clear(screen);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
    (void)fflush(stdout);
}

void screen_fail(struct screen *screen, const char *text)
{
    screen_clear(screen);
    if (screen->json) {
        json_t *event = json_pack("{ss,ss}", "event", "error", "error", text);
        char *line = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);
        printf("%s\n", line == NULL ? "{\"event\":\"error\"}" : line);
        (void)fflush(stdout);
        free(line);
        json_decref(event);
    }
    (void)fprintf(stderr, "%s\n", text);
}
