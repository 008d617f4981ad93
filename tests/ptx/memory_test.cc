// Loads, stores, atomics and copies, and the errors of wrong ones.
#include <gmock/gmock.h>

#include <cstdint>
#include <numeric>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<uint32_t> Iota(size_t n) {
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

TEST(Memory, VectorsOfFour) {
  const InterpretedArray<uint32_t> in(Iota(128)), out(std::vector<uint32_t>(128));
  RunBody(R"( .reg .b32 %a, %b, %c, %d;
    shl.b64 %index, %index, 4;
    add.u64 %p0, %p0, %index;
    add.u64 %p1, %p1, %index;
    ld.global.v4.u32 {%a, %b, %c, %d}, [%p0];
    st.global.v4.u32 [%p1], {%d, %c, %b, %a};)",
          {in.address(), out.address()});
  const std::vector<uint32_t> got = out.Values();
  for (uint32_t k = 0; k < 128; ++k) EXPECT_EQ(got[k], (k & ~3u) + 3 - k % 4);
}

TEST(Memory, SmallValuesAreExtended) {
  const InterpretedArray<uint8_t> in(std::vector<uint8_t>{0x80, 0xff, 0x7f, 0x01});
  const InterpretedArray<int32_t> out({0, 0, 0});
  RunBody(R"( .reg .b32 %a; .reg .pred %q;
    setp.ne.s32 %q, %tid, 0;
    @%q ret;
    ld.global.s8 %a, [%p0];
    st.global.s32 [%p1], %a;
    ld.global.u8 %a, [%p0+1];
    st.global.u32 [%p1+4], %a;
    ld.global.s16 %a, [%p0+2];
    st.global.s32 [%p1+8], %a;)",
          {in.address(), out.address()});
  EXPECT_EQ(out.Values(), (std::vector<int32_t>{-128, 255, 0x17f}));
}

// A generic address of shared memory, and of a lane's own local memory.
TEST(Memory, GenericAddresses) {
  const auto got = OfLanes(R"( .shared .align 16 .b8 buffer[128];
    .local .align 8 .b8 own[8];
    .reg .b64 %s, %l, %o; .reg .b32 %x; .reg .pred %q;
    mov.u64 %s, buffer;
    cvta.shared.u64 %s, %s;
    mul.wide.u32 %o, %tid, 4;
    add.u64 %s, %s, %o;
    st.u32 [%s], %tid;
    bar.sync 0;
    xor.b64 %s, %s, 4;
    ld.u32 %x, [%s];
    mov.u64 %l, own;
    cvta.local.u64 %l, %l;
    st.u32 [%l+4], %x;
    ld.local.u32 %result, [own+4];
    isspacep.shared %q, %l;
    @%q mov.u32 %result, 99;)");
  EXPECT_EQ(got, ForEachLane([](uint32_t l) { return l ^ 1; }));
}

TEST(Memory, VariablesOfAModule) {
  const InterpretedArray<uint32_t> out({0});
  RunBody(R"( .reg .b32 %x, %y; .reg .b64 %t;
    ld.const.u32 %x, [table+8];
    mov.u64 %t, counter;
    ld.global.u32 %y, [%t];
    add.u32 %x, %x, %y;
    st.global.u32 [%p0], %x;)",
          {out.address()}, {{}, {1}},
          ".const .align 4 .u32 table[3] = {5, 6, 7};\n.global .align 4 .u32 counter = 30;\n");
  EXPECT_EQ(out.Values()[0], 37u);
}

TEST(Memory, AtomicsTakeTurns) {
  const InterpretedArray<uint32_t> memory({0, 100, 0, 7});
  const InterpretedArray<uint32_t> out(std::vector<uint32_t>(64));
  RunBody(R"( .reg .b32 %old, %x;
    atom.global.add.u32 %old, [%p0], 2;
    red.global.min.u32 [%p0+4], %tid;
    red.global.or.b32 [%p0+8], %tid;
    atom.global.cas.b32 %x, [%p0+12], 7, 8;
    shl.b64 %index, %index, 2;
    add.u64 %p1, %p1, %index;
    st.global.u32 [%p1], %old;)",
          {memory.address(), out.address()}, {{2}});
  EXPECT_EQ(memory.Values(), (std::vector<uint32_t>{128, 0, 31, 8}));
  std::vector<uint32_t> got = out.Values();
  EXPECT_EQ(std::accumulate(got.begin(), got.end(), 0u), 64 * 63);
}

