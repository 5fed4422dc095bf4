/* libcurl, blocking: see exchange.h. */
#include "storage/identity/exchange.h"

#include "core/base/rng.h"
#include "core/http/libcurl.h"

#include <poll.h>

enum {
    TRIES = 3,
    PAUSE_MS = 200, /* the most after the first; then twice as much */
    CONNECT_MS = 2000,
    ANSWER_MS = 10000,
    OK_MAX = 299,
    TOO_MANY_REQUESTS = 429,
    SERVER_ERROR = 500,
};

static size_t take_body(char *bytes, size_t size, size_t count, void *owner)
{
    struct weir_buf *answer = owner;

    if (size * count > IDENTITY_ANSWER_BYTES_MAX - answer->size)
        return 0;
    weir_buf_append(answer, bytes, size * count);
    return size * count;
}

static int look_up(void *owner, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return weir_work_goes_on(owner, 0, 0) ? 0 : 1;
}

static void set_options(CURL *easy, const struct exchange *exchange, struct weir_work *work,
                        struct weir_buf *answer)
{
    curl_easy_setopt(easy, CURLOPT_URL, exchange->url);
    if (exchange->form != NULL)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange->form);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange->method);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_up);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, work);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    if (exchange->is_direct)
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (exchange->ca != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, exchange->ca);
}

static enum weir_status judge(const struct exchange *exchange, CURLcode result, long code,
                              struct weir_error *err)
{
    if (result != CURLE_OK)
        return weir_fail(err, WEIR_UNAVAILABLE, "%s: %s", exchange->who,
                         curl_easy_strerror(result));
    if (code <= OK_MAX)
        return WEIR_OK;
    return weir_fail(
        err, code >= SERVER_ERROR || code == TOO_MANY_REQUESTS ? WEIR_UNAVAILABLE : WEIR_DENIED,
        "%s answers with HTTP status %ld", exchange->who, code);
}

static enum weir_status ask_once(const struct exchange *exchange, struct weir_work *work,
                                 struct weir_buf *answer, struct weir_error *err)
{
    CURL *easy = curl_easy_init();
    struct curl_slist *headers =
        exchange->header != NULL ? curl_slist_append(NULL, exchange->header) : NULL;
    CURLcode result;
    long code = 0;

    weir_require(easy != NULL);
    weir_buf_wipe(answer);
    weir_buf_clear(answer);
    set_options(easy, exchange, work, answer);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    result = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return judge(exchange, result, code, err);
}

enum weir_status storage_identity_ask(const struct exchange *exchange, struct weir_work *work,
                                      struct weir_buf *answer, struct weir_error *err)
{
    enum weir_status status = ask_once(exchange, work, answer, err);

    for (int tried = 1; status == WEIR_UNAVAILABLE && tried < TRIES; tried++) {
        poll(NULL, 0, (int)(weir_random_u64() % (uint64_t)(PAUSE_MS << (tried - 1))));
        if (!weir_work_goes_on(work, 0, 0))
            break;
        status = ask_once(exchange, work, answer, err);
    }
    return status;
}
