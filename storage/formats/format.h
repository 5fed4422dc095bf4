/* A file format: how the bytes of one file fall into samples. A format is pure: it is handed bytes
 * and says where records begin and end and what their time, label and subject fields hold; it opens
 * nothing and keeps nothing. To add one, see docs/guides/add-a-format.md. */
#ifndef WEIR_STORAGE_FORMAT_H
#define WEIR_STORAGE_FORMAT_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/config/plugin.h"

enum {
    FORMAT_HEAD_MAX = 64 << 10,      /* bytes of the beginning of a file that each call sees */
    FORMAT_WINDOW_BYTES = 256 << 10, /* bytes handed over at a time: of short records, thousands */
    FORMAT_RECORD_MAX = 16 << 20,    /* a record beyond is refused; the window grows up to here */
    FORMAT_LIST_MAX = 4096,          /* numbers of a list */
};

/* The place of a field of a sample. A format says which of these it can give (`gives`). */
enum format_from {
    FORMAT_NOWHERE = 0,
    FORMAT_MANIFEST = 1, /* in the dataset's manifest, not in the file: for one sample a file */
    FORMAT_NAMED = 2,    /* a named field of the record */
    FORMAT_AT = 4,       /* numbers at a byte of the record */
    FORMAT_SIDECAR = 8,  /* in a file beside it: all of its text, or a named field of it */
    FORMAT_FOLDER = 16,  /* the name of a folder above the file: with any format */
    FORMAT_COLUMNS = 32, /* a list out of several named fields */
};

enum format_type {
    FORMAT_I8,
    FORMAT_U8,
    FORMAT_I16,
    FORMAT_U16,
    FORMAT_I32,
    FORMAT_U32,
    FORMAT_I64,
    FORMAT_U64,
    FORMAT_F32,
    FORMAT_F64,
    FORMAT_TYPES
};

struct format_field {
    enum format_from from;
    const char *name;       /* FORMAT_NAMED; in nested data the way to it, like user.id */
    struct cfg_texts names; /* FORMAT_COLUMNS */
    uint64_t offset;        /* FORMAT_AT */
    enum format_type type;  /* FORMAT_AT */
    unsigned depth;         /* FORMAT_FOLDER: 1 is right below the source */
    size_t count;           /* numbers of a list, at most FORMAT_LIST_MAX; 0: a single value */
};

/* Fields of a sample beside its bytes: when it happened, what is to be learnt, whose it is, what it is. */
enum format_role { FORMAT_TIME, FORMAT_LABEL, FORMAT_SUBJECT, FORMAT_KEY, FORMAT_ROLES };

struct format_fields {
    union {
        struct {
            struct format_field time, label, subject, key;
        };
        struct format_field each[FORMAT_ROLES];
    };
};

/* "time", …, by enum format_role, for messages. */
extern const char *const STORAGE_FORMAT_ROLE_NAMES[];

enum format_value_kind {
    FORMAT_ABSENT,
    FORMAT_TEXT,
    FORMAT_INT,
    FORMAT_TRUTH, /* true or false, as 1 or 0 in i64: a label or a key, but no time */
    FORMAT_UINT,
    FORMAT_REAL,
    FORMAT_LIST,
};

/* A list is what it is, whatever count was declared; integers in it are exact up to 2^53. */
struct format_list {
    const double *at;
    size_t count;
};

/* Text and lists are valid during the call of the sink. */
struct format_value {
    enum format_value_kind kind;
    union {
        struct weir_bytes text;
        int64_t i64;
        uint64_t u64;
        double f64;
        struct format_list list;
    };
};

/* Bytes of a file. */
struct format_range {
    uint64_t offset, length;
};

struct format_sample {
    uint64_t offset; /* in the file; what a reader gets is exactly these bytes */
    uint64_t length;
    uint64_t record;            /* see format_input.record */
    struct format_range extent; /* all that belongs to it, for an erasure; empty: just the above */
    union {
        struct {
            struct format_value time, label, subject, key;
        };
        struct format_value each[FORMAT_ROLES];
    };
};

struct format_refusal {
    uint64_t offset;
    uint64_t record;
    const char *reason; /* "found …, expected …"; never quotes what the record holds */
    bool is_tail;       /* the end of the file, which may be completed later */
};

enum format_order { FORMAT_LITTLE, FORMAT_BIG };

/* Records of one length, end to end. */
struct format_records {
    uint64_t offset; /* of the first, in the file */
    uint64_t length; /* of each */
    uint64_t record; /* number of the first */
    size_t count;
    const uint8_t *at; /* the bytes of all */
    enum format_order order;
};

/* Receiver of an index run, called in the order of the file, from inside index(). */
struct format_sink {
    void *owner;
    void (*sample)(void *owner, const struct format_sample *sample);
    /* Optional, for formats of equal records: all of a window at once, whose fields the sink reads column
     * by column; false: it wants them one by one. */
    bool (*records)(void *owner, const struct format_records *records);
    void (*refuse)(void *owner, const struct format_refusal *refusal);
    void (*scrubbed)(void *owner, struct format_range extent); /* optional: met one, passed over */
};

