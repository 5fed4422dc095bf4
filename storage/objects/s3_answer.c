/* Reading answers: see s3_answer.h. */
#include "storage/objects/s3_answer.h"

#include "storage/objects/s3_list.h"

#include <stdio.h>
#include <string.h>

enum {
    BAD_REQUEST = 400,
    FORBIDDEN = 403,
    TOO_MANY_REQUESTS = 429,
    SERVER_ERROR = 500,
    NOT_IMPLEMENTED = 501,
};

enum s3_verdict storage_s3_answer_judge(const struct s3_answer *answer)
{
    static const struct {
        const char *code;
        enum s3_verdict verdict;
    } CODES[] = {
        {"RequestTimeout", S3_PASSING},
        {"ExpiredToken", S3_KEYS_OVER},
        {"RequestTimeTooSkewed", S3_CLOCK_OFF},
    };
    char code[64];

    if (answer->code == TOO_MANY_REQUESTS ||
        (answer->code >= SERVER_ERROR && answer->code != NOT_IMPLEMENTED))
        return S3_PASSING;
    if (answer->code != BAD_REQUEST && answer->code != FORBIDDEN)
        return S3_FINAL;
    storage_s3_error_code(answer->body, code);
    for (size_t i = 0; i < WEIR_COUNT(CODES); i++)
        if (strcmp(code, CODES[i].code) == 0)
            return CODES[i].verdict;
    return S3_FINAL;
}

bool storage_s3_answer_is_passing(const struct s3_answer *answer)
{
    return storage_s3_answer_judge(answer) != S3_FINAL;
}

void storage_s3_answer_describe(const struct s3_answer *answer, long expected, char text[128])
{
    char code[64];

    storage_s3_error_code(answer->body, code);
    snprintf(text, 128, "found HTTP status %ld %s, expected %ld", answer->code, code, expected);
}

bool storage_s3_answer_is(const struct s3_answer *answer, const struct weir_part *asked,
                          char text[WEIR_PART_TEXT])
{
    const struct weir_part_answer part = {
        .range = answer->range, .etag = answer->etag, .size = answer->body.size};

    return weir_part_is(asked, &part, text);
}
