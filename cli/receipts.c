/* Receipts as files: see receipts.h. What one says of itself is asked of the program beside this one. */
#include "cli/receipts.h"

#include "cli/answer.h"
#include "cli/program.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <string.h>

enum { KEY_DIGITS = 64, KEYS_BYTES_MAX = 64 << 10 };

bool cli_names_receipts(const struct cli_call *call)
{
    if (call->operand_count == 0)
        return false;
    const char *first = call->operands[0];
    return call->operand_count > 1 || first[strspn(first, "0123456789")] != '\0';
}

/* ---- the keys that may have signed ---- */

static bool is_key(const char *text, size_t length)
{
    return length == KEY_DIGITS && strspn(text, "0123456789abcdefABCDEF") >= KEY_DIGITS;
}

/* As receipts have it. */
static void add_key(json_t *keys, const char *digits)
{
    char key[KEY_DIGITS + 1] = "";
    for (size_t i = 0; i < KEY_DIGITS; i++)
        key[i] = (char)(digits[i] >= 'A' && digits[i] <= 'F' ? digits[i] - 'A' + 'a' : digits[i]);
    json_array_append_new(keys, json_string(key));
}

static enum weir_status read_keys(const char *file, json_t *keys, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(file, KEYS_BYTES_MAX, &text, err);
    if (status != WEIR_OK)
        return status;
    const char *at = weir_buf_text(&text);
    for (size_t line = 1; *at != '\0'; line++) {
        size_t length = strcspn(at, "\r\n");
        if (length > 0 && !is_key(at, length))
            return weir_fail(err, WEIR_INVALID,
                             "%s:%zu: expected a key of 64 hexadecimal digits, as weir erase key "
                             "prints",
                             file, line);
        if (length > 0)
            add_key(keys, at);
        at += length;
        at += *at == '\r';
        at += *at == '\n';
    }
    return WEIR_OK;
}

/* Those that were given, or those that the platform of the data directory has published there. */
static enum weir_status find_keys(const struct cli_call *call, json_t *keys, struct weir_error *err)
{
    const struct weir_option_values *given = &call->options.keys;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < given->count; i++) {
        if (is_key(given->at[i], strlen(given->at[i])))
            add_key(keys, given->at[i]);
        else if ((status = read_keys(given->at[i], keys, err)) != WEIR_OK)
            weir_error_wrap(err, status, "--key: neither 64 hexadecimal digits nor a file of them");
    }
    if (given->count > 0)
        return status;
    if (call->options.place.is_elsewhere)
        return weir_fail(
            err, WEIR_INVALID,
            "erase verify: the platform is elsewhere: expected --key HEX|FILE after it, "
            "as weir erase key prints it");
    WEIR_AUTO_FREE char *published = weir_format("%s/receipts/keys", call->options.place.data_dir);
    status = read_keys(published, keys, err);
    return status == WEIR_NOT_FOUND ? WEIR_OK : status;
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

static void add_wrong(json_t *findings, const char *file, const char *why)
{
    bool is_named = strncmp(why, file, strlen(file)) == 0;
    WEIR_AUTO_FREE char *found =
        weir_format("%s%s%s", is_named ? "" : file, is_named ? "" : ": ", why);
    add(findings, 0, "receipt", "wrong", found, "ask who gave it to you for another copy");
}

/* Adds the claims of a receipt whose content and signature fit to `receipts`, with its file. */
static enum weir_status read_one(const char *file, json_t *receipts, json_t *findings,
                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s%s", *file == '-' ? "./" : "", file);
    const char *const arguments[] = {"--read-receipt", path, NULL};
    struct cli_program_end end;
    enum weir_status status = cli_program_run("orchestrator", arguments, &end, err);
    if (status != WEIR_OK)
        return status;
    json_t *receipt = end.exit_code == 0 ? json_loads(weir_buf_text(&end.out), 0, NULL) : NULL;
    if (receipt != NULL) {
        json_object_set_new(receipt, "file", json_string(file));
        add(findings, cli_number(receipt, "erasure"), "receipt", "fine", cli_text(receipt, "hash"),
            "");
        json_array_append_new(receipts, receipt);
    } else {
        while (end.complaints.size > 0 && end.complaints.at[end.complaints.size - 1] == '\n')
            end.complaints.size--;
        add_wrong(findings, file, weir_buf_text(&end.complaints));
    }
    cli_program_end_fini(&end);
    return WEIR_OK;
}

