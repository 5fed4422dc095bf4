/* Datasets, and the operators that make tensors of their records. */
#include "cli/modyn/snippets.h"
#include "cli/modyn/write.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 4, CATEGORIES = 26 /* of a click of Criteo's */ };

static const char *parser_of(const struct cli_modyn_pipeline *pipeline)
{
    return cli_modyn_text(pipeline->root, "data.bytes_parser_function", "");
}

static bool is_parsed_as(const struct cli_modyn_pipeline *pipeline, const char *form)
{
    return strcmp(cli_modyn_snippet(parser_of(pipeline)), form) == 0;
}

static unsigned label_bytes(const struct cli_modyn_pipeline *pipeline)
{
    double bytes =
        cli_modyn_number(pipeline->dataset, "file_wrapper_config.label_size", LABEL_BYTES);

    return bytes == 8 || bytes == 2 || bytes == 1 ? (unsigned)bytes : LABEL_BYTES;
}

static unsigned categories_of(const struct cli_modyn_pipeline *pipeline)
{
    const struct weir_yaml_node *about =
        cli_modyn_at(pipeline->root, "model.config.categorical_features_info");

    return about != NULL && weir_yaml_is_mapping(about) ? (unsigned)weir_yaml_pairs(about)
                                                        : CATEGORIES;
}

static unsigned record_bytes(const struct cli_modyn_pipeline *pipeline)
{
    double said = cli_modyn_number(pipeline->dataset, "file_wrapper_config.record_size", 0);
    unsigned label = label_bytes(pipeline), numbers, offset;

    if (said >= 1 && said <= 1 << 24)
        return (unsigned)said;
    if (is_parsed_as(pipeline, "record") &&
        cli_modyn_snippet_record(parser_of(pipeline), &numbers, &offset))
        return label + offset + 4 * categories_of(pipeline);
    return label + 4 * cli_modyn_snippet_floats(parser_of(pipeline));
}

/* ---- datasets ---- */

static bool is_binary(const struct cli_modyn_pipeline *pipeline)
{
    const char *wrapper = cli_modyn_text(pipeline->dataset, "file_wrapper_type", NULL);

    return wrapper != NULL ? strcmp(wrapper, "BinaryFileWrapper") == 0
                           : is_parsed_as(pipeline, "record") || is_parsed_as(pipeline, "floats");
}

static bool is_csv(const struct cli_modyn_pipeline *pipeline)
{
    const char *wrapper = cli_modyn_text(pipeline->dataset, "file_wrapper_type", NULL);

    return wrapper != NULL ? strcmp(wrapper, "CsvFileWrapper") == 0 : is_parsed_as(pipeline, "csv");
}

static const char *extension_of(const struct cli_modyn_pipeline *pipeline)
{
    const char *usual = is_binary(pipeline)                 ? ".bin"
                        : is_csv(pipeline)                  ? ".csv"
                        : is_parsed_as(pipeline, "picture") ? ".jpg"
                                                            : ".txt";

    return cli_modyn_text(pipeline->dataset, "file_wrapper_config.file_extension", usual);
}

static void put_format(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const struct weir_yaml_node *config = cli_modyn_at(pipeline->dataset, "file_wrapper_config");
    WEIR_AUTO_FREE char *include = weir_format("*%s", extension_of(pipeline));

    weir_buf_printf(out, ", format: %s, include: ",
                    is_binary(pipeline) ? "binary"
                    : is_csv(pipeline)  ? "csv"
                                        : "files");
    weir_yaml_print_text(include, out);
    if (is_binary(pipeline))
        weir_buf_printf(
            out, ", record_bytes: %u, byte_order: %s", record_bytes(pipeline),
            strcmp(cli_modyn_text(config, "byteorder", "little"), "big") == 0 ? "big" : "little");
    if (is_csv(pipeline) && cli_modyn_text(config, "separator", NULL) != NULL) {
        weir_buf_append_text(out, ", delimiter: ");
        weir_yaml_print_text(cli_modyn_text(config, "separator", ","), out);
    }
    if (is_csv(pipeline) && !cli_modyn_is_true(config, "ignore_first_line", false))
        weir_buf_append_text(out, ", header: false");
}

static void put_label(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    if (is_binary(pipeline))
        weir_buf_printf(out, "    label:  {offset: 0, type: i%u}\n", 8 * label_bytes(pipeline));
    else if (is_csv(pipeline))
        weir_buf_printf(out, "    label:  {field: \"%.0f\"}\n",
                        cli_modyn_number(pipeline->dataset, "file_wrapper_config.label_index", 0) +
                            1);
    else
        weir_buf_append_text(out, "    label:  {from: manifest}  # manifest.csv beside the files: "
                                  "path,time,label\n");
}

