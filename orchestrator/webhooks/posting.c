/* libcurl, blocking: see posting.h. */
#include "orchestrator/webhooks/posting.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/http/libcurl.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_MS = 5000,
    ANSWER_MS = 15000,
    OK_MIN = 200,
    OK_MAX = 299,
    PAUSE_MS = 1000,
    PAUSE_MS_MAX = 600000,
    DOUBLINGS_MAX = 10,
};

/* Bodies of answers are for nobody; a long one ends the transfer. */
static size_t pass_over(char *bytes, size_t size, size_t count, void *owner)
{
    enum { MOST = 1 << 20 };
    size_t *seen = owner;
    (void)bytes;
    *seen += size * count;
    return *seen > MOST ? 0 : size * count;
}

static int look_up(void *owner, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return weir_work_goes_on(owner, 0, 0) ? 0 : 1;
}

/* A receiver that has said 2xx has the event, also where its answer was not read to the end. */
static void judge(struct posting *posting, CURLcode result, long code)
{
    bool is_answered = result == CURLE_OK || result == CURLE_WRITE_ERROR;
    if (is_answered && code >= OK_MIN && code <= OK_MAX)
        posting->status = WEIR_OK;
    else if (is_answered || code > OK_MAX)
        posting->status =
            weir_fail(&posting->err, WEIR_UNAVAILABLE, "it answers with HTTP status %ld", code);
    else
        posting->status =
            weir_fail(&posting->err, WEIR_UNAVAILABLE, "%s", curl_easy_strerror(result));
}

void orchestrator_webhook_post(struct weir_work *work, struct posting *posting)
{
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = NULL;
    size_t seen = 0;
    long code = 0;
    weir_require(easy != NULL);
    for (char *const *header = posting->headers; *header != NULL; header++) {
        headers = curl_slist_append(headers, *header);
        weir_require(headers != NULL);
    }
    curl_easy_setopt(easy, CURLOPT_URL, posting->url);
    weir_require(curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, posting->body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(posting->body));
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, pass_over);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &seen);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_up);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, work);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    CURLcode result = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    judge(posting, result, code);
}

void orchestrator_posting_fini(struct posting *posting)
{
    for (char **header = posting->headers; *header != NULL; header++)
        free(*header);
    free(posting->body);
    *posting = (struct posting){0};
}

void orchestrator_webhook_sign(const void *secret, size_t secret_size, int64_t timestamp_s,
                               const char *body, char ret_signature[WEBHOOK_SIGNATURE_TEXT])
{
    crypto_auth_hmacsha256_state state;
    uint8_t hash[crypto_auth_hmacsha256_BYTES];
    char stamp[32];
    int size = snprintf(stamp, sizeof(stamp), "%" PRId64 ".", timestamp_s);
    crypto_auth_hmacsha256_init(&state, secret, secret_size);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)stamp, (unsigned long long)size);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)body, strlen(body));
    crypto_auth_hmacsha256_final(&state, hash);
    sodium_memzero(&state, sizeof(state));
    weir_hex(hash, sizeof(hash), ret_signature);
}

int64_t orchestrator_webhook_pause_ms(unsigned failures, uint64_t draw)
{
    unsigned doublings = failures > DOUBLINGS_MAX ? DOUBLINGS_MAX : failures;
    int64_t most_ms = (int64_t)PAUSE_MS << doublings;
    return 1 + (int64_t)(draw % (uint64_t)(most_ms < PAUSE_MS_MAX ? most_ms : PAUSE_MS_MAX));
}