static bool is_among(const json_t *keys, const char *key)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(json_string_value(json_array_get(keys, i)), key) == 0)
            return true;
    return false;
}

/* A signature says who made a receipt only when its key came from elsewhere. */
static void check_key(const json_t *receipt, const json_t *keys, bool accepts_unsigned,
                      json_t *findings)
{
    const char *key = cli_text(receipt, "public_key"), *file = cli_text(receipt, "file");
    int64_t erasure = cli_number(receipt, "erasure");
    WEIR_AUTO_FREE char *unsigned_ = weir_format("%s: unsigned", file);
    WEIR_AUTO_FREE char *unknown =
        weir_format("%s: signed by the key %s, which is none of the %zu known", file, key,
                    json_array_size(keys));
    if (*key == '\0')
        add(findings, erasure, "signature", accepts_unsigned ? "note" : "wrong", unsigned_,
            "anybody can write such a receipt; if an older Weir made it, --accept-unsigned lets it pass");
    else if (is_among(keys, key))
        add(findings, erasure, "signature", "fine", key, "");
    else
        add(findings, erasure, "signature", "wrong", unknown,
            "give the key of the platform that made it, as its weir erase key prints, as --key");
}

/* ---- all of them ---- */

static const json_t *find_hash(const json_t *receipts, const char *hash)
{
    for (size_t i = 0; i < json_array_size(receipts); i++)
        if (strcmp(cli_text(json_array_get(receipts, i), "hash"), hash) == 0)
            return json_array_get(receipts, i);
    return NULL;
}

/* Returns another receipt with the same predecessor: of two histories, one is made up. */
static const json_t *find_rival(const json_t *receipts, const json_t *receipt)
{
    for (size_t i = 0; i < json_array_size(receipts); i++) {
        const json_t *other = json_array_get(receipts, i);
        if (strcmp(cli_text(other, "previous"), cli_text(receipt, "previous")) == 0 &&
            strcmp(cli_text(other, "hash"), cli_text(receipt, "hash")) != 0 &&
            strcmp(cli_text(other, "public_key"), cli_text(receipt, "public_key")) == 0)
            return other;
    }
    return NULL;
}

static void check_chain(const json_t *receipts, const json_t *receipt, json_t *findings)
{
    const char *previous = cli_text(receipt, "previous");
    int64_t erasure = cli_number(receipt, "erasure");
    const json_t *rival = find_rival(receipts, receipt);
    if (rival != NULL) {
        WEIR_AUTO_FREE char *found =
            weir_format("%s and %s follow the same receipt", cli_text(receipt, "file"),
                        cli_text(rival, "file"));
        add(findings, erasure, "chain", "wrong", found,
            "one of them is not of this chain: ask who gave them to you");
    } else if (*previous == '\0')
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

/* One line for whoever reads nothing else. */
static void say_first_wrong(const json_t *findings)
{
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        if (strcmp(cli_text(finding, "verdict"), "wrong") != 0)
            continue;
        (void)fprintf(stderr, "weir: erase verify: %s: %s\n", cli_text(finding, "found"),
                      cli_text(finding, "advice"));
        return;
    }
}

static enum weir_status verify(const struct cli_call *call, const json_t *keys, json_t *findings,
                               struct weir_error *err)
{
    json_t *receipts = json_array();
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < call->operand_count; i++)
        status = read_one(call->operands[i], receipts, findings, err);
    for (size_t i = 0; status == WEIR_OK && i < json_array_size(receipts); i++) {
        check_key(json_array_get(receipts, i), keys, call->options.accept_unsigned, findings);
        check_chain(receipts, json_array_get(receipts, i), findings);
    }
    json_decref(receipts);
    return status;
}

enum weir_status cli_answer_receipts(const struct cli_call *call, json_t **ret_answer,
                                     struct weir_error *err)
{
    json_t *keys = json_array(), *findings = json_array();
    enum weir_status status = find_keys(call, keys, err);
    if (status == WEIR_OK)
        status = verify(call, keys, findings, err);
    json_decref(keys);
    if (status != WEIR_OK) {
        json_decref(findings);
        return status;
    }
    say_first_wrong(findings);
    *ret_answer =
        json_pack("{sI,so,sb}", "wrong", count_wrong(findings), "findings", findings, "files", 1);
    return WEIR_OK;
}
