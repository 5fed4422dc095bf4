/* Vocabularies out of files, as published with language models. */
#include "preprocess/operators/text/lexicon.h"

#include "core/base/file.h"
#include "core/base/utf8.h"
#include "core/service/roots.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>

enum { FIRST_UNSEEN = 0x100, SHOWN_MAX = 40 };

enum weir_status preprocess_lexicon_plan(const char *on, const char *as,
                                         const struct operator_schema *schema,
                                         struct operator_plan *ret_plan, struct weir_error *err)
{
    enum weir_status status =
        preprocess_operator_plan_output(ret_plan, as, COLUMN_RAGGED, WEIR_I32, 0, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick(schema, on, 1u << COLUMN_TEXT | 1u << COLUMN_BYTES,
                                           &ret_plan->in, err);
}

/* ---- files ---- */

/* Judged once it is open, wherever links led: what it holds ends in fitted state. */
static enum weir_status read_file(const char *path, struct weir_buf *file, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && !weir_roots_allow_open(fd))
        return weir_fail(err, WEIR_INVALID,
                         "%s: expected a file below one of `roots` of the system file, outside of "
                         "the data directory",
                         path);
    return weir_file_read_open(fd, path, LEXICON_FILE_BYTES_MAX, file, err);
}

/* ---- lines ---- */

/* A file that is read line after line. */
struct lines {
    const char *path;
    struct weir_buf file;
    size_t at;
    size_t number; /* of the line taken last, from 1 */
};

static enum weir_status open_lines(const char *path, struct lines *lines, struct weir_error *err)
{
    *lines = (struct lines){.path = path};
    return read_file(path, &lines->file, err);
}

/* Without what ends it. False after the last. */
static bool next_line(struct lines *lines, struct weir_bytes *ret_line)
{
    if (lines->at == lines->file.size)
        return false;
    const uint8_t *start = lines->file.at + lines->at;
    size_t left = lines->file.size - lines->at;
    const uint8_t *end = memchr(start, '\n', left);
    size_t size = end != NULL ? (size_t)(end - start) : left;
    lines->at += size + (end != NULL);
    lines->number++;
    size -= size > 0 && start[size - 1] == '\r';
    *ret_line = weir_bytes(start, size);
    return true;
}

static bool is_utf8(struct weir_bytes text)
{
    return weir_utf8_whole(text) == text.size;
}

/* Adds a token that is not there yet; `complaint` is set when it cannot be one. */
static bool add(struct vocabulary *lexicon, const struct vocabulary_entry *entry,
                const char **complaint)
{
    *complaint = NULL;
    if (preprocess_vocabulary_find(lexicon, entry->column, entry->key) != VOCABULARY_NONE)
        *complaint = "stands there twice";
    else if (entry->key.size > VOCABULARY_KEY_MAX)
        *complaint = "has more than 256 bytes";
    else if (!preprocess_vocabulary_count(lexicon, entry, LEXICON_BYTES_MAX))
        *complaint = "is one too many: a vocabulary may have 12 MiB";
    return *complaint == NULL;
}

/* Returns the bytes of a token that can be shown: all of a short one in UTF-8, else none. */
static int shown(struct weir_bytes token)
{
    return token.size < SHOWN_MAX && is_utf8(token) ? (int)token.size : 0;
}

static enum weir_status add_line(const struct lines *lines, struct weir_bytes line,
                                 struct vocabulary *lexicon, struct weir_error *err)
{
    const char *complaint = NULL;
    bool is_behind = line.size > 2 && memcmp(line.at, "##", 2) == 0;
    struct vocabulary_entry entry = {
        .column = is_behind ? LEXICON_INNER : LEXICON_WHOLE,
        .key = is_behind ? weir_bytes(line.at + 2, line.size - 2) : line,
        .number = lines->number - 1,
    };
    if (line.size == 0)
        complaint = "is empty";
    else if (!is_utf8(line))
        complaint = "is no UTF-8";
    else
        add(lexicon, &entry, &complaint);
    if (complaint == NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "%s:%zu: token '%.*s' %s, expected another one on each line", lines->path,
                     lines->number, shown(line), (const char *)line.at, complaint);
}

