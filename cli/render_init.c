/* weir init. */
#include "cli/answer.h"
#include "cli/render.h"

static void show(const json_t *answer, const char *key, const char *title, struct cli_page *page)
{
    const json_t *lines = json_object_get(answer, key);

    for (size_t i = 0; i < json_array_size(lines); i++)
        cli_pair(page, i == 0 ? title : "", "%s", json_string_value(json_array_get(lines, i)));
}

void cli_render_init(const json_t *answer, struct cli_page *page)
{
    show(answer, "saw", "saw", page);
    show(answer, "guessed", "guessed", page);
    show(answer, "look", "look at", page);
    show(answer, "complaints", cli_flag(answer, "valid") ? "remarks" : "mistakes", page);
    cli_pair(page, "wrote", "%s", cli_text(answer, "file"));
    if (cli_flag(answer, "valid"))
        cli_pair(page, "next", "%s", cli_text(answer, "next"));
}
