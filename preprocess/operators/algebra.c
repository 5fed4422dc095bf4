/* See algebra.h. */
#include "preprocess/operators/algebra.h"

#include "core/base/attributes.h"
#include "preprocess/operators/operator.h"

/* Pairs that commute though both work on one column. */
static const struct {
    unsigned one, other; /* one of these traits each */
    enum algebra_law law;
} PAIRS[] = {
    /* the choice of elements does not depend on their values */
    {OPERATOR_ELEMENTWISE, OPERATOR_SELECTS, ALGEBRA_EXACTLY},
    {OPERATOR_ELEMENTWISE, OPERATOR_TESTS_LENGTHS, ALGEBRA_EXACTLY},
    {OPERATOR_WIDENS, OPERATOR_TESTS_NUMBERS, ALGEBRA_EXACTLY},
    /* a mean of what is made is nearly what is made of the mean */
    {OPERATOR_ELEMENTWISE | OPERATOR_NEARLY_ELEMENTWISE, OPERATOR_RESAMPLES, ALGEBRA_NEARLY},
};

static bool is_total(const struct algebra_facts *facts)
{
    return (facts->traits & OPERATOR_TOTAL) != 0;
}

/* A row that both mark is marked by the first of them, so one of them marks none, or both mark alike. And what is
 * fitted on the rows that reach it must be reached by the same ones. */
static bool rows_commute(const struct algebra_facts *one, const struct algebra_facts *other)
{
    bool folds = ((one->kinds | other->kinds) & ALGEBRA_FOLDS) != 0;
    if (is_total(one) || is_total(other))
        return !folds || (is_total(one) && is_total(other));
    return !folds && (one->traits & other->traits & OPERATOR_DROPS) != 0;
}

static uint64_t changes(const struct algebra_facts *facts)
{
    return facts->makes | facts->ends;
}

static enum algebra_law columns_commute(const struct algebra_facts *one,
                                        const struct algebra_facts *other)
{
    bool meet =
        (changes(one) & (other->reads | changes(other))) != 0 || (changes(other) & one->reads) != 0;
    if (!meet)
        return ALGEBRA_EXACTLY;
    if (!one->is_simple || !other->is_simple || one->reads != other->reads)
        return ALGEBRA_NEVER;
    enum algebra_law law = ALGEBRA_NEVER;
    for (size_t i = 0; i < WEIR_COUNT(PAIRS); i++) {
        unsigned a = PAIRS[i].one, b = PAIRS[i].other;
        bool applies = ((one->traits & a) != 0 && (other->traits & b) != 0) ||
                       ((one->traits & b) != 0 && (other->traits & a) != 0);
        if (applies && PAIRS[i].law > law)
            law = PAIRS[i].law;
    }
    return law;
}

enum algebra_law preprocess_algebra_commute(const struct algebra_facts *one,
                                            const struct algebra_facts *other)
{
    unsigned kinds = one->kinds | other->kinds;
    bool are_fitted = (one->kinds & other->kinds & ALGEBRA_FITTED) != 0;
    if ((kinds & ALGEBRA_BARRIER) != 0 || are_fitted)
        return ALGEBRA_NEVER;
    enum algebra_law law = columns_commute(one, other);
    bool is_near = law == ALGEBRA_NEARLY && (kinds & ALGEBRA_FOLDS) == 0;
    return is_near || rows_commute(one, other) ? law : ALGEBRA_NEVER;
}
