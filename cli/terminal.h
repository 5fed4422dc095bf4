/* A page that suits the place it goes to. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "cli/page.h"

/* A page into `out`, for what the descriptor leads to. A terminal gets bold titles, pictures of blocks where its locale
 * is UTF-8, and its own width; not with TERM=dumb. NO_COLOR (https://no-color.org) leaves the titles plain. All else
 * gets plain text. */
struct cli_page cli_terminal_page(int fd, struct weir_buf *out);

#endif
