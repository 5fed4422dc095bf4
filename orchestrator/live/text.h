/* A text and the number of those who hold it: it may be on its way to several browsers. */
#ifndef ORCHESTRATOR_LIVE_TEXT_H
#define ORCHESTRATOR_LIVE_TEXT_H

#include "core/base/bytes.h"

struct live_text {
    size_t holders;
    size_t size;
    char at[];
};

/* A copy, with one holder. */
struct live_text *orchestrator_live_text_new(struct weir_bytes from);
struct live_text *orchestrator_live_text_hold(struct live_text *text);
/* NULL is fine. */
void orchestrator_live_text_free(struct live_text *text);

#endif
