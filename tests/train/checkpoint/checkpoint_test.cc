#include "train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "runtime/files/safetensors.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::TempPath;

// A model of one table and one layer, filled with its own numbers.
std::vector<NamedTensor> State(Context& ctx, float first) {
  std::vector<NamedTensor> state;
  const auto add = [&](const std::string& name, const Shape& shape) {
    state.push_back({name, Tensor::Full(ctx, shape, static_cast<double>(first++))});
  };
  add("table.weight", {5, 3});
  add("layer.bias", {4});
  add(OptimizerStateName("table.weight", "momentum1"), {5});
  add(OptimizerStateName("layer.bias", "sum"), {4});
  add(OptimizerStateName("layer.bias", "step"), {});
  return state;
}

std::vector<Tensor> Copies(Context& ctx, const std::vector<NamedTensor>& state) {
  std::vector<Tensor> copies;
  for (const NamedTensor& named : state) copies.push_back(named.tensor.Clone(ctx));
  return copies;
}

bool SameState(const std::vector<NamedTensor>& state, const std::vector<Tensor>& want) {
  for (size_t i = 0; i < state.size(); ++i)
    if (!SameBits(state[i].tensor, want[i])) return false;
  return true;
}

const TrainingProgress kProgress{.epoch = 1,
                                 .row = 2,
                                 .step = 3,
                                 .iter = 4,
                                 .max_counter = 5.3f,
                                 .max_counters = {{"t", 0.5f}},
                                 .seed = ~uint64_t{0},
                                 .random_next_sequence = 6};

class CheckpointTest : public ::testing::Test {
 protected:
  // The error of Restore for this content; nothing has changed.
  std::string Refusal(const Safetensors& content) {
    const std::string path = TempPath("refused");
    WriteSafetensors(ctx_, path, content);
    const auto state = State(ctx_, 100);
    const auto before = Copies(ctx_, state);
    const std::string error = ErrorOf([&] { Restore(ctx_, ReadCheckpoint(path), state); });
    EXPECT_TRUE(SameState(state, before)) << error;
    EXPECT_TRUE(error.starts_with(path + ": ")) << error;
    return error;
  }
  Safetensors Good() {
    const std::string path = TempPath("good");
    WriteCheckpoint(ctx_, path, State(ctx_, 1), kProgress, "{}");
    Safetensors content = ReadSafetensors(ctx_, path);
    content.metadata.erase("crc32");  // so that what a test changes is found for itself
    return content;
  }

  Context ctx_{{.threads = 1}};
};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CheckpointTest, TablesOf16BitsAndTheirStatesKeepTheirBits) {
  const auto state_of = [&](double first) {
    std::vector<NamedTensor> state;
    for (const DType type : {DType::kF16, DType::kBF16}) {
      const std::string table = "table." + ToString(type);
      state.push_back({table, Tensor::Full(ctx_, {3, 2}, first++ / 3, type)});
      state.push_back(
          {OptimizerStateName(table, "momentum1"), Tensor::Full(ctx_, {3}, first++ / 3, type)});
    }
    return state;
  };
  const std::string path = TempPath("sixteen");
  const auto saved = state_of(1), restored = state_of(100);
  WriteCheckpoint(ctx_, path, saved, kProgress, "{}");
  Restore(ctx_, ReadCheckpoint(path), restored);
  EXPECT_TRUE(SameState(restored, Copies(ctx_, saved)));
}

TEST_F(CheckpointTest, FilesWithoutAMaxCounterHaveOne) {
  Safetensors content = Good();
  EXPECT_EQ(content.metadata.at("max_counter"), "5.3");
  content.metadata.erase("max_counter");
  WriteSafetensors(ctx_, TempPath("older"), content);
  EXPECT_EQ(ReadCheckpoint(TempPath("older")).progress->max_counter, 1);
}

TEST_F(CheckpointTest, RoundTrip) {
  const std::string path = TempPath("run");
  const auto saved = State(ctx_, 1), restored = State(ctx_, 100);
  WriteCheckpoint(ctx_, path, saved, kProgress, R"({"a": "ü"})");
  const Checkpoint checkpoint = ReadCheckpoint(path);
  EXPECT_EQ(checkpoint.progress, kProgress);
  EXPECT_EQ(checkpoint.config, R"({"a": "ü"})");
  EXPECT_TRUE(checkpoint.has_optimizer_state());
  Restore(ctx_, checkpoint, restored);
  EXPECT_TRUE(SameState(restored, Copies(ctx_, saved)));
}

TEST_F(CheckpointTest, LeadingModelIsDropped) {
  const std::string path = TempPath("pytorch");
  WriteSafetensors(ctx_, path,
                   {.tensors = {{"model.table.weight", Tensor::Full(ctx_, {5, 3}, 7)},
                                {"model.layer.bias", Tensor::Full(ctx_, {4}, 8)}},
                    .metadata = {{"format", "pt"}}});
  const Checkpoint checkpoint = ReadCheckpoint(path);
  EXPECT_FALSE(checkpoint.has_optimizer_state());
  EXPECT_FALSE(checkpoint.progress);
  const auto state = State(ctx_, 100);
  const auto before = Copies(ctx_, state);
  Restore(ctx_, checkpoint, state);
  EXPECT_EQ(state[0].tensor.data<float>()[14], 7.0f);
  EXPECT_EQ(state[1].tensor.data<float>()[3], 8.0f);
  for (size_t i = 2; i < state.size(); ++i) EXPECT_TRUE(SameBits(state[i].tensor, before[i]));
}

