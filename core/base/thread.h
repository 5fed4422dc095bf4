/* Threads beside the main one. */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread with every signal blocked: signals are for those that were there. Returns 0, or an errno. */
int weir_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *owner);

#endif
