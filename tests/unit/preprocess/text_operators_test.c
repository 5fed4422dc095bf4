/* Operators on text, each looked at through one that makes numbers of it or directly. */
#include "tests/support/chain.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- one operator alone ---- */

enum { ALONE_ROWS_MAX = 500 };

struct alone {
    const struct preprocess_operator *op;
    void *state;
    struct column in, out;
    uint8_t failed[ALONE_ROWS_MAX];
};

static void begin_alone(struct alone *alone, const char *name, void *options, enum column_kind kind)
{
    struct weir_error err;
    struct operator_plan plan = {0};
    alone->op = operator_find(name);
    alone->state = calloc(1, alone->op->state_size);
    alone->in.about = preprocess_column_about("text", kind, 0, 0);
    struct operator_schema schema = {.count = 1, .column = {alone->in.about}};
    assert_int_equal(alone->op->plan(alone->state, options, &schema, &plan, &err), WEIR_OK);
    alone->out.about = plan.output[0];
    preprocess_column_begin(&alone->in);
    preprocess_column_begin(&alone->out);
}

static void add_alone(struct alone *alone, struct weir_bytes row)
{
    weir_buf_append(&alone->in.values, row.at, row.size);
    preprocess_column_end_row(&alone->in);
}

static void run_alone(struct alone *alone, size_t rows)
{
    struct operator_call call = {
        .rows = rows, .in = &alone->in, .out = &alone->out, .failed = alone->failed};
    alone->op->apply(alone->state, &call);
}

static void apply_alone(struct alone *alone, const char *name, void *options, enum column_kind kind,
                        struct weir_bytes row)
{
    begin_alone(alone, name, options, kind);
    add_alone(alone, row);
    run_alone(alone, 1);
}

static void end_alone(struct alone *alone)
{
    if (alone->op->fini != NULL)
        alone->op->fini(alone->state);
    free(alone->state);
    preprocess_column_fini(&alone->in);
    preprocess_column_fini(&alone->out);
}

/* ---- normalize_text ---- */

static const struct {
    const char *in, *out;
} NORMAL[] = {
    {"", ""},
    {"  Hello,\t\r\n WORLD  ", "hello, world"},
    {"\xc3\x80\xc3\x89\xc3\x97\xc3\x9f\xc3\xbf", "\xc3\xa0\xc3\xa9\xc3\x97\xc3\x9f\xc3\xbf"},
    {"a\xff"
     "b",
     "a\xef\xbf\xbd"
     "b"},
    {"x\xc2\xa0y", "x y"}, /* no-break space */
    {"\x01\x02", ""},
    {"\xf0\x9f\x98\x80 OK", "\xf0\x9f\x98\x80 ok"},
};

static void text_becomes_clean_and_lower_case(void **state)
{
    (void)state;
    struct {
        const char *on;
        bool lower;
        const char *as;
    } options = {NULL, true, "text"};
    for (size_t i = 0; i < WEIR_COUNT(NORMAL); i++) {
        struct alone alone = {0};
        apply_alone(&alone, "normalize_text", &options, COLUMN_BYTES, weir_bytes_of(NORMAL[i].in));
        assert_string_equal(weir_buf_text(&alone.out.values), NORMAL[i].out);
        end_alone(&alone);
    }
}

/* Whatever the bytes: it never fails, the result is text, and text stays as it is. */
static void any_bytes_become_text_and_stay_so(void **state)
{
    (void)state;
    struct {
        const char *on;
        bool lower;
        const char *as;
    } options = {NULL, true, "text"};
    struct weir_rng rng;
    weir_rng_init(&rng, 11);
    for (int round = 0; round < 300; round++) {
        uint8_t bytes[64];
        size_t size = weir_rng_below(&rng, sizeof(bytes));
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)weir_rng_next(&rng);
        struct alone first = {0}, second = {0};
        apply_alone(&first, "normalize_text", &options, COLUMN_BYTES, weir_bytes(bytes, size));
        apply_alone(&second, "normalize_text", &options, COLUMN_TEXT,
                    weir_buf_view(&first.out.values));
        assert_int_equal(first.failed[0], 0);
        assert_true(
            weir_bytes_equal(weir_buf_view(&first.out.values), weir_buf_view(&second.out.values)));
        end_alone(&first);
        end_alone(&second);
    }
}

/* ---- tokenize_words ---- */

