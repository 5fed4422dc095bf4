/* Parses WEIR_FAULTS once ("db.commit=3,run.store=!2,batch.take=?9") and counts the passes over each named point. */
#include "core/base/fault.h"

#include "core/base/error.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEIR_NO_FAULTS
enum { FAULTS_MAX = 16, POINT_NAME_MAX = 64 };

struct fault {
    char point[POINT_NAME_MAX];
    unsigned long pass; /* this one, counted from 1 */
    int signal;         /* raised there; 0: the pass fails */
    atomic_ulong passes;
};

/* Written once, under `once`; afterwards only the counters change. */
static struct fault faults[FAULTS_MAX];
static size_t fault_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool parse_one(char *text, struct fault *ret_fault)
{
    char *number = strchr(text, '=');
    if (number == NULL || number == text || (size_t)(number - text) >= POINT_NAME_MAX)
        return false;
    *number++ = '\0';
    ret_fault->signal = *number == '!' ? SIGKILL : *number == '?' ? SIGSTOP : 0;
    number += ret_fault->signal != 0;
    char *end;
    ret_fault->pass = strtoul(number, &end, 10);
    snprintf(ret_fault->point, sizeof(ret_fault->point), "%s", text);
    return *end == '\0' && end != number && ret_fault->pass > 0;
}

static void parse_all(void)
{
    const char *value = getenv("WEIR_FAULTS");
    char text[1024];
    char *rest = NULL;
    if (value == NULL)
        return;
    weir_require(strlen(value) < sizeof(text));
    snprintf(text, sizeof(text), "%s", value);
    for (char *one = strtok_r(text, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest)) {
        weir_require(fault_count < FAULTS_MAX);
        if (!parse_one(one, &faults[fault_count++])) {
            fprintf(stderr, "WEIR_FAULTS: expected point=N, =!N or =?N, found '%s'\n", value);
            abort();
        }
    }
}

bool weir_fault(const char *point)
{
    pthread_once(&once, parse_all);
    for (size_t i = 0; i < fault_count; i++) {
        struct fault *fault = &faults[i];
        if (strcmp(fault->point, point) != 0)
            continue;
        if (atomic_fetch_add(&fault->passes, 1) + 1 != fault->pass)
            continue;
        if (fault->signal == 0)
            return true;
        raise(fault->signal);
    }
    return false;
}
#endif
