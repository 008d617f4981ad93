// Folders of incremental checkpoints: a chain equals the whole checkpoint, byte for byte, after any
// change; and after crashes, with gaps or mixed files, the last whole chain is read, or there is an
// error.
#include "train/checkpoint/checkpoint_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <set>

#include "tests/train/testing/files.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/incremental_checkpoints.h"

namespace {

bool g_folders_fail = false;

}  // namespace

// Replaces the C library's fsync: a disk that fails when a folder is synced.
extern "C" int fsync(int file) {
  struct stat status = {};
  if (g_folders_fail && fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TempPath;

constexpr char kTable[] = "bags.t.weight", kOther[] = "bags.t.weight.more.weight";

// A run with two tables, one of which grows, a dense part, and state of no fixed size.
class MadeUpRun {
 public:
  explicit MadeUpRun(Context& ctx, uint64_t seed) : ctx_(ctx), random_(seed) {
    tables_ = {MakeTable(kTable, 300, 7, DType::kF16), MakeTable(kOther, 40, 3, DType::kF32)};
  }

  void Step() {
    ++progress_.step;
    for (Table& table : tables_) {
      if (table.name == kOther && Below(3) == 0) Grow(table, 1 + Below(9));
      for (int64_t n = Below(table.rows() / 4); n > 0; --n) Touch(table, Below(table.rows()));
    }
    dense_ = Noise({4, 5}, DType::kF32);
    history_ = Noise({Below(6)}, DType::kI64);
  }

  std::vector<NamedTensor> State() const {
    std::vector<NamedTensor> state = {{"over.bias", dense_}, {"metrics.0.history", history_}};
    for (const Table& table : tables_) {
      state.push_back({table.name, table.weight});
      state.push_back({OptimizerStateName(table.name, "momentum1"), table.momentum});
      state.push_back({OptimizerStateName(table.name, "sum"), table.sum});
    }
    return state;
  }
  std::string Save(IncrementalCheckpoints& to) {
    std::vector<ChangedRows> changed;
    for (Table& table : tables_) {
      changed.push_back(
          {table.name,
           Tensor::From(ctx_, std::vector<int64_t>(table.changed.begin(), table.changed.end()))});
      table.changed.clear();
    }
    return to.Write(ctx_, {State(), changed, progress_, "{\"step\": 1}"});
  }
  void SaveWhole(const std::string& path) {
    WriteCheckpoint(ctx_, path, State(), progress_, "{\"step\": 1}");
  }

 private:
  struct Table {
    std::string name;
    Tensor weight, momentum, sum;
    std::set<int64_t> changed;
    int64_t rows() const { return weight.dim(0); }
  };

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  Tensor Noise(const Shape& shape, DType dtype) {
    Tensor noise = Tensor::EmptyHost(shape, DType::kU8);
    for (uint8_t& byte : noise.span<uint8_t>()) byte = static_cast<uint8_t>(random_() % 100);
    return noise.To(ctx_, dtype);
  }
  Table MakeTable(const std::string& name, int64_t rows, int64_t dim, DType dtype) {
    return {name,
            Noise({rows, dim}, dtype),
            Noise({rows, dim}, DType::kF32),
            Noise({rows}, DType::kF32),
            {}};
  }
  void Touch(Table& table, int64_t row) {
    table.changed.insert(row);
    for (Tensor* part : {&table.weight, &table.momentum, &table.sum}) {
      const Tensor to = part->Rows(row, row + 1);
      to.CopyFrom(ctx_, Noise(to.shape(), to.dtype()));
    }
  }
  void Grow(Table& table, int64_t rows) {
    const int64_t before = table.rows();
    Table more = MakeTable(table.name, before + rows, table.weight.dim(1), table.weight.dtype());
    more.weight.Rows(0, before).CopyFrom(ctx_, table.weight);
    more.momentum.Rows(0, before).CopyFrom(ctx_, table.momentum);
    more.sum.Rows(0, before).CopyFrom(ctx_, table.sum);
    more.changed = table.changed;
    for (int64_t row = before; row < before + rows; ++row) more.changed.insert(row);
    table = more;
  }

  Context& ctx_;
  std::mt19937_64 random_;
  std::vector<Table> tables_;
  Tensor dense_, history_;
  TrainingProgress progress_{.seed = 3};
};

class CheckpointChainTest : public ::testing::Test {
 protected:
  CheckpointChainTest() { fs::remove_all(folder_); }

  std::vector<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_))
      names.insert(file.path().filename().string());
    return {names.begin(), names.end()};
  }
  // A base and `deltas` after it; returns the run.
  MadeUpRun Chain(int64_t deltas) {
    MadeUpRun run(ctx_, 5);
    IncrementalCheckpoints to(folder_, {.max_deltas = deltas, .max_delta_share = 1e9});
    for (int64_t i = 0; i <= deltas; ++i) {
      run.Step();
      run.Save(to);
    }
    return run;
  }

  Context ctx_{{.threads = 1}};
  std::string folder_ = TempPath("chain");
};

