/* Promises of every selection policy, looped over the registry with pools of every shape: distinct
 * candidates, never more than the target, none without a reason, the same choice for the same seed; of those that
 * draw, that the draw is fair.
 * A new policy is tested by being in the registry; one with a required option needs a row in EXAMPLES.
 *
 * With arguments (POLICY OPTIONS TARGET SEEDS COLUMNS: options as YAML; a file of i64: ids, times, labels, triggers and
 * past of all candidates) the program prints place:weight of what is chosen with each seed, a line a seed;
 * selection_scipy_test.py says how likely each choice is. */
#include "core/base/file.h"
#include "core/base/hash.h"
#include "tests/unit/selector/choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { SAMPLES_MAX = 600, ROUNDS = 200 };

/* A pool drawn from `seed`: its size, how many classes, how skewed, how many equal times. */
struct pool {
    uint64_t ids[SAMPLES_MAX];
    int64_t times[SAMPLES_MAX];
    int64_t labels[SAMPLES_MAX];
    int64_t triggers[SAMPLES_MAX];
    uint8_t past[SAMPLES_MAX];
    size_t count;
    size_t target;
    bool bounded;
    size_t runs_max;     /* 0: all */
    const char *options; /* NULL: those of EXAMPLES */
    uint64_t pipeline_seed;
};

static void draw_pool(struct pool *pool, uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    pool->count = 1 + weir_rng_below(&rng, SAMPLES_MAX);
    uint64_t classes = 1 + weir_rng_below(&rng, 8);
    uint64_t skew = 1 + weir_rng_below(&rng, 20);
    uint64_t id = 0;
    pool->runs_max = 0;
    pool->options = NULL;
    pool->pipeline_seed = 0;
    for (size_t i = 0; i < pool->count; i++) {
        id += 1 + weir_rng_below(&rng, 5);
        pool->ids[i] = id;
        pool->times[i] = (int64_t)weir_rng_below(&rng, 50);
        pool->labels[i] =
            weir_rng_below(&rng, skew) ? 0 : (int64_t)weir_rng_below(&rng, classes) - 2;
    }
    for (size_t i = 0; i < pool->count; i++) {
        pool->triggers[i] = 1 + (int64_t)weir_rng_below(&rng, classes);
        pool->past[i] = (uint8_t)weir_rng_below(&rng, 4);
    }
    pool->bounded = weir_rng_below(&rng, 2);
    pool->target = pool->bounded ? 1 + weir_rng_below(&rng, pool->count) : pool->count;
}

/* Options for policies whose defaults do not do. */
static const struct {
    const char *policy;
    const char *yaml;
} EXAMPLES[] = {
    {"new_data", "{keep: newest}"},
    {"freshness", "{unused_ratio: 0.3}"},
    {"recency_weighted", "{half_life: 7us}"},
    {"reservoir", "{size: 100}"},
    {"coreset", "{score: {method: loss}}"},
    {"mixture", "{over: labels, shares: {0: 3, -1: 1, 1: 0.5}}"},
};

static const char *example_of(const char *policy)
{
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++)
        if (strcmp(EXAMPLES[i].policy, policy) == 0)
            return EXAMPLES[i].yaml;
    return "{}";
}

