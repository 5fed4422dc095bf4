/* Command-line options from tables: parsing, --help with an example, nearest suggestion for a
 * mistyped option. */
#ifndef WEIR_SERVICE_OPTIONS_H
#define WEIR_SERVICE_OPTIONS_H

#include "core/base/error.h"

#include <stddef.h>

struct weir_option {
    const char *name;     /* "data-dir": --data-dir VALUE or --data-dir=VALUE */
    const char *argument; /* "DIR"; NULL: a flag; "DIR…": may be given again and again */
    const char *doc;
    /* In the target, of a bool (flag), a const char * (argument; borrowed from argv), or a struct weir_option_values
     * ("…"). */
    size_t offset;
};
#define WEIR_OPTION_END \
    {                   \
        .name = NULL    \
    }

/* Every value of an option whose argument ends in "…", in the order given. Zero-initialised is empty. */
struct weir_option_values {
    const char **at; /* borrowed from argv */
    size_t count;
};
void weir_option_values_fini(struct weir_option_values *values);

/* Reads options into `target` (defaults are already in it); the operands are moved to the front of
 * argv[0 … *ret_operands). A letter (-f) stands for the only option that begins with it. INVALID:
 * "unknown option --dta-dir (did you mean --data-dir?)". `--` ends the options. */
enum weir_status weir_options_read(const struct weir_option *options, int argc, char **argv,
                                   void *target, int *ret_operands,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Prints the option table, aligned, to stdout. */
void weir_options_print(const struct weir_option *options);

#endif