TEST_F(CheckpointChainTest, IsTheWholeCheckpointByteForByte) {
  MadeUpRun run(ctx_, 1);
  auto to = std::make_unique<IncrementalCheckpoints>(
      folder_, IncrementalOptions{.max_deltas = 5, .max_delta_share = 3});
  std::mt19937 random(2);
  int bases = 0;
  for (int step = 0; step < 40; ++step) {
    run.Step();
    if (random() % 3 == 0) continue;
    bases += run.Save(*to).ends_with(".base.safetensors");
    run.SaveWhole(TempPath("whole"));
    const Checkpoint chain = ReadCheckpoint(folder_);
    EXPECT_EQ(chain.progress->step, step + 1);
    WriteWhole(chain, TempPath("joined"));
    ASSERT_EQ(ReadFile(TempPath("joined")), ReadFile(TempPath("whole"))) << "step " << step;
    if (random() % 6 == 0) {  // another process goes on
      to = std::make_unique<IncrementalCheckpoints>(
          folder_, IncrementalOptions{.max_deltas = 5, .max_delta_share = 3});
      to->GoOnFrom(*chain.chain);
    }
    if (random() % 6 == 0) {
      const std::string base = CompactChain(folder_);
      EXPECT_EQ(ReadFile(base), ReadFile(TempPath("whole")));
      EXPECT_EQ(Files().size(), 1u);
      to->GoOnFrom(*ReadCheckpoint(folder_).chain);
    }
  }
  EXPECT_GT(bases, 1);
}

TEST_F(CheckpointChainTest, RestoresIntoTensors) {
  const MadeUpRun run = Chain(3);
  std::vector<NamedTensor> restored;
  for (const NamedTensor& named : run.State())
    restored.push_back(
        {named.name, Tensor::Zeros(ctx_, named.tensor.shape(), named.tensor.dtype())});
  Restore(ctx_, ReadCheckpoint(folder_), restored);
  const std::vector<NamedTensor> expected = run.State();
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(SameBits(restored[i].tensor, expected[i].tensor)) << expected[i].name;
}

TEST_F(CheckpointChainTest, ABaseComesWhenDeltasAreManyOrLarge) {
  MadeUpRun run(ctx_, 1);
  IncrementalCheckpoints many(folder_, {.max_deltas = 2, .max_delta_share = 1e9, .keep = 1});
  for (int i = 0; i < 8; ++i) {
    run.Step();
    run.Save(many);
  }
  EXPECT_THAT(Files(), ElementsAre("00000004.base.safetensors", "00000005.delta.safetensors",
                                   "00000006.delta.safetensors", "00000007.base.safetensors",
                                   "00000008.delta.safetensors"));
  fs::remove_all(folder_);
  IncrementalCheckpoints large(folder_, {.max_deltas = 1000, .max_delta_share = 0.5});
  int64_t deltas = 0, bytes = 0;
  for (int i = 0; i < 20; ++i) {
    run.Step();
    run.Save(large);
    deltas += large.position()->deltas > 0;
    bytes = std::max(bytes, large.position()->delta_bytes);
    EXPECT_LT(large.position()->delta_bytes,
              0.6 * static_cast<double>(large.position()->base_bytes) + 4000);
  }
  EXPECT_GT(deltas, 0);
  EXPECT_GT(bytes, 0);
}

