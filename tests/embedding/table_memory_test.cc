#include "embedding/table/table_memory.h"

#include <gtest/gtest.h>

#include "embedding/embedding_bag_collection.h"

namespace tessera {
namespace {

EmbeddingBagConfig Table() {
  EmbeddingBagConfig table;
  table.name = "t";
  table.num_embeddings = 1000;
  table.embedding_dim = 16;
  table.feature_names = {"f"};
  table.optimizer = Adam{};
  return table;
}

TEST(TableMemory, RowsAndStates) {
  EmbeddingBagConfig table = Table();
  EXPECT_EQ(MemoryOfTable(table).rows, 64000);
  EXPECT_EQ(MemoryOfTable(table).states, 128000);
  EXPECT_EQ(MemoryOfTable(table).total(), 192000);
  EXPECT_EQ(MemoryOfTable(table, 500, 8).total(), 48000);
  table.data_type = table.state_type = DType::kBF16;
  table.optimizer = RowwiseAdagrad{};
  EXPECT_EQ(MemoryOfTable(table).rows, 32000);
  EXPECT_EQ(MemoryOfTable(table).states, 2000);
  EXPECT_EQ(MemoryOfTable(table).making, 0);
  table.init_fn = [](Context&, const Tensor&) {};
  EXPECT_EQ(MemoryOfTable(table).making, 64000);
}

TEST(TableMemory, CachedTablesHaveLinesToo) {
  EmbeddingBagConfig table = Table();
  table.location = EmbeddingLocation::kManagedCaching;
  table.cache.load_factor = 0.25;
  constexpr double kLine = 192 + 8 + 8 + 4 + 1;  // a row, its states, and the cache's index
  EXPECT_EQ(MemoryOfTable(table).total(), 192000 + 256 * kLine) << "whole sets of 32 ways";
  EXPECT_EQ(MemoryOfTable(table).cache_copy, 256 * 64);
  table.location = EmbeddingLocation::kDisk;
  EXPECT_EQ(MemoryOfTable(table).total(), 4000 + 256 * kLine);
  EXPECT_EQ(MemoryOfTable(table).cache_copy, 0);
  table.cache.bytes = 30000;
  EXPECT_EQ(MemoryOfTable(table).total(), 4000 + 4 * 32 * kLine);
}

TEST(TableMemory, AGrowingTableCountsAllThatItMayTake) {
  EmbeddingBagConfig table = Table();
  table.growing = true;
  EXPECT_EQ(MemoryOfTable(table).total(), 192000);
}

// The counted bytes are those that the allocator is asked for, for rows and states of every type.
TEST(TableMemory, IsWhatATableTakes) {
  for (const bool cached : {false, true})
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      EmbeddingBagConfig table = Table();
      if (cached) table.location = EmbeddingLocation::kManagedCaching;
      table.num_embeddings = 1 << 18;
      table.data_type = table.state_type = dtype;
      Context ctx({.threads = 1});
      const int64_t before = HostAllocator().stats().live_bytes;
      const EmbeddingBagCollection tables(ctx, {table});
      const auto taken = static_cast<double>(HostAllocator().stats().live_bytes - before);
      EXPECT_GE(taken, MemoryOfTable(table).total());
      EXPECT_LE(taken, MemoryOfTable(table).total() * 1.01 + (3 << 20));
    }
}

}  // namespace
}  // namespace tessera