/* The options borrow from the document. */
static void *read_options(const struct selection_policy *policy, const struct weir_yaml *document)
{
    const struct weir_yaml_node *root = weir_yaml_root(document);
    void *options = weir_calloc(1, policy->options_size + 1);
    struct weir_error err;
    assert_int_equal(cfg_read(policy->options, CFG_CLOSED, root, "selection", NULL, options, &err),
                     WEIR_OK);
    const struct selection_scope scope = {0};
    if (policy->check != NULL && policy->check(root, &scope, options, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return options;
}

static void run(const struct selection_policy *policy, const struct pool *pool, uint64_t seed,
                struct picked *output)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    struct weir_error err;
    const char *yaml = pool->options != NULL ? pool->options : example_of(policy->name);
    assert_int_equal(weir_yaml_parse("example", weir_bytes_of(yaml), &document, &err), WEIR_OK);
    void *options = read_options(policy, document);
    unsigned needs = policy->needs | (policy->needs_of != NULL ? policy->needs_of(options) : 0);
    const struct given given = {
        .ids = needs & SELECTION_NEEDS_IDS ? pool->ids : NULL,
        .times = needs & SELECTION_NEEDS_TIMES ? pool->times : NULL,
        .labels = needs & SELECTION_NEEDS_LABELS ? pool->labels : NULL,
        .triggers = needs & SELECTION_NEEDS_TRIGGERS ? pool->triggers : NULL,
        .past = needs & SELECTION_NEEDS_PAST ? pool->past : NULL,
        .count = pool->count,
        .target = pool->target,
        .bounded = pool->bounded,
        .runs_max = pool->runs_max,
        .pipeline_seed = pool->pipeline_seed,
    };
    choose_by(policy, options, given, seed, output);
    free(options);
}

static void check_promises(const struct selection_policy *policy, const struct pool *pool,
                           const struct picked *output)
{
    bool seen[SAMPLES_MAX] = {false};
    if (output->count > pool->target)
        fail_msg("%s: %zu chosen, at most %zu allowed", policy->name, output->count, pool->target);
    if (output->count == 0 && !output->reason[0])
        fail_msg("%s: nothing chosen, and no reason", policy->name);
    for (size_t i = 0; i < output->count; i++) {
        if (output->chosen[i] >= pool->count || seen[output->chosen[i]])
            fail_msg("%s: candidate %zu is not there or chosen twice", policy->name,
                     output->chosen[i]);
        seen[output->chosen[i]] = true;
        if (policy->weighted && !(isfinite(output->weights[i]) && output->weights[i] > 0))
            fail_msg("%s: weight %g", policy->name, (double)output->weights[i]);
    }
}

static void choices_are_distinct_bounded_and_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        for (uint64_t seed = 0; seed < ROUNDS; seed++) {
            struct pool pool;
            size_t chosen[SAMPLES_MAX];
            float weights[SAMPLES_MAX];
            struct picked output = {.chosen = chosen, .weights = weights};
            draw_pool(&pool, seed);
            run(selector_policy_at(i), &pool, seed, &output);
            check_promises(selector_policy_at(i), &pool, &output);
        }
    }
}

static void the_same_seed_chooses_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        for (uint64_t seed = 0; seed < ROUNDS; seed++) {
            struct pool pool;
            size_t first[SAMPLES_MAX];
            size_t second[SAMPLES_MAX];
            float weights[2][SAMPLES_MAX];
            struct picked one = {.chosen = first, .weights = weights[0]};
            struct picked two = {.chosen = second, .weights = weights[1]};
            draw_pool(&pool, seed);
            run(selector_policy_at(i), &pool, seed, &one);
            run(selector_policy_at(i), &pool, seed, &two);
            assert_int_equal(one.count, two.count);
            assert_memory_equal(first, second, one.count * sizeof(*first));
            if (selector_policy_at(i)->weighted)
                assert_memory_equal(weights[0], weights[1], one.count * sizeof(float));
            assert_string_equal(one.reason, two.reason);
        }
    }
}

/* XXH3-64 of the choices and weights of all rounds: sets that were sealed are sealed again the same. */
static const struct {
    const char *policy;
    uint64_t hash;
} GOLDEN[] = {
    {"new_data", 0xa55457fa067094aa},         {"freshness", 0xe97e7d306c30c6ce},
    {"random", 0x688f97c692ed7809},           {"random_without_replacement", 0x12a463c5f761de8e},
    {"recency_weighted", 0xb91002f1a9566516}, {"reservoir", 0x2ecb4ca3c46bedf5},
    {"label_balanced", 0x3605ed5562418219},   {"trigger_balanced", 0x76838597d10f0039},
    {"mixture", 0xa246f9423b323502},
};

