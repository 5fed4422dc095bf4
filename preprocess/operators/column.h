/* A column of a batch: one row per sample, in one of a few shapes. Columns own growing buffers that
 * keep their memory from batch to batch.
 *
 *     BYTES, TEXT  row i = values[offsets[i] … offsets[i + 1])          TEXT is valid UTF-8
 *                  or, when there are places, as many bytes from places[i] on
 *     TOKENS       row i = spans offsets[i] … offsets[i + 1]; a span is a piece of `values`
 *     DENSE        row i = width elements of `type`, end to end
 *     RAGGED       row i = elements offsets[i] … offsets[i + 1] of `type`
 *     PICTURES     row i = values[offsets[i] … offsets[i + 1]), `width` channels of u8 a pixel, row by
 *                  row (HWC); pictures[i] says how large it is */
#ifndef WEIR_PREPROCESS_OPERATORS_COLUMN_H
#define WEIR_PREPROCESS_OPERATORS_COLUMN_H

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/wire/tensor_step.h"

enum { COLUMNS_MAX = 16, COLUMN_NAME_MAX = 32, COLUMN_WIDTH_MAX = 1 << 20, COLUMN_SHAPE_MAX = 3 };
enum { COLUMN_ELEMENTS_MAX = 4096 /* elements of a job that have names */ };
enum { COLUMN_RUN = 64 /* rows that come from memory together */ };

enum column_kind {
    COLUMN_BYTES,
    COLUMN_TEXT,
    COLUMN_TOKENS,
    COLUMN_DENSE,
    COLUMN_RAGGED,
    COLUMN_PICTURES,
};

/* Description of a column, known before there is a batch. */
struct column_about {
    char name[COLUMN_NAME_MAX];
    enum column_kind kind;
    enum weir_dtype type; /* DENSE, RAGGED */
    /* DENSE: elements per row; PICTURES: channels; TOKENS: of each row, 0: not known */
    uint32_t width;
    /* DENSE: of a row, its product is `width`; zeroed: a vector */
    uint32_t shape[COLUMN_SHAPE_MAX];
    uint64_t below; /* bound of its integers, which are not negative; 0: not known … */
    /* … but, where this is not 0, by what the operator before place `bounded_by`, as written, is fitted to */
    uint8_t bounded_by;
    /* DENSE: `width` names of its numbers, NULL where one has none; NULL: none has. The chain's */
    const char *const *elements;
};

struct column {
    struct column_about about;
    struct weir_buf values;
    struct weir_buf offsets;  /* u32, rows + 1 of them; none for DENSE */
    struct weir_buf places;   /* const uint8_t *, BYTES only: rows that are left where they lie */
    struct weir_buf spans;    /* struct weir_span, TOKENS only */
    struct weir_buf pictures; /* struct picture_place, PICTURES only */
    bool is_piece; /* it holds the rows under way alone, not those of the batch before them */
};

/* Place of a row's pixels in the picture they are a part of. A whole picture is as large as the part,
 * which begins at 0, 0, and `eighths` is 8. */
struct picture_place {
    uint32_t height, width;             /* of the part that is here */
    uint32_t whole_height, whole_width; /* of the picture, before it was scaled */
    uint32_t top, left;                 /* of the part, in the scaled picture */
    uint32_t eighths;                   /* scale: 8 is 1:1, 4 half as high and wide */
};

const char *preprocess_column_kind_name(enum column_kind kind);
/* "text (text)", "dense (f32 x 13)", for messages and --print-config. */
void preprocess_column_about_print(const struct column_about *about, struct weir_buf *out);
struct column_about preprocess_column_about(const char *name, enum column_kind kind,
                                            enum weir_dtype type, uint32_t width);
/* The same rows, number for number, in another type: they keep their shape; integers keep their bound. */
struct column_about preprocess_column_about_as(const struct column_about *about,
                                               enum weir_dtype type);

/* Says that its integers are below `below`; 0: it is not known. */
void preprocess_column_bound(struct column_about *about, uint64_t below);

/* The form of the rows of a column of numbers. */
struct weir_tensor_form preprocess_column_form(const struct column_about *about);

/* Empties the column, keeping its memory; ragged kinds get their first offset. */
void preprocess_column_begin(struct column *column);
/* Ends a row of a ragged kind: what was appended since the last row is its content. */
void preprocess_column_end_row(struct column *column);
/* Elements that are made of others, one of each. */
struct column_elements {
    size_t count; /* numbers, or bytes of text */
    const void *from;
    void *to; /* the caller's to fill in */
};
/* Appends to `to` (dense, ragged or text) rows as long as those of `from`, of elements of its own type. */
struct column_elements preprocess_column_add_like(struct column *to, const struct column *from);
void preprocess_column_fini(struct column *column);

static inline const uint32_t *column_offsets(const struct column *column)
{
    return (const uint32_t *)(const void *)column->offsets.at;
}
static inline const struct weir_span *column_spans(const struct column *column)
{
    return (const struct weir_span *)(const void *)column->spans.at;
}
/* The bytes of a row of BYTES or TEXT. */
static inline struct weir_bytes column_row(const struct column *column, size_t row)
{
    const uint32_t *offsets = column_offsets(column);
    const uint8_t *const *places = (const uint8_t *const *)(const void *)column->places.at;
    const uint8_t *at = column->places.size > 0 ? places[row] : column->values.at + offsets[row];
    return weir_bytes(at, offsets[row + 1] - offsets[row]);
}
/* Called before each of `rows` is read, from the first on: has those that lie elsewhere come from memory, a run at a
 * time. Never faults. */
static inline void column_prefetch(const struct column *column, size_t row, size_t rows)
{
    if (column->places.size == 0 || row % COLUMN_RUN != 0)
        return;
    for (size_t end = row + COLUMN_RUN; row < end && row < rows; row++)
        weir_bytes_prefetch(column_row(column, row));
}

/* Rows first … first + rows - 1 alone, as a column that borrows them. Offsets stay what they are, places in all of its
 * values. Not of TOKENS. */
struct column preprocess_column_view(const struct column *column, size_t first, size_t rows);

/* Removes the rows whose flag is set, in place. `rows` before, flags one per row. */
void preprocess_column_drop_rows(struct column *column, size_t rows, const uint8_t *flags);
/* Bytes of each row of a DENSE column. */
static inline size_t column_row_bytes(const struct column *column)
{
    return column->about.width * weir_dtype_bytes(column->about.type);
}
/* Bytes that the column holds. */
size_t preprocess_column_bytes(const struct column *column);

#endif
