/* A record is read as a table: what operators know of it from the datasets, and what they refuse. */
#include "preprocess/operators/chain.h"
#include "preprocess/plan/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct bench {
    struct weir_yaml *document;
    struct preprocess_tables *tables;
    struct chain *chain;
};

static enum weir_status open_bench(struct bench *bench, const char *text, const char *found,
                                   size_t size, struct weir_error *err)
{
    struct weir_bytes bytes = weir_bytes(found, size);
    *bench = (struct bench){0};
    enum weir_status status = weir_yaml_parse("p.yaml", weir_bytes_of(text), &bench->document, err);
    const struct weir_yaml_node *root = weir_yaml_root(bench->document);
    if (status == WEIR_OK)
        bench->tables = preprocess_tables_read(root, found != NULL ? &bytes : NULL);
    if (status == WEIR_OK)
        status = preprocess_chain_new(weir_yaml_get(root, "operators"),
                                      preprocess_tables_records(bench->tables), &bench->chain, err);
    return status;
}

static void close_bench(struct bench *bench)
{
    preprocess_chain_free(bench->chain);
    preprocess_tables_free(bench->tables);
    weir_yaml_free(bench->document);
}

#define ROWS "datasets: [{name: rows, source: {path: x, format: csv}}]\n"
#define OTHERS \
    "datasets: [{name: rows, source: {format: csv}}, {name: more, source: {format: csv}}]\n"
#define FOUND       "rows\nts\nuser\ntext\nlabel\n\0"
#define SAME        FOUND "more\nts\nuser\ntext\nlabel\nlater\n\0"
#define OTHER       FOUND "more\nts\ntext\nuser\nlabel\n\0"
#define BYTES(text) text, sizeof(text) - 1

/* Chains that can be planned (complaint NULL), and reasons why others cannot. */
static const struct {
    const char *text, *found;
    size_t size;
    const char *complaint;
} PLANS[] = {
    {ROWS "operators: [{op: csv_fields, fields: [ts, label]}]", BYTES(FOUND), NULL},
    {ROWS "operators: [{op: csv_fields, fields: [ts, 3]}]", BYTES(FOUND), NULL},
    {ROWS "operators: [{op: csv_fields, columns: [ts, user, text, label], fields: [ts]}]",
     BYTES(FOUND), NULL},
    {ROWS "operators: [{op: csv_fields, columns: [ts, user, text, label, x], fields: [ts]}]",
     BYTES(FOUND),
     "p.yaml:2:13: preprocess.operators: csv_fields: columns: declared are 5 (ts, user, text, label, "
     "x), but records of dataset 'rows' have 4 (ts, user, text, label): leave `columns` out, or "
     "name those"},
    {ROWS "operators: [{op: csv_fields, columns: [ts, text, user, label], fields: [ts]}]",
     BYTES(FOUND), "declared are 4 (ts, text, user, label), but"},
    {ROWS "operators: [{op: csv_fields, fields: [lable]}]", BYTES(FOUND),
     "csv_fields: found field 'lable', expected one of ts, user, text, label, or a number from 0"},
    {ROWS "operators: [{op: csv_fields, fields: [ts]}]", BYTES(""),
     "the columns of dataset 'rows' are not known"},
    {ROWS "operators: [{op: csv_fields, fields: [ts]}]", BYTES("ro"), "are not known"},
    {ROWS "operators: [{op: csv_fields, fields: [ts]}]", NULL, 0, NULL},
    {ROWS "operators: [{op: csv_fields, fields: [a]}]", BYTES("rows\na\nb\na\n\0"),
     "found two columns 'a'"},
    {ROWS "operators: [{op: csv_fields, fields: [b]}]", BYTES("rows\na\nb\na\n\0"), NULL},
    {ROWS "operators: [{op: csv_fields, fields: [1]}]", BYTES("rows\n1\n2\n\0"),
     "'1' is the name of column 0 and the number of another"},
    {ROWS "operators: [{op: csv_fields, fields: [0, 1]}]", BYTES("rows\n\n\n\0"), NULL},
    {ROWS "operators: [{op: csv_fields, columns: [a, b], fields: [a]}]", BYTES("rows\n\n\n\0"),
     NULL},
    {ROWS "operators: [{op: csv_fields, columns: [a, b, c], fields: [a]}]", BYTES("rows\n\n\n\0"),
     "declared are 3 (a, b, c), but records of dataset 'rows' have 2"},
    {OTHERS "operators: [{op: csv_fields, fields: [label]}]", BYTES(SAME), NULL},
    {OTHERS "operators: [{op: csv_fields, fields: [later]}]", BYTES(SAME),
     "expected one of ts, user, text, label, or"},
    {OTHERS "operators: [{op: csv_fields, fields: [label]}]", BYTES(OTHER),
     "datasets 'rows' and 'more' have different columns"},
    {OTHERS "operators: [{op: csv_fields, fields: [0, 3]}]", BYTES(OTHER), NULL},
    {"datasets: [{name: rows, source: {format: csv, header: false, columns: [a, b]}}]\n"
     "operators: [{op: csv_fields, fields: [c]}]",
     NULL, 0, "expected one of a, b"},
    {"datasets: [{name: rows, source: {format: jsonl}}]\n"
     "operators: [{op: csv_fields, fields: [a]}]",
     NULL, 0, "expected one of `columns`"},
    {"datasets: [{name: rows, source: {format: csv}}, {name: late, updates: rows, source: {format: "
     "csv}}]\noperators: [{op: csv_fields, fields: [label]}]",
     BYTES(FOUND "late\nother\n\0"), NULL},
    {ROWS "operators: [{op: csv_text, field: text, as: first}, {op: csv_fields, on: first, fields: "
          "[ts]}]",
     BYTES(FOUND), "expected one of `columns`"},
};

