/* Words of a command, and the section that they make. */
#include "orchestrator/config/given_programs.h"

#include "core/base/memory.h"
#include "core/config/sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MAX = 32 };

static const char BLANKS[] = " \t\n";
static const char MODES[] = "[train, evaluate, predict, score, gradient, embed]";

/* ---- words ---- */

struct words {
    char *at[WORDS_MAX];
    size_t count;
};

static void words_fini(struct words *words)
{
    while (words->count > 0)
        free(words->at[--words->count]);
}

/* Takes one word, without its quotes, from the front of `*text`. False: a quote is open at its end. */
static bool take_word(const char **text, struct weir_buf *out)
{
    char quote = '\0';

    weir_buf_append_text(out, "");
    for (; **text != '\0' && (quote != '\0' || strchr(BLANKS, **text) == NULL); (*text)++) {
        if (**text == quote)
            quote = '\0';
        else if (quote == '\0' && (**text == '\'' || **text == '"'))
            quote = **text;
        else if (**text == '\\' && quote != '\'' && (*text)[1] != '\0')
            weir_buf_append(out, ++*text, 1);
        else
            weir_buf_append(out, *text, 1);
    }
    return quote == '\0';
}

static enum weir_status split(const char *name, const char *command, struct words *words,
                              struct weir_error *err)
{
    command += strspn(command, BLANKS);
    while (*command != '\0') {
        WEIR_AUTO_BUF word = {0};
        if (!take_word(&command, &word))
            return weir_fail(err, WEIR_INVALID, "--program %s: a quote is never closed", name);
        if (words->count == WORDS_MAX)
            return weir_fail(err, WEIR_INVALID, "--program %s: expected at most %d words", name,
                             WORDS_MAX);
        words->at[words->count++] = weir_strdup(weir_buf_text(&word));
        command += strspn(command, BLANKS);
    }
    return words->count > 0
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID, "--program %s: expected a command after =", name);
}

/* ---- paths ---- */

static bool is_file(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

/* The program is started elsewhere. */
static enum weir_status make_absolute(char **word, struct weir_error *err)
{
    WEIR_AUTO_FREE char *here = realpath(".", NULL);

    if (here == NULL)
        return weir_fail(err, WEIR_IO, "the working directory cannot be read: %s", strerror(errno));
    char *path = weir_format("%s/%s", here, *word);
    free(*word);
    *word = path;
    return WEIR_OK;
}

/* Puts the path of a program without a slash in its place, if PATH has it. */
static void look_up(char **word)
{
    const char *path = getenv("PATH");
    WEIR_AUTO_FREE char *text = weir_strdup(path != NULL ? path : "");
    char *rest = text;

    for (char *folder = strsep(&rest, ":"); folder != NULL; folder = strsep(&rest, ":")) {
        WEIR_AUTO_FREE char *found = weir_format("%s/%s", folder, *word);
        if (folder[0] != '/' || !is_file(found) || access(found, X_OK) != 0)
            continue;
        free(*word);
        *word = WEIR_TAKE(found);
        return;
    }
}

static enum weir_status find_files(const char *name, struct words *words, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (strchr(words->at[0], '/') == NULL)
        look_up(&words->at[0]);
    for (size_t i = 0; status == WEIR_OK && i < words->count; i++)
        if (words->at[i][0] != '/' && is_file(words->at[i]))
            status = make_absolute(&words->at[i], err);
    if (status == WEIR_OK && (!is_file(words->at[0]) || access(words->at[0], X_OK) != 0))
        status = weir_fail(err, WEIR_INVALID, "--program %s: %s is no program that can be run",
                           name, words->at[0]);
    return status;
}

/* ---- the section ---- */

static enum weir_status check_name(const char *name, const struct weir_yaml_node *named,
                                   struct weir_error *err)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

    if (name[0] == '\0' || name[strspn(name, LETTERS)] != '\0')
        return weir_fail(err, WEIR_INVALID,
                         "--program: expected NAME=COMMAND, a name of letters, digits, _, . and -, "
                         "found '%.80s'",
                         name);
    if (weir_yaml_get(named, name) != NULL)
        return weir_fail(err, WEIR_INVALID,
                         "--program %s: the system file names it already: expected another name",
                         name);
    return WEIR_OK;
}

static void print_program(const char *name, const struct words *words, struct weir_buf *out)
{
    weir_buf_printf(out, "%s: {command: [", name);
    for (size_t i = 0; i < words->count; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        weir_yaml_print_text(words->at[i], out);
    }
    weir_buf_printf(out, "], modes: %s, ranks: %d}\n", MODES, CFG_RANKS_MAX);
}

static enum weir_status add_one(const char *given, const struct weir_yaml_node *named,
                                struct weir_buf *out, struct weir_error *err)
{
    struct words words = {.count = 0};
    const char *command = strchr(given, '=');
    WEIR_AUTO_FREE char *name =
        weir_strndup(given, command == NULL ? 0 : (size_t)(command - given));
    enum weir_status status = check_name(name, named, err);

    if (status == WEIR_OK)
        status = split(name, command + 1, &words, err);
    if (status == WEIR_OK)
        status = find_files(name, &words, err);
    if (status == WEIR_OK)
        print_program(name, &words, out);
    words_fini(&words);
    return status;
}

enum weir_status orchestrator_given_programs(const char *const *given, size_t count,
                                             const struct weir_yaml_node *named,
                                             struct weir_yaml **ret_programs,
                                             struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < weir_yaml_pairs(named); i++) {
        weir_yaml_print_text(weir_yaml_key(named, i), &text);
        weir_buf_append_text(&text, ": ");
        weir_yaml_print(weir_yaml_value(named, i), &text);
        weir_buf_append_text(&text, "\n");
    }
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        status = add_one(given[i], named, &text, err);
    return status == WEIR_OK ? weir_yaml_parse("--program", weir_buf_view(&text), ret_programs, err)
                             : status;
}