static uint64_t hash_of_choices(const struct selection_policy *policy)
{
    uint64_t hash = 0;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct pool pool;
        size_t chosen[SAMPLES_MAX];
        float weights[SAMPLES_MAX];
        struct picked output = {.chosen = chosen, .weights = weights};
        draw_pool(&pool, seed);
        run(policy, &pool, seed, &output);
        hash = weir_hash64(weir_bytes(chosen, output.count * sizeof(*chosen)), hash);
        if (policy->weighted)
            hash = weir_hash64(weir_bytes(weights, output.count * sizeof(*weights)), hash);
    }
    return hash;
}

static void the_choices_of_a_seed_never_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(GOLDEN); i++) {
        uint64_t hash = hash_of_choices(selector_policy_find(GOLDEN[i].policy));
        if (hash != GOLDEN[i].hash)
            fail_msg("%s: expected %" PRIx64 ", found %" PRIx64, GOLDEN[i].policy, GOLDEN[i].hash,
                     hash);
    }
}

/* Policies that draw, on eight candidates of which four are wanted: how many sets of them can come out, and the
 * 0.999 quantile of chi-square with one degree of freedom less. */
enum { DRAWN_FROM = 8, DRAWN = 4, DRAWS = 7000 };
static const struct {
    const char *policy;
    int64_t groups[DRAWN_FROM]; /* label, or trigger */
    size_t sets;
    double critical;
} LOTTERIES[] = {
    {"random", {0}, 70, 111.06},
    {"random_without_replacement", {0}, 70, 111.06},
    {"label_balanced", {1, 2, 1, 1, 2, 2, 1, 2}, 36, 66.62}, /* two of each four */
    {"trigger_balanced", {1, 2, 1, 1, 2, 2, 1, 2}, 36, 66.62},
    {"mixture", {0, -1, 0, 1, 0, -1, -1, 0}, 12, 31.26}, /* three of four, one of three */
};

static void check_lottery(size_t row)
{
    size_t counts[1 << DRAWN_FROM] = {0}, sets = 0;
    double expected = (double)DRAWS / (double)LOTTERIES[row].sets, chi_square = 0;
    struct pool pool = {.count = DRAWN_FROM, .target = DRAWN, .bounded = true};
    for (size_t i = 0; i < DRAWN_FROM; i++) {
        pool.ids[i] = i + 1;
        pool.labels[i] = pool.triggers[i] = LOTTERIES[row].groups[i];
    }
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        size_t chosen[DRAWN_FROM], set = 0;
        float weights[DRAWN_FROM];
        struct picked output = {.chosen = chosen, .weights = weights};
        run(selector_policy_find(LOTTERIES[row].policy), &pool, seed, &output);
        for (size_t i = 0; i < output.count; i++)
            set |= (size_t)1 << chosen[i];
        counts[set]++;
    }
    for (size_t set = 0; set < WEIR_COUNT(counts); set++) {
        double off = (double)counts[set] - expected;
        sets += counts[set] > 0;
        chi_square += counts[set] > 0 ? off * off / expected : 0;
    }
    if (sets != LOTTERIES[row].sets || chi_square >= LOTTERIES[row].critical)
        fail_msg("%s: expected %zu sets, chi-square below %g; found %zu, %g", LOTTERIES[row].policy,
                 LOTTERIES[row].sets, LOTTERIES[row].critical, sets, chi_square);
}

static void every_set_that_can_come_out_is_as_likely(void **state)
{
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(LOTTERIES); row++)
        check_lottery(row);
}

static void a_pool_of_one_is_chosen_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        struct pool pool = {.ids = {9}, .count = 1, .target = 1};
        size_t chosen[1];
        float weights[1];
        struct picked output = {.chosen = chosen, .weights = weights};
        run(selector_policy_at(i), &pool, 1, &output);
        check_promises(selector_policy_at(i), &pool, &output);
    }
}