struct words_options {
    const char *on;
    uint64_t max_tokens;
    bool marks;
    const char *as;
};

static void join_words(const struct column *words, size_t row, struct weir_buf *out)
{
    const uint32_t *offsets = column_offsets(words);
    for (uint32_t i = offsets[row]; i < offsets[row + 1]; i++) {
        struct weir_span span = column_spans(words)[i];
        weir_buf_append_text(out, "|");
        weir_buf_append(out, words->values.at + span.start, span.size);
    }
}

static void expect_words(struct words_options options, const char *text, const char *expected)
{
    struct alone alone = {0};
    WEIR_AUTO_BUF joined = {0};
    apply_alone(&alone, "tokenize_words", &options, COLUMN_TEXT, weir_bytes_of(text));
    join_words(&alone.out, 0, &joined);
    assert_string_equal(weir_buf_text(&joined), expected);
    end_alone(&alone);
}

static void words_are_runs_of_letters_digits_and_other_scripts(void **state)
{
    (void)state;
    expect_words((struct words_options){NULL, 100, false, "words"}, "", "");
    expect_words((struct words_options){NULL, 100, false, "words"}, "a big_1 fat... cat!",
                 "|a|big_1|fat|cat");
    expect_words((struct words_options){NULL, 100, false, "words"}, "caf\xc3\xa9 \xe6\x97\xa5",
                 "|caf\xc3\xa9|\xe6\x97\xa5");
    expect_words((struct words_options){NULL, 2, false, "words"}, "one two three", "|one|two");
    expect_words((struct words_options){NULL, 100, true, "words"}, "win $5!!", "|win|$|5|!|!");
}

/* ---- tokenize_hash ---- */

static void ngrams_are_counted_in_order_and_hashed_alike(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: tokenize_words}, {op: tokenize_hash, ngrams: 2, buckets: 1000}]");
    struct weir_bytes rows[] = {weir_bytes_of("buy now buy now"), weir_bytes_of(""),
                                weir_bytes_of("now"), weir_bytes_of("now buy")};
    test_chain_run(&test, rows, 4);
    const struct column *out = preprocess_chain_output(test.chain, 0);
    const uint32_t *offsets = column_offsets(out);
    const int32_t *tokens = test_chain_ints(&test, 0);
    static const uint32_t EXPECTED[] = {0, 7, 7, 8, 11}; /* 4 + 3, 0, 1, 2 + 1 */
    assert_memory_equal(offsets, EXPECTED, sizeof(EXPECTED));
    assert_int_equal(tokens[0], tokens[2]);  /* buy */
    assert_int_equal(tokens[1], tokens[7]);  /* now, of another sample */
    assert_int_equal(tokens[4], tokens[6]);  /* buy now */
    assert_int_equal(tokens[5], tokens[10]); /* now buy */
    assert_int_not_equal(tokens[4], tokens[5]);
    for (size_t i = 0; i < offsets[4]; i++)
        assert_in_range(tokens[i], 0, 999);
    test_chain_close(&test);
}

/* Never changes: models hold weights by these numbers. */
static void golden_buckets_stay(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test,
                    "[{op: tokenize_words}, {op: tokenize_hash, ngrams: 2, buckets: 262144}]");
    struct weir_bytes rows[] = {weir_bytes_of("free money now")};
    test_chain_run(&test, rows, 1);
    static const int32_t EXPECTED[] = {85676, 225228, 41487, 22792, 214071};
    assert_memory_equal(test_chain_ints(&test, 0), EXPECTED, sizeof(EXPECTED));
    test_chain_close(&test);
}

/* ---- lengths ---- */

struct truncate_options {
    const char *on;
    uint64_t length;
    int keep;
};

