/* Writes log lines, each with one write(), so that lines of several processes never mix within a
 * line. */
#include "core/base/log.h"

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/utf8.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX = 2048, PROCESS_NAME_MAX = 64 };

static const char *const LEVELS[] = {"debug", "info", "warn", "error"};

/* Set once by main(), before there are threads. */
static struct {
    enum weir_log_level level;
    char process[PROCESS_NAME_MAX];
} setup = {.level = WEIR_LOG_INFO, .process = "weir"};

void weir_log_setup(const char *process, enum weir_log_level level)
{
    snprintf(setup.process, sizeof(setup.process), "%s", process);
    setup.level = level;
}

bool weir_log_level_from_name(const char *name, enum weir_log_level *ret_level)
{
    for (size_t i = 0; i < WEIR_COUNT(LEVELS); i++) {
        if (weir_str_equal(name, LEVELS[i])) {
            *ret_level = (enum weir_log_level)i;
            return true;
        }
    }
    return false;
}

/* Milliseconds always, so that columns stay columns: "2002-08-22T11:36:23.007Z". */
static void format_time(int64_t now_us, char text[WEIR_TIME_TEXT_MAX])
{
    weir_time_format(now_us - now_us % 1000000, text);
    size_t size = strlen(text) - 1; /* without the Z */
    snprintf(text + size, WEIR_TIME_TEXT_MAX - size, ".%03dZ", (int)(now_us % 1000000 / 1000));
}

/* One event is one line, whatever a field holds. */
static void flatten(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
    }
}

/* Ends a line that was too long for its array with "…", behind a whole character; returns its size. */
static size_t mark_cut(char *line)
{
    static const char MARK[] = "…";
    size_t size = strlen(line);
    size = weir_utf8_cut(weir_bytes(line, size), size - strlen(MARK));
    memcpy(line + size, MARK, sizeof(MARK));
    return size + strlen(MARK);
}

/* A pipe that is full, for nobody reads it, must not stop a process: its lines are dropped. When poll() calls a pipe
 * writable, a line fits. */
static bool is_read(void)
{
    struct pollfd watched = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&watched, 1, 0) != 0;
}

static void write_all(const char *at, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* nobody reads: nowhere to complain */
        at += written;
        size -= (size_t)written;
    }
}

void weir_log(enum weir_log_level level, const char *sentence, const char *format, ...)
{
    char line[LINE_MAX];
    char time[WEIR_TIME_TEXT_MAX];
    va_list args;

    if (level < setup.level)
        return;
    format_time(weir_now_wall_us(), time);
    size_t room = sizeof(line) - 1; /* for the newline */
    int head =
        snprintf(line, room, "%s %s %s \"%s\" ", time, LEVELS[level], setup.process, sentence);
    size_t size = (size_t)head < room ? (size_t)head : room - 1;
    va_start(args, format);
    int fields = vsnprintf(line + size, room - size, format, args);
    va_end(args);

    flatten(line);
    bool is_whole = (size_t)head < room && size + (size_t)fields < room;
    size = is_whole ? strlen(line) : mark_cut(line);
    while (size > 0 && line[size - 1] == ' ')
        size--;
    line[size++] = '\n';
    if (is_read())
        write_all(line, size);
}
