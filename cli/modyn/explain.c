/* Every key of a file to its row of keys.def: see explain.h. */
#include "cli/modyn/explain.h"

#include "cli/modyn/snippets.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 512, SHOWN_MAX = 60 };

const struct weir_yaml_node *cli_modyn_at(const struct weir_yaml_node *node, const char *path)
{
    WEIR_AUTO_FREE char *names = weir_strdup(path);

    for (char *rest = names, *name = strsep(&rest, "."); name != NULL && node != NULL;
         name = strsep(&rest, "."))
        node = weir_yaml_get(node, name);
    return node;
}

const char *cli_modyn_text(const struct weir_yaml_node *node, const char *path,
                           const char *fallback)
{
    const struct weir_yaml_node *found = cli_modyn_at(node, path);
    const char *text = found != NULL && weir_yaml_is_scalar(found) ? weir_yaml_text(found) : NULL;

    return text != NULL ? text : fallback;
}

/* ---- what belongs together ---- */

static const struct weir_yaml_node *dataset_in(const struct weir_yaml_node *system, const char *id)
{
    const struct weir_yaml_node *datasets = cli_modyn_at(system, "storage.datasets");

    for (size_t i = 0; datasets != NULL && i < weir_yaml_length(datasets); i++)
        if (weir_str_equal(cli_modyn_text(weir_yaml_at(datasets, i), "name", NULL), id))
            return weir_yaml_at(datasets, i);
    return NULL;
}

enum weir_status cli_modyn_pipeline_find(const struct weir_yaml_node *root,
                                         const struct weir_yaml_node *const *systems, size_t count,
                                         struct cli_modyn_pipeline *ret_pipeline,
                                         struct weir_error *err)
{
    static const char *const NEEDED[] = {"pipeline.name", "model.id", "data.dataset_id",
                                         "trigger.id"};
    struct cli_modyn_pipeline pipeline = {.root = root};

    for (size_t i = 0; i < WEIR_COUNT(NEEDED); i++)
        if (cli_modyn_text(root, NEEDED[i], NULL) == NULL)
            return weir_yaml_fail(root, err, "found no %s, expected a pipeline file of Modyn's",
                                  NEEDED[i]);
    pipeline.selection = weir_yaml_get(root, "selection_strategy");
    if (pipeline.selection == NULL)
        pipeline.selection = cli_modyn_at(root, "training.selection_strategy");
    for (size_t i = 0; i < count && pipeline.dataset == NULL; i++)
        pipeline.dataset = dataset_in(systems[i], cli_modyn_text(root, "data.dataset_id", ""));
    *ret_pipeline = pipeline;
    return WEIR_OK;
}

/* ---- lines ---- */

struct walk {
    const struct cli_modyn_pipeline *pipeline;
    json_t *lines;
    const struct cli_modyn_key *newest; /* row of the newest line */
};

/* Keys of the old dialect, and what they are called today. */
static void modernise(const char *key, char out[KEY_MAX])
{
    static const struct {
        const char *old, *new;
    } PREFIXES[] = {{"training.selection_strategy.config.", "selection_strategy."},
                    {"training.selection_strategy.", "selection_strategy."},
                    {"evaluation.datasets.metrics.config.", "evaluation.datasets.metrics."}};

    for (size_t i = 0; i < WEIR_COUNT(PREFIXES); i++) {
        size_t size = strlen(PREFIXES[i].old);

        if (strncmp(key, PREFIXES[i].old, size) == 0) {
            (void)snprintf(out, KEY_MAX, "%s%s", PREFIXES[i].new, key + size);
            return;
        }
    }
    (void)snprintf(out, KEY_MAX, "%s", key);
}

static bool ends_in(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);

    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* The value that rows of keys.def are about. */
static const char *kind_of(const struct walk *walk, const char *key, const char *text,
                           char out[KEY_MAX])
{
    const struct weir_yaml_node *root = walk->pipeline->root;

    if (ends_in(key, "_function"))
        return cli_modyn_snippet(text);
    if (strcmp(key, "data.dataset_id") == 0)
        return walk->pipeline->dataset != NULL ? "known" : "";
    if (strcmp(key, "evaluation.datasets.dataset_id") == 0)
        return strcmp(text, cli_modyn_text(root, "data.dataset_id", "")) != 0 ? ""
               : cli_modyn_at(root, "evaluation.handlers") != NULL            ? "same"
                                                                              : "whole";
    if (ends_in(key, ".transformations")) {
        (void)snprintf(out, KEY_MAX, "%.*s", (int)strcspn(text, "("), text);
        return out;
    }
    return text;
}

static void add_line(struct walk *walk, const struct weir_yaml_node *node, const char *written,
                     const char *text)
{
    static const struct cli_modyn_key UNKNOWN = {
        "", "", CLI_MODYN_LACKS, "", "no key of Modyn's that is known here: it was not read"};
    WEIR_AUTO_BUF place = {0};
    char key[KEY_MAX], kind[KEY_MAX];
    const struct cli_modyn_key *row;
    size_t shown = strcspn(text, "\n");

    modernise(written, key);
    row = cli_modyn_key_find(key, kind_of(walk, key, text, kind));
    row = row != NULL ? row : &UNKNOWN;
    if (row == walk->newest && row != &UNKNOWN && ends_in(row->key, "*"))
        return;
    walk->newest = row;
    weir_yaml_place(node, &place);
    place.size -= place.size >= strlen(": ") ? strlen(": ") : 0;
    if (shown < strlen(text) || shown > SHOWN_MAX)
        text = ""; /* source, or long: the place says where */
    json_array_append_new(
        walk->lines,
        json_pack("{ss,ss,ss,ss,ss,ss}", "place", weir_buf_text(&place), "key",
                  row->key[0] != '\0' && ends_in(row->key, "*") ? row->key : written, "value", text,
                  "verdict", CLI_MODYN_VERDICTS[row->verdict], "weir", row->weir, "why", row->why));
}

static void visit(struct walk *walk, const struct weir_yaml_node *node, const char *key)
{
    if (weir_yaml_is_mapping(node)) {
        for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
            char below[KEY_MAX];

            (void)snprintf(below, sizeof(below), "%s%s%s", key, key[0] == '\0' ? "" : ".",
                           weir_yaml_key(node, i));
            visit(walk, weir_yaml_value(node, i), below);
        }
    } else if (weir_yaml_is_scalar(node) || weir_yaml_is_null(node)) {
        add_line(walk, node, key, weir_yaml_text(node) != NULL ? weir_yaml_text(node) : "null");
    } else if (weir_yaml_length(node) == 0) {
        add_line(walk, node, key, "[]");
    } else {
        for (size_t i = 0; i < weir_yaml_length(node); i++)
            visit(walk, weir_yaml_at(node, i), key);
    }
}

json_t *cli_modyn_explain(const struct cli_modyn_pipeline *pipeline)
{
    struct walk walk = {.pipeline = pipeline, .lines = json_array()};

    visit(&walk, pipeline->root, "");
    if (pipeline->dataset != NULL)
        visit(&walk, pipeline->dataset, "storage.datasets");
    return walk.lines;
}