static void texts_are_cut_between_characters(void **state)
{
    (void)state;
    static const struct {
        struct truncate_options options;
        const char *in, *out;
    } CASES[] = {
        {{.length = 3, .keep = 0}, "abcdef", "abc"},
        {{.length = 3, .keep = 1}, "abcdef", "def"},
        {{.length = 4, .keep = 0}, "ab\xe2\x82\xac", "ab"},
        {{.length = 2, .keep = 1},
         "\xe2\x82\xac"
         "b",
         "b"},
        {{.length = 1, .keep = 0}, "\xc3\xa9", ""},
        {{.length = 9, .keep = 0}, "short", "short"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct alone alone = {0};
        struct truncate_options options = CASES[i].options;
        apply_alone(&alone, "truncate", &options, COLUMN_TEXT, weir_bytes_of(CASES[i].in));
        struct weir_bytes out = column_row(&alone.out, 0);
        if (!weir_bytes_equal(out, weir_bytes_of(CASES[i].out)))
            fail_msg("case %zu: '%.*s', expected '%s'", i, (int)out.size, (const char *)out.at,
                     CASES[i].out);
        end_alone(&alone);
    }
}

/* Cut before or after they are hashed: the same words are left. */
static void words_and_their_numbers_are_cut_alike(void **state)
{
    (void)state;
    struct test_chain words = {0}, numbers = {0}, shorter = {0};
    test_chain_open(&words, "[{op: tokenize_words}, {op: truncate, length: 2, keep: last}, "
                            "{op: tokenize_hash, buckets: 999983}]");
    test_chain_open(&numbers, "[{op: tokenize_words}, {op: tokenize_hash, buckets: 999983}, "
                              "{op: truncate, length: 2, keep: last}]");
    test_chain_open(&shorter, "[{op: tokenize_words}, {op: tokenize_hash, buckets: 999983}]");
    struct weir_bytes rows[] = {weir_bytes_of("a b c d"), weir_bytes_of("e")};
    struct weir_bytes expected[] = {weir_bytes_of("c d"), weir_bytes_of("e")};
    test_chain_run(&words, rows, 2);
    test_chain_run(&numbers, rows, 2);
    test_chain_run(&shorter, expected, 2);
    assert_int_equal(preprocess_chain_output(words.chain, 0)->values.size, 3 * sizeof(int32_t));
    assert_memory_equal(test_chain_ints(&words, 0), test_chain_ints(&shorter, 0),
                        3 * sizeof(int32_t));
    assert_memory_equal(test_chain_ints(&numbers, 0), test_chain_ints(&shorter, 0),
                        3 * sizeof(int32_t));
    test_chain_close(&words);
    test_chain_close(&numbers);
    test_chain_close(&shorter);
}

static void rows_are_filled_up_and_their_lengths_told(void **state)
{
    (void)state;
    static const char *const SIDES[] = {"end", "start"};
    for (size_t side = 0; side < WEIR_COUNT(SIDES); side++) {
        struct test_chain plain = {0}, padded = {0};
        char operators[256];
        snprintf(operators, sizeof(operators),
                 "[{op: tokenize_words}, {op: tokenize_hash, buckets: 999983}, "
                 "{op: pad, length: 3, value: -1, side: %s, lengths: true}]",
                 SIDES[side]);
        test_chain_open(&plain, "[{op: tokenize_words}, {op: tokenize_hash, buckets: 999983}]");
        test_chain_open(&padded, operators);
        struct weir_bytes rows[] = {weir_bytes_of("a b c d"), weir_bytes_of("e"),
                                    weir_bytes_of("")};
        test_chain_run(&plain, rows, 3);
        test_chain_run(&padded, rows, 3);
        const int32_t *x = test_chain_ints(&plain, 0);
        const int32_t end[] = {x[0], x[1], x[2], x[4], -1, -1, -1, -1, -1};
        const int32_t start[] = {x[0], x[1], x[2], -1, -1, x[4], -1, -1, -1};
        static const int32_t LENGTHS[] = {3, 1, 0};
        assert_memory_equal(test_chain_ints(&padded, 0), side == 0 ? end : start, sizeof(end));
        assert_memory_equal(test_chain_ints(&padded, 1), LENGTHS, sizeof(LENGTHS));
        assert_string_equal(preprocess_chain_output(padded.chain, 1)->about.name, "tokens_length");
        test_chain_close(&plain);
        test_chain_close(&padded);
    }
}

static void json_text_takes_a_field_and_says_what_it_lacks(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: json_text, field: a.b}, {op: tokenize_words}, "
                           "{op: tokenize_hash, buckets: 64}]");
    struct weir_bytes rows[] = {weir_bytes_of("{\"a\": {\"b\": \"two words\"}}"),
                                weir_bytes_of("{\"a\": 1}"), weir_bytes_of("no")};
    test_chain_run(&test, rows, 3);
    assert_int_equal(column_offsets(preprocess_chain_output(test.chain, 0))[1], 2);
    assert_int_equal(test.failed[0], 0);
    assert_int_equal(test.failed[1], 1);
    assert_int_equal(test.failed[2], 1);
    assert_int_equal(preprocess_chain_cost(test.chain, 0).failed, 2);
    test_chain_close(&test);
}

