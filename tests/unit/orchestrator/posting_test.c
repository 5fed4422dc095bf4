/* Signatures of posted events, what counts as taken, and pauses between tries. */
#include "orchestrator/webhooks/posting.h"

#include "core/base/memory.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* printf '1700000000.{"event":"x"}' | openssl dgst -sha256 -hmac 0123456789abcdef */
static void a_signature_is_what_openssl_computes(void **state)
{
    char signature[WEBHOOK_SIGNATURE_TEXT];
    (void)state;
    orchestrator_webhook_sign("0123456789abcdef", 16, 1700000000, "{\"event\":\"x\"}", signature);
    assert_string_equal(signature,
                        "f362b67a3fbd182351d978392c6e948bfc342bac2f789c9f6a55abf0c4b68925");
}

static void pauses_are_drawn_below_a_bound_that_doubles_up_to_ten_minutes(void **state)
{
    int64_t most_ms = 1000;
    (void)state;
    for (unsigned failures = 0; failures < 40; failures++) {
        assert_int_equal(orchestrator_webhook_pause_ms(failures, 0), 1);
        assert_int_equal(orchestrator_webhook_pause_ms(failures, (uint64_t)most_ms - 1), most_ms);
        assert_true(orchestrator_webhook_pause_ms(failures, UINT64_MAX) <= most_ms);
        most_ms = most_ms * 2 < 600000 ? most_ms * 2 : 600000;
    }
}

/* Answers whoever comes first, at length, until nobody reads any more. */
static void *answer_at_length(void *owner)
{
    static const char PAGE[4096] = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
    int client = accept(*(const int *)owner, NULL, NULL);
    char request[4096];
    if (client >= 0 && recv(client, request, sizeof(request), 0) > 0)
        for (size_t begin = strlen(PAGE), size = begin;
             send(client, PAGE + (size == begin ? 0 : begin), size, MSG_NOSIGNAL) > 0;)
            size = sizeof(PAGE) - begin;
    close(client);
    return NULL;
}

static void a_receiver_that_takes_an_event_and_says_too_much_has_taken_it(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    pthread_t receiver;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(pthread_create(&receiver, NULL, answer_at_length, &fd), 0);
    WEIR_AUTO_FREE char *url = weir_format("http://127.0.0.1:%d/", ntohs(address.sin_port));
    struct posting posting = {.url = url, .body = weir_strdup("{}")};
    orchestrator_webhook_post(NULL, &posting);
    assert_int_equal(posting.status, WEIR_OK);
    assert_int_equal(pthread_join(receiver, NULL), 0);
    orchestrator_posting_fini(&posting);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_is_what_openssl_computes),
        cmocka_unit_test(a_receiver_that_takes_an_event_and_says_too_much_has_taken_it),
        cmocka_unit_test(pauses_are_drawn_below_a_bound_that_doubles_up_to_ten_minutes),
    };
    return cmocka_run_group_tests_name("posting", tests, NULL, NULL);
}
