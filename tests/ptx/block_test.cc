// Branches, barriers, blocks and the order in which they run.
#include <gmock/gmock.h>

#include <cstdint>
#include <numeric>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// The Collatz steps of each lane's number: lanes leave a loop at different times.
constexpr const char* kLoop = R"( .reg .pred %q; .reg .b32 %n, %odd;
    add.u32 %n, %tid, 1;
    mov.u32 %result, 0;
  AGAIN:
    setp.eq.u32 %q, %n, 1;
    @%q bra DONE;
    add.u32 %result, %result, 1;
    and.b32 %odd, %n, 1;
    setp.eq.u32 %q, %odd, 1;
    @%q mad.lo.u32 %n, %n, 3, 1;
    @!%q shr.u32 %n, %n, 1;
    bra.uni AGAIN;
  DONE:)";

TEST(Block, LanesLeaveALoopAtDifferentTimes) {
  const auto want = ForEachLane([](uint32_t lane) {
    uint32_t steps = 0;
    for (uint32_t n = lane + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++steps;
    return steps;
  });
  for (uint32_t seed = 0; seed < 10; ++seed) {
    ptx::SetSeed(seed);
    EXPECT_EQ(OfLanes(kLoop), want) << seed;
  }
  ptx::SetSeed(0);
}

TEST(Block, BranchesByATable) {
  const std::string table = R"( .reg .b32 %k;
    rem.u32 %k, %tid, 3;
    mov.u32 %result, 0;
  T: .branchtargets A, B, C;
    brx.idx %k, T;
  A: add.u32 %result, %result, 100;
  B: add.u32 %result, %result, 10;
  C: add.u32 %result, %result, 1;)";
  EXPECT_EQ(OfLanes(table), ForEachLane([](uint32_t l) {
              return l % 3 == 0 ? 111 : l % 3 == 1 ? 11 : 1;
            }));
}

// Each thread adds what its neighbour in another warp has written before the barrier.
constexpr const char* kNeighbours = R"( .shared .align 4 .b8 buffer[512];
    .reg .b32 %s, %x, %y, %b;
    mov.u32 %b, buffer;
    mad.lo.u32 %s, %tid, 4, %b;
    st.shared.u32 [%s], %tid;
    bar.sync 0;
    xor.b32 %x, %tid, 96;
    mad.lo.u32 %s, %x, 4, %b;
    ld.shared.u32 %y, [%s];
    shl.b64 %index, %index, 2;
    add.u64 %p0, %p0, %index;
    st.global.u32 [%p0], %y;)";

TEST(Block, BarriersOrderWarps) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    ptx::SetSeed(seed);
    const InterpretedArray<uint32_t> out(std::vector<uint32_t>(3 * 128));
    RunBody(kNeighbours, {out.address()}, {{3}, {128}});
    const std::vector<uint32_t> got = out.Values();
    for (uint32_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], k % 128 ^ 96) << seed;
  }
  ptx::SetSeed(0);
}

// Without the barrier some order of warps shows that it is missing.
TEST(Block, AMissingBarrierIsFound) {
  std::string body = kNeighbours;
  body.erase(body.find("bar.sync 0;"), 11);
  const InterpretedArray<uint32_t> out(std::vector<uint32_t>(128));
  EXPECT_THAT(ErrorOf(body, {out.address()}, {{}, {128}}), HasSubstr("what nobody wrote"));
}

// Eight rounds of two buffers: each thread asks for a number of the next round, waits for its own
// of this one, and adds what its neighbour in the other warp has asked for.
std::string Rounds(const std::string& before_the_next) {
  const std::string slot =
      "shl.b32 %s, %s, 6; add.u32 %s, %s, %x; shl.b32 %s, %s, 2;"
      "add.u32 %s, %s, %b;";
  const std::string copy = "mov.u32 %x, %tid; and.b32 %s, %next, 1;" + slot + R"(
    mad.lo.u32 %x, %next, 64, %tid;
    mul.wide.u32 %g, %x, 4;
    add.u64 %g, %p0, %g;
    cp.async.ca.shared.global [%s], [%g], 4;)";
  return R"( .shared .align 4 .b8 buffer[512];
    .reg .b32 %s, %x, %b, %next, %sum; .reg .b64 %g; .reg .pred %q;
    mov.u32 %b, buffer; mov.u32 %next, 0; mov.u32 %sum, 0;)" +
         copy + R"(
    cp.async.commit_group;
  ROUND:
    add.u32 %next, %next, 1;
    setp.ge.u32 %q, %next, 8;
    @%q bra ASKED;)" +
         copy + R"(
  ASKED:
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    xor.b32 %x, %tid, 32; sub.u32 %s, %next, 1; and.b32 %s, %s, 1;)" +
         slot + "ld.shared.u32 %x, [%s]; add.u32 %sum, %sum, %x;" + before_the_next + R"(
    setp.lt.u32 %q, %next, 8;
    @%q bra ROUND;
    shl.b64 %index, %index, 2; add.u64 %p1, %p1, %index;
    st.global.u32 [%p1], %sum;)";
}

// Whether the sums are right in the order of a seed.
bool RoundsAreRight(const std::string& before_the_next, uint32_t seed) {
  std::vector<uint32_t> numbers(8 * 64), expected(64);
  for (uint32_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = k * k;
    expected[k % 64 ^ 32] += k * k;
  }
  const InterpretedArray<uint32_t> in(numbers), out(std::vector<uint32_t>(64));
  ptx::SetSeed(seed);
  RunBody(Rounds(before_the_next), {in.address(), out.address()}, {{}, {64}});
  ptx::SetSeed(0);
  return out.Values() == expected;
}

