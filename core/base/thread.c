/* See thread.h. */
#include "core/base/thread.h"

#include <signal.h>
#include <stddef.h>

int weir_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *owner)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(ret_thread, NULL, run, owner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}
