/* SPDX-License-Identifier: Apache-2.0 */
/* Losses as graphs: types and shapes of what they give, and every mistake in building them. Values: tests/run. */
#include "common/graph/build.h"
#include "libfuse/loss.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

/* What each test starts from. */
typedef struct world {
    lfuse_graph *g, *other;
    lfuse_size batch;
    lfuse_value z, q;       /* f32 [batch, 10] */
    lfuse_value t;          /* i64 [batch] */
    lfuse_value w;          /* f32 [10] */
    lfuse_value half;       /* f16 [batch, 10] */
    lfuse_value whole;      /* i32 [batch, 10] */
    lfuse_value map;        /* f64 [batch, 5, 7, 3] */
    lfuse_value pixels;     /* i32 [batch, 7, 3] */
    lfuse_value point;      /* f32 [] */
    lfuse_value list, foreign, none;
} world;

static world v;

static void make(void)
{
    v.g = new_graph();
    v.other = new_graph();
    v.batch = lfuse_size_var(v.g, "batch", 1, 4096);
    v.z = lfuse_input(v.g, "z", F32(v.batch, 10));
    v.q = lfuse_input(v.g, "q", F32(v.batch, 10));
    v.t = lfuse_input(v.g, "t", I64(v.batch));
    v.w = lfuse_input(v.g, "w", F32(10));
    v.half = lfuse_input(v.g, "half", F16(v.batch, 10));
    v.whole = lfuse_input(v.g, "whole", I32(v.batch, 10));
    v.map = lfuse_input(v.g, "map", F64(v.batch, 5, 7, 3));
    v.pixels = lfuse_input(v.g, "pixels", I32(v.batch, 7, 3));
    v.point = lfuse_input(v.g, "point", LFUSE_F32, 0, NULL);
    v.list = lfuse_list_input(v.g, "list", LFUSE_F32, LFUSE_RANK_ANY);
    v.foreign = lfuse_input(v.other, "q", F32(3, 10));
    v.none = lfuse_none();
    OK(lfuse_graph_check(v.g));
    OK(lfuse_graph_check(v.other));
}

/* ---- what they give ---- */

static void gives(lfuse_value y, const char *what)
{
    OK(lfuse_graph_check(v.g));
    ck_assert_str_eq(lfuse__describe(v.g, y.id).text, what);
}

#define CE(z, axis, t, w, reduction) lfuse_cross_entropy(z, axis, t, w, LFUSE_IGNORED_INDEX, 0, LFUSE_LOSS_##reduction)
#define CEP(z, axis, q, w, reduction) lfuse_cross_entropy_probabilities(z, axis, q, w, 0, LFUSE_LOSS_##reduction)
#define BCE(a, t, p, reduction) lfuse_binary_cross_entropy_with_logits(a, t, p, LFUSE_LOSS_##reduction)

TEST_CASE("results", .setup = make)

TEST(of_elements)
{
    gives(lfuse_mse_loss(v.z, v.q, LFUSE_LOSS_MEAN), "f32 []");
    gives(lfuse_mse_loss(v.z, v.q, LFUSE_LOSS_SUM), "f32 []");
    gives(lfuse_mse_loss(v.z, v.q, LFUSE_LOSS_NONE), "f32 [batch, 10]");
    gives(lfuse_l1_loss(v.map, v.map, LFUSE_LOSS_NONE), "f64 [batch, 5, 7, 3]");
    gives(lfuse_huber_loss(v.half, v.half, 1, LFUSE_LOSS_NONE), "f32 [batch, 10]");
    gives(lfuse_smooth_l1_loss(v.half, v.q, 0, LFUSE_LOSS_MEAN), "f32 []"); /* a target in f32 */
    gives(BCE(v.z, v.q, v.none, NONE), "f32 [batch, 10]");
    gives(BCE(v.z, v.q, v.w, NONE), "f32 [batch, 10]");
    gives(BCE(v.z, v.q, lfuse_constant(v.g, 3), NONE), "f32 [batch, 10]");
    gives(lfuse_kl_div(v.z, v.q, 0, LFUSE_LOSS_BATCHMEAN), "f32 []");
    gives(lfuse_kl_div(v.z, v.q, 1, LFUSE_LOSS_NONE), "f32 [batch, 10]");
    gives(lfuse_mse_loss(v.point, v.point, LFUSE_LOSS_MEAN), "f32 []");
    gives(lfuse_kl_div(v.point, v.point, 0, LFUSE_LOSS_SUM), "f32 []");
}

TEST(of_rows)
{
    gives(CE(v.z, 1, v.t, v.none, MEAN), "f32 []");
    gives(CE(v.z, -1, v.t, v.w, SUM), "f32 []");
    gives(CE(v.z, 1, v.t, v.w, NONE), "f32 [batch]");
    gives(CE(v.half, 1, v.t, v.none, NONE), "f32 [batch]");
    gives(CE(v.map, 1, v.pixels, v.none, NONE), "f64 [batch, 7, 3]");
    gives(CE(v.w, 0, lfuse_input(v.g, "one", LFUSE_I32, 0, NULL), v.none, NONE), "f32 []");
    gives(CE(lfuse_input(v.g, "classes", F32(v.batch, lfuse_size_var(v.g, "n", 1, 99))), 1, v.t, v.none, NONE),
          "f32 [batch]");
    gives(CEP(v.map, 1, v.map, v.none, NONE), "f64 [batch, 7, 3]");
    gives(CEP(v.z, 1, v.q, v.w, MEAN), "f32 []");
}

