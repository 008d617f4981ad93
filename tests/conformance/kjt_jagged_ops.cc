#include "sparse/jagged/jagged_dense.h"
#include "sparse/jagged/jagged_elementwise.h"
#include "sparse/jagged/jagged_matmul.h"
#include "sparse/jagged/jagged_softmax.h"
#include "tests/conformance/kjt_case.h"

namespace tessera::conformance {
namespace {

using Variables = std::vector<Variable>;

Answer ToPadded(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"values"}, "y", [&](const Variables& in) {
    return JaggedToPaddedDense(ctx, in[0], ReadList(c, "offsets"),
                               c.attrs.at("max_lengths").get<std::vector<int64_t>>(),
                               c.attrs.at("padding_value").get<double>());
  });
}

Answer FromPadded(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"dense"}, "y", [&](const Variables& in) {
    return DenseToJagged(ctx, in[0], ReadList(c, "x_offsets"));
  });
}

Answer Jagged1d(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"values"}, "y", [&](const Variables& in) {
    return Jagged1dToDense(ctx, in[0], c.input("offsets"),
                           c.attrs.at("max_sequence_length").get<int64_t>(),
                           c.attrs.value("padding_value", 0.0));
  });
}

Answer Jagged2d(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"values"}, "y", [&](const Variables& in) {
    return Jagged2dToDense(ctx, in[0], c.input("offsets"),
                           c.attrs.at("max_sequence_length").get<int64_t>());
  });
}

Answer Pack(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"t_in"}, "y", [&](const Variables& in) {
    return PackSegments(ctx, in[0], c.input("lengths"), c.attrs.at("max_length").get<int64_t>());
  });
}

using Elementwise = Variable (*)(Context&, const Variable&, const std::vector<Tensor>&,
                                 const Variable&);

Answer RunElementwise(Context& ctx, const Case& c, Elementwise op) {
  return Differentiate(ctx, c, {"x_values", "y"}, "z", [&](const Variables& in) {
    return op(ctx, in[0], ReadList(c, "x_offsets"), in[1]);
  });
}

Answer AddTwo(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"x_values", "y_0", "y_1"}, "z", [&](const Variables& in) {
    return JaggedDenseDenseElementwiseAddJaggedOutput(ctx, in[0], ReadList(c, "x_offsets"), in[1],
                                                      in[2]);
  });
}

Answer JaggedJagged(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"x_values", "y_values"}, "z", [&](const Variables& in) {
    return JaggedJaggedBmm(ctx, in[0], in[1], c.input("x_offsets"),
                           c.attrs.at("max_L").get<int64_t>());
  });
}

Answer JaggedDense(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"x_values", "y"}, "z", [&](const Variables& in) {
    return JaggedDenseBmm(ctx, in[0], c.input("x_offsets"), in[1],
                          c.attrs.at("max_L").get<int64_t>());
  });
}

Answer VecMul(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"v", "a_values"}, "y", [&](const Variables& in) {
    return BatchedDenseVecJagged2dMul(ctx, in[0], in[1], c.input("a_offsets"));
  });
}

Answer Softmax(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"values"}, "y", [&](const Variables& in) {
    return JaggedSoftmax(ctx, in[0], c.input("x_offsets"), c.attrs.at("max_L").get<int64_t>());
  });
}

}  // namespace

const Ops& JaggedOps() {
  static const Ops ops = {
      {"fbgemm.jagged_to_padded_dense", ToPadded},
      {"fbgemm.dense_to_jagged", FromPadded},
      {"fbgemm.jagged_1d_to_dense", Jagged1d},
      {"fbgemm.jagged_2d_to_dense", Jagged2d},
      {"fbgemm.pack_segments", Pack},
      {"fbgemm.jagged_dense_elementwise_add",
       [](Context& ctx, const Case& c) {
         return RunElementwise(ctx, c, JaggedDenseElementwiseAdd);
       }},
      {"fbgemm.jagged_dense_elementwise_add_jagged_output",
       [](Context& ctx, const Case& c) {
         return RunElementwise(ctx, c, JaggedDenseElementwiseAddJaggedOutput);
       }},
      {"fbgemm.jagged_dense_elementwise_mul",
       [](Context& ctx, const Case& c) {
         return RunElementwise(ctx, c, JaggedDenseElementwiseMul);
       }},
      {"fbgemm.jagged_dense_dense_elementwise_add_jagged_output", AddTwo},
      {"fbgemm.jagged_jagged_bmm", JaggedJagged},
      {"fbgemm.jagged_dense_bmm", JaggedDense},
      {"fbgemm.batched_dense_vec_jagged_2d_mul", VecMul},
      {"fbgemm.jagged_softmax", Softmax},
  };
  return ops;
}

}  // namespace tessera::conformance
