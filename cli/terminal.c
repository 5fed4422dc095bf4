/* Asking a terminal what it can show: see terminal.h. */
#include "cli/terminal.h"

#include "core/base/bytes.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    bool is = weir_str_equal(nl_langinfo_l(CODESET, locale), "UTF-8");
    freelocale(locale);
    return is;
}

static size_t width_of(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct cli_page cli_terminal_page(int fd, struct weir_buf *out)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    if (isatty(fd) != 1 || term == NULL || weir_str_equal(term, "dumb"))
        return (struct cli_page){.out = out};
    return (struct cli_page){.out = out,
                             .colour = no_colour == NULL || no_colour[0] == '\0',
                             .blocks = is_utf8(),
                             .width = width_of(fd)};
}
