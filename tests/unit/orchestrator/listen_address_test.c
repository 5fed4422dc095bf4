/* Addresses at which a platform listens to those elsewhere. */
#include "orchestrator/values/listen_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void services_have_ports_in_a_row(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"orchestrator", "tcp://10.0.0.1:5800"},
        {"storage", "tcp://10.0.0.1:5801"},
        {"selector", "tcp://10.0.0.1:5802"},
        {"dispatcher", "tcp://10.0.0.1:5803"},
    };
    struct listen_address address;
    struct weir_error err;
    assert_int_equal(orchestrator_listen_address_read("tcp://10.0.0.1:5800", NULL, &address, &err),
                     WEIR_OK);
    assert_string_equal(address.advertise, "10.0.0.1");
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        char *endpoint = orchestrator_listen_address_of(&address, CASES[i][0]);
        assert_string_equal(endpoint, CASES[i][1]);
        free(endpoint);
    }
}

static void all_addresses_need_a_name_for_others(void **state)
{
    (void)state;
    static const char *const ALL[] = {"tcp://*:5800", "tcp://0.0.0.0:5800"};
    struct listen_address address;
    struct weir_error err;
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++) {
        assert_int_equal(orchestrator_listen_address_read(ALL[i], NULL, &address, &err),
                         WEIR_INVALID);
        assert_non_null(strstr(err.text, "advertise"));
        assert_int_equal(
            orchestrator_listen_address_read(ALL[i], "weir.example.org", &address, &err), WEIR_OK);
        assert_string_equal(address.host, "0.0.0.0");
        assert_string_equal(address.advertise, "weir.example.org");
    }
}

static void what_is_no_such_address_is_refused(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"", NULL},
        {"10.0.0.1:5800", NULL},
        {"ipc:///run/weir.sock", NULL},
        {"tcp://10.0.0.1", NULL},
        {"tcp://10.0.0.1:", NULL},
        {"tcp://10.0.0.1:0", NULL},
        {"tcp://10.0.0.1:*", NULL},
        {"tcp://10.0.0.1:58 00", NULL},
        {"tcp://10.0.0.1:65533", NULL}, /* the dispatcher's would be 65536 */
        {"tcp://10.0.0.1:99999", NULL},
        {"tcp://:5800", NULL},
        {"tcp://host:5800", NULL},
        {"tcp://10.0.0.1.2.3.4.5.6.7.8:5800", NULL},
        {"tcp://10.0.0.1:5800", ""},
        {"tcp://10.0.0.1:5800", "0.0.0.0"},
        {"tcp://10.0.0.1:5800", "a host"},
        {"tcp://10.0.0.1:5800", "tcp://host"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct listen_address address = {.port = 1};
        struct weir_error err;
        assert_int_equal(orchestrator_listen_address_read(CASES[i][0], CASES[i][1], &address, &err),
                         WEIR_INVALID);
        assert_int_equal(address.port, 1);
    }
}

/* A socket that listens at a port that the system has chosen, which is returned, too. */
static int listen_anywhere(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void a_port_that_is_taken_is_named_with_its_service(void **state)
{
    (void)state;
    struct listen_address address = {.host = "127.0.0.1"};
    struct weir_error err;
    uint16_t port = 0;
    int fd = listen_anywhere(&port);
    char number[8];
    address.port = port;
    (void)snprintf(number, sizeof(number), "%u", port);
    assert_int_equal(orchestrator_listen_address_try(&address, &err), WEIR_IO);
    assert_non_null(strstr(err.text, number));
    assert_non_null(strstr(err.text, "of orchestrator, is in use"));
    close(fd);
}

static void an_address_of_another_host_is_refused(void **state)
{
    (void)state;
    struct listen_address address = {.host = "192.0.2.1", .port = 5800}; /* RFC 5737 */
    struct weir_error err;
    assert_int_equal(orchestrator_listen_address_try(&address, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "192.0.2.1 is no address of this host"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_have_ports_in_a_row),
        cmocka_unit_test(all_addresses_need_a_name_for_others),
        cmocka_unit_test(what_is_no_such_address_is_refused),
        cmocka_unit_test(a_port_that_is_taken_is_named_with_its_service),
        cmocka_unit_test(an_address_of_another_host_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
