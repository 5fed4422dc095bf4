/* Complaints about one file, gathered so that a person reads all of them at once. */
#ifndef WEIR_CONFIG_COMPLAINTS_H
#define WEIR_CONFIG_COMPLAINTS_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/config/yaml.h"

enum { CFG_COMPLAINTS_BYTES = 64 << 10 }; /* of lines that are kept, and the last of them */

/* Zeroed: there are none. */
struct cfg_complaints {
    /* "file:1:2: section.key: …\n", each once; at last "… and 7 more\n", if so */
    struct weir_buf lines;
    enum weir_status status; /* of the first one */
    size_t kept;             /* bytes of lines, without the one that counts the others … */
    size_t more;             /* … number of those others */
};

/* Adds the lines of `err`, unless `status` is OK: then returns true. */
bool cfg_note(struct cfg_complaints *complaints, enum weir_status status,
              const struct weir_error *err);
/* Adds lines: remarks, if `status` is OK. */
void cfg_note_text(struct cfg_complaints *complaints, enum weir_status status, const char *lines);
/* Adds one line about a place, however long; a remark, if `status` is OK. */
void cfg_note_at(struct cfg_complaints *complaints, enum weir_status status,
                 const struct weir_yaml_node *node, const char *format, ...) WEIR_PRINTF(4, 5);
/* Returns the size of the beginning of a reason, "found 'x', expected …", that is the same whatever was found. */
size_t cfg_reason_kind(const char *reason);
/* Sorts those about places in `file` by line and column; a line without one stays behind the line before it. */
void cfg_complaints_sort(struct cfg_complaints *complaints, const char *file);
/* Returns the status of the first one, with as many lines in `err` as have room there. */
enum weir_status cfg_complaints_end(struct cfg_complaints *complaints,
                                    struct weir_error *err) WEIR_MUST_USE;
void cfg_complaints_fini(struct cfg_complaints *complaints);
#define CFG_AUTO_COMPLAINTS __attribute__((cleanup(cfg_complaints_fini))) struct cfg_complaints

#endif
