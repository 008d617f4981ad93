// The memory of tables, their states and an update's workspace. A program of its own: the
// allocator's peak is one of the process.
#include <gtest/gtest.h>

#include "tests/embedding/small_steps.h"

namespace tessera {
namespace {

using testing::Bags;
using testing::Configs;
using testing::Step;

// First, since its peak is the lower one. A bag an id: outputs and gradients are most of a step's
// memory, which would double if gradients were widened before the update.
TEST(MemoryTest, GradientsOf16BitsAreReadAsTheyAre) {
  Context ctx({.threads = 2});
  const int64_t rows = 1000, dim = 128, batch = 4096;
  EmbeddingBagCollection tables(ctx, Configs(rows, dim, Adam{}), {.output_type = DType::kBF16});
  const KeyedJaggedTensor bags = Bags(ctx, batch, 1, rows);
  const int64_t resting = HostAllocator().stats().live_bytes;
  {
    Tape tape(ctx);
    const Variable out = tables.Forward(ctx, bags).values();
    tape.Backward(out, Tensor::Full(ctx, out.shape(), 1e-3, DType::kBF16));
  }
  const int64_t ids = 4 * batch, out = 4 * batch * dim * 2;
  EXPECT_LE(HostAllocator().stats().peak_bytes - resting, (2 * out + 48 * ids) * 9 / 8);
}

// Tables and states are there once; a step adds outputs, their gradient, and the update's 16 to 36
// bytes an id and 12 a bag.
TEST(MemoryTest, IsTablesStatesAndTheStatedWorkspace) {
  Context ctx({.threads = 2});
  const int64_t rows = 1 << 16, dim = 32, batch = 4096, length = 8;
  const int64_t before = HostAllocator().stats().live_bytes;
  EmbeddingBagCollection tables(ctx, Configs(rows, dim, Adam{}));
  const int64_t tables_and_states = 4 * rows * dim * 4 * 3;
  const int64_t held = HostAllocator().stats().live_bytes - before;
  EXPECT_GE(held, tables_and_states);
  EXPECT_LE(held, tables_and_states + (64 << 10));

  const KeyedJaggedTensor bags = Bags(ctx, batch, length, rows);
  Step(ctx, tables, bags);
  const int64_t resting = HostAllocator().stats().live_bytes;
  for (int i = 0; i < 3; ++i) Step(ctx, tables, bags);
  EXPECT_EQ(HostAllocator().stats().live_bytes, resting);
  const int64_t ids = 4 * batch * length, out = 4 * batch * dim * 4;
  const int64_t workspace = 3 * out + 36 * ids + 12 * 4 * batch;
  EXPECT_LE(HostAllocator().stats().peak_bytes - resting, workspace * 9 / 8);
}

}  // namespace
}  // namespace tessera
