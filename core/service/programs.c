/* Programs of the user that pipelines may name. */
#include "core/service/programs.h"

#include "core/base/environment.h"
#include "core/base/jail.h"
#include "core/base/memory.h"
#include "core/config/sections.h"
#include "core/service/roots.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRAMS_MAX = 64, COMMAND_MAX = 32, CLOSED_MAX = 6 };

static const char VARIABLE[] = "WEIR_PROGRAMS";

static const struct cfg_key KEYS[] = {
    CFG_TEXTS(struct weir_allowed, command, .required = true,
              .doc = "absolute path of the program, then its first arguments"),
    CFG_SIZE(struct weir_allowed, memory, .fallback = "2GiB", .min = 1 << 20,
             .doc =
                 "address space that it may take as an operator (`op: exec`); as a trainer, if it "
                 "is said: resident memory of it and its children, above which it is ended"),
    CFG_DURATION(struct weir_allowed, timeout, .fallback = "30s", .min = 1000,
                 .doc = "a batch of an operator that takes longer has failed"),
    CFG_TEXTS(
        struct weir_allowed, modes,
        .doc = "what it does as a trainer (`training.program`): train, evaluate, predict, score, "
               "gradient, embed; none: it is no trainer"),
    CFG_U64(struct weir_allowed, ranks, .fallback = "1", .min = 1, .max = CFG_RANKS_MAX,
            .doc = "as a trainer: most processes that it trains in together (`training.ranks`); a "
                   "group of several may open network sockets, on which its processes meet"),
    CFG_NODE(struct weir_allowed, env,
             .doc = "{NAME: text}: variables that it finds in its environment as a trainer"),
    CFG_END,
};

static const char *const MODES[] = {"train",    "evaluate", "predict", "score",
                                    "gradient", "embed",    NULL};

static enum weir_status check_modes(const struct weir_allowed *allowed, struct weir_error *err)
{
    for (size_t i = 0; i < allowed->modes.count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(allowed->modes.node, i);
        const char *mode = weir_yaml_text(node);
        size_t at = 0;
        while (MODES[at] != NULL && !weir_str_equal(MODES[at], mode))
            at++;
        if (MODES[at] == NULL)
            return cfg_unknown(node, "programs.modes", "mode", MODES, err);
    }
    return WEIR_OK;
}

/* Names that Weir sets by itself are not the operator's. */
static bool is_variable(const char *name)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return name[0] != '\0' && name[strspn(name, LETTERS)] == '\0' && strncmp(name, "WEIR_", 5) != 0;
}

static enum weir_status check_env(const struct weir_yaml_node *env, struct weir_error *err)
{
    if (!weir_yaml_is_mapping_if_any(env))
        return weir_yaml_fail(env, err, "programs.env: expected NAME: text");
    for (size_t i = 0; i < weir_yaml_pairs(env); i++) {
        const char *name = weir_yaml_key(env, i);
        if (!is_variable(name) || weir_yaml_text(weir_yaml_value(env, i)) == NULL)
            return weir_yaml_fail(
                weir_yaml_key_node(env, i), err,
                "programs.env.%.80s: expected NAME: text, a name of letters, digits "
                "and _ that does not begin with WEIR_",
                name);
    }
    return WEIR_OK;
}

static enum weir_status read_one(const struct weir_yaml_node *programs, size_t index,
                                 struct weir_allowed *ret_allowed, struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_value(programs, index);
    enum weir_status status = cfg_read(KEYS, CFG_CLOSED, node, "programs", NULL, ret_allowed, err);
    if (status != WEIR_OK)
        return status;
    ret_allowed->resident_max = weir_yaml_get(node, "memory") != NULL ? ret_allowed->memory : 0;
    const struct cfg_texts *command = &ret_allowed->command;
    if (command->count > COMMAND_MAX)
        return weir_yaml_fail(node, err,
                              "programs.%s.command: found %zu words, expected at most %d",
                              weir_yaml_key(programs, index), command->count, COMMAND_MAX);
    for (size_t i = 0; i < command->count; i++) {
        const char *text = weir_yaml_text(weir_yaml_at(command->node, i));
        if (text == NULL || (i == 0 && text[0] != '/'))
            return weir_yaml_fail(
                node, err, "programs.%s.command: found '%s', expected an absolute path, and words",
                weir_yaml_key(programs, index), text != NULL ? text : "");
    }
    status = check_modes(ret_allowed, err);
    return status == WEIR_OK ? check_env(ret_allowed->env, err) : status;
}

bool weir_allowed_has_mode(const struct weir_allowed *allowed, const char *mode)
{
    for (size_t i = 0; i < allowed->modes.count; i++) {
        if (weir_str_equal(weir_yaml_text(weir_yaml_at(allowed->modes.node, i)), mode))
            return true;
    }
    return false;
}

enum weir_status weir_allowed_require_mode(const struct weir_allowed *allowed, const char *mode,
                                           const struct weir_yaml_node *node, const char *path,
                                           struct weir_error *err)
{
    if (allowed->document == NULL || weir_allowed_has_mode(allowed, mode))
        return WEIR_OK;
    return weir_yaml_fail(node, err,
                          "%s: needs mode %s of program '%s', which does not do it: expected it in "
                          "programs.%s.modes of the system file",
                          path, mode, allowed->name, allowed->name);
}

