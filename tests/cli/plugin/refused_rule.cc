// A rule that is refused when it is loaded, for one of its names or what loading it does; or one
// that fails in its update.
#include "embedding/rule_plugin.h"

#if defined(TESSERA_MAKES_SMALL_ZERO)
#include <cfenv>

// GCC's crtfastmath.o is such a constructor, which it links for -ffast-math.
[[gnu::constructor]] static void MakeSmallZero() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(uint64_t{1} << 24));
#else
  std::fesetround(FE_TOWARDZERO);
#endif
}
#endif

#if defined(TESSERA_UNNAMED)
#define TESSERA_RULE_NAME ""
#elif defined(TESSERA_NULL_NAME)
#define TESSERA_RULE_NAME nullptr
#elif defined(TESSERA_ODD_NAME)
#define TESSERA_RULE_NAME "sign\xff"
#elif defined(TESSERA_SPACED)
#define TESSERA_RULE_NAME "sign descent\n"
#else
#define TESSERA_RULE_NAME "refused"
#endif
#if defined(TESSERA_STATES_ALIKE)
#define TESSERA_SECOND_STATE "first"
#else
#define TESSERA_SECOND_STATE "second"
#endif
#if defined(TESSERA_OPTION_CALLED_NAME)
#define TESSERA_OPTION "name"
#elif defined(TESSERA_OPTIONS_ALIKE)
#define TESSERA_OPTION "lr"
#elif defined(TESSERA_ODD_OPTION)
#define TESSERA_OPTION "rest\xff"
#elif defined(TESSERA_DECAY_OF_ONE)
#define TESSERA_OPTION "beta1"
#else
#define TESSERA_OPTION "rest"
#endif

#if defined(TESSERA_NEGATIVE_RATE)
#define TESSERA_RATE -1
#else
#define TESSERA_RATE 0.1f
#endif

struct Refused {
  float lr = TESSERA_RATE, rest = 1;
  static constexpr const char* kName = TESSERA_RULE_NAME;
  tessera::StateSpecs States() const { return {{"first"}, {TESSERA_SECOND_STATE}}; }
  void VisitOptions(auto&& visit) {
    visit("lr", lr);
#if defined(TESSERA_STATIC_OPTION)
    static float all = 1;
    visit("all", all);
#elif defined(TESSERA_COPIED_OPTION)
    float copy = rest;
    visit("copy", copy);
    rest = copy;
#else
    visit(TESSERA_OPTION, rest);
#endif
  }
  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 2, kRowStates = 0;
    float lr;
    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, tessera::RowElement<Real>& x, Real*) const {
#if defined(TESSERA_THROWS)
      throw 3;
#endif
      x.w = x.w - Real(lr) * x.g;
    }
  };
  Step AtStep(int64_t t) const {
#if defined(TESSERA_FAILS_IN_STEP)
    if (t == 3) throw tessera::Error("three is bad");
#endif
    return {t > 0 ? lr : 0};
  }
};

TESSERA_RULE_PLUGIN(Refused)
