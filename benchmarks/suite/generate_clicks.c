/* generate_clicks: a made-up stream of clicks on standard output, records of 168 bytes, whose drift is
 * known: see clicks.h. */
#include "benchmarks/suite/clicks.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAD_USAGE = 2, ROWS_MAX = 1000000000 };

static const char USAGE[] =
    "usage: generate_clicks [OPTION…] > clicks.bin\n"
    "  --seed N     another stream (1)\n"
    "  --rows N     how many rows (240000; at most 1000000000)\n"
    "  --first N    number of the first row: a stream can be made in parts (0)\n"
    "  --period N   rows from one change to the next, 0: nothing changes (40000)\n"
    "  --every N    microseconds from one row to the next (4320000: 20000 rows a day)\n"
    "Row 0 is of 2024-01-02T00:00:00Z. A record: i64 time, i32 label, 13 f32 counts, 26 i32 categories.\n";

/* 2024-01-02T00:00:00Z, in microseconds since 1970. Boundaries of two days are counted from 1970, so that
 * the changes lie on them. */
static const int64_t START = 1704153600000000;

struct request {
    struct clicks clicks;
    uint64_t rows, first;
};

static bool read_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || number > max)
        return false;
    *ret_number = number;
    return true;
}

static bool read_option(struct request *request, int option, const char *text)
{
    uint64_t every = 0;
    switch (option) {
    case 's':
        return read_number(text, UINT64_MAX, &request->clicks.seed);
    case 'r':
        return read_number(text, ROWS_MAX, &request->rows);
    case 'f':
        return read_number(text, ROWS_MAX, &request->first);
    case 'p':
        return read_number(text, ROWS_MAX, &request->clicks.period);
    case 'e':
        if (!read_number(text, UINT32_MAX, &every))
            return false;
        request->clicks.every = (int64_t)every;
        return true;
    default:
        return false;
    }
}

static bool read_options(int argc, char **argv, struct request *request)
{
    static const struct option OPTIONS[] = {
        {"seed", required_argument, NULL, 's'},  {"rows", required_argument, NULL, 'r'},
        {"first", required_argument, NULL, 'f'}, {"period", required_argument, NULL, 'p'},
        {"every", required_argument, NULL, 'e'}, {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        if (!read_option(request, option, optarg)) {
            if (option != '?')
                (void)fprintf(stderr, "generate_clicks: found '%s', expected a number in bounds\n",
                              optarg);
            return false;
        }
    return optind == argc;
}

static bool write_rows(const struct request *request)
{
    for (uint64_t i = 0; i < request->rows; i++) {
        struct click click = clicks_row(&request->clicks, request->first + i);
        if (fwrite(&click, sizeof(click), 1, stdout) != 1)
            return false;
    }
    return fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    struct request request = {
        .clicks = {.seed = 1, .period = 40000, .start = START, .every = 4320000}, .rows = 240000};
    if (!read_options(argc, argv, &request)) {
        (void)fputs(USAGE, stderr);
        return BAD_USAGE;
    }
    if (write_rows(&request))
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "generate_clicks: cannot write: %s\n", strerror(errno));
    return EXIT_FAILURE;
}
