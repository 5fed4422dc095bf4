/* Loads libcurl: see libcurl.h. */
#define WEIR_HTTP_LOADS_LIBCURL
#include "core/http/libcurl.h"

#include "core/base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct weir_libcurl loaded;

/* It is a dependency of the package: without it this machine is not set up. */
WEIR_NORETURN static void give_up(void)
{
    fprintf(stderr, "cannot load libcurl: %s: install it\n", dlerror());
    abort();
}

static void load(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        give_up();
#define X(name)                                     \
    *(void **)&loaded.name = dlsym(library, #name); \
    if (loaded.name == NULL)                        \
        give_up();
    CURL_FUNCTIONS(X)
#undef X
    weir_require(loaded.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

const struct weir_libcurl *weir_libcurl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
    return &loaded;
}
