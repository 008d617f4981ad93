// Sharded checkpoints when something breaks: files, disks, ranks.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "runtime/files/files.h"
#include "sharding/checkpoint/checkpoint.h"
#include "tests/sharding/checkpoint_for_tests.h"
#include "tests/testing/losing_communicator.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::Cut;
using testing::EmptyFolder;
using testing::ErrorOf;
using testing::InfoOf;
using testing::Model;
using testing::RoomFor;
using testing::SameShard;
using testing::SaveModel;
using testing::ShapesOf;
using testing::ShardsOf;
using testing::WholeTable;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CheckpointFaultsTest : public ::testing::Test {
 protected:
  Model ModelOf(int seed) {
    return {WholeTable(ctx_, {"a", 8, 16}, seed), WholeTable(ctx_, {"b", 4, 8}, seed + 1)};
  }
  ShardingPlan Plan() {
    return MakeShardingPlan({.world_size = 2, .local_size = 2}, ShapesOf(ModelOf(0)),
                            {{"a", RowWise()}, {"b", TableWise(1)}});
  }
  void Save(int seed) { SaveModel(ctx_, folder_, ModelOf(seed), Plan()); }

  // Whether the folder holds the whole of ModelOf(seed).
  bool Holds(int seed) {
    ShardedCheckpoint checkpoint(folder_);
    for (const ShardTensors& table : ModelOf(seed)) {
      const ShardTensors room = RoomFor(ctx_, table, table.shard);
      checkpoint.Read(ctx_, room);
      if (!SameShard(room, table)) return false;
    }
    return true;
  }
  std::string OpenError() {
    return ErrorOf([&] { ShardedCheckpoint checkpoint(folder_); });
  }
  std::string File(int64_t save, int rank) {
    return folder_ + Format("/save-{}-rank-{}.safetensors", save, rank);
  }
  int64_t FilesInFolder() {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  Context ctx_{{.threads = 1}};
  const std::string folder_ = EmptyFolder("faults");
};

TEST_F(CheckpointFaultsTest, ASaveTakesThePlaceOfTheOneBefore) {
  Save(1);
  Save(2);
  EXPECT_TRUE(Holds(2));
  EXPECT_EQ(FilesInFolder(), 3) << "the files of the first are gone";
}

TEST_F(CheckpointFaultsTest, AReadThatANewerSaveOvertakesSaysToTryAgain) {
  Save(1);
  ShardedCheckpoint checkpoint(folder_);
  Save(2);
  const std::string error = ErrorOf([&] {
    for (const ShardTensors& table : ModelOf(1))
      checkpoint.Read(ctx_, RoomFor(ctx_, table, table.shard));
  });
  EXPECT_TRUE(Contains(error, "is gone since the checkpoint was opened")) << error;
  EXPECT_TRUE(Contains(error, "try again")) << error;
  EXPECT_TRUE(Holds(2));
}

TEST_F(CheckpointFaultsTest, OneIsOpenedWhileAnotherTakesItsPlace) {
  Save(1);
  std::atomic<bool> ends = false;
  std::thread saver([&] {
    for (int save = 2; save < 40; ++save) Save(save);
    ends = true;
  });
  int opened = 0;
  std::string error;
  while (!ends && error.empty()) {
    error = OpenError();
    ++opened;
  }
  saver.join();
  EXPECT_EQ(error, "") << opened << " were opened before";
}

// Its first rank may have committed the save already.
TEST_F(CheckpointFaultsTest, ARankThatLosesAnotherWhileSavingKeepsItsPart) {
  Save(1);
  const auto save = [&] {
    RunLocalRanks(2, [&](Communicator& comm) {
      const std::string index = folder_ + "/index.json";
      testing::LosingCommunicator losing(comm,
                                         testing::LosesInSave(comm, File(2, comm.rank()), index));
      Context own({.threads = 1});
      SaveShardedCheckpoint(own, losing, folder_, InfoOf(ModelOf(2), Plan()),
                            ShardsOf(own, ModelOf(2), Plan(), comm.rank()));
    });
  };
  EXPECT_TRUE(Contains(ErrorOf(save), "a rank is lost"));
  EXPECT_TRUE(Holds(2));
  Save(3);
  EXPECT_TRUE(Holds(3));
}

TEST_F(CheckpointFaultsTest, AMissingFileIsNamedWithWhatItHeld) {
  Save(1);
  fs::remove(File(1, 1));
  EXPECT_EQ(OpenError(),
            folder_ +
                ": save-1-rank-1.safetensors is missing (No such file or directory); it held table "
                "a, rank 1: rows 4 to 8, columns 0 to 16, and 1 shards more");
}

TEST_F(CheckpointFaultsTest, ATruncatedFileIsNamed) {
  Save(1);
  fs::resize_file(File(1, 0), fs::file_size(File(1, 0)) - 1);
  EXPECT_TRUE(Contains(OpenError(), "save-1-rank-0.safetensors is truncated"));
}

TEST_F(CheckpointFaultsTest, AChangedByteIsFoundWhereItIsAndNothingIsLoaded) {
  Save(1);
  {
    std::fstream file(File(1, 1), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    file.put('\x55');
  }
  ShardedCheckpoint checkpoint(folder_);
  const Model model = ModelOf(1);
  std::vector<ShardTensors> rooms;
  for (const ShardTensors& table : model) rooms.push_back(RoomFor(ctx_, table, table.shard));
  const std::string error = ErrorOf([&] { LoadShards(ctx_, checkpoint, rooms); });
  EXPECT_TRUE(Contains(error, "save-1-rank-1.safetensors: b[0:4,0:8].weight: it is corrupt: bytes"))
      << error;
  for (size_t t = 0; t < model.size(); ++t)
    EXPECT_TRUE(SameShard(rooms[t], RoomFor(ctx_, model[t], model[t].shard))) << "untouched";
  const ShardTensors room = RoomFor(ctx_, model[0], {0, 0, 0, 8, 16});
  checkpoint.Read(ctx_, room);
  EXPECT_TRUE(SameShard(room, model[0])) << "what is sound can be read";
}

TEST_F(CheckpointFaultsTest, ABadIndexIsNamed) {
  EXPECT_TRUE(Contains(OpenError(), folder_ + "/index.json: cannot be read"));
  Save(1);
  const std::string path = folder_ + "/index.json", sealed = ReadTextFile(path);
  const std::string sound = sealed.substr(0, sealed.rfind(",\n \"crc32\"")) + "\n}";
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    std::ofstream(path) << text.replace(at, from.size(), to);
    return OpenError();
  };
  EXPECT_TRUE(Contains(error("sharded_checkpoint\": 1", "sharded_checkpoint\": 2"),
                       "index.json: tessera_sharded_checkpoint: this library reads version 1"));
  EXPECT_TRUE(Contains(error("\"rows\": 8", "\"rows\": 9"), "gap: rows 8 to 9"));
  EXPECT_TRUE(
      Contains(error("\"file\": 0", "\"file\": 2"), "shards[0].file: 2: there are 2 files"));
  EXPECT_TRUE(Contains(error("\"dtype\": \"f32\"", "\"dtype\": \"f33\""), "stored.a.dtype"));
  EXPECT_TRUE(Contains(error("\"momentum1\": \"", "\"momentum1\": \"0"),
                       "a[0:4,0:16].momentum1: expected 8 digits of checksums, got 9"));
  EXPECT_TRUE(Contains(error("{", "["), "index.json: parse error"));
  for (const char* name : {"../save-1-rank-0.safetensors", "/etc/hostname", "..", ""})
    EXPECT_TRUE(
        Contains(error("save-1-rank-0.safetensors", name),
                 Format("expected the name of a file in it, without a folder, got '{}'", name)));
  std::ofstream(path) << sound;
  EXPECT_EQ(OpenError(), "") << "an index from before there was a checksum";
}

TEST_F(CheckpointFaultsTest, AChangedNumberOfTheIndexIsFound) {
  Save(1);
  const std::string path = folder_ + "/index.json", sound = ReadTextFile(path);
  for (size_t at = sound.find("\"save\""); at < sound.size(); at += 7) {
    if (sound[at] < '0' || sound[at] > '9') continue;
    std::string text = sound;
    text[at] = text[at] == '9' ? '8' : static_cast<char>(text[at] + 1);
    std::ofstream(path) << text;
    EXPECT_TRUE(Contains(OpenError(), "index.json: ")) << text.substr(at - 20, 40);
  }
}

TEST_F(CheckpointFaultsTest, ALinkOutOfTheFolderIsRefused) {
  Save(1);
  const std::string file = folder_ + "/save-1-rank-0.safetensors";
  const std::string inside = folder_ + "/moved", outside = folder_ + ".moved";
  fs::rename(file, inside);
  fs::create_symlink("moved", file);
  EXPECT_EQ(OpenError(), "");
  fs::rename(inside, outside);
  fs::remove(file);
  fs::create_symlink(outside, file);
  EXPECT_TRUE(Contains(OpenError(), "it is a link that leads out of its folder"));
}

TEST_F(CheckpointFaultsTest, WhatDoesNotFitTheModelIsRefused) {
  Save(1);
  ShardedCheckpoint checkpoint(folder_);
  const ShardTensors room = RoomFor(ctx_, ModelOf(1)[0], {0, 0, 0, 8, 16});
  const auto error = [&](auto&& change) {
    ShardTensors other = room;
    change(other);
    return ErrorOf([&] { checkpoint.Read(ctx_, other); });
  };
  EXPECT_TRUE(Contains(error([](auto& t) { t.table = "x"; }), "there is no table x"));
  EXPECT_TRUE(Contains(error([](auto& t) { t.shard.rows = 9; }), "the checkpoint's is [8, 16]"));
  EXPECT_TRUE(Contains(error([](auto& t) { t.states[1].name = "sum"; }),
                       "table a: the checkpoint, of adam, has no state sum; it has exp_avg, "
                       "momentum1"));
  EXPECT_TRUE(Contains(error([](auto& t) { t.states.pop_back(); }), "got 1 of them"));
  EXPECT_TRUE(Contains(error([&](auto& t) { t.weights = t.weights.To(ctx_, DType::kF16); }),
                       "table a: weight of the checkpoint"));
  EXPECT_TRUE(Contains(error([&](auto& t) {
                         t.weights = Tensor::Zeros(ctx_, {8, 15});
                       }),
                       "table a: weight of the checkpoint"));
}

TEST_F(CheckpointFaultsTest, ARankThatFailsIsNamedOnAllAndTheLastSaveStands) {
  Save(1);
  std::vector<std::string> errors(2);
  RunLocalRanks(2, [&](Communicator& comm) {
    Context own({.threads = 1});
    std::vector<ShardTensors> shards = ShardsOf(own, ModelOf(2), Plan(), comm.rank());
    if (comm.rank() == 1) shards[0].weights = Tensor::Zeros(own, {3, 3});
    errors[static_cast<size_t>(comm.rank())] = ErrorOf(
        [&] { SaveShardedCheckpoint(own, comm, folder_, InfoOf(ModelOf(2), Plan()), shards); });
  });
  for (const std::string& error : errors)
    EXPECT_TRUE(
        error.starts_with("saving a checkpoint on rank 1: table a, rank 1: rows 4 to 8, "
                          "columns 0 to 16: weights"))
        << error;
  EXPECT_FALSE(fs::exists(File(2, 0))) << "nothing of the save is left";
  EXPECT_TRUE(Holds(1));
}

TEST_F(CheckpointFaultsTest, ShardsOfAnotherPlanAreRefusedAndTheLastSaveStands) {
  Save(1);
  ShardingPlan other = Plan();
  other.tables["b"].shards[0].rank = 0;
  const std::string error = ErrorOf([&] {
    RunLocalRanks(2, [&](Communicator& comm) {
      Context own({.threads = 1});
      SaveShardedCheckpoint(own, comm, folder_, InfoOf(ModelOf(2), other),
                            ShardsOf(own, ModelOf(2), Plan(), comm.rank()));
    });
  });
  EXPECT_TRUE(
      Contains(error, "table b: the shard of rank 0: rows 0 to 4, columns 0 to 8 is missing"))
      << error;
  EXPECT_EQ(FilesInFolder(), 3);
  EXPECT_TRUE(Holds(1));
}

// A file may not grow beyond a limit, as on a disk that is full.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

TEST_F(CheckpointFaultsTest, AFullDiskIsAnErrorAndTheLastSaveStands) {
  Save(1);
  std::string error;
  {
    const FileLimit limit(1200);
    error = ErrorOf([&] { Save(2); });
  }
  EXPECT_TRUE(Contains(error, "saving a checkpoint on rank ") &&
              Contains(error, "cannot be written"))
      << error;
  EXPECT_EQ(FilesInFolder(), 3) << "nothing of the save is left";
  EXPECT_TRUE(Holds(1));
}

TEST_F(CheckpointFaultsTest, AFullDiskAtTheIndexIsAnErrorToo) {
  Save(1);
  const std::vector<ShardTensors> shards[2] = {ShardsOf(ctx_, ModelOf(2), Plan(), 0),
                                               ShardsOf(ctx_, ModelOf(2), Plan(), 1)};
  std::vector<std::string> parts;
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<ShardStreams> streams;
    for (const ShardTensors& shard : shards[rank]) streams.push_back(MakeStreams(ctx_, shard));
    parts.push_back(WritePart(folder_, 2, rank, Plan(), std::move(streams)));
  }
  EXPECT_TRUE(Holds(1)) << "what was not committed does not count";
  {
    const FileLimit limit(100);
    EXPECT_TRUE(
        Contains(ErrorOf([&] { CommitSave(folder_, 2, InfoOf(ModelOf(2), Plan()), parts); }),
                 "index.json: cannot be written"));
  }
  EXPECT_TRUE(Holds(1));
  CommitSave(folder_, 2, InfoOf(ModelOf(2), Plan()), parts);
  EXPECT_TRUE(Holds(2));
}

