/* Lines, and the block below them on a terminal. */
#include "orchestrator/screen/screen.h"

#include "orchestrator/screen/lines.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REDRAW_MS = 100, BAR_CELLS = 30, END_PATIENCE_MS = 5000 };

void orchestrator_screen_init(struct screen *screen, bool json)
{
    *screen = (struct screen){.json = json, .terminal = !json && isatty(STDOUT_FILENO) == 1};
    orchestrator_output_init(&screen->out, STDOUT_FILENO, json);
    orchestrator_output_init(&screen->err, STDERR_FILENO, false);
}

void orchestrator_screen_end(struct screen *screen)
{
    orchestrator_screen_clear(screen);
    orchestrator_output_end(&screen->out, END_PATIENCE_MS);
    orchestrator_output_end(&screen->err, END_PATIENCE_MS);
    orchestrator_output_fini(&screen->out);
    orchestrator_output_fini(&screen->err);
}

bool orchestrator_screen_flush(struct screen *screen)
{
    bool is_out = orchestrator_output_flush(&screen->out);
    return orchestrator_output_flush(&screen->err) && is_out;
}

void orchestrator_screen_clear(struct screen *screen)
{
    WEIR_AUTO_BUF text = {0};
    for (; screen->block_lines > 0; screen->block_lines--)
        weir_buf_append_text(&text, "\033[1A\033[2K");
    if (text.size > 0)
        orchestrator_output_put(&screen->out, weir_buf_view(&text));
}

static void put_line(struct screen *screen, const char *text)
{
    WEIR_AUTO_BUF line = {0};
    orchestrator_screen_clear(screen);
    weir_buf_printf(&line, "%s\n", text);
    orchestrator_output_put(&screen->out, weir_buf_view(&line));
}

void orchestrator_screen_event(struct screen *screen, const char *json)
{
    if (screen->json) {
        put_line(screen, json);
        return;
    }
    WEIR_AUTO_BUF line = {0};
    json_t *event = json_loads(json, 0, NULL);
    orchestrator_screen_line_of(event, &line);
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
    WEIR_AUTO_BUF text = {0};
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)cells);
    bar[BAR_CELLS] = '\0';
    weir_buf_printf(&text, "  %-9s [%s] %3.0f %%  %llu of %llu samples\n", progress->mode, bar,
                    100 * share, (unsigned long long)progress->samples,
                    (unsigned long long)progress->samples_total);
    weir_buf_printf(&text, "            loss %.4f  %.0f samples a second  %.0f %% stalled%s%s\n",
                    progress->loss, seconds > 0 ? (double)progress->samples / seconds : 0,
                    seconds > 0 ? 100 * (double)progress->wait_ns / 1e9 / seconds : 0,
                    progress->stage[0] != '\0' ? ", limited by " : "", progress->stage);
    orchestrator_output_put(&screen->out, weir_buf_view(&text));
    screen->block_lines = 2;
}

void orchestrator_screen_progress(struct screen *screen, const struct run_progress *progress,
                                  int64_t now_ms)
{
    if (!screen->terminal || now_ms - screen->drawn_ms < REDRAW_MS ||
        !orchestrator_screen_flush(screen))
        return;
    screen->drawn_ms = now_ms;
    orchestrator_screen_clear(screen);
    draw(screen, progress);
}

void orchestrator_screen_say(struct screen *screen, const char *text)
{
    if (!screen->json)
        put_line(screen, text);
}

void orchestrator_screen_complain(struct screen *screen, const char *text)
{
    WEIR_AUTO_BUF line = {0};
    orchestrator_screen_clear(screen);
    weir_buf_printf(&line, "%s\n", text);
    orchestrator_output_put(&screen->err, weir_buf_view(&line));
}

void orchestrator_screen_fail(struct screen *screen, const char *text)
{
    if (screen->json) {
        json_t *event = JSON_FIELDS(JSON_TEXT("event", "error"), JSON_TEXT("error", text));
        char *line = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);
        put_line(screen, line == NULL ? "{\"event\":\"error\"}" : line);
        free(line);
        json_decref(event);
    }
    orchestrator_screen_complain(screen, text);
}