/* Their calls are counted as one each, whatever they are composed of. */
TEST(names_of_calls)
{
    lfuse_value y = CE(v.z, 1, v.t, v.w, MEAN);

    y = CE(y, 1, v.t, v.none, MEAN); /* no axis 1 */
    (void)y;
    SAYS(LFUSE_ERR_SHAPE, lfuse_graph_check(v.g), "the 2nd lfuse_cross_entropy");
}

/* ---- mistakes ---- */

#define PROBABILITIES lfuse_input(v.g, "p", F32(v.batch, 9))
#define MISTAKES(X)                                                                                                    \
    X(mse_reduction, lfuse_mse_loss(v.z, v.q, (lfuse_loss_reduction)4), INVALID, "it has no reduction 4")              \
    X(mse_negative, lfuse_mse_loss(v.z, v.q, (lfuse_loss_reduction)-1), INVALID, "it has no reduction -1")             \
    X(mse_batchmean, lfuse_mse_loss(v.z, v.q, LFUSE_LOSS_BATCHMEAN), INVALID, "lfuse_mse_loss: it has no reduction 3") \
    X(mse_shape, lfuse_mse_loss(v.z, v.w, LFUSE_LOSS_MEAN), SHAPE, "target is f32 [10], where [batch, 10] is needed")  \
    X(mse_type, lfuse_mse_loss(v.z, v.half, LFUSE_LOSS_MEAN), TYPE, "the target is f16 [batch, 10], the operand of")   \
    X(mse_whole, lfuse_mse_loss(v.whole, v.whole, LFUSE_LOSS_MEAN), TYPE, "does not take type i32")                    \
    X(mse_whole_target, lfuse_mse_loss(v.z, v.whole, LFUSE_LOSS_MEAN), TYPE, "the target is i32")                      \
    X(mse_list, lfuse_mse_loss(v.list, v.list, LFUSE_LOSS_MEAN), RANK, "lfuse_mse_loss")                               \
    X(mse_number, lfuse_mse_loss(v.z, lfuse_constant(v.g, 1), LFUSE_LOSS_MEAN), TYPE, "lfuse_mse_loss")                \
    X(mse_no_target, lfuse_mse_loss(v.z, v.none, LFUSE_LOSS_MEAN), INVALID, "belongs to no graph")                     \
    X(mse_foreign, lfuse_mse_loss(v.z, v.foreign, LFUSE_LOSS_MEAN), INVALID, "another graph")                          \
    X(l1_shape, lfuse_l1_loss(v.z, v.w, LFUSE_LOSS_MEAN), SHAPE, "lfuse_l1_loss: the target")                          \
    X(huber_zero, lfuse_huber_loss(v.z, v.q, 0, LFUSE_LOSS_MEAN), INVALID, "delta 0 is not above 0")                   \
    X(huber_negative, lfuse_huber_loss(v.z, v.q, -1, LFUSE_LOSS_MEAN), INVALID, "delta -1 is not above 0")             \
    X(huber_nan, lfuse_huber_loss(v.z, v.q, NAN, LFUSE_LOSS_MEAN), INVALID, "is not above 0")                          \
    X(smooth_negative, lfuse_smooth_l1_loss(v.z, v.q, -1, LFUSE_LOSS_MEAN), INVALID, "beta -1 is below 0")             \
    X(smooth_inf, lfuse_smooth_l1_loss(v.z, v.q, INFINITY, LFUSE_LOSS_MEAN), INVALID, "or not finite")                 \
    X(smooth_nan, lfuse_smooth_l1_loss(v.z, v.q, NAN, LFUSE_LOSS_MEAN), INVALID, "or not finite")                      \
    X(ce_axis, CE(v.z, 2, v.t, v.none, MEAN), SHAPE, "axis 2 of rank 2")                                               \
    X(ce_rank, CE(v.point, 0, v.t, v.none, MEAN), SHAPE, "axis 0 of rank 0")                                           \
    X(ce_whole, CE(v.whole, 1, v.t, v.none, MEAN), TYPE, "does not take type i32")                                     \
    X(ce_list, CE(v.list, 0, v.t, v.none, MEAN), RANK, "lfuse_cross_entropy")                                          \
    X(ce_target_type, CE(v.z, 1, lfuse_cast(v.t, LFUSE_I8), v.none, MEAN), TYPE, "indices are i32 or i64, not i8")     \
    X(ce_target_floating, CE(v.z, 1, v.q, v.none, MEAN), TYPE, "indices are i32 or i64, not f32")                      \
    X(ce_target_shape, CE(v.z, 0, v.t, v.none, MEAN), SHAPE, "the target is i64 [batch], where [10] is needed")        \
    X(ce_target_rank, CE(v.z, 1, v.pixels, v.none, MEAN), SHAPE, "where [batch] is needed")                            \
    X(ce_target_number, CE(v.z, 1, lfuse_constant(v.g, 1), v.none, MEAN), TYPE, "lfuse_cross_entropy")                 \
    X(ce_no_target, CE(v.z, 1, v.none, v.none, MEAN), INVALID, "belongs to no graph")                                  \
    X(ce_weight_shape, CE(v.z, 0, lfuse_input(v.g, "u", I64(10)), v.w, MEAN), SHAPE, "the weight is f32 [10], where")  \
    X(ce_weight_type, CE(v.half, 1, v.t, lfuse_cast(v.w, LFUSE_F64), MEAN), TYPE, "the weight is f64 [10]")            \
    X(ce_smoothing, lfuse_cross_entropy(v.z, 1, v.t, v.none, 0, 1.5, LFUSE_LOSS_MEAN), INVALID, "smoothing 1.5 is")    \
    X(ce_smoothing_nan, lfuse_cross_entropy(v.z, 1, v.t, v.none, 0, NAN, LFUSE_LOSS_MEAN), INVALID, "is not in 0")     \
    X(ce_smoothing_negative, lfuse_cross_entropy(v.z, 1, v.t, v.none, 0, -0.1, LFUSE_LOSS_MEAN), INVALID, "not in 0")  \
    X(ce_batchmean, CE(v.z, 1, v.t, v.none, BATCHMEAN), INVALID, "it has no reduction 3")                              \
    X(ce_no_classes, CE(lfuse_input(v.g, "e", F32(v.batch, 0)), 1, v.t, v.none, MEAN), SHAPE, "lfuse_cross_entropy")   \
    X(cep_shape, CEP(v.z, 1, PROBABILITIES, v.none, MEAN), SHAPE, "the target is f32 [batch, 9], where [batch, 10]")   \
    X(cep_indices, CEP(v.z, 1, v.whole, v.none, MEAN), TYPE, "the target is i32")                                      \
    X(cep_weight, CEP(v.z, 0, v.q, v.w, MEAN), SHAPE, "the weight is f32 [10], where [batch] is needed")               \
    X(cep_smoothing, lfuse_cross_entropy_probabilities(v.z, 1, v.q, v.none, 2, LFUSE_LOSS_MEAN), INVALID, "smoothing") \
    X(bce_shape, BCE(v.z, v.w, v.none, MEAN), SHAPE, "the target is f32 [10]")                                         \
    X(bce_factor_shape, BCE(v.z, v.q, lfuse_input(v.g, "u", F32(9)), MEAN), SHAPE, "from f32 [9] to [batch, 10]")      \
    X(bce_factor_rank, BCE(v.w, v.w, v.z, MEAN), RANK, "lfuse_binary_cross_entropy_with_logits")                       \
    X(bce_factor_type, BCE(v.z, v.q, lfuse_cast(v.w, LFUSE_F64), MEAN), TYPE, "the factor is f64 [10]")                \
    X(bce_factor_whole, BCE(v.z, v.q, v.whole, MEAN), TYPE, "the factor is i32")                                       \
    X(bce_factor_foreign, BCE(v.z, v.q, v.foreign, MEAN), INVALID, "another graph")                                    \
    X(kl_shape, lfuse_kl_div(v.z, v.w, 0, LFUSE_LOSS_MEAN), SHAPE, "lfuse_kl_div: the target is f32 [10]")             \
    X(kl_rank, lfuse_kl_div(v.point, v.point, 0, LFUSE_LOSS_BATCHMEAN), RANK, "a value of rank 0 has no batch")        \
    X(kl_reduction, lfuse_kl_div(v.z, v.q, 0, (lfuse_loss_reduction)4), INVALID, "it has no reduction 4")

typedef struct mistake {
    const char *name;
    void (*make)(void);
    lfuse_status status;
    const char *words;
} mistake;

#define MISTAKE_FUNCTION(name, call, ...)                                                                              \
    static void make_##name(void)                                                                                      \
    {                                                                                                                  \
        ck_assert_int_lt((call).id, 0);                                                                                \
    }
MISTAKES(MISTAKE_FUNCTION)

static const mistake mistakes[] = {
#define MISTAKE_ROW(name, call, status, words) {#name, make_##name, LFUSE_ERR_##status, words},
    MISTAKES(MISTAKE_ROW)
};

TEST_CASE("mistakes", .setup = make)

TEST_LOOP(a_mistake, 0, (int)(sizeof mistakes / sizeof *mistakes))
{
    const mistake *m = &mistakes[_i];

    m->make();
    const lfuse_status status = lfuse_graph_check(v.g);
    ck_assert_msg(status == m->status, "%s: %s: %s", m->name, lfuse_status_name(status), lfuse_last_error());
    ck_assert_msg(strstr(lfuse_last_error(), m->words) != NULL, "%s: %s", m->name, lfuse_last_error());
}

TEST_SUITE("loss", CK_FORK_GETENV)