enum weir_status weir_allowed_require_ranks(const struct weir_allowed *allowed, uint64_t ranks,
                                            const struct weir_yaml_node *node,
                                            struct weir_error *err)
{
    if (allowed->document == NULL || ranks <= allowed->ranks)
        return WEIR_OK;
    return weir_yaml_fail(
        node, err,
        "training.ranks: found %llu, program '%s' trains in at most %llu: expected "
        "no more than programs.%s.ranks of the system file",
        (unsigned long long)ranks, allowed->name, (unsigned long long)allowed->ranks,
        allowed->name);
}

enum weir_status weir_programs_check(const struct weir_yaml_node *programs, struct weir_error *err)
{
    size_t count = weir_yaml_pairs(programs);
    if (!weir_yaml_is_mapping_if_any(programs))
        return weir_yaml_fail(programs, err, "programs: expected NAME: {command: […], …}");
    if (count > PROGRAMS_MAX)
        return weir_yaml_fail(programs, err, "programs: found %zu, expected at most %d", count,
                              PROGRAMS_MAX);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_allowed allowed = {0};
        status = read_one(programs, i, &allowed, err);
    }
    return status;
}

void weir_programs_hand_on(const struct weir_yaml_node *programs)
{
    WEIR_AUTO_BUF text = {0};
    if (weir_yaml_pairs(programs) > 0)
        weir_yaml_print(programs, &text);
    else
        weir_buf_append_text(&text, "{}");
    (void)setenv(VARIABLE, weir_buf_text(&text), 1);
}

bool weir_programs_are_told(void)
{
    return getenv(VARIABLE) != NULL;
}

bool weir_programs_tell(const char *variable)
{
    return weir_variable_is(variable, VARIABLE) || weir_variable_is(variable, WEIR_CLOSED);
}

static enum weir_status find_one(const struct weir_yaml_node *programs, const char *name,
                                 struct weir_allowed *ret_allowed, struct weir_error *err)
{
    WEIR_AUTO_BUF names = {0};
    for (size_t i = 0; i < weir_yaml_pairs(programs); i++) {
        const char *key = weir_yaml_key(programs, i);
        if (weir_str_equal(key, name)) {
            ret_allowed->name = key;
            return read_one(programs, i, ret_allowed, err);
        }
        weir_buf_printf(&names, "%s%s", i > 0 ? ", " : "", key);
    }
    return weir_fail(err, WEIR_INVALID,
                     "program '%s' is not allowed: expected one of those that `programs` of the "
                     "system file names, or that `orchestrator run --program` gives to one run: %s",
                     name, names.size > 0 ? weir_buf_text(&names) : "none");
}

enum weir_status weir_programs_find(const char *name, struct weir_allowed *ret_allowed,
                                    struct weir_error *err)
{
    struct weir_allowed allowed = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    const char *text = getenv(VARIABLE);
    if (text == NULL) {
        *ret_allowed = allowed;
        return WEIR_OK;
    }
    enum weir_status status = weir_yaml_parse(VARIABLE, weir_bytes_of(text), &document, err);
    if (status == WEIR_OK)
        status = find_one(weir_yaml_root(document), name, &allowed, err);
    if (status != WEIR_OK)
        return status;
    allowed.document = WEIR_TAKE(document);
    *ret_allowed = allowed;
    return WEIR_OK;
}

enum weir_status weir_programs_find_trainer(const struct weir_yaml_node *root,
                                            struct weir_allowed *ret_allowed,
                                            struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_get(weir_yaml_get(root, "training"), "program");
    const char *name = weir_yaml_text(node);
    struct weir_error unknown;

    *ret_allowed = (struct weir_allowed){0};
    if (name == NULL || name[0] == '\0')
        return WEIR_OK;
    if (weir_programs_find(name, ret_allowed, &unknown) == WEIR_OK)
        return WEIR_OK;
    return weir_yaml_fail(node, err, "training.program: %s", unknown.text);
}

void weir_allowed_fini(struct weir_allowed *allowed)
{
    weir_yaml_free(allowed->document);
    *allowed = (struct weir_allowed){0};
}

void weir_programs_describe(struct weir_buf *out)
{
    weir_buf_append_text(
        out,
        "\n## programs.NAME\n\nPrograms that pipelines may name: as an operator (`op: exec`), or as a "
        "trainer (`training.program`).\n\n");
    cfg_document(KEYS, out);
}

/* ---- their jail ---- */

void weir_programs_close(const char *const *directories)
{
    WEIR_AUTO_BUF text = {0};
    for (; *directories != NULL; directories++)
        weir_buf_printf(&text, "%s%s", text.size > 0 ? "\n" : "", *directories);
    (void)setenv(WEIR_CLOSED, weir_buf_text(&text), 1);
}

enum weir_status weir_programs_jail(int *ret_rules, struct weir_error *err)
{
    const char *closed[CLOSED_MAX + 1] = {NULL};
    const char *value = getenv(WEIR_CLOSED);
    WEIR_AUTO_FREE char *text = weir_strdup(value != NULL ? value : "");
    char *rest = text;
    for (size_t i = 0; i < CLOSED_MAX && rest != NULL && *rest != '\0'; i++)
        closed[i] = strsep(&rest, "\n");
    return weir_jail_prepare(&(const struct weir_jail){.closed = closed}, ret_rules, err);
}