enum weir_status preprocess_lexicon_read_lines(const char *path, struct vocabulary *lexicon,
                                               struct weir_error *err)
{
    struct lines lines;
    struct weir_bytes line;
    enum weir_status status = open_lines(path, &lines, err);
    while (status == WEIR_OK && next_line(&lines, &line))
        status = add_line(&lines, line, lexicon, err);
    if (status == WEIR_OK && lines.number == 0)
        status = weir_fail(err, WEIR_INVALID, "%s: is empty, expected one token a line", path);
    weir_buf_fini(&lines.file);
    return status;
}

/* ---- bytes written as letters ---- */

/* The character that stands for a byte: itself when it can be seen, else one from U+0100 on. */
static uint32_t letter_of(uint8_t byte)
{
    bool is_seen = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
    if (is_seen)
        return byte;
    uint32_t before = byte < '!' ? byte : byte < 0xad ? byte - (0x7f - 0x21u) : 0x43;
    return FIRST_UNSEEN + before;
}

/* The byte that a letter stands for, or -1: letter_of() the other way round. */
static int byte_of(uint32_t letter)
{
    uint32_t unseen = letter - FIRST_UNSEEN;
    uint32_t byte = letter;
    if (letter >= FIRST_UNSEEN)
        byte = unseen < '!' ? unseen : unseen < 0x43 ? unseen + (0x7f - 0x21u) : 0xad;
    return byte < 0x100 && letter_of((uint8_t)byte) == letter ? (int)byte : -1;
}

/* False when a character stands for no byte, or there are more than a token may have. */
static bool bytes_of_letters(struct weir_bytes text, uint8_t token[VOCABULARY_KEY_MAX],
                             size_t *ret_size)
{
    size_t count = 0;
    for (size_t at = 0, taken = 0; at < text.size; at += taken) {
        int byte = byte_of(weir_utf8_decode(weir_bytes(text.at + at, text.size - at), &taken));
        if (byte < 0 || count == VOCABULARY_KEY_MAX)
            return false;
        token[count++] = (uint8_t)byte;
    }
    *ret_size = count;
    return count > 0;
}

/* ---- JSON ---- */

