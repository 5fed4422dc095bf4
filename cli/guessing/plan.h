/* A plan for guessed data: when to train, with which model, how it is measured. Pure. */
#ifndef CLI_GUESSING_PLAN_H
#define CLI_GUESSING_PLAN_H

#include "cli/guessing/look.h"

enum cli_guess_model { CLI_GUESS_LINEAR, CLI_GUESS_FM, CLI_GUESS_TEXT_BAG };

struct cli_guess_plan {
    const char *every; /* period of event time that divides the data, or NULL: there are no times */
    uint64_t samples;  /* of a trigger, without times */
    enum cli_guess_task task;
    enum cli_guess_model model;
    uint64_t outputs; /* of the model */
    uint64_t buckets; /* of tokens */
    unsigned factors; /* of fm */
    unsigned epochs, batch;
    double rate; /* of learning */
    /* per cent of the records that may have no time or label; 0: fewer than the default bears */
    unsigned unreadable;
    bool has_classes; /* the label is declared with classes */
    bool are_listed;  /* all classes are known */
};

struct cli_guess_plan cli_guess_plan_of(const struct cli_guess *guess);
/* True when a model is to learn from the hour, the weekday and the season of each record. */
bool cli_guess_has_calendar(const struct cli_guess *guess);
/* Names of the classes in order, of a label or of folders; NULL-terminated, borrowed from `guess`. free() the list. */
const char **cli_guess_classes(const struct cli_guess *guess);

#endif