TEST(Memory, CopiesArriveAtTheWait) {
  const InterpretedArray<uint32_t> in(Iota(128));
  const std::string copy = R"( .shared .align 16 .b8 buffer[512];
    .reg .b32 %s, %x; .reg .b64 %g;
    mov.u32 %s, buffer;
    shl.b32 %x, %tid, 4;
    add.u32 %s, %s, %x;
    cvt.u64.u32 %g, %x;
    add.u64 %g, %p0, %g;
    cp.async.cg.shared.global [%s], [%g], 16;
    cp.async.commit_group;)";
  const std::string read = "ld.shared.u32 %x, [%s+4]; st.global.u32 [%g], %x;";
  RunBody(copy + " cp.async.wait_group 0;" + read, {in.address()});
  EXPECT_EQ(in.Values()[4], 5u);
  EXPECT_THAT(ErrorOf(copy + read, {in.address()}), HasSubstr("what nobody wrote"));
  EXPECT_THAT(ErrorOf(copy + " cp.async.wait_group 1;" + read, {in.address()}),
              HasSubstr("what nobody wrote"));
}

TEST(Memory, BoundsOfAnAllocation) {
  const InterpretedArray<uint32_t> in(Iota(32));
  const std::string at = ".reg .b32 %x; shl.b64 %index, %index, 2; add.u64 %p0, %p0, %index;";
  EXPECT_EQ(ErrorOf(at + "ld.global.u32 %x, [%p0];", {in.address()}), "");
  EXPECT_THAT(ErrorOf(at + "ld.global.u32 %x, [%p0+4];", {in.address()}),
              AllOf(HasSubstr("out of bounds: 4 bytes"), HasSubstr("thread (31, 0, 0)"),
                    HasSubstr("ld.global.u32")));
  EXPECT_THAT(ErrorOf(at + "st.global.u32 [%p0+-4], %x;", {in.address()}),
              HasSubstr("thread (0, 0, 0)"));
}

TEST(Memory, BoundsOfSharedLocalAndParameterMemory) {
  const std::string shared = ".shared .align 4 .b8 buffer[64]; .reg .b32 %x;";
  EXPECT_THAT(ErrorOf(shared + "st.shared.u32 [buffer+64], %tid;"),
              HasSubstr("4 bytes at 0x40 of shared memory, which has 64 bytes"));
  EXPECT_EQ(ErrorOf(shared + "st.shared.u32 [buffer+60], %tid;"), "");
  const std::string local = ".local .align 8 .b8 own[16]; .reg .b32 %x;";
  EXPECT_THAT(ErrorOf(local + "st.local.u32 [own+16], %tid;"), HasSubstr("local memory"));
  EXPECT_THAT(ErrorOf(".reg .b64 %x; ld.param.u64 %x, [p0+8];", {0}), HasSubstr("parameters"));
}

TEST(Memory, Alignment) {
  const InterpretedArray<uint32_t> in(Iota(64));
  EXPECT_THAT(ErrorOf(".reg .b64 %x; ld.global.u64 %x, [%p0+4];", {in.address()}),
              HasSubstr("misaligned access: 8 bytes"));
  EXPECT_THAT(ErrorOf(".reg .b32 %x, %y, %z, %w; ld.global.v4.u32 {%x, %y, %z, %w}, [%p0+8];",
                      {in.address()}),
              HasSubstr("misaligned access: 16 bytes"));
}

TEST(Memory, SharedMemoryThatNobodyWrote) {
  const std::string body = R"( .shared .align 4 .b8 buffer[128]; .reg .b32 %s, %x; .reg .pred %q;
    mov.u32 %s, buffer;
    mad.lo.u32 %s, %tid, 4, %s;
    setp.ne.u32 %q, %tid, 7;
    @%q st.shared.u32 [%s], %tid;)";
  EXPECT_EQ(ErrorOf(body), "");
  EXPECT_THAT(ErrorOf(body + "ld.shared.u32 %x, [%s];"),
              AllOf(HasSubstr("what nobody wrote"), HasSubstr("thread (7, 0, 0)")));
}

}  // namespace
}  // namespace tessera::testing