/* Columns that cannot be read end a reading, and so does whoever wants no choice any more: what comes out then is
 * thrown away. */
static void a_reading_that_ends_early_harms_nobody(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        for (uint64_t seed = 0; seed < ROUNDS; seed++) {
            struct pool pool;
            size_t chosen[SAMPLES_MAX];
            float weights[SAMPLES_MAX];
            struct picked output = {.chosen = chosen, .weights = weights};
            draw_pool(&pool, seed);
            pool.runs_max = 1 + seed / 2;
            run(selector_policy_at(i), &pool, seed, &output);
            assert_true(output.count <= pool.target);
        }
    }
}

static void every_policy_is_complete_and_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        const struct selection_policy *policy = selector_policy_at(i);
        assert_non_null(policy->choose);
        assert_non_null(policy->options);
        assert_true(strlen(policy->summary) > 10);
        assert_ptr_equal(selector_policy_find(policy->name), policy);
        if (policy->scoring != NULL)
            assert_true(policy->scoring->at_trigger != NULL && policy->scoring->at != NULL);
        if (policy->reported != NULL) {
            assert_non_null(policy->reported->components);
            assert_non_null(policy->reported->component_of);
        }
        for (const struct cfg_key *key = policy->options; key->name != NULL; key++)
            assert_non_null(key->doc);
    }
    assert_null(selector_policy_find("nothing_like_it"));
}

/* ---- choosing from a file ---- */

static enum weir_status read_pool(const char *path, struct pool *pool, struct weir_error *err)
{
    WEIR_AUTO_BUF bytes = {0};
    enum weir_status status = weir_file_read(path, sizeof(*pool), &bytes, err);
    if (status != WEIR_OK)
        return status;
    const int64_t *column = (const int64_t *)(const void *)bytes.at;
    pool->count = bytes.size / sizeof(*column) / 5;
    if (pool->count == 0 || pool->count > SAMPLES_MAX)
        return weir_fail(err, WEIR_INVALID, "%s: expected 1 to %d candidates", path, SAMPLES_MAX);
    for (size_t i = 0; i < pool->count; i++) {
        pool->ids[i] = (uint64_t)column[i];
        pool->times[i] = column[pool->count + i];
        pool->labels[i] = column[2 * pool->count + i];
        pool->triggers[i] = column[3 * pool->count + i];
        pool->past[i] = (uint8_t)column[4 * pool->count + i];
    }
    return WEIR_OK;
}

static int choose_from_file(char **argv)
{
    static struct pool pool;
    struct weir_error err;
    size_t chosen[SAMPLES_MAX];
    float weights[SAMPLES_MAX];
    if (read_pool(argv[5], &pool, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    pool.target = strtoul(argv[3], NULL, 10);
    pool.bounded = true;
    pool.options = argv[2];
    for (uint64_t seed = 0; seed < strtoul(argv[4], NULL, 10); seed++) {
        struct picked output = {.chosen = chosen, .weights = weights};
        pool.pipeline_seed = seed;
        run(selector_policy_find(argv[1]), &pool, seed, &output);
        for (size_t i = 0; i < output.count; i++)
            printf("%zu:%.9g ", chosen[i], output.weights != NULL ? (double)weights[i] : 1);
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_complete_and_found_by_its_name),
        cmocka_unit_test(choices_are_distinct_bounded_and_explained),
        cmocka_unit_test(the_same_seed_chooses_the_same),
        cmocka_unit_test(the_choices_of_a_seed_never_change),
        cmocka_unit_test(every_set_that_can_come_out_is_as_likely),
        cmocka_unit_test(a_pool_of_one_is_chosen_or_refused),
        cmocka_unit_test(a_reading_that_ends_early_harms_nobody),
    };
    if (argc == 6)
        return choose_from_file(argv);
    return cmocka_run_group_tests_name("selection policies", tests, NULL, NULL);
}
