/* crowd STORAGE COUNT: so many workers that make nothing (tests/support/crowd.h) hold, as seldom as leases allow, until
 * standard input ends. Prints what has become of them, ten times a second, as a line:
 * HOLDING HOLDS REFUSED [WORDS OF THE NEWEST REFUSAL]. */
#include "tests/support/crowd.h"
#include "core/base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRINT_MS = 100, PAUSE_MS = 1200, COUNT_MAX = 65536 };

static void print(struct crowd *crowd)
{
    struct crowd_report report;

    crowd_look(crowd, &report);
    printf("%zu %" PRIu64 " %" PRIu64 " %s\n", report.holding, report.holds, report.refused,
           report.words);
    fflush(stdout);
}

static bool is_over(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};

    return poll(&input, 1, 0) > 0 && (input.revents & POLLHUP) != 0;
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    struct crowd *crowd = NULL;
    struct weir_error err;

    if (argc != 3 || count <= 0 || count > COUNT_MAX) {
        fprintf(stderr, "usage: crowd STORAGE COUNT\n");
        return 2;
    }
    const struct crowd_plan plan = {
        .storage = argv[1], .name = "crowd", .count = (size_t)count, .pause_ms = PAUSE_MS};
    if (crowd_start(&plan, &crowd, &err) != WEIR_OK) {
        fprintf(stderr, "crowd: %s\n", err.text);
        return 1;
    }
    for (int64_t printed_ms = 0; !is_over();) {
        crowd_step(crowd);
        if (weir_now_ms() - printed_ms >= PRINT_MS) {
            printed_ms = weir_now_ms();
            print(crowd);
        }
    }
    crowd_stop(crowd);
    return 0;
}
