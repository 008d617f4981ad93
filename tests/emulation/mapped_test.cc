// Memory that is mapped to reserved addresses: who may touch it, and which mistakes are found.
#include "tools/emulation/mapped.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/emulation/run_kernel.h"

namespace tessera::testing {
namespace {

using cuda_emulation::CreatePiece;
using cuda_emulation::FreeAddresses;
using cuda_emulation::GiveAccess;
using cuda_emulation::MapPiece;
using cuda_emulation::ReleasePiece;
using cuda_emulation::ReserveAddresses;
using cuda_emulation::UnmapPieces;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kUnit = cuda_emulation::kMappedGranularity, kReserved = 4 * kUnit;

template <typename Fn>
void ExpectRefused(const Fn& fn, const char* why) {
  EXPECT_THAT(fn, ThrowsMessage<std::logic_error>(HasSubstr(why)));
}

class MappedMemory : public ::testing::Test {
 protected:
  ~MappedMemory() override {
    if (mapped_ > 0) UnmapPieces(begin_, mapped_);
    FreeAddresses(begin_, kReserved);
    EXPECT_EQ(cuda_emulation::MappedBytes(), 0);
  }
  // Maps the next piece, without access.
  char* Map(int64_t bytes) {
    const uint64_t piece = CreatePiece(bytes);
    char* at = begin_ + mapped_;
    MapPiece(at, bytes, piece);
    ReleasePiece(piece);  // it stays while it is mapped
    mapped_ += bytes;
    return at;
  }

  char* begin_ = ReserveAddresses(kReserved);
  int64_t mapped_ = 0;
};

void Write(char* p) { *p = 7; }

TEST_F(MappedMemory, DeviceCodeAloneTouchesWhatHasAccess) {
  char* first = Map(kUnit);
  GiveAccess(first, kUnit);
  Start(Grid(1, 1), Write, first);
  cudaDeviceSynchronize();
  char value = 0;
  cudaMemcpyAsync(&value, first, 1, cudaMemcpyDefault, nullptr);
  cudaDeviceSynchronize();
  EXPECT_EQ(value, 7);
  EXPECT_DEATH((void)*const_cast<volatile char*>(first), "");
  char* second = Map(2 * kUnit);
  EXPECT_EQ(cuda_emulation::MappedBytes(), 3 * kUnit);
  for (char* without : {second, second + 2 * kUnit})
    EXPECT_DEATH(
        {
          Start(Grid(1, 1), Write, without);
          cudaDeviceSynchronize();
        },
        "");
  EXPECT_EQ(cuda_emulation::AllocationAt(first).bytes, kUnit);
  GiveAccess(second, 2 * kUnit);
  EXPECT_EQ(cuda_emulation::AllocationAt(first + 1).bytes, 3 * kUnit);
}

TEST_F(MappedMemory, CallsThatADriverWouldNotTakeAreRefused) {
  ExpectRefused([] { ReserveAddresses(kUnit + 1); }, "not a multiple of the granularity");
  ExpectRefused([] { CreatePiece(kUnit / 2); }, "not a multiple of the granularity");
  ExpectRefused([&] { FreeAddresses(begin_, kUnit); }, "other addresses are freed");
  ExpectRefused([&] { GiveAccess(begin_, kUnit); }, "access is given to memory that is not there");
  ExpectRefused([&] { UnmapPieces(begin_, kUnit); }, "memory is unmapped that is not there");
  Map(2 * kUnit);
  ExpectRefused([&] { FreeAddresses(begin_, kReserved); }, "addresses are freed that have memory");
  ExpectRefused([&] { UnmapPieces(begin_, kUnit); }, "memory is unmapped that is not there");
  const uint64_t piece = CreatePiece(kUnit);
  ExpectRefused([&] { MapPiece(begin_ + kUnit, kUnit, piece); }, "over other memory");
  ExpectRefused([&] { MapPiece(begin_ + kReserved, kUnit, piece); }, "that are not reserved");
  ExpectRefused([&] { MapPiece(begin_ + 2 * kUnit, 2 * kUnit, piece); }, "in part or twice");
  ReleasePiece(piece);
  EXPECT_EQ(cuda_emulation::MappedBytes(), 2 * kUnit);
}

TEST_F(MappedMemory, ThereIsNoMoreThanTheDeviceHas) {
  cuda_emulation::SetMemoryLimit(cuda_emulation::DeviceBytesInUse() + kUnit);
  EXPECT_EQ(CreatePiece(2 * kUnit), 0u);
  Map(kUnit);
  EXPECT_EQ(CreatePiece(kUnit), 0u);
  void* p = nullptr;
  EXPECT_EQ(cudaMallocAsync(&p, 1, nullptr), cudaErrorMemoryAllocation);
  cuda_emulation::SetMemoryLimit(int64_t{4} << 30);
}

}  // namespace
}  // namespace tessera::testing
