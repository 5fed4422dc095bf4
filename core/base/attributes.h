/* Compiler attributes under our own names, and automatic clean-up of locals that own something. */
#ifndef WEIR_BASE_ATTRIBUTES_H
#define WEIR_BASE_ATTRIBUTES_H

#define WEIR_MUST_USE          __attribute__((warn_unused_result))
#define WEIR_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define WEIR_NORETURN          __attribute__((noreturn))

/* WEIR_DEFINE_AUTO(weir_db, weir_db_close) lets a local be declared as
 *     WEIR_AUTO(weir_db) db = NULL;
 * and be closed at the end of its scope. WEIR_TAKE moves the value out: `*ret_db = WEIR_TAKE(db);`
 */
#define WEIR_DEFINE_AUTO(type, release)                        \
    static inline void weir_auto_##type(struct type **pointer) \
    {                                                          \
        release(*pointer);                                     \
    }
#define WEIR_AUTO(type) __attribute__((cleanup(weir_auto_##type))) struct type *

#define WEIR_TAKE(pointer)                     \
    (__extension__({                           \
        __typeof__(pointer) taken = (pointer); \
        (pointer) = NULL;                      \
        taken;                                 \
    }))

#define WEIR_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
