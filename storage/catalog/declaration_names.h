/* What choices of the `datasets:` section are called: read in declaration.c, written in declaration_print.c. Each list ends
 * in NULL and is in the order of its enum. */
#ifndef WEIR_STORAGE_DECLARATION_NAMES_H
#define WEIR_STORAGE_DECLARATION_NAMES_H

extern const char *const STORAGE_IMPORTS[];
extern const char *const STORAGE_ON_ERASES[];
extern const char *const STORAGE_TIME_FROMS[];
extern const char *const STORAGE_KEEPS[];
extern const char *const STORAGE_UNITS[]; /* s, ms, us */

#endif
