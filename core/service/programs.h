/* Programs of the user that pipelines may name: `programs:` of the system file, and nothing else. Configuration
 * carries no code: a pipeline says which, the system file says what that is, and how much it may take.
 *
 * The orchestrator checks the section and puts it into the environment variable WEIR_PROGRAMS; the processes it
 * starts find it there. */
#ifndef WEIR_SERVICE_PROGRAMS_H
#define WEIR_SERVICE_PROGRAMS_H

#include "core/config/schema.h"

/* Texts are borrowed from `document`. */
struct weir_allowed {
    struct weir_yaml *document; /* owned; NULL: zeroed */
    const char *name;           /* NULL: zeroed */
    struct cfg_texts command;   /* the program, by its absolute path, and its first arguments */
    uint64_t memory;            /* bytes of address space, as an operator */
    uint64_t resident_max;      /* bytes of resident memory, as a trainer; 0: any number */
    int64_t timeout;            /* microseconds that a batch may take */
    struct cfg_texts modes;     /* of a trainer; none: it is no trainer */
    uint64_t ranks;             /* most processes that it trains in together */
    const struct weir_yaml_node *env; /* NAME: text, of a trainer; NULL: none */
};

/* True when the program trains or uses models in that mode: train, evaluate, predict, score, gradient, embed. */
bool weir_allowed_has_mode(const struct weir_allowed *allowed, const char *mode);

/* INVALID with the place of `node`, which needs the mode and is called `path`, unless the program does it. One that is
 * zeroed does everything: there is none, or it is not known here. */
enum weir_status weir_allowed_require_mode(const struct weir_allowed *allowed, const char *mode,
                                           const struct weir_yaml_node *node, const char *path,
                                           struct weir_error *err) WEIR_MUST_USE;

/* INVALID with the place of `node` when the program, unless it is zeroed, does not train in so many processes. */
enum weir_status weir_allowed_require_ranks(const struct weir_allowed *allowed, uint64_t ranks,
                                            const struct weir_yaml_node *node,
                                            struct weir_error *err) WEIR_MUST_USE;

/* Checks the section `programs` (NULL: none) of the system file. INVALID with file:line:column. */
enum weir_status weir_programs_check(const struct weir_yaml_node *programs,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Lets the processes that are started from now on know it: those of the section (NULL: none) and no others. */
void weir_programs_hand_on(const struct weir_yaml_node *programs);
/* The program called `name`. INVALID, with those that are allowed, when it is none of them. Where nothing was handed
 * on, because a pipeline file is checked by itself, any name is fine, and `command` is empty: nothing can be run. */
enum weir_status weir_programs_find(const char *name, struct weir_allowed *ret_allowed,
                                    struct weir_error *err) WEIR_MUST_USE;
/* The program that trains for a pipeline file (`training.program`); zeroed when none does, or nothing was handed on.
 * INVALID with file:line:column when it is not allowed. */
enum weir_status weir_programs_find_trainer(const struct weir_yaml_node *root,
                                            struct weir_allowed *ret_allowed,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Closes directories, a list that ends with NULL, to the programs of processes that are started from now on. */
void weir_programs_close(const char *const *directories);
/* True when something was handed on to this process. */
bool weir_programs_are_told(void);
/* True of the variables ("NAME=value") by which it is: one that a launcher starts elsewhere has to find them. */
bool weir_programs_tell(const char *variable);
/* Rules for weir_jail_enter(), made of what was handed on, as weir_jail_prepare() makes them. */
enum weir_status weir_programs_jail(int *ret_rules, struct weir_error *err) WEIR_MUST_USE;
void weir_allowed_fini(struct weir_allowed *allowed);
/* Appends the keys of a program to the reference page. */
void weir_programs_describe(struct weir_buf *out);

#endif