// A process that saves model after model, one after the other, as fast as it can.
[[noreturn]] void SaveForever(const std::string& folder, const ShardingPlan& plan,
                              const std::function<Model(int)>& model_of) {
  Context own({.threads = 1});
  for (int seed = 1;; ++seed) {
    const Model model = model_of(seed);
    const int64_t save = NextSave(folder);
    std::vector<std::string> parts;
    for (int rank = 0; rank < plan.world_size; ++rank) {
      std::vector<ShardStreams> streams;
      for (const ShardTensors& shard : ShardsOf(own, model, plan, rank))
        streams.push_back(MakeStreams(own, shard));
      parts.push_back(WritePart(folder, save, rank, plan, std::move(streams)));
    }
    CheckpointInfo info = InfoOf(model, plan);
    info.metadata["seed"] = std::to_string(seed);
    CommitSave(folder, save, info, parts);
  }
}

TEST_F(CheckpointFaultsTest, AKillAtAnyTimeLeavesAWholeSave) {
  Save(1);
  int later = 0;
  for (int round = 0; round < 20 || later == 0; ++round) {  // kills come later each time
    const pid_t child = fork();
    if (child == 0) SaveForever(folder_, Plan(), [&](int seed) { return ModelOf(seed); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 3 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ShardedCheckpoint checkpoint(folder_);
    const auto& metadata = checkpoint.info().metadata;
    const auto seed = metadata.find("seed");
    later += seed != metadata.end() ? 1 : 0;
    EXPECT_TRUE(Holds(seed == metadata.end() ? 1 : std::stoi(seed->second))) << "round " << round;
  }
  Save(3);
  EXPECT_EQ(FilesInFolder(), 3) << "what the kills left is removed by the next save";
}

}  // namespace
}  // namespace tessera
