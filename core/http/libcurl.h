/* libcurl, loaded when a process first calls it: with the libraries that it needs itself it takes as long to link as
 * all else of a worker, and few processes ever send anything over HTTP. Included in place of <curl/curl.h>, whose
 * functions are called by their own names. */
#ifndef WEIR_HTTP_LIBCURL_H
#define WEIR_HTTP_LIBCURL_H

#define CURL_DISABLE_TYPECHECK /* by macros of the names below */
#include <curl/curl.h>

// clang-format off
#define CURL_FUNCTIONS(X) \
    X(curl_global_init) X(curl_getdate) X(curl_free) X(curl_slist_append) X(curl_slist_free_all) \
    X(curl_easy_init) X(curl_easy_reset) X(curl_easy_cleanup) X(curl_easy_setopt) X(curl_easy_getinfo) \
    X(curl_easy_perform) X(curl_easy_strerror) X(curl_easy_escape) X(curl_easy_header) X(curl_easy_nextheader) \
    X(curl_multi_init) X(curl_multi_cleanup) X(curl_multi_setopt) X(curl_multi_assign) \
    X(curl_multi_add_handle) X(curl_multi_remove_handle) X(curl_multi_socket_action) X(curl_multi_info_read)
// clang-format on

struct weir_libcurl {
#define X(name) __typeof__(name) *name;
    CURL_FUNCTIONS(X)
#undef X
};

/* Returns the library, which the first call loads and sets up, on whatever thread. */
const struct weir_libcurl *weir_libcurl(void);

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#ifndef WEIR_HTTP_LOADS_LIBCURL /* only the file that fills the struct above */
#define curl_getdate             weir_libcurl()->curl_getdate
#define curl_free                weir_libcurl()->curl_free
#define curl_slist_append        weir_libcurl()->curl_slist_append
#define curl_slist_free_all      weir_libcurl()->curl_slist_free_all
#define curl_easy_init           weir_libcurl()->curl_easy_init
#define curl_easy_reset          weir_libcurl()->curl_easy_reset
#define curl_easy_cleanup        weir_libcurl()->curl_easy_cleanup
#define curl_easy_setopt         weir_libcurl()->curl_easy_setopt
#define curl_easy_getinfo        weir_libcurl()->curl_easy_getinfo
#define curl_easy_perform        weir_libcurl()->curl_easy_perform
#define curl_easy_strerror       weir_libcurl()->curl_easy_strerror
#define curl_easy_escape         weir_libcurl()->curl_easy_escape
#define curl_easy_header         weir_libcurl()->curl_easy_header
#define curl_easy_nextheader     weir_libcurl()->curl_easy_nextheader
#define curl_multi_init          weir_libcurl()->curl_multi_init
#define curl_multi_cleanup       weir_libcurl()->curl_multi_cleanup
#define curl_multi_setopt        weir_libcurl()->curl_multi_setopt
#define curl_multi_assign        weir_libcurl()->curl_multi_assign
#define curl_multi_add_handle    weir_libcurl()->curl_multi_add_handle
#define curl_multi_remove_handle weir_libcurl()->curl_multi_remove_handle
#define curl_multi_socket_action weir_libcurl()->curl_multi_socket_action
#define curl_multi_info_read     weir_libcurl()->curl_multi_info_read
#endif

#endif
