/* One table per configuration section: key, type, bounds, default, sentence. The same table checks
 * and reads YAML, prints effective values, and writes the reference page. Unknown keys are errors
 * with the nearest key suggested.
 *
 *     static const struct cfg_key AMOUNT[] = {
 *         CFG_U64(struct amount, samples, .required = true, .min = 1, .doc = "samples per
 * trigger"), CFG_END,
 *     };
 *
 * A member of another type than the key's kind does not compile. */
#ifndef WEIR_CONFIG_SCHEMA_H
#define WEIR_CONFIG_SCHEMA_H

#include "core/config/yaml.h"

#include <stddef.h>

enum cfg_kind {
    CFG_KIND_BOOL,     /* bool */
    CFG_KIND_I64,      /* int64_t */
    CFG_KIND_U64,      /* uint64_t */
    CFG_KIND_F64,      /* double */
    CFG_KIND_TEXT,     /* const char *, borrowed from the document (or the table's default) */
    CFG_KIND_DURATION, /* int64_t microseconds: 250ms 2s 5m 1h 1d 1w; calendar "1 month" is refused
                          here */
    CFG_KIND_SIZE,     /* uint64_t bytes: 512 64KiB 16MiB 2GiB */
    CFG_KIND_CHOICE,   /* int, index into .choices */
    CFG_KIND_TEXTS,    /* struct cfg_texts, from a list (or one) of scalars */
    CFG_KIND_NODE,     /* const struct weir_yaml_node *, any shape: its owner reads it later */
};

struct cfg_texts {
    size_t count;
    const struct weir_yaml_node *node; /* weir_yaml_text(weir_yaml_at(node, i)) */
};

struct cfg_key {
    const char *name;
    enum cfg_kind kind;
    size_t offset;
    bool required;
    const char *fallback; /* default, as text read by the same code (not for TEXTS and NODE);
                           * NULL: the member stays zeroed */
    double min, max;      /* numbers, durations (us), sizes; max 0: no upper bound; both 0: none */
    const char *const *choices; /* CHOICE: NULL-terminated names */
    const char *doc;
};

#define CFG_OFFSET(type, owner, member) \
    (offsetof(owner, member) + 0 * sizeof(char[_Generic(&((owner *)0)->member, type * : 1)]))
/* For a key that is no C name ("else"): CFG_KEY_AS("else", CFG_KIND_TEXT, const char *, struct
 * promote, otherwise). */
// clang-format off
#define CFG_KEY_AS(name_, kind_, type, owner, member, ...) \
    {.name = name_, .kind = kind_, .offset = CFG_OFFSET(type, owner, member), __VA_ARGS__}
// clang-format on
#define CFG_KEY(kind_, type, owner, member, ...) \
    CFG_KEY_AS(#member, kind_, type, owner, member, __VA_ARGS__)
#define CFG_BOOL(owner, member, ...) CFG_KEY(CFG_KIND_BOOL, bool, owner, member, __VA_ARGS__)
#define CFG_I64(owner, member, ...)  CFG_KEY(CFG_KIND_I64, int64_t, owner, member, __VA_ARGS__)
#define CFG_U64(owner, member, ...)  CFG_KEY(CFG_KIND_U64, uint64_t, owner, member, __VA_ARGS__)
#define CFG_F64(owner, member, ...)  CFG_KEY(CFG_KIND_F64, double, owner, member, __VA_ARGS__)
#define CFG_TEXT(owner, member, ...) \
    CFG_KEY(CFG_KIND_TEXT, const char *, owner, member, __VA_ARGS__)
#define CFG_DURATION(owner, member, ...) \
    CFG_KEY(CFG_KIND_DURATION, int64_t, owner, member, __VA_ARGS__)
#define CFG_SIZE(owner, member, ...)   CFG_KEY(CFG_KIND_SIZE, uint64_t, owner, member, __VA_ARGS__)
#define CFG_CHOICE(owner, member, ...) CFG_KEY(CFG_KIND_CHOICE, int, owner, member, __VA_ARGS__)
#define CFG_TEXTS(owner, member, ...) \
    CFG_KEY(CFG_KIND_TEXTS, struct cfg_texts, owner, member, __VA_ARGS__)
#define CFG_NODE(owner, member, ...) \
    CFG_KEY(CFG_KIND_NODE, const struct weir_yaml_node *, owner, member, __VA_ARGS__)
// clang-format off
#define CFG_END {.name = NULL}
// clang-format on

/* Strictness in reading a mapping. */
enum cfg_strictness {
    CFG_CLOSED, /* a key outside the table is an error */
    CFG_OPEN,   /* other keys belong to another reader */
    CFG_ALONE, /* the node is a name that stands for a mapping without keys: it places complaints */
};

/* Arguments of one reading: seven are too many for a parameter list, so they come by place. */
struct cfg_reading {
    const struct cfg_key *keys;
    enum cfg_strictness strictness;
    const struct weir_yaml_node *node; /* a mapping; NULL reads as an empty one, placed nowhere */
    const char *path;                  /* names the section in messages: "training" */
    const char *also; /* one more key to accept silently ("policy", "op"), or NULL */
    void *section;    /* zeroed by the caller */
    struct weir_error *err;
};

/* cfg_read(keys, strictness, node, path, also, section, err) reads `node` into `section`. A key without a
 * value (`key:`) reads as absent. Up to ten complaints are gathered into err->text, one per line:
 * "pipeline.yaml:12:5: training.epochs: expected an integer >= 1, found 'many'". */
#define cfg_read(...) cfg_read_section(&(const struct cfg_reading){__VA_ARGS__})
enum weir_status cfg_read_section(const struct cfg_reading *reading) WEIR_MUST_USE;
/* True when the table has a key of that name. */
bool cfg_has_key(const struct cfg_key *keys, const char *name);

/* `shared` followed by `own`, whose members lie `own_at` bytes further on; the caller frees it. */
struct cfg_key *cfg_join(const struct cfg_key *shared, const struct cfg_key *own,
                         size_t own_at) WEIR_MUST_USE;

/* Appends the effective values as YAML, indented by `indent` spaces. */
void cfg_print(const struct cfg_key *keys, const void *section, int indent, struct weir_buf *out);
/* Appends a markdown table of the keys: name, type, default, bounds, sentence. */
void cfg_document(const struct cfg_key *keys, struct weir_buf *out);

/* "12"; "1d", "90s" -> microseconds; "64MiB" -> bytes. False when the text is no such thing. */
bool cfg_parse_u64(const char *text, uint64_t *ret_value);
bool cfg_parse_duration(const char *text, int64_t *ret_us);
bool cfg_parse_size(const char *text, uint64_t *ret_bytes);
/* The entry of `names` (NULL-terminated) nearest to `word` by edit distance, or NULL when nothing
 * is near. */
const char *cfg_nearest(const char *word, const char *const *names);
/* INVALID at `named`, whose text is none of `names`: "PATH: unknown WHAT 'text' (did you mean …?)", or with all names
 * when none is near. */
enum weir_status cfg_unknown(const struct weir_yaml_node *named, const char *path, const char *what,
                             const char *const *names, struct weir_error *err);

#endif