/* ---- words, found a block at a time ---- */

static bool is_word_byte(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte >= 0x80;
}

/* The spans of a row as a plain loop finds them; returns how many. */
static size_t plain_words(struct weir_bytes row, bool marks, size_t most, struct weir_span *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < row.size && count < most;) {
        size_t start = i++;
        bool is_word = is_word_byte(row.at[start]);
        bool is_mark = marks && row.at[start] > ' ' && row.at[start] != 0x7f;
        while (is_word && i < row.size && is_word_byte(row.at[i]))
            i++;
        if (is_word || is_mark)
            spans[count++] = (struct weir_span){(uint32_t)start, (uint32_t)(i - start)};
    }
    return count;
}

/* Words of all lengths, which go over blocks, too. */
static size_t draw_text(struct weir_rng *rng, uint8_t text[300])
{
    static const char PIECES[] = "abZ09_ .,!\t\x7f\x80\xff xyz";
    size_t size = weir_rng_below(rng, 300);
    uint64_t run = 1 + weir_rng_below(rng, 80);
    for (size_t i = 0; i < size; i++)
        text[i] = weir_rng_below(rng, run) > 0
                      ? 'w'
                      : (uint8_t)PIECES[weir_rng_below(rng, sizeof(PIECES))];
    return size;
}

/* Fields of a record as words, or as text; NULL: the row fails. */
static const struct {
    const char *op, *options, *record, *expected;
} FIELD_CASES[] = {
    {"csv_words", "{fields: [0, 2]}", "a,b,c\n", "|0=a|2=c"},
    {"csv_words", "{columns: [day, from, to], fields: [to, from]}", "1,SFO,LAX",
     "|from=SFO|to=LAX"},
    {"csv_words", "{fields: [0, 1, 2], delimiter: \"\\t\"}", "-1\t\t\"x\ty\"\r\n", "|0=-1|2=x\ty"},
    {"csv_words", "{fields: [0, 1], quotes: none}", "\"a,b\"", "|0=\"a|1=b\""},
    {"csv_words", "{fields: [0, 1, 2], coarse: [1, 2]}", "30,30,2", "|0=30|1=~11|2=2"},
    {"csv_words", "{fields: [1, 0], coarse: [0]}", "1e6,1e6", "|0=~190|1=1e6"},
    {"csv_words", "{fields: [0, 1, 2], coarse: [1, 2], coarse_scales: 2}", "30,30,2",
     "|0=30|1=~11|1~=~3|2=2|2~=2"},
    {"csv_words", "{fields: [0, 1], coarse: [1], coarse_scales: 2, keep_empty: true}", "a,",
     "|0=a|1=|1~="},
    {"csv_words", "{fields: [1, 2]}", "a,b", NULL},
    {"csv_words", "{fields: [0, 1]}", "a,\"b", NULL},
    {"csv_words", "{fields: [0]}", "", ""},
    {"csv_text", "{field: 1}", "x,\"one, \"\"two\"\"\",y", "one, \"two\""},
    {"csv_text", "{columns: [id, title, lead], field: [title, lead]}", "1,a b,c\n", "a b c"},
    {"csv_text", "{field: [0, 1]}", "x", NULL},
    {"json_text", "{field: [t, b.c]}", "{\"b\": {\"c\": \"two\"}, \"t\": \"one\"}", "one two"},
    {"json_text", "{field: [t, b.c]}", "{\"t\": \"one\"}", NULL},
    {"json_text", "{field: [t, b.c], optional: true}", "{\"t\": null, \"b\": {\"c\": \"2\"}}", "2"},
    {"json_words", "{fields: [n, t, b.c]}",
     "{\"b\": {\"c\": \"tw\\u00f6\"}, \"t\": true, \"n\": 9007199254740993}",
     "|n=9007199254740993|t=true|b.c=tw\u00f6"},
    {"json_words", "{fields: [t, u]}", "{\"t\": null}", ""},
    {"json_words", "{fields: [t, u], keep_empty: true}", "{\"t\": null, \"u\": 1.50}",
     "|t=|u=1.50"},
    {"json_words", "{fields: [t, u]}", "{\"t\": [ \"a]\\\"\" , 7,null,true], \"u\": []}",
     "|t=a]\"|t=7|t=true"},
    {"json_words", "{fields: [t], keep_empty: true}", "{\"t\": [\"a\"]}", NULL},
    {"json_words", "{fields: [t, u]}", "{\"t\": 1, \"u\": [[\"a\"]]}", NULL},
    {"json_words", "{fields: [t, u]}", "{\"t\": 1, \"u\": {\"a\": 1}}", NULL},
    {"json_words", "{fields: [t]}", "{\"t\": 1", NULL},
};