TEST_F(CheckpointChainTest, WhatACrashLeavesIsTheLastWholeChain) {
  MadeUpRun run = Chain(2);
  run.SaveWhole(TempPath("whole"));
  const auto expect_whole = [&] {
    WriteWhole(ReadCheckpoint(folder_), TempPath("joined"));
    EXPECT_EQ(ReadFile(TempPath("joined")), ReadFile(TempPath("whole")));
  };
  // The process was killed while a delta, or a base, was written.
  fs::copy(BasePath(folder_, 1), DeltaPath(folder_, 4) + ".tmp");
  fs::resize_file(DeltaPath(folder_, 4) + ".tmp", 1000);
  expect_whole();
  // It was killed when a base was there, but the files before it were not removed, or only some.
  fs::copy(folder_, TempPath("before"), fs::copy_options::recursive);
  CompactChain(folder_);
  EXPECT_THAT(Files(), ElementsAre("00000004.base.safetensors"));
  for (const int64_t number : {2, 3})
    fs::copy(DeltaPath(TempPath("before"), number), DeltaPath(folder_, number));
  expect_whole();
  fs::copy(BasePath(TempPath("before"), 1), BasePath(folder_, 1));
  fs::remove(DeltaPath(folder_, 2));
  expect_whole();
  IncrementalCheckpoints next(folder_);  // goes on with 5, and removes all before
  next.GoOnFrom(*ReadCheckpoint(folder_).chain);
  run.Step();
  EXPECT_EQ(run.Save(next), DeltaPath(folder_, 5));
  CompactChain(folder_);
  EXPECT_THAT(Files(), ElementsAre("00000006.base.safetensors"));
  fs::remove_all(TempPath("before"));
}

TEST_F(CheckpointChainTest, AFileWhoseFolderCannotBeSyncedIsNoCheckpoint) {
  MadeUpRun run(ctx_, 1);
  IncrementalCheckpoints to(folder_, {.max_deltas = 1, .max_delta_share = 1e9});
  const auto fails = [&] {
    const std::vector<std::string> before = Files();
    run.Step();
    g_folders_fail = true;
    EXPECT_THAT(ErrorOf([&] {
                  to.Write(ctx_, {run.State(), {}, {}, ""});
                }),
                HasSubstr("cannot be synced"));
    g_folders_fail = false;
    EXPECT_EQ(Files(), before);
  };
  fails();  // a base
  EXPECT_FALSE(to.position());
  EXPECT_EQ(run.Save(to), BasePath(folder_, 1));
  fails();  // a delta
  EXPECT_EQ(to.position()->deltas, 0);
  EXPECT_EQ(run.Save(to), DeltaPath(folder_, 2));
  fails();  // a base, with a chain before it
  EXPECT_EQ(to.position()->number, 2);
  EXPECT_EQ(to.position()->deltas, 1);
  EXPECT_EQ(ReadCheckpoint(folder_).chain->number, 2);
  EXPECT_EQ(run.Save(to), BasePath(folder_, 3));
  run.SaveWhole(TempPath("whole"));
  WriteWhole(ReadCheckpoint(folder_), TempPath("joined"));
  EXPECT_EQ(ReadFile(TempPath("joined")), ReadFile(TempPath("whole")));
}

TEST_F(CheckpointChainTest, OldFilesStayUntilTheFolderIsSynced) {
  Chain(1);
  g_folders_fail = true;
  for (int i = 0; i < 2; ++i) {  // of a base that it wrote, and of one that it finds
    EXPECT_THAT(ErrorOf([&] { CompactChain(folder_); }), HasSubstr("cannot be synced"));
    EXPECT_EQ(Files().size(), 3u);
  }
  g_folders_fail = false;
  CompactChain(folder_);
  EXPECT_THAT(Files(), ElementsAre("00000003.base.safetensors"));
}

