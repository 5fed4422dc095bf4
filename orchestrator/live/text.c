/* Counting holders. */
#include "orchestrator/live/text.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct live_text *orchestrator_live_text_new(struct weir_bytes from)
{
    struct live_text *text = weir_calloc(1, sizeof(*text) + from.size);
    text->holders = 1;
    text->size = from.size;
    memcpy(text->at, from.at, from.size);
    return text;
}

struct live_text *orchestrator_live_text_hold(struct live_text *text)
{
    text->holders++;
    return text;
}

void orchestrator_live_text_free(struct live_text *text)
{
    if (text != NULL && --text->holders == 0)
        free(text);
}