static void names_are_those_of_the_dataset(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(PLANS); i++) {
        struct bench bench;
        struct weir_error err;
        enum weir_status status =
            open_bench(&bench, PLANS[i].text, PLANS[i].found, PLANS[i].size, &err);
        if (PLANS[i].complaint == NULL && status != WEIR_OK)
            fail_msg("%s: %s", PLANS[i].text, err.text);
        if (PLANS[i].complaint != NULL &&
            (status != WEIR_INVALID || strstr(err.text, PLANS[i].complaint) == NULL))
            fail_msg("%s: found '%s', expected '%s'", PLANS[i].text,
                     status == WEIR_OK ? "nothing" : err.text, PLANS[i].complaint);
        close_bench(&bench);
    }
}

#define WITH(keys) "datasets: [{name: rows, source: {format: csv" keys "}}]\n"
#define ABC        "rows\na\nb\nc\n\0"

/* Records, and the numbers of the first tensor, or the reason why there are none. */
static const struct {
    const char *text, *record, *expected;
} RECORDS[] = {
    {WITH("") "operators: [{op: csv_fields, fields: [c, a]}]", "1,2,3", "3 1"},
    {WITH(", missing: [NA]") "operators: [{op: csv_fields, fields: [a, b], fill: -1}]", "NA,2,3",
     "-1 2"},
    {WITH(", missing: [NA]") "operators: [{op: csv_fields, fields: [a, b]}]", "NA,2,3",
     "column 'a': found nothing (what is declared missing), expected a number: fill takes it"},
    {WITH(", missing: [NA]") "operators: [{op: csv_fields, fields: [a], fill: -1}]", "\"NA\",2,3",
     "column 'a': found 'NA', expected a number: missing: ['NA'] and fill take it"},
    {WITH(", missing: [NA]") "operators: [{op: csv_fields, fields: [a, b], fill: -1, missing: "
                             "['?']}]",
     "?,2,3", "-1 2"},
    {WITH(", missing: [NA]") "operators: [{op: csv_fields, fields: [a], fill: -1, missing: ['?']}]",
     "NA,2,3", "found 'NA'"},
    {WITH(", missing: [NA]") "operators: [{op: csv_fields, fields: [a], fill: -1, missing: []}]",
     "NA,2,3", "found 'NA'"},
    {WITH(", delimiter: ;") "operators: [{op: csv_fields, fields: [b]}]", "1;2;3", "2"},
    {WITH(", delimiter: ;") "operators: [{op: csv_fields, fields: [b], delimiter: ','}]", "1,2,3",
     "2"},
    {WITH(", quotes: none") "operators: [{op: csv_fields, fields: [b]}]", "\"x,2,y\"", "2"},
    {WITH(", quotes: none") "operators: [{op: csv_fields, fields: [b], quotes: double}]",
     "\"x,2\",5,y", "5"},
    {WITH(", missing: [NA]") "operators: [{op: csv_words, fields: [a, b, c]}, {op: tokenize_hash, "
                             "buckets: 2}]",
     "NA,\"NA\",", "1"},
    {WITH(", missing: [NA]") "operators: [{op: csv_words, fields: [a, c]}, {op: tokenize_hash, "
                             "buckets: 2}]",
     "NA,NA,", ""},
    {WITH(
         ", missing: [NA]") "operators: [{op: csv_text, field: [a, b]}, {op: tokenize_words}, {op: "
                            "tokenize_hash, buckets: 1000}]",
     "NA,NA,", ""},
};

static void print_numbers(struct chain *chain, struct weir_buf *out)
{
    const struct column *column = preprocess_chain_output(chain, 0);
    size_t count = column->values.size / sizeof(float);
    for (size_t i = 0; i < count; i++)
        weir_buf_printf(out, "%s%g", i > 0 ? " " : "",
                        column->about.type == WEIR_F32
                            ? (double)((const float *)(const void *)column->values.at)[i]
                            : (double)((const int32_t *)(const void *)column->values.at)[i]);
}

static void records_are_read_as_their_source_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(RECORDS); i++) {
        struct bench bench;
        struct weir_error err;
        WEIR_AUTO_BUF found = {0};
        if (open_bench(&bench, RECORDS[i].text, BYTES(ABC), &err) != WEIR_OK)
            fail_msg("%s: %s", RECORDS[i].text, err.text);
        struct column *payload = preprocess_chain_begin(bench.chain);
        weir_buf_append_text(&payload->values, RECORDS[i].record);
        preprocess_column_end_row(payload);
        const uint8_t *flags =
            preprocess_chain_run(bench.chain, &(struct operator_batch){.rows = 1});
        if (flags[0] == OPERATOR_ROW_OK)
            print_numbers(bench.chain, &found);
        else
            weir_buf_append_text(&found, preprocess_chain_failures(bench.chain)->of[0].reason);
        if (flags[0] == OPERATOR_ROW_OK
                ? !weir_str_equal(weir_buf_text(&found), RECORDS[i].expected)
                : strstr(weir_buf_text(&found), RECORDS[i].expected) == NULL)
            fail_msg("%s: %s: found '%s', expected '%s'", RECORDS[i].text, RECORDS[i].record,
                     weir_buf_text(&found), RECORDS[i].expected);
        close_bench(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_dataset),
        cmocka_unit_test(records_are_read_as_their_source_says),
    };
    return cmocka_run_group_tests_name("preprocess: tables", tests, NULL, NULL);
}