TEST_F(CheckpointChainTest, OtherNamesAreNoFilesOfAChain) {
  Chain(1);
  const std::vector<std::string> names = {
      "3.base.safetensors",          "000000003.base.safetensors", "+0000003.base.safetensors",
      "-0000003.base.safetensors",   "00000000.base.safetensors",  "0000003x.base.safetensors",
      " 00000003.delta.safetensors", "0000003.delta.safetensors",  "-1234567.base.safetensors"};
  for (const std::string& name : names) testing::WriteFile("chain/" + name, "mine");
  EXPECT_EQ(NextNumber(folder_), 3);
  EXPECT_EQ(NewestChain(folder_).last(), 2);
  RemoveUnfinished(folder_);
  CompactChain(folder_);
  EXPECT_EQ(Files().size(), names.size() + 1);
  EXPECT_TRUE(fs::remove(BasePath(folder_, 3)));
  EXPECT_FALSE(IsCheckpointFolder(folder_));
  // Numbers of more than eight digits keep all digits.
  testing::WriteFile("chain/123456789.base.safetensors", "");
  EXPECT_EQ(NewestChain(folder_).last(), 123456789);
}

TEST_F(CheckpointChainTest, RefusesWhatIsNoChain) {
  Chain(3);
  const auto refusal = [&] { return ErrorOf([&] { ReadCheckpoint(folder_); }); };
  const std::string second = DeltaPath(folder_, 2), third = DeltaPath(folder_, 3);
  const std::string bytes = ReadFile(second);

  fs::remove(second);
  EXPECT_THAT(refusal(), HasSubstr(second + ": it is missing, but " + third + " is there"));
  testing::WriteFile("chain/00000002.delta.safetensors", bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(refusal(), HasSubstr(second + ": "));
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  testing::WriteFile("chain/00000002.delta.safetensors", flipped);
  EXPECT_THAT(refusal(), HasSubstr(second + ": it is corrupt"));
  fs::copy_file(third, second, fs::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(), HasSubstr("expected delta number 2, got 3"));
  fs::remove_all(folder_);

  // This delta belongs to another run.
  Chain(1);
  const std::string other = ReadFile(DeltaPath(folder_, 2));
  fs::remove_all(folder_);
  MadeUpRun run(ctx_, 77);
  IncrementalCheckpoints to(folder_);
  run.Step();
  run.Save(to);
  testing::WriteFile("chain/00000002.delta.safetensors", other);
  EXPECT_THAT(refusal(), HasSubstr("it does not follow file number 1"));
  run.Step();
  EXPECT_THAT(ErrorOf([&] { run.Save(to); }), HasSubstr("another run writes here"));

  EXPECT_THAT(ErrorOf([&] { CompactChain(folder_, -1); }), HasSubstr("chains to keep"));

  fs::remove(BasePath(folder_, 1));
  EXPECT_THAT(refusal(), HasSubstr("there is no base checkpoint in it"));
  testing::WriteFile("chain/notes.txt", "mine");
  fs::remove(DeltaPath(folder_, 2));
  EXPECT_THAT(ErrorOf([&] { IncrementalCheckpoints{folder_}; }),
              HasSubstr("it is a folder of something else than checkpoints"));
  EXPECT_THAT(ErrorOf([&] { CompactChain(folder_ + "_of_nobody"); }),
              HasSubstr("there is no such folder"));
}

TEST_F(CheckpointChainTest, RowsOfWhatHasNoneAreRefused) {
  IncrementalCheckpoints to(folder_, {.max_delta_share = 1e9});
  to.Write(ctx_, {{{"x", Tensor::Zeros(ctx_, Shape())}}, {}, {}, ""});
  to.Write(ctx_, {{{"x", Tensor::Zeros(ctx_, {1, 2})}},
                  {{"x", Tensor::From(ctx_, std::vector<int64_t>{0})}},
                  {},
                  ""});
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(folder_); }),
              HasSubstr("rows of 'x', which has no rows before"));
}

}  // namespace
}  // namespace tessera
