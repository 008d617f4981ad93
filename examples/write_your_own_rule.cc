// An optimizer of your own in 20 lines, from outside the library: Rprop's cousin, which moves each
// element by the sign of its gradient and shrinks its step wherever the sign flips. It runs in the
// same fused backward as the rules that ship, over packs of the instruction set that this file is
// compiled for; nothing in the library knows of it.
#include <cstdio>

#include "tessera/tessera.h"

using namespace tessera;

// w −= s·sign(g);  where g changed its sign since the row was last touched, s is halved first. s
// starts at lr.
struct SignDescent {
  float lr = 0.1f;
  static constexpr const char* kName = "sign_descent";
  StateSpecs States() const { return {{"last_sign"}, {"halvings"}}; }  // one number an element each

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 2, kRowStates = 0;
    float lr;
    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>  // float, or a SIMD pack of floats
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      const Real sign = Sign(x.g);
      // 1 where the sign flipped, 0 where it stayed; the first time, last_sign is 0, which counts
      // as half a flip.
      const Real flipped = (Real(1) - sign * state[0]) * Real(0.5f);
      state[1] = state[1] + flipped;
      state[0] = sign;
      x.w = x.w - Real(lr) / (Real(1) + state[1]) * sign;
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

int main() {
  Context ctx;
  EmbeddingBagConfig table;
  table.name = "items";
  table.num_embeddings = 10;
  table.embedding_dim = 3;
  table.feature_names = {"f"};
  table.init_fn = [](Context& c, const Tensor& weight) { weight.Fill(c, 1); };
  table.optimizer = MakeCustomRule(SignDescent{.lr = 0.25f});
  EmbeddingBagCollection embeddings(ctx, {table});

  // Pulls row 4 towards 0 by minimising the sum of its squares.
  const KeyedJaggedTensor batch = KeyedJaggedTensor::FromLengthsSync(
      {"f"}, Tensor::From<int64_t>(ctx, {4}), Tensor::From<int64_t>(ctx, {1}));
  float first = 0;
  for (int step = 0; step < 30; ++step) {
    Tape tape(ctx);
    const Variable row = embeddings.Forward(ctx, batch).values();
    tape.Backward(Sum(ctx, Mul(ctx, row, row)));
    first = embeddings.tables().weight(0).data<float>()[4 * 3];
  }
  std::printf("row 4 went from 1 to %g; row 5, which no id named, is still %g\n",
              static_cast<double>(first),
              static_cast<double>(embeddings.tables().weight(0).data<float>()[5 * 3]));
  return first < 0.1f && first > -0.1f ? 0 : 1;
}