void cli_modyn_write_datasets(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const char *id = cli_modyn_text(pipeline->root, "data.dataset_id", "data");
    WEIR_AUTO_FREE char *beside = weir_format("data/%s", id);

    weir_buf_append_text(out, "  - name: ");
    weir_yaml_print_text(id, out);
    weir_buf_append_text(out, "\n    source: {path: ");
    weir_yaml_print_text(cli_modyn_text(pipeline->dataset, "base_path", beside), out);
    put_format(pipeline, out);
    weir_buf_append_text(out, pipeline->dataset != NULL ? "}\n"
                                                        : "}  # guessed: the file does not say\n");
    weir_buf_append_text(out, "    time:   {from: mtime}  # as Modyn takes it\n");
    put_label(pipeline, out);
}

/* ---- operators ---- */

static void put_record(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    unsigned label = label_bytes(pipeline), numbers = 13, offset = 52;
    unsigned bytes = record_bytes(pipeline);

    if (cli_modyn_snippet_record(parser_of(pipeline), &numbers, &offset) && bytes > label + offset)
        weir_buf_printf(out,
                        "    - {op: record_fields, dense: [%u, %u, f32], sparse: [%u, %u, i32]}\n",
                        label, numbers, label + offset, (bytes - label - offset) / 4);
}

/* The numbers between the first brackets that hold some, as a list: (0.1307,), mean=[0.485, 0.456]. */
static const char *put_list(const char *text, const char *key, struct weir_buf *out)
{
    size_t count = 0;

    text += strcspn(text, "0123456789");
    weir_buf_printf(out, ", %s: [", key);
    while (*text >= '0' && *text <= '9') {
        size_t size = strspn(text, "0123456789.e-");

        weir_buf_printf(out, "%s%.*s", count++ > 0 ? ", " : "", (int)size, text);
        text += size;
        text += strspn(text, ", ");
    }
    weir_buf_append_text(out, "]");
    return text;
}

static void put_normalize(const char *expression, struct weir_buf *out)
{
    weir_buf_append_text(out, "    - {op: normalize");
    if (expression != NULL)
        (void)put_list(put_list(expression, "mean", out), "std", out);
    weir_buf_append_text(out, "}\n    - {op: to_chw}\n");
}

static void put_sized(const char *op, const char *expression, struct weir_buf *out)
{
    WEIR_AUTO_BUF size = {0};

    (void)put_list(expression, "size", &size);
    weir_buf_printf(out, "    - {op: %s%s}\n", op, weir_buf_text(&size));
}

static void put_transformations(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    static const struct {
        const char *name, *op;
    } SIZED[] = {{"transforms.RandomResizedCrop(", "random_resized_crop"},
                 {"transforms.Resize(", "resize"},
                 {"transforms.CenterCrop(", "center_crop"}};
    const struct weir_yaml_node *list = cli_modyn_at(pipeline->root, "data.transformations");
    const char *normalize = NULL;
    bool is_sized = false;

    for (size_t i = 0; list != NULL && i < weir_yaml_length(list); i++) {
        const char *text = weir_yaml_text(weir_yaml_at(list, i));

        for (size_t j = 0; text != NULL && j < WEIR_COUNT(SIZED); j++) {
            if (strncmp(text, SIZED[j].name, strlen(SIZED[j].name)) != 0)
                continue;
            put_sized(SIZED[j].op, text, out);
            is_sized = true;
        }
        if (text != NULL && strncmp(text, "transforms.RandomHorizontalFlip(", 32) == 0)
            weir_buf_append_text(out, "    - {op: flip}\n");
        if (text != NULL && strncmp(text, "transforms.Normalize(", 21) == 0)
            normalize = text;
    }
    if (!is_sized)
        weir_buf_append_text(
            out, "    - {op: resize, size: [32, 32]}  # Modyn took pictures as they are: name "
                 "their size\n");
    put_normalize(normalize, out);
}

void cli_modyn_write_operators(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    if (is_parsed_as(pipeline, "record")) {
        put_record(pipeline, out);
    } else if (is_parsed_as(pipeline, "floats")) {
        weir_buf_printf(out, "    - {op: record_fields, dense: [%u, %u, f32]}\n",
                        label_bytes(pipeline), cli_modyn_snippet_floats(parser_of(pipeline)));
    } else if (is_parsed_as(pipeline, "picture")) {
        weir_buf_printf(out, "    - {op: %s}\n",
                        strcmp(extension_of(pipeline), ".png") == 0 ? "decode_png" : "decode_jpeg");
        put_transformations(pipeline, out);
    } else if (is_parsed_as(pipeline, "text")) {
        weir_buf_append_text(
            out, "    - {op: wordpiece, vocabulary: vocab.txt, begin: \"[CLS]\", end: \"[SEP]\"}\n"
                 "    - {op: truncate, length: 512}\n");
    } else if (is_parsed_as(pipeline, "csv")) {
        weir_buf_append_text(out, "    - {op: csv_fields, fields: [\"1\"]}  # name the columns\n");
    } else {
        weir_buf_append_text(
            out, "    - {op: exec, program: bytes_parser}  # what Modyn ran as Python\n");
    }
}