struct format_input {
    struct weir_bytes head;   /* the first bytes of the file, FORMAT_HEAD_MAX or head_bytes() */
    struct weir_bytes window; /* what to index; begins where a record begins */
    uint64_t at;              /* byte of the file where the window begins */
    uint64_t record; /* number of the window's first record: a line, from 1, if counts_lines;
                                 else a record, from 0 */
    uint64_t size;   /* of the file */
    bool is_last;    /* the window ends where the file ends */
    bool is_full;    /* the window will not grow: index() must consume something */
};

struct format_progress {
    /* Bytes of the window; 0 asks for a larger one unless is_last. May reach beyond the window, not beyond the file: to
     * step over what is refused. */
    uint64_t consumed;
    uint64_t record; /* number of the record that follows */
    /* The consumed bytes are the beginning of a line that is too long: up to the newline it is no record, and the
     * reader of the file refuses it, once the newline is found. */
    bool is_cut;
    bool is_stuck; /* what follows cannot be found: the rest of the file is left, refused */
};

struct format_start {
    uint64_t at, record; /* of the file */
};

struct format {
    CFG_PLUGIN;             /* options are read from the `source` mapping */
    unsigned gives;         /* ORed format_from */
    bool is_one_sample;     /* a file is a sample: the window stays empty, nothing is read */
    bool counts_lines;      /* places are "file:line", else "file: record n, byte b" */
    bool ends_with_newline; /* a record not followed by one may have been cut short */
    bool is_pushable; /* a file is its head, then records end to end: pushes can append to one */
    /* a file of this name tells of the others, and holds no sample; NULL: none does */
    const char *passes_over;
    uint8_t scrub_byte; /* erased records are overwritten with it, and skipped when met again */

    /* Optional. Checks options and fields beyond what tables can. */
    enum weir_status (*check)(const void *options, const struct format_fields *fields,
                              struct weir_error *err);
    /* Optional. How much of the beginning of a file each call needs to see, judged by its first
     * FORMAT_HEAD_MAX bytes; beyond FORMAT_RECORD_MAX it gets that much. */
    uint64_t (*head_bytes)(struct weir_bytes head);
    /* Required. An error means that nothing of this file can be used ("found …, expected …"). */
    enum weir_status (*index)(const struct format_input *input, const void *options,
                              const struct format_fields *fields, const struct format_sink *sink,
                              struct format_progress *ret_progress, struct weir_error *err);
    /* Optional; without it a record is filled with scrub_byte. Overwrites the extent of a sample so that
     * nothing of it is left, the file can still be read, and index() passes over it. Overwriting
     * twice is the same as once. */
    void (*scrub)(struct weir_bytes head, const void *options, uint8_t *extent, size_t size);
    /* Optional, for formats whose records are tables. Appends the names of the columns in order, each ended by a line
     * feed, "" for one that has none; nothing when the head does not say yet. Of `input` it sees head and size.
     * INVALID as index(). */
    enum weir_status (*columns)(const struct format_input *input, const void *options,
                                const struct format_fields *fields, struct weir_buf *out,
                                struct weir_error *err);
    /* Required with columns. Appends a record with its fields in another order: field order[i] of it, nothing where
     * that is negative. False, and nothing is appended, when it cannot be read. */
    bool (*arrange)(const void *options, struct weir_bytes record, const int *order, size_t count,
                    struct weir_buf *out);
    /* Optional, with scrub. Where index() may begin, so that who looks for the sample whose payload begins at
     * `payload` need not begin at the beginning, which is what 0 means. `before` is 0, or where the payload of a sample
     * before it ends. A record cut off there is of no harm. */
    struct format_start (*start)(struct weir_bytes head, uint64_t before, uint64_t payload);
    /* Optional; without it a record is its bytes. Appends what a record holds, so that two records that differ in
     * blanks, quotes or the order of their fields append the same. False, and nothing is appended, when it cannot
     * be read. */
    bool (*canonical)(struct weir_bytes head, const void *options, struct weir_bytes record,
                      struct weir_buf *out);
};

CFG_REGISTRY(format, struct format, STORAGE_FORMATS)

/* "i32", NULL-terminated, in the order of enum format_type. */
extern const char *const STORAGE_FORMAT_TYPE_NAMES[];
size_t storage_format_type_bytes(enum format_type type);

/* One field of all records as integers, or as reals (their bits); `values` has room for `count`. False when
 * one of them is none, or the field is a list. */
bool storage_format_column_integers(const struct format_field *field,
                                    const struct format_records *records, int64_t *values);
bool storage_format_column_reals(const struct format_field *field,
                                 const struct format_records *records, int64_t *values);
/* Reads the number or list of a FORMAT_AT field; `at` holds all of it, `list` has room for
 * field->count. */
struct format_value storage_format_numbers(const struct format_field *field,
                                           enum format_order order, const uint8_t *at,
                                           double *list);
/* Reads a list out of text: numbers between spaces, commas or semicolons, in brackets or not. FORMAT_TEXT,
 * the text as it is, when it is something else or more than FORMAT_LIST_MAX numbers. */
struct format_value storage_format_list_of(struct weir_bytes text, double list[FORMAT_LIST_MAX]);
/* The same for a single number; false when the text is something else. */
bool storage_format_number_of(struct weir_bytes text, double *ret_number);
/* An integer that is written as most are: digits, 18 at most, a minus before them at most. False: look closer. */
bool storage_format_plain_integer_of(struct weir_bytes text, int64_t *ret_number);

#endif