static void fields_of_a_record_become_words_or_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(FIELD_CASES); i++) {
        struct alone alone = {0};
        WEIR_AUTO_BUF found = {0};
        WEIR_AUTO(weir_yaml) document = NULL;
        struct weir_error err;
        const struct preprocess_operator *op = operator_find(FIELD_CASES[i].op);
        WEIR_AUTO_FREE void *options = weir_calloc(1, op->options_size);
        assert_int_equal(
            weir_yaml_parse("t.yaml", weir_bytes_of(FIELD_CASES[i].options), &document, &err),
            WEIR_OK);
        assert_int_equal(
            cfg_read(op->options, CFG_CLOSED, weir_yaml_root(document), "op", NULL, options, &err),
            WEIR_OK);
        apply_alone(&alone, op->name, options, COLUMN_BYTES, weir_bytes_of(FIELD_CASES[i].record));
        assert_int_equal(alone.failed[0] != 0, FIELD_CASES[i].expected == NULL);
        if (alone.out.about.kind == COLUMN_TOKENS)
            join_words(&alone.out, 0, &found);
        else
            weir_buf_append(&found, alone.out.values.at, alone.out.values.size);
        assert_string_equal(weir_buf_text(&found),
                            FIELD_CASES[i].expected != NULL ? FIELD_CASES[i].expected : "");
        end_alone(&alone);
    }
}

static void words_are_those_of_a_plain_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct weir_rng rng;
        uint8_t text[300];
        struct weir_span wanted[300];
        weir_rng_init(&rng, seed);
        struct weir_bytes row = weir_bytes(text, draw_text(&rng, text));
        struct words_options options = {NULL, seed % 3 == 0 ? 1 + weir_rng_below(&rng, 5) : 4096,
                                        seed % 2 == 0, "words"};
        size_t count = plain_words(row, options.marks, options.max_tokens, wanted);
        struct alone alone = {0};
        apply_alone(&alone, "tokenize_words", &options, COLUMN_TEXT, row);
        assert_int_equal(alone.out.spans.size, count * sizeof(wanted[0]));
        if (count > 0)
            assert_memory_equal(alone.out.spans.at, wanted, count * sizeof(wanted[0]));
        end_alone(&alone);
    }
}

/* The words of row `row` are those of a plain loop over it; returns how many. */
static size_t expect_plain_words(const struct alone *alone, const struct words_options *options,
                                 size_t row)
{
    struct weir_bytes text = column_row(&alone->in, row);
    const uint32_t *offsets = column_offsets(&alone->out);
    struct weir_span *wanted = calloc(text.size + 1, sizeof(*wanted));
    size_t count = plain_words(text, options->marks, options->max_tokens, wanted);
    assert_int_equal(offsets[row + 1] - offsets[row], count);
    for (size_t i = 0; i < count; i++) {
        struct weir_span found = column_spans(&alone->out)[offsets[row] + i];
        assert_int_equal(found.size, wanted[i].size);
        assert_memory_equal(alone->out.values.at + found.start, text.at + wanted[i].start,
                            found.size);
    }
    free(wanted);
    return count;
}

/* Rows end with a word and begin with one; some are longer than all that is looked at together. */
static void words_never_go_on_in_the_next_row(void **state)
{
    (void)state;
    size_t found = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct weir_rng rng;
        weir_rng_init(&rng, seed);
        struct words_options options = {NULL, seed % 3 == 0 ? 7 : 4096, seed % 2 == 0, "words"};
        struct alone alone = {0};
        begin_alone(&alone, "tokenize_words", &options, COLUMN_TEXT);
        for (size_t row = 0; row < ALONE_ROWS_MAX; row++) {
            uint8_t text[300];
            size_t pieces = weir_rng_below(&rng, 100) == 0 ? 150 : 1;
            for (size_t i = 0; i < pieces; i++)
                weir_buf_append(&alone.in.values, text, draw_text(&rng, text));
            preprocess_column_end_row(&alone.in);
        }
        run_alone(&alone, ALONE_ROWS_MAX);
        for (size_t row = 0; row < ALONE_ROWS_MAX; row++)
            found += expect_plain_words(&alone, &options, row);
        end_alone(&alone);
    }
    assert_true(found > ALONE_ROWS_MAX);
}

