/* The file as a whole: name, batches, training. */
#include "cli/modyn/write.h"

#include "core/base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- values ---- */

bool cli_modyn_is_true(const struct weir_yaml_node *node, const char *path, bool fallback)
{
    return strcasecmp(cli_modyn_text(node, path, fallback ? "true" : "false"), "true") == 0;
}

double cli_modyn_number(const struct weir_yaml_node *node, const char *path, double fallback)
{
    const char *text = cli_modyn_text(node, path, "");
    char *end;
    double number = strtod(text, &end);

    return end != text ? number : fallback;
}

char *cli_modyn_period(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return strcmp(text + digits, "y") == 0
               ? weir_format("%.*s %s", (int)digits, text,
                             strncmp(text, "1y", 2) == 0 ? "year" : "years")
               : weir_strdup(text);
}

static char *word_of(const char *text, bool lower)
{
    char *name = weir_strdup(text);
    size_t size = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (isalnum((unsigned char)*at) || *at == '_' || *at == '-')
            name[size++] = (char)(lower ? tolower((unsigned char)*at) : *at);
        else if (size > 0 && name[size - 1] != '-')
            name[size++] = '-';
    }
    while (size > 0 && name[size - 1] == '-')
        size--;
    name[size] = '\0';
    return name;
}

/* Letters, digits, - and _; free() it. */
static char *name_of(const struct cli_modyn_pipeline *pipeline)
{
    return word_of(cli_modyn_text(pipeline->root, "pipeline.name", "modyn"), false);
}

/* ---- training ---- */

/* As it is written, for the program. */
static void put_option(const struct cli_modyn_pipeline *pipeline, const char *path,
                       const char *name, struct weir_buf *out)
{
    const struct weir_yaml_node *node = cli_modyn_at(pipeline->root, path);

    if (node == NULL)
        return;
    weir_buf_printf(out, "    %s: ", name);
    weir_yaml_print(node, out);
    weir_buf_append_text(out, "\n");
}

static void put_options(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    weir_buf_append_text(out, "  options:  # Modyn's own, handed to the program as JSON\n");
    put_option(pipeline, "model", "model", out);
    put_option(pipeline, "training.optimizers", "optimizers", out);
    put_option(pipeline, "training.optimization_criterion", "optimization_criterion", out);
    put_option(pipeline, "training.lr_scheduler", "lr_scheduler", out);
    put_option(pipeline, "training.amp", "amp", out);
    put_option(pipeline, "training.grad_scaler_config", "grad_scaler_config", out);
}

static void put_training(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const struct weir_yaml_node *root = pipeline->root;
    WEIR_AUTO_FREE char *program = word_of(cli_modyn_text(root, "model.id", "model"), true);
    bool is_cpu = strcmp(cli_modyn_text(root, "training.device", "cpu"), "cpu") == 0;

    weir_buf_printf(out,
                    "\n# orchestrator run THIS.yaml --program '%s=python3 YOUR_LOOP.py': "
                    "docs/guides/bring-your-pytorch-loop.md\n"
                    "training:\n  program: %s\n  epochs: %.0f\n  seed: %.0f\n  start_from: %s\n",
                    program, program, cli_modyn_number(root, "training.epochs_per_trigger", 1),
                    cli_modyn_number(root, "training.seed", 1),
                    cli_modyn_is_true(root, "training.use_previous_model", true) ? "previous"
                                                                                 : "scratch");
    if (!is_cpu)
        weir_buf_printf(out, "  gpus: %.0f\n", cli_modyn_number(root, "training.gpus", 1));
    put_options(pipeline, out);
}

static void put_batch(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const struct weir_yaml_node *root = pipeline->root;

    weir_buf_printf(out, "  batch: {samples: %.0f, last: %s, shuffle: %s}\n",
                    cli_modyn_number(root, "training.batch_size", 256),
                    cli_modyn_is_true(root, "training.drop_last_batch", true) ? "drop" : "short",
                    cli_modyn_is_true(root, "training.shuffle", false) ? "full" : "none");
}

static void put_models(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const char *incremental = "model_storage.incremental_model_strategy";
    const struct weir_yaml_node *node = cli_modyn_at(pipeline->root, incremental);

    if (node != NULL)
        weir_buf_printf(out, "\nmodels: {storage: delta, full_every: %.0f}\n",
                        cli_modyn_number(node, "full_model_interval", 10));
}

void cli_modyn_write(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *name = name_of(pipeline);
    const char *description = cli_modyn_text(pipeline->root, "pipeline.description", "");

    weir_buf_printf(out,
                    "# Written by weir import modyn: it says line by line what maps, and how.\n");
    if (description[0] != '\0')
        weir_buf_printf(out, "# %.*s\n", (int)strcspn(description, "\r\n"), description);
    weir_buf_printf(out, "pipeline: {name: %s, mode: replay}\n\ndatasets:\n", name);
    cli_modyn_write_datasets(pipeline, out);
    weir_buf_append_text(out, "\ntrigger: ");
    cli_modyn_write_trigger(pipeline, out);
    weir_buf_append_text(out, "\nselection: ");
    cli_modyn_write_selection(pipeline, out);
    weir_buf_append_text(out, "\n\npreprocess:\n  operators:\n");
    cli_modyn_write_operators(pipeline, out);
    put_batch(pipeline, out);
    put_training(pipeline, out);
    cli_modyn_write_evaluation(pipeline, out);
    put_models(pipeline, out);
}
