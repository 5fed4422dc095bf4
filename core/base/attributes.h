/* Compiler attributes under our own names, and automatic clean-up of locals that own something. */
#ifndef WEIR_BASE_ATTRIBUTES_H
#define WEIR_BASE_ATTRIBUTES_H

#define WEIR_MUST_USE          __attribute__((warn_unused_result))
#define WEIR_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define WEIR_NORETURN          __attribute__((noreturn))
#define WEIR_ALWAYS_INLINE     inline __attribute__((always_inline))

/* On a loop over arrays: compiled for wider registers too; the program takes the best it finds when it starts. The
 * result never depends on it: nothing is contracted (-ffp-contract=off), and a sum keeps its one order. Not
 * under sanitizers, which are not ready when that choice is made, nor with clang, which cannot declare such a
 * function in a header, nor where all is compiled for one processor (tests/contract/arithmetic_test.py). */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(WEIR_SANITIZED) && \
    !defined(WEIR_ONE_PROCESSOR) && !defined(__clang__)
#define WEIR_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define WEIR_CLONES
#endif

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
