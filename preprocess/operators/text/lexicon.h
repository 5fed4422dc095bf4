/* Vocabularies out of files, as published with language models. They are given, not fitted; what was read is sealed
 * like fitted state, so that a model keeps the words it was made with, whatever becomes of the file.
 *
 * Whoever wrote a file is not trusted: every complaint names the file, and the line if it has lines. */
#ifndef WEIR_PREPROCESS_OPERATORS_TEXT_LEXICON_H
#define WEIR_PREPROCESS_OPERATORS_TEXT_LEXICON_H

#include "preprocess/operators/operator.h"
#include "preprocess/operators/vocabulary.h"

enum {
    LEXICON_FILE_BYTES_MAX = 16 << 20,
    LEXICON_BYTES_MAX = 12 << 20, /* of a vocabulary */
    LEXICON_TOKEN_MAX = 1 << 30,  /* above the number of any token */
};

/* Columns of a vocabulary of word pieces. */
enum { LEXICON_WHOLE, LEXICON_INNER /* "##ing", kept as "ing" */, LEXICON_COLUMNS };

/* Plans an operator that reads column `on`, text or bytes, and makes tokens of a vocabulary, the tensor `as`. */
enum weir_status preprocess_lexicon_plan(const char *on, const char *as,
                                         const struct operator_schema *schema,
                                         struct operator_plan *ret_plan,
                                         struct weir_error *err) WEIR_MUST_USE;

/* A file of one token a line, whose number is that of its line, from 0. `*lexicon` is empty. */
enum weir_status preprocess_lexicon_read_lines(const char *path, struct vocabulary *lexicon,
                                               struct weir_error *err) WEIR_MUST_USE;
/* A file of one JSON object, token → number. Tokens are bytes, each written as one character (itself when it can be
 * seen, else one from U+0100 on) and kept as bytes; they are in column 0. */
enum weir_status preprocess_lexicon_read_json(const char *path, struct vocabulary *lexicon,
                                              struct weir_error *err) WEIR_MUST_USE;
/* A file of one merge a line, two tokens of `tokens` written as above that are made one, which is a token as
 * well. In `*merges`, which is empty, their two numbers are the key (preprocess_lexicon_pair()), the third is its
 * number, and an entry's place its rank. A first line "#version…" is passed over. */
enum weir_status preprocess_lexicon_read_merges(const char *path, const struct vocabulary *tokens,
                                                struct vocabulary *merges,
                                                struct weir_error *err) WEIR_MUST_USE;

/* Two tokens as a key. */
enum { LEXICON_PAIR_BYTES = 8 };
struct weir_bytes preprocess_lexicon_pair(uint32_t left, uint32_t right,
                                          uint8_t key[LEXICON_PAIR_BYTES]);
/* The number of a token, or -1. */
int64_t preprocess_lexicon_number(const struct vocabulary *lexicon, uint32_t column,
                                  struct weir_bytes token);
/* The number of the token that option `name` of an operator names. INVALID when there is none. */
enum weir_status preprocess_lexicon_special(const struct vocabulary *lexicon, const char *name,
                                            const char *token, int32_t *ret_number,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Takes over `pool`, which was sealed: false when it is no vocabulary of so many columns, with numbers of tokens. */
bool preprocess_lexicon_open(struct vocabulary *lexicon, struct weir_bytes pool,
                             uint32_t columns) WEIR_MUST_USE;

#endif
