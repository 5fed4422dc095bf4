/* Reading answers: see s3_answer.h. */
#include "storage/objects/s3_answer.h"

#include "storage/objects/s3_list.h"

#include <inttypes.h>
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

/* Without its quotes. */
static struct weir_bytes bare(const char *etag)
{
    size_t size = strlen(etag);
    bool is_quoted = size >= 2 && etag[0] == '"' && etag[size - 1] == '"';

    return is_quoted ? weir_bytes(etag + 1, size - 2) : weir_bytes(etag, size);
}

bool storage_s3_answer_is(const struct s3_answer *answer, const struct s3_range *asked,
                          const char *etag, char text[128])
{
    uint64_t from = 0, to = 0;
    bool is_said = sscanf(answer->range, "bytes %" SCNu64 "-%" SCNu64 "/", &from, &to) == 2;

    if (!is_said || from != asked->from || to != asked->from + asked->size - 1)
        snprintf(text, 128, "found an answer of the bytes '%.40s', expected %" PRIu64 "-%" PRIu64,
                 answer->range, asked->from, asked->from + asked->size - 1);
    else if (answer->body.size != asked->size)
        snprintf(text, 128, "found an answer of %zu bytes, expected %" PRIu64, answer->body.size,
                 asked->size);
    else if (*answer->etag && !weir_bytes_equal(bare(answer->etag), bare(etag)))
        snprintf(text, 128, "found an answer of another object than was asked for");
    else
        return true;
    return false;
}