// Copies arrive before their lane waits for them, too: into what others may still read.
TEST(Block, AMissingBarrierBeforeACopyIsFound) {
  int wrong = 0;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    EXPECT_TRUE(RoundsAreRight("bar.sync 0;", seed)) << seed;
    wrong += !RoundsAreRight("", seed);
  }
  EXPECT_GE(wrong, 5);
}

TEST(Block, BarriersReduce) {
  const InterpretedArray<uint32_t> out(std::vector<uint32_t>(128));
  RunBody(R"( .reg .pred %q, %all; .reg .b32 %n;
    setp.lt.u32 %q, %tid, 70;
    barrier.sync 0;
    bar.red.popc.u32 %n, 0, %q;
    bar.red.and.pred %all, 0, %q;
    @%all add.u32 %n, %n, 1000;
    shl.b64 %index, %index, 2;
    add.u64 %p0, %p0, %index;
    st.global.u32 [%p0], %n;)",
          {out.address()}, {{}, {128}});
  EXPECT_THAT(out.Values(), Each(70u));
}

TEST(Block, BarriersThatNotAllReach) {
  const std::string half = ".reg .pred %q; setp.lt.u32 %q, %tid, 32;";
  EXPECT_THAT(ErrorOf(half + "@%q bra L; bar.sync 0; L: bar.sync 1;", {}, {{}, {64}}),
              HasSubstr("it waits at a barrier that not all threads reach"));
  // Threads that have ended are not waited for.
  EXPECT_EQ(ErrorOf(half + "@%q ret; bar.sync 0;", {}, {{}, {64}}), "");
}

TEST(Block, ShapesOfThreeDimensions) {
  const InterpretedArray<uint32_t> out(std::vector<uint32_t>(2 * 3 * 4 * 5 * 6 * 7));
  RunBody(R"( .reg .b32 %a, %n, %x; .reg .b64 %o;
    mov.u32 %n, %ctaid.z;
    mov.u32 %a, %nctaid.y; mov.u32 %x, %ctaid.y; mad.lo.u32 %n, %n, %a, %x;
    mov.u32 %a, %nctaid.x; mov.u32 %x, %ctaid.x; mad.lo.u32 %n, %n, %a, %x;
    mov.u32 %a, %ntid.z; mov.u32 %x, %tid.z; mad.lo.u32 %n, %n, %a, %x;
    mov.u32 %a, %ntid.y; mov.u32 %x, %tid.y; mad.lo.u32 %n, %n, %a, %x;
    mov.u32 %a, %ntid.x; mov.u32 %x, %tid.x; mad.lo.u32 %n, %n, %a, %x;
    mul.wide.u32 %o, %n, 4;
    add.u64 %p0, %p0, %o;
    red.global.add.u32 [%p0], 1;)",
          {out.address()}, {{2, 3, 4}, {5, 6, 7}});
  EXPECT_THAT(out.Values(), Each(1u));
}

// A block waits for what the one before it does, as CUB's scans do.
TEST(Block, LaterBlocksWaitForEarlierOnes) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    ptx::SetSeed(seed);
    const InterpretedArray<uint32_t> turn({0});
    RunBody(R"( .reg .b32 %mine, %now; .reg .pred %q;
      mov.u32 %mine, %ctaid.x;
    SPIN:
      ld.volatile.global.u32 %now, [%p0];
      setp.ne.u32 %q, %now, %mine;
      @%q bra SPIN;
      add.u32 %now, %now, 1;
      st.volatile.global.u32 [%p0], %now;)",
            {turn.address()}, {{20}, {1}});
    EXPECT_EQ(turn.Values()[0], 20u) << seed;
  }
  ptx::SetSeed(0);
}

TEST(Block, UnknownInstructions) {
  EXPECT_THAT(ErrorOf("trap;"), HasSubstr("the kernel stopped itself"));
  const std::string unknown = ErrorOf("wgmma.fence.sync.aligned;");
  EXPECT_THAT(unknown, HasSubstr("does not know this instruction"));
  EXPECT_THAT(unknown, HasSubstr("wgmma.fence.sync.aligned"));
  EXPECT_EQ(ErrorOf(".reg .pred %q; setp.lt.s32 %q, %tid, 0; @%q wgmma.fence.sync.aligned;"), "");
  // Known instructions with a modifier, a type or a form that is not.
  for (const char* body :
       {"min.xorsign.abs.f32 %tid, %tid, %tid;", "add.f16 %tid, %tid, %tid;",
        "add.sat.s32 %tid, %tid, %tid;", "mul.lo.b128 %tid, %tid, %tid;", "call f;",
        "cvt.rn.satfinite.e4m3x2.f32 %tid, %tid, %tid;", "bar.arrive 0, 64;",
        "atom.global.add.noftz.f16 %tid, [%index], %tid;", "shfl.idx.b32 %tid, %tid, 0, 31;"})
    EXPECT_THAT(ErrorOf(body), HasSubstr("does not know this instruction")) << body;
}

TEST(Block, ErrorsNameTheSource) {
  const auto module = ptx::ParseModule(R"(.version 9.0
    .visible .entry _ZN1a12_GLOBAL__N_13SumILi4EEEvPKf()
    {
      .loc 1 42 3
      trap;
    }
    .file 1 "/root/.cache/bazel/x/sandbox/processwrapper-sandbox/7/execroot/t/./embedding/some.cuh"
)");
  try {
    ptx::RunGrid(*module->Find("_ZN1a12_GLOBAL__N_13SumILi4EEEvPKf"), {}, {32}, 0, nullptr);
    FAIL() << "no error";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(" at embedding/some.cuh:42"));
    EXPECT_THAT(error.what(), HasSubstr("kernel a::(anonymous namespace)::Sum<4>, block "));
  }
}

}  // namespace
}  // namespace tessera::testing
