/* Tokens that people show instead of a key: 32 random bytes in hexadecimal digits. Only their hash is stored. */
#ifndef WEIR_SERVICE_TOKEN_H
#define WEIR_SERVICE_TOKEN_H

enum { WEIR_TOKEN_TEXT = 64 /* digits of a token, and of its hash */ };

/* Draws one; whoever holds it wipes it. */
void weir_token_draw(char ret_token[WEIR_TOKEN_TEXT + 1]);
/* BLAKE2b-256 of any text, in hexadecimal digits. */
void weir_token_hash(const char *text, char ret_hash[WEIR_TOKEN_TEXT + 1]);

#endif
