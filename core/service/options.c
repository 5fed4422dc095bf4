/* Reading and printing options from their table. */
#include "core/service/options.h"

#include "core/base/memory.h"
#include "core/config/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_SHOWN = 60 };

static const struct weir_option *find_option(const struct weir_option *options, const char *name,
                                             size_t size)
{
    for (; options->name != NULL; options++) {
        if (strlen(options->name) == size && memcmp(options->name, name, size) == 0)
            return options;
    }
    return NULL;
}

/* -f: the only option that begins with that letter, or NULL. */
static const struct weir_option *find_letter(const struct weir_option *options, const char *word)
{
    const struct weir_option *found = NULL;
    if (word[0] != '-' || word[1] == '-' || word[1] == '\0' || word[2] != '\0')
        return NULL;
    for (; options->name != NULL; options++) {
        if (options->name[0] != word[1])
            continue;
        if (found != NULL)
            return NULL;
        found = options;
    }
    return found;
}

static enum weir_status fail_unknown(const struct weir_option *options, const char *word,
                                     struct weir_error *err)
{
    size_t size = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || size > NAME_MAX_SHOWN)
        return weir_fail(err, WEIR_INVALID, "unknown option %.*s", NAME_MAX_SHOWN, word);
    size_t count = 0;
    while (options[count].name != NULL)
        count++;
    WEIR_AUTO_FREE const char **names = weir_calloc(count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = options[i].name;
    WEIR_AUTO_FREE char *name = weir_strndup(word + 2, size - 2);
    const char *meant = cfg_nearest(name, names);
    if (meant != NULL)
        return weir_fail(err, WEIR_INVALID, "unknown option --%s (did you mean --%s?)", name,
                         meant);
    return weir_fail(err, WEIR_INVALID, "unknown option --%s: --help lists them", name);
}

static bool may_be_given_again(const struct weir_option *option)
{
    static const char MARK[] = "…";
    size_t size = strlen(option->argument), mark = strlen(MARK);
    return size > mark && strcmp(option->argument + size - mark, MARK) == 0;
}

static void keep_value(const struct weir_option *option, void *member, const char *value)
{
    if (!may_be_given_again(option)) {
        *(const char **)member = value;
        return;
    }
    struct weir_option_values *values = member;
    values->at = weir_realloc(values->at, values->count + 1, sizeof(*values->at));
    values->at[values->count++] = value;
}

void weir_option_values_fini(struct weir_option_values *values)
{
    free(values->at);
    *values = (struct weir_option_values){0};
}

/* Reads argv[*at], an option, and moves *at after it and its argument. */
static enum weir_status read_option(const struct weir_option *options, int argc, char **argv,
                                    int *at, void *target, struct weir_error *err)
{
    const char *word = argv[(*at)++];
    const char *name = word + 2;
    size_t size = strcspn(name, "=");
    const struct weir_option *option = find_letter(options, word);
    bool has_value = option == NULL && name[size] == '=';
    if (strncmp(word, "--", 2) == 0)
        option = find_option(options, name, size);
    if (option == NULL)
        return fail_unknown(options, word, err);
    void *member = (char *)target + option->offset;
    if (option->argument == NULL) {
        if (has_value)
            return weir_fail(err, WEIR_INVALID, "--%s takes no value", option->name);
        *(bool *)member = true;
        return WEIR_OK;
    }
    if (!has_value && *at == argc)
        return weir_fail(err, WEIR_INVALID, "--%s: expected %s after it", option->name,
                         option->argument);
    keep_value(option, member, has_value ? name + size + 1 : argv[(*at)++]);
    return WEIR_OK;
}

enum weir_status weir_options_read(const struct weir_option *options, int argc, char **argv,
                                   void *target, int *ret_operands, struct weir_error *err)
{
    int operands = 0;
    bool options_over = false;
    for (int at = 1; at < argc;) {
        char *word = argv[at];
        bool is_option = !options_over && word[0] == '-' && word[1] != '\0';
        if (is_option && strcmp(word, "--") == 0) {
            options_over = true;
            at++;
        } else if (is_option) {
            enum weir_status status = read_option(options, argc, argv, &at, target, err);
            if (status != WEIR_OK)
                return status;
        } else {
            argv[operands++] = word;
            at++;
        }
    }
    *ret_operands = operands;
    return WEIR_OK;
}

static int width_of(const struct weir_option *option)
{
    size_t width = strlen(option->name) + (option->argument != NULL ? 1 : 0);
    for (const char *at = option->argument; at != NULL && *at != '\0'; at++)
        width += (*at & 0xc0) != 0x80; /* characters, not bytes: "…" is one */
    return (int)width;
}

void weir_options_print(const struct weir_option *options)
{
    int widest = 0;
    for (const struct weir_option *option = options; option->name != NULL; option++)
        widest = width_of(option) > widest ? width_of(option) : widest;
    for (const struct weir_option *option = options; option->name != NULL; option++) {
        bool has_argument = option->argument != NULL;
        printf("  --%s%s%s%*s  %s\n", option->name, has_argument ? " " : "",
               has_argument ? option->argument : "", widest - width_of(option), "", option->doc);
    }
}