TEST_F(CheckpointTest, MissingSurplusAndOtherShapesAreRefused) {
  Safetensors content = Good();
  content.tensors.erase("layer.bias");
  EXPECT_TRUE(Contains(Refusal(content), "it lacks 'layer.bias', which this model has"));

  content = Good();
  content.tensors.erase("optimizer.layer.bias.sum");
  EXPECT_TRUE(Contains(Refusal(content), "it lacks 'optimizer.layer.bias.sum'"));

  content = Good();
  for (const char* name : {"a", "b", "c", "d"}) content.tensors[name] = Tensor::Zeros(ctx_, {1});
  EXPECT_TRUE(Contains(Refusal(content),
                       "it has 'a', 'b', 'c' and 1 more, which this model does not have"));

  content = Good();
  content.tensors["table.weight"] = Tensor::Zeros(ctx_, {3, 5});
  EXPECT_TRUE(Contains(Refusal(content), "'table.weight': expected shape [5, 3], got [3, 5]"));

  content = Good();
  content.tensors["layer.bias"] = Tensor::Zeros(ctx_, {4}, DType::kF64);
  EXPECT_TRUE(Contains(Refusal(content), "'layer.bias': expected f32, got f64"));

  content = Good();
  content.tensors["model.layer.bias"] = Tensor::Zeros(ctx_, {4});
  EXPECT_TRUE(
      Contains(Refusal(content), "'layer.bias' is there with and without a leading 'model.'"));
}

TEST_F(CheckpointTest, OtherOptimizerStateIsHandedOver) {
  const std::string path = TempPath("run");
  const auto saved = State(ctx_, 1), restored = State(ctx_, 100);
  WriteCheckpoint(ctx_, path, saved, kProgress, "{}");
  const std::vector<NamedTensor> tables(restored.begin(), restored.begin() + 3);
  std::vector<std::string> rest_names;
  const auto refuse = [](const std::vector<NamedTensor>&) { throw Error("not mine"); };
  const auto take = [&](const std::vector<NamedTensor>& rest) {
    for (const NamedTensor& named : rest) rest_names.push_back(named.name);
  };
  const auto before = Copies(ctx_, restored);
  EXPECT_EQ(ErrorOf([&] { Restore(ctx_, ReadCheckpoint(path), tables, refuse); }),
            path + ": not mine");
  EXPECT_TRUE(SameState(restored, before));
  Restore(ctx_, ReadCheckpoint(path), tables, take);
  EXPECT_EQ(rest_names,
            (std::vector<std::string>{"optimizer.layer.bias.step", "optimizer.layer.bias.sum"}));
  EXPECT_TRUE(SameBits(restored[0].tensor, saved[0].tensor));
  EXPECT_TRUE(SameBits(restored[4].tensor, before[4]));
}

TEST_F(CheckpointTest, BadMetadataIsRefused) {
  Safetensors content = Good();
  content.metadata["step"] = "12x";
  EXPECT_TRUE(Contains(Refusal(content),
                       "metadata 'step': expected a number that is not negative, got '12x'"));
  content.metadata["step"] = "-1";
  EXPECT_TRUE(Contains(Refusal(content), "metadata 'step'"));
  content.metadata.erase("step");
  EXPECT_TRUE(Contains(Refusal(content), "metadata 'step' is missing"));
}

TEST_F(CheckpointTest, TruncatedOrLongerFilesAreRefused) {
  const std::string path = TempPath("whole");
  WriteCheckpoint(ctx_, path, State(ctx_, 1), kProgress, "{}");
  const std::string bytes = testing::ReadFile(path);
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{8}, size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    const std::string cut = testing::WriteFile("cut", bytes.substr(0, size));
    EXPECT_TRUE(Contains(ErrorOf([&] { ReadCheckpoint(cut); }), cut + ": ")) << size;
  }
  const std::string longer = testing::WriteFile("longer", bytes + "x");
  EXPECT_THROW(ReadCheckpoint(longer), Error);
  EXPECT_THROW(ReadCheckpoint(TempPath("nowhere")), Error);
}

TEST_F(CheckpointTest, AFlippedBitIsFound) {
  const std::string path = TempPath("whole");
  WriteCheckpoint(ctx_, path, State(ctx_, 1), kProgress, "{}");
  std::string bytes = testing::ReadFile(path);
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 4);
  const std::string flipped = testing::WriteFile("flipped", bytes);
  EXPECT_TRUE(Contains(ErrorOf([&] { ReadCheckpoint(flipped); }), flipped + ": it is corrupt"));
}

TEST_F(CheckpointTest, AFailedWriteLeavesTheLastGoodFile) {
  const std::string path = TempPath("kept");
  WriteCheckpoint(ctx_, path, State(ctx_, 1), kProgress, "{}");
  const std::string bytes = testing::ReadFile(path);
  auto twice = State(ctx_, 9);
  twice.push_back(twice.front());
  EXPECT_THROW(WriteCheckpoint(ctx_, path, twice, kProgress, "{}"), Error);
  EXPECT_EQ(testing::ReadFile(path), bytes);
  EXPECT_THROW(WriteCheckpoint(ctx_, TempPath("no/such/folder"), State(ctx_, 1), kProgress, "{}"),
               Error);
}

}  // namespace
}  // namespace tessera