/* ---- pack ---- */

enum { PACK_ROWS = 300, PACK_LENGTH = 50 };
#define PACK_HASH "{op: tokenize_words}, {op: tokenize_hash, buckets: 1000000}"

/* Row i has i * i % 58 words: some none, some more than a packed row takes. */
static struct weir_bytes pack_row(size_t row, struct weir_buf *text)
{
    for (size_t k = 0; k < row * row % (PACK_LENGTH + 8); k++)
        weir_buf_printf(text, "%zu_%zu ", row, k);
    return weir_buf_view(text);
}

/* The numbers of the `number`-th sample stand together in one packed row, as they were. */
static void expect_together(const struct test_chain *packed, int32_t number, const int32_t *wanted,
                            size_t count)
{
    const int32_t *values = test_chain_ints(packed, 0), *segments = test_chain_ints(packed, 1);
    size_t total = preprocess_chain_output(packed->chain, 0)->values.size / sizeof(*values),
           first = 0;
    while (first < total && segments[first] != number)
        first++;
    assert_int_equal(first == total, count == 0);
    if (count == 0)
        return;
    assert_true(first % PACK_LENGTH + count <= PACK_LENGTH);
    assert_memory_equal(values + first, wanted, count * sizeof(*values));
    for (size_t i = first; i < total; i++)
        assert_int_equal(segments[i] == number, i < first + count);
}

static void short_rows_are_packed_and_each_is_found_again(void **state)
{
    (void)state;
    struct test_chain plain = {0}, packed = {0};
    struct weir_bytes rows[PACK_ROWS];
    struct weir_buf texts[PACK_ROWS] = {0};
    int32_t number = 0;
    size_t sum = 0;
    for (size_t i = 0; i < PACK_ROWS; i++)
        rows[i] = pack_row(i, &texts[i]);
    test_chain_open(&plain, "[" PACK_HASH "]");
    test_chain_open(&packed, "[" PACK_HASH ", {op: pack, length: 50, too_long: fail, value: -1}]");
    test_chain_run(&plain, rows, PACK_ROWS);
    test_chain_run(&packed, rows, PACK_ROWS);
    const uint32_t *from = column_offsets(preprocess_chain_output(plain.chain, 0));
    const uint32_t *to = column_offsets(preprocess_chain_output(packed.chain, 0));
    for (size_t i = 0; i < PACK_ROWS; i++) {
        size_t count = from[i + 1] - from[i];
        bool fits = count <= PACK_LENGTH;
        assert_int_equal(packed.failed[i], fits ? OPERATOR_ROW_OK : OPERATOR_ROW_FAILED);
        assert_true(to[i + 1] == to[i] || (fits && to[i + 1] - to[i] == PACK_LENGTH));
        if (!fits)
            continue;
        sum += count;
        expect_together(&packed, ++number, test_chain_ints(&plain, 0) + from[i], count);
    }
    assert_in_range(to[PACK_ROWS], sum, sum + sum / 10); /* hardly anything is put in */
    test_chain_close(&plain);
    test_chain_close(&packed);
    for (size_t i = 0; i < PACK_ROWS; i++)
        weir_buf_fini(&texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_clean_and_lower_case),
        cmocka_unit_test(any_bytes_become_text_and_stay_so),
        cmocka_unit_test(words_are_runs_of_letters_digits_and_other_scripts),
        cmocka_unit_test(words_are_those_of_a_plain_loop),
        cmocka_unit_test(words_never_go_on_in_the_next_row),
        cmocka_unit_test(ngrams_are_counted_in_order_and_hashed_alike),
        cmocka_unit_test(golden_buckets_stay),
        cmocka_unit_test(json_text_takes_a_field_and_says_what_it_lacks),
        cmocka_unit_test(fields_of_a_record_become_words_or_text),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(words_and_their_numbers_are_cut_alike),
        cmocka_unit_test(rows_are_filled_up_and_their_lengths_told),
        cmocka_unit_test(short_rows_are_packed_and_each_is_found_again),
    };
    return cmocka_run_group_tests_name("text operators", tests, NULL, NULL);
}
