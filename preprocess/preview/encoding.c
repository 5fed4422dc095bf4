/* See encoding.h. */
#include "preprocess/preview/encoding.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

/* The texts that an operator would repair. */
struct repaired {
    size_t count, first; /* records */
    size_t at;           /* place of the byte in the first one's text */
    uint8_t byte;        /* byte that belongs to no character */
    char column[COLUMN_NAME_MAX];
};

struct finding {
    struct repaired of[CHAIN_OPERATORS_MAX];
    size_t record; /* under way */
};

static void visit(void *owner, const struct chain_seen *seen)
{
    struct finding *finding = owner;
    struct repaired *repaired = &finding->of[seen->written];

    if (!seen->repairs || seen->is_absorbed)
        return;
    struct weir_bytes text = column_row(seen->in, 0);
    size_t at = weir_utf8_whole(text);
    if (at == text.size)
        return;
    if (repaired->count++ > 0)
        return;
    repaired->first = finding->record;
    repaired->at = at;
    repaired->byte = text.at[at];
    (void)snprintf(repaired->column, sizeof(repaired->column), "%s", seen->in->about.name);
}

static void remark(const struct trial *trial, const struct records *records, size_t written,
                   const struct repaired *repaired)
{
    const struct weir_yaml_node *node = weir_yaml_at(trial->operators, written);
    WEIR_AUTO_FREE char *place = preprocess_records_place(records, repaired->first);

    cfg_note_at(trial->complaints, WEIR_OK, node,
                "preprocess.operators: %s: %zu of %zu: %s: column '%s' is no UTF-8 (found byte "
                "0x%02x at %zu): each such byte is lost (U+FFFD); to keep the letters, convert the "
                "files first, those in Latin-1 by iconv -f LATIN1 -t UTF-8",
                weir_yaml_text(weir_yaml_get(node, "op")), repaired->count, records->count, place,
                repaired->column, repaired->byte, repaired->at);
}

void preprocess_encoding_check(struct trial *trial, const struct records *records)
{
    WEIR_AUTO_FREE struct finding *finding = weir_calloc(1, sizeof(*finding));

    if (!preprocess_chain_repairs(trial->chain)) /* of pictures none is UTF-8 */
        return;
    for (size_t i = 0; i < records->count; i++) {
        struct weir_bytes record = preprocess_records_bytes(records, i);

        if (weir_utf8_whole(record) == record.size)
            continue;
        finding->record = i;
        if (preprocess_trial_run_one(trial, records, i) == OPERATOR_ROW_OK)
            preprocess_chain_walk(trial->chain, visit, finding);
    }
    for (size_t i = 0; i < weir_yaml_length(trial->operators); i++)
        if (finding->of[i].count > 0)
            remark(trial, records, i, &finding->of[i]);
}