static enum weir_status add_member(const char *path, const char *name, const json_t *number,
                                   struct vocabulary *lexicon, struct weir_error *err)
{
    uint8_t token[VOCABULARY_KEY_MAX];
    size_t size = 0;
    const char *complaint = NULL;
    struct weir_bytes text = weir_bytes_of(name);
    bool is_number = json_is_integer(number) && json_integer_value(number) >= 0 &&
                     json_integer_value(number) < LEXICON_TOKEN_MAX;
    if (!is_number) {
        complaint = "has no number of a token";
    } else if (!bytes_of_letters(text, token, &size)) {
        complaint = "is not written in the letters that stand for bytes, or has more than 256";
    } else {
        struct vocabulary_entry entry = {.key = weir_bytes(token, size),
                                         .number = (uint64_t)json_integer_value(number)};
        add(lexicon, &entry, &complaint);
    }
    if (complaint == NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s: token '%.*s' %s", path, shown(text), name, complaint);
}

enum weir_status preprocess_lexicon_read_json(const char *path, struct vocabulary *lexicon,
                                              struct weir_error *err)
{
    WEIR_AUTO_BUF file = {0};
    json_error_t reason;
    enum weir_status status = read_file(path, &file, err);
    if (status != WEIR_OK)
        return status;
    json_t *root = json_loadb((const char *)file.at, file.size, JSON_REJECT_DUPLICATES, &reason);
    if (root == NULL)
        return weir_fail(err, WEIR_INVALID, "%s:%d: %s", path, reason.line, reason.text);
    if (!json_is_object(root) || json_object_size(root) == 0)
        status = weir_fail(err, WEIR_INVALID, "%s:1: expected an object of tokens", path);
    for (void *at = json_object_iter(root); status == WEIR_OK && at != NULL;
         at = json_object_iter_next(root, at))
        status =
            add_member(path, json_object_iter_key(at), json_object_iter_value(at), lexicon, err);
    json_decref(root);
    return status;
}

/* ---- merges ---- */

struct weir_bytes preprocess_lexicon_pair(uint32_t left, uint32_t right,
                                          uint8_t key[LEXICON_PAIR_BYTES])
{
    weir_put_u32(key, left);
    weir_put_u32(key + 4, right);
    return weir_bytes(key, LEXICON_PAIR_BYTES);
}

/* Finds the numbers of both tokens of a line, and of what they are joined to. */
static const char *read_merge(struct weir_bytes line, const struct vocabulary *tokens,
                              int64_t ret_numbers[3])
{
    uint8_t left[VOCABULARY_KEY_MAX], right[VOCABULARY_KEY_MAX], joined[2 * VOCABULARY_KEY_MAX];
    size_t left_size = 0, right_size = 0;
    const uint8_t *blank = memchr(line.at, ' ', line.size);
    size_t before = blank != NULL ? (size_t)(blank - line.at) : line.size;
    if (blank == NULL || !bytes_of_letters(weir_bytes(line.at, before), left, &left_size) ||
        !bytes_of_letters(weir_bytes(blank + 1, line.size - before - 1), right, &right_size))
        return "expected two tokens with a blank between";
    memcpy(joined, left, left_size);
    memcpy(joined + left_size, right, right_size);
    ret_numbers[0] = preprocess_lexicon_number(tokens, 0, weir_bytes(left, left_size));
    ret_numbers[1] = preprocess_lexicon_number(tokens, 0, weir_bytes(right, right_size));
    ret_numbers[2] =
        preprocess_lexicon_number(tokens, 0, weir_bytes(joined, left_size + right_size));
    bool are_known = ret_numbers[0] >= 0 && ret_numbers[1] >= 0 && ret_numbers[2] >= 0;
    return are_known ? NULL
                     : "expected that both, and what they are joined to, are in the vocabulary";
}

static enum weir_status add_merge(const struct lines *lines, struct weir_bytes line,
                                  const struct vocabulary *tokens, struct vocabulary *merges,
                                  struct weir_error *err)
{
    int64_t numbers[3];
    uint8_t key[LEXICON_PAIR_BYTES];
    const char *complaint = read_merge(line, tokens, numbers);
    if (complaint == NULL) {
        struct vocabulary_entry entry = {
            .key = preprocess_lexicon_pair((uint32_t)numbers[0], (uint32_t)numbers[1], key),
            .number = (uint64_t)numbers[2]};
        add(merges, &entry, &complaint);
    }
    if (complaint == NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s:%zu: merge '%.*s': %s", lines->path, lines->number,
                     shown(line), (const char *)line.at, complaint);
}

enum weir_status preprocess_lexicon_read_merges(const char *path, const struct vocabulary *tokens,
                                                struct vocabulary *merges, struct weir_error *err)
{
    static const char VERSION[] = "#version";
    struct lines lines;
    struct weir_bytes line;
    enum weir_status status = open_lines(path, &lines, err);
    while (status == WEIR_OK && next_line(&lines, &line)) {
        bool is_version = lines.number == 1 && line.size >= sizeof(VERSION) - 1 &&
                          memcmp(line.at, VERSION, sizeof(VERSION) - 1) == 0;
        if (!is_version)
            status = add_merge(&lines, line, tokens, merges, err);
    }
    weir_buf_fini(&lines.file);
    return status;
}

/* ---- asking ---- */

int64_t preprocess_lexicon_number(const struct vocabulary *lexicon, uint32_t column,
                                  struct weir_bytes token)
{
    int64_t entry = preprocess_vocabulary_find(lexicon, column, token);
    if (entry == VOCABULARY_NONE)
        return -1;
    return (int64_t)preprocess_vocabulary_at(lexicon, (size_t)entry).number;
}

enum weir_status preprocess_lexicon_special(const struct vocabulary *lexicon, const char *name,
                                            const char *token, int32_t *ret_number,
                                            struct weir_error *err)
{
    int64_t number =
        token != NULL ? preprocess_lexicon_number(lexicon, 0, weir_bytes_of(token)) : -1;
    if (token != NULL && number < 0)
        return weir_fail(err, WEIR_INVALID,
                         "%s: found '%s', expected a token that is in the vocabulary", name, token);
    *ret_number = (int32_t)number;
    return WEIR_OK;
}

bool preprocess_lexicon_open(struct vocabulary *lexicon, struct weir_bytes pool, uint32_t columns)
{
    preprocess_vocabulary_clear(lexicon);
    weir_buf_append(&lexicon->pool, pool.at, pool.size);
    if (!preprocess_vocabulary_index(lexicon, columns))
        return false;
    for (size_t i = 0; i < preprocess_vocabulary_size(lexicon); i++) {
        if (preprocess_vocabulary_at(lexicon, i).number >= LEXICON_TOKEN_MAX)
            return false;
    }
    return true;
}
