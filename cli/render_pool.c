/* weir workers, its head: how many workers there should be, and who does not simply run. And weir workers set. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

/* "4 workers, as many as are needed of 1 to 8" */
static void put_size(const json_t *pool, struct weir_buf *out)
{
    long long min = (long long)cli_number(pool, "min"), max = (long long)cli_number(pool, "max");
    long long target = (long long)cli_number(pool, "target");
    weir_buf_printf(out, "%lld worker%s", target, target == 1 ? "" : "s");
    if (json_is_integer(json_object_get(pool, "set")))
        weir_buf_printf(out,
                        ", as was set (weir workers set auto: as many as are needed, %lld to %lld)",
                        min, max);
    else if (min < max)
        weir_buf_printf(out, ", as many as are needed of %lld to %lld", min, max);
    if (cli_number(pool, "host_max") > 0)
        weir_buf_printf(out, "; %lld beside the trainers, of at most %lld",
                        (long long)cli_number(pool, "host_target"),
                        (long long)cli_number(pool, "host_max"));
}

/* The members that do not simply run, each with what is the matter. */
static void show_others(const json_t *pool, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"worker", CLI_TEXT, .key = "worker"},
        {"place", CLI_TEXT, .key = "place"},
        {"state", CLI_TEXT, .key = "state"},
        {"since", CLI_TIME, .key = "since"},
        {"why", CLI_TEXT, .key = "why", .absent = "-"},
    };
    const json_t *members = json_object_get(pool, "members");
    json_t *others = json_array();
    for (size_t i = 0; i < json_array_size(members); i++) {
        json_t *member = json_array_get(members, i);
        if (strcmp(cli_text(member, "state"), "running") != 0)
            json_array_append(others, member);
    }
    cli_show_table(page, others, COLUMNS, WEIR_COUNT(COLUMNS));
    json_decref(others);
}

void cli_render_pool(const json_t *pool, struct cli_page *page)
{
    WEIR_AUTO_BUF size = {0};
    if (!json_is_object(pool))
        return;
    put_size(pool, &size);
    cli_line(page, "%s", weir_buf_text(&size));
    show_others(pool, page);
}
