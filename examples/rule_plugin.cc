// The optimizer of write_your_own_rule.cc, with an option of its own, for the `tessera` command:
//
//   g++ -std=c++20 -O3 -march=native -ffp-contract=off -shared -fPIC
//     $(pkg-config --cflags tessera) rule_plugin.cc -o sign_descent.so
//   tessera train --plugin ./sign_descent.so --config model.json
//
// where model.json has "optimizer": {"sparse": {"name": "sign_descent", "lr": 0.1}, …}.
#include "tessera/embedding/rule_plugin.h"

using namespace tessera;

// w −= s·sign(g), where s = lr / (1 + shrink·n) and n is how often the sign of g has flipped.
struct SignDescent {
  float lr = 0.1f, shrink = 1;
  static constexpr const char* kName = "sign_descent";
  void VisitOptions(auto&& visit) {  // what a configuration may set
    visit("lr", lr);
    visit("shrink", shrink);
  }
  StateSpecs States() const { return {{"last_sign"}, {"flips"}}; }  // one number an element each

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 2, kRowStates = 0;
    float lr, shrink;
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
      x.w = x.w - Real(lr) / (Real(1) + Real(shrink) * state[1]) * sign;
    }
  };
  Step AtStep(int64_t) const { return {lr, shrink}; }
};

TESSERA_RULE_PLUGIN(SignDescent)
