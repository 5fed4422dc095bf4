/* Any bytes as a configuration file: parsed or refused with one line; what was parsed is read by a table, printed,
 * and parsed again to the same text. */
#include "core/config/schema.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libfyaml 0.7.12 loses a block of some long quoted scalars; a service reads one file in its life. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml";
}

struct section {
    bool on;
    int64_t from;
    uint64_t count;
    double rate;
    const char *name;
    int64_t every;
    uint64_t memory;
    int order;
    struct cfg_texts files;
    const struct weir_yaml_node *rest;
};

static const char *const ORDERS[] = {"full", "none", NULL};

static const struct cfg_key KEYS[] = {
    CFG_BOOL(struct section, on, .doc = ""),
    CFG_I64(struct section, from, .min = -9, .max = 9, .doc = ""),
    CFG_U64(struct section, count, .required = true, .doc = ""),
    CFG_F64(struct section, rate, .fallback = "0.5", .doc = ""),
    CFG_TEXT(struct section, name, .doc = ""),
    CFG_DURATION(struct section, every, .fallback = "1d", .min = 1, .doc = ""),
    CFG_SIZE(struct section, memory, .doc = ""),
    CFG_CHOICE(struct section, order, .fallback = "full", .choices = ORDERS, .doc = ""),
    CFG_TEXTS(struct section, files, .doc = ""),
    CFG_NODE(struct section, rest, .doc = ""),
    CFG_END,
};

static void read_section(const struct weir_yaml_node *root)
{
    struct section section = {0};
    struct weir_error err;
    WEIR_AUTO_BUF printed = {0};
    if (cfg_read(KEYS, CFG_CLOSED, root, "section", "policy", &section, &err) == WEIR_OK)
        cfg_print(KEYS, &section, 0, &printed);
    else
        weir_require(err.text[0] != '\0');
}

static void print_and_parse_again(const struct weir_yaml_node *root)
{
    WEIR_AUTO_BUF once = {0};
    WEIR_AUTO_BUF twice = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    struct weir_error err;
    weir_yaml_print(root, &once);
    if (once.size > WEIR_YAML_BYTES_MAX)
        return;
    if (weir_yaml_parse("again", weir_buf_view(&once), &document, &err) != WEIR_OK)
        weir_require_failed(err.text, __FILE__, __LINE__);
    weir_yaml_print(weir_yaml_root(document), &twice);
    weir_require(weir_bytes_equal(weir_buf_view(&once), weir_buf_view(&twice)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    struct weir_error err;
    enum weir_status status = weir_yaml_parse("f", weir_bytes(data, size), &document, &err);
    if (status != WEIR_OK) {
        weir_require(strncmp(err.text, "f:", 2) == 0 && strchr(err.text, '\n') == NULL);
        return 0;
    }
    read_section(weir_yaml_root(document));
    print_and_parse_again(weir_yaml_root(document));
    return 0;
}
