/* Receipts as files: see receipts.h. What one says of itself is asked of the program beside this one. */
#include "cli/receipts.h"

#include "cli/answer.h"
#include "cli/program.h"
#include "core/base/memory.h"

#include <string.h>

bool cli_names_receipts(const struct cli_call *call)
{
    if (call->operand_count == 0)
        return false;
    const char *first = call->operands[0];
    return call->operand_count > 1 || first[strspn(first, "0123456789")] != '\0';
}

/* Appends a finding; texts are copied. */
static void add(json_t *findings, int64_t erasure, const char *check, const char *verdict,
                const char *found, const char *advice)
{
    json_array_append_new(findings, json_pack("{sI,ss,ss,ss,ss,ss}", "erasure", (json_int_t)erasure,
                                              "check", check, "verdict", verdict, "found", found,
                                              "expected", "", "advice", advice));
}

/* ---- one of them ---- */

/* What it says of itself is added to `receipts`; or what is wrong with it to `findings`. */
static enum weir_status read_one(const char *file, json_t *receipts, json_t *findings,
                                 struct weir_error *err)
{
    const char *const arguments[] = {"--read-receipt", file, NULL};
    struct cli_program_end end;
    enum weir_status status = cli_program_run("orchestrator", arguments, &end, err);
    if (status != WEIR_OK)
        return status;
    json_t *receipt = end.exit_code == 0 ? json_loads(weir_buf_text(&end.out), 0, NULL) : NULL;
    if (receipt != NULL) {
        add(findings, cli_number(receipt, "erasure"), "receipt", "fine", cli_text(receipt, "hash"),
            "");
        json_array_append_new(receipts, receipt);
    } else {
        while (end.complaints.size > 0 && end.complaints.at[end.complaints.size - 1] == '\n')
            end.complaints.size--;
        WEIR_AUTO_FREE char *found = weir_format("%s: %s", file, weir_buf_text(&end.complaints));
        add(findings, 0, "receipt", "wrong", found, "ask who gave it to you for another copy");
    }
    cli_program_end_fini(&end);
    return WEIR_OK;
}

static void check_key(const json_t *receipt, const char *expected, json_t *findings)
{
    const char *key = cli_text(receipt, "public_key");
    int64_t erasure = cli_number(receipt, "erasure");
    if (*key == '\0')
        add(findings, erasure, "signature", expected ? "wrong" : "note",
            "it was made before receipts were signed", "");
    else if (expected == NULL)
        add(findings, erasure, "signature", "note", key,
            "it is signed with this key: ask for that of weir erase key, and give it as --public-key");
    else if (strcmp(key, expected) == 0)
        add(findings, erasure, "signature", "fine", key, "");
    else
        add(findings, erasure, "signature", "wrong", key,
            "it is signed with another key than was given as --public-key");
}

/* ---- all of them ---- */

static const json_t *find_hash(const json_t *receipts, const char *hash)
{
    for (size_t i = 0; i < json_array_size(receipts); i++)
        if (strcmp(cli_text(json_array_get(receipts, i), "hash"), hash) == 0)
            return json_array_get(receipts, i);
    return NULL;
}

static void check_chain(const json_t *receipts, const json_t *receipt, json_t *findings)
{
    const char *previous = cli_text(receipt, "previous");
    int64_t erasure = cli_number(receipt, "erasure");
    if (*previous == '\0')
        add(findings, erasure, "chain", "fine", "the first", "");
    else if (find_hash(receipts, previous) != NULL)
        add(findings, erasure, "chain", "fine", previous, "");
    else
        add(findings, erasure, "chain", "note", "the receipt before it is none of these files",
            "name that file too, to have the chain followed");
}

static json_int_t count_wrong(const json_t *findings)
{
    json_int_t wrong = 0;
    for (size_t i = 0; i < json_array_size(findings); i++)
        wrong += strcmp(cli_text(json_array_get(findings, i), "verdict"), "wrong") == 0;
    return wrong;
}

enum weir_status cli_answer_receipts(const struct cli_call *call, json_t **ret_answer,
                                     struct weir_error *err)
{
    json_t *receipts = json_array(), *findings = json_array();
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < call->operand_count; i++)
        status = read_one(call->operands[i], receipts, findings, err);
    for (size_t i = 0; status == WEIR_OK && i < json_array_size(receipts); i++) {
        check_key(json_array_get(receipts, i), call->options.public_key, findings);
        check_chain(receipts, json_array_get(receipts, i), findings);
    }
    json_decref(receipts);
    if (status != WEIR_OK) {
        json_decref(findings);
        return status;
    }
    *ret_answer = json_pack("{sI,so}", "wrong", count_wrong(findings), "findings", findings);
    return WEIR_OK;
}
