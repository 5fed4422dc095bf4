/* Compiler attributes under our own names, and automatic clean-up of locals that own something. */
#ifndef WEIR_BASE_ATTRIBUTES_H
#define WEIR_BASE_ATTRIBUTES_H

#define WEIR_MUST_USE          __attribute__((warn_unused_result))
#define WEIR_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define WEIR_NORETURN          __attribute__((noreturn))
#define WEIR_ALWAYS_INLINE     inline __attribute__((always_inline))

/* Compiled for several instruction sets; the program takes the best one when it starts. Not under
 * sanitizers, which are not ready when that choice is made. The result never depends on it: nothing
 * is contracted (-ffp-contract=off), and lanes never add up across each other. */
#if defined(__x86_64__) && !defined(WEIR_SANITIZED)
#define WEIR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WEIR_CLONES
#endif

/* A loop over arrays, compiled for wider registers too; the machine it runs on chooses. Not for sums: lanes
 * must add up in one order, so that every machine computes the same. Sanitizers cannot follow the choice. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define WEIR_VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define WEIR_VECTORISED
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
