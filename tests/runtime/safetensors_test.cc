#include "runtime/files/safetensors.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/base/checksums.h"
#include "runtime/staging.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SafetensorsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }
  void Put(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string Get(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A file of this header and `bytes` bytes of data.
  std::string File(const std::string& header, size_t bytes) {
    const uint64_t length = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    return file + header + std::string(bytes, 'x');
  }
  void ExpectRefused(const std::string& bytes, const std::string& reason) {
    const std::string path = Path("bad.safetensors");
    Put(path, bytes);
    EXPECT_THAT([&] { ReadSafetensors(ctx_, path); },
                ThrowsMessage<Error>(::testing::AllOf(HasSubstr(path), HasSubstr(reason))));
  }
  Context ctx_;
};

TEST_F(SafetensorsTest, ReadsWhatItWrote) {
  Safetensors content;
  content.metadata = {{"format", "pt"}, {"note", "\"quoted\" \n"}};
  content.tensors["a"] = Tensor::From<float>(ctx_, {2, 2}, {1, 2, 3, 4});
  content.tensors["b.é"] = Tensor::From<int64_t>(ctx_, {-5});
  content.tensors["empty"] = Tensor::Zeros(ctx_, {0, 3}, DType::kF16);
  content.tensors["flag"] = Tensor::From<bool>(ctx_, {true, false, true});
  content.tensors["scalar"] = Tensor::Full(ctx_, {}, 7, DType::kBF16);
  const std::string path = Path("round_trip.safetensors");
  WriteSafetensors(ctx_, path, content);
  const Safetensors read = ReadSafetensors(ctx_, path);
  EXPECT_EQ(read.metadata, content.metadata);
  ASSERT_EQ(read.tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors)
    EXPECT_TRUE(SameBits(tensor, read.tensors.at(name))) << name;
}

TEST_F(SafetensorsTest, EveryChangeOfASummedHeaderIsRefusedOrChangesNothing) {
  Safetensors content;
  content.metadata = {{"step", "158"}, {"seed", "1"}};
  content.tensors["a"] = Tensor::From<float>(ctx_, {1, 2, 3});
  const std::string path = Path("summed.safetensors"), changed = Path("changed.safetensors");
  const SafetensorsChecksum checksum{"crc32", Crc32};
  WriteSafetensors(ctx_, path, content, &checksum);
  const SafetensorsFile sound(path);
  EXPECT_FALSE(sound.metadata().contains("header_crc32")) << "it is the file's own";
  const std::string whole = Get(path);
  int refused = 0;
  for (size_t bit = 0; bit < 8 * (whole.size() - 12); bit += 7) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    std::ofstream(changed, std::ios::binary) << bytes;
    try {
      const SafetensorsFile file(changed);
      for (const auto& [key, value] : sound.metadata())  // its checksum's own name may be another
        EXPECT_EQ(file.metadata().at(key), value) << "bit " << bit;
      EXPECT_EQ(file.entries().at("a").begin, sound.entries().at("a").begin) << "bit " << bit;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(changed));
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  Safetensors content;
  content.tensors["a"] = Tensor::From<float>(ctx_, {1, 2, 3});
  const std::string path = Path("whole.safetensors");
  WriteSafetensors(ctx_, path, content);
  const std::string whole = Get(path);
  for (size_t length = 0; length < whole.size(); ++length)
    ExpectRefused(whole.substr(0, length), "");
  ExpectRefused(whole.substr(0, whole.size() - 1),
                "the header names 12 bytes of tensors, the file has 11: it is cut off");
  ExpectRefused(whole + "x", "the file has 13: it has more than its tensors");
}

// Two writers of the same tensors write the same bytes.
TEST_F(SafetensorsTest, HeadersAreSorted) {
  const std::string bytes = SafetensorsBytes(
      ctx_, {.tensors = {{"b", Tensor::Zeros(ctx_, {1})}, {"a", Tensor::Zeros(ctx_, {1})}},
             .metadata = {{"step", "5"}}});
  const std::string header =
      R"({"__metadata__":{"step":"5"},"a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},)"
      R"("b":{"data_offsets":[4,8],"dtype":"F32","shape":[1]}})";
  EXPECT_EQ(bytes.substr(8, header.size()), header);
}

TEST_F(SafetensorsTest, RefusesBadHeaders) {
  ExpectRefused(File("[]", 0), "not a JSON object");
  ExpectRefused(File("{", 0), "not a JSON object");
  ExpectRefused(File(R"({"__metadata__": {"step": "1", "step": "2"}})", 0),
                "the key \"step\" is given twice");
  ExpectRefused(File(R"({"__metadata__": 3})", 0),
                "header, __metadata__: expected an object of strings");
  ExpectRefused(File(R"({"a":7})", 0), "header, tensor 'a': expected an object {…}, got number");
  ExpectRefused(File(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4),
                "header, tensor 'a': shape: the key is missing");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":"one","data_offsets":[0,4]}})", 4),
                "header, tensor 'a': shape: expected a list, got \"one\"");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4),
                "header, tensor 'a': data_offsets: expected [begin, end], got [0]");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4),
                "data_offsets -4 to 0");
  ExpectRefused(File(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4),
                "dtype 'F33'");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
                "takes 8 bytes");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
                "tensor 'a'");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "data_offsets");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
                "do not follow");
  ExpectRefused(
      File(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", 4),
      "tensor 'a'");
  ExpectRefused(File(R"({"__metadata__":{"n":3}})", 0), "'n' is not a string");
}

class StagingTest : public testing::DeviceTest {};

// More than two buffers' worth, and a last piece of an odd size, by way of a file.
TEST_P(StagingTest, LargeTensorsPassInPieces) {
  std::vector<uint8_t> bytes(static_cast<size_t>(2 * kPieceBytes + 4099));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i >> 7);
  const Tensor tensor = Tensor::From(ctx(), bytes);
  const int64_t pinned_before = PinnedAllocator().stats().live_bytes;
  const std::string path = ::testing::TempDir() + "/pieces.safetensors";
  uint32_t pieces = 0;
  const SafetensorsChecksum count{"pieces", [&](uint32_t, const void*, int64_t) {
                                    EXPECT_LE(PinnedAllocator().stats().live_bytes - pinned_before,
                                              on_cpu() ? 0 : 2 * kPieceBytes);
                                    return ++pieces;
                                  }};
  WriteSafetensors(ctx(), path, {.tensors = {{"t", tensor}}, .metadata = {}}, &count);
  EXPECT_EQ(pieces, on_cpu() ? 1u : 3u);
  const Safetensors read = ReadSafetensors(ctx(), path);
  EXPECT_EQ(read.metadata.at("pieces"), std::to_string(pieces));
  EXPECT_EQ(read.tensors.at("t").device(), device());
  EXPECT_EQ(read.tensors.at("t").ToVector<uint8_t>(), bytes);
}

TEST_P(StagingTest, AFileGoesFromOneDeviceToTheOther) {
  Context cpu;
  const std::string path = ::testing::TempDir() + "/device.safetensors";
  const Tensor tensor = Tensor::From<float>(cpu, {2, 2}, {1, 2, 3, 4});
  WriteSafetensors(cpu, path, {.tensors = {{"t", tensor}}, .metadata = {}});
  const Safetensors there = ReadSafetensors(ctx(), path);
  WriteSafetensors(ctx(), path, there);
  EXPECT_TRUE(SameBits(ReadSafetensors(cpu, path).tensors.at("t"), tensor));
}

TESSERA_INSTANTIATE_DEVICES(StagingTest);

TEST_F(SafetensorsTest, StreamsAreWrittenAsTheyCome) {
  const std::string path = ::testing::TempDir() + "/streams.safetensors";
  const auto three = [](const StreamedTensor::Sink& sink) {
    const float numbers[] = {1, 2, 3};
    sink(numbers, 4);
    sink(numbers + 1, 8);
  };
  StreamedSafetensors content{.tensors = {{"t", {DType::kF32, {3}, three}}}, .metadata = {}};
  WriteSafetensors(path, content);
  const SafetensorsFile file(path);
  const SafetensorsEntry entry = file.entries().at("t");
  EXPECT_EQ(file.Read(ctx_, entry).ToVector<float>(), (std::vector<float>{1, 2, 3}));
  float last = 0;
  file.ReadBytes(entry, 8, 4, &last);
  EXPECT_EQ(last, 3);
  EXPECT_THAT([&] { file.ReadBytes(entry, 8, 5, &last); },
              ThrowsMessage<Error>(HasSubstr("5 bytes from 8 of 12")));
  content.tensors["t"].shape = {4};
  EXPECT_THAT([&] { WriteSafetensors(path, content); },
              ThrowsMessage<Error>(HasSubstr("tensor 't': bytes made")));
  EXPECT_EQ(SafetensorsFile(path).entries().at("t").shape, Shape({3})) << "as it was";
}

TEST_F(SafetensorsTest, TheRoomOfAFileIsItsBytes) {
  const std::string path = ::testing::TempDir() + "/room.safetensors";
  const auto three = [](const StreamedTensor::Sink& sink) { sink("abc", 3); };
  const StreamedSafetensors content{.tensors = {{"t", {DType::kU8, {3}, three, /*padding=*/5}}},
                                    .metadata = {{"config", std::string(10'000, 'x')}}};
  const SafetensorsChecksum sum{"crc32", Crc32};
  for (const SafetensorsChecksum* checksum :
       {static_cast<const SafetensorsChecksum*>(nullptr), &sum}) {
    WriteSafetensors(path, content, checksum);
    EXPECT_EQ(BytesOfFile(content, checksum), std::filesystem::file_size(path));
  }
}

TEST_F(SafetensorsTest, AFileThatTheDiskHasNoRoomForIsNotBegun) {
  const std::string folder = ::testing::TempDir() + "/too_large", path = folder + "/x";
  std::filesystem::create_directory(folder);
  WriteSafetensors(ctx_, path, {.tensors = {}, .metadata = {{"was", "there"}}});
  const auto never = [](const StreamedTensor::Sink&) { FAIL() << "its elements were asked for"; };
  const StreamedSafetensors content{.tensors = {{"t", {DType::kF32, {int64_t{1} << 58}, never}}},
                                    .metadata = {}};
  EXPECT_THAT([&] { WriteSafetensors(path, content); },
              ThrowsMessage<Error>(AllOf(HasSubstr("too_large/x: cannot be written: it takes "),
                                         HasSubstr(" are free in "))));
  EXPECT_EQ(SafetensorsFile(path).metadata().at("was"), "there");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "leftovers";
}

TEST_F(SafetensorsTest, TensorsThatNoFileCanHoldAreRefused) {
  const std::string path = Path("refused.safetensors");
  const auto refuses = [&](const std::string& name, const Tensor& tensor, const char* why) {
    const Safetensors content{.tensors = {{name, tensor}}, .metadata = {}};
    EXPECT_THAT([&] { WriteSafetensors(ctx_, path, content); },
                ThrowsMessage<Error>(HasSubstr(path + ": cannot be written: " + why)));
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_THROW(SafetensorsBytes(ctx_, content), Error);
  };
  const Tensor one = Tensor::Full(ctx_, {1}, 1);
  refuses("__metadata__", one, "a tensor is named '__metadata__'");
  refuses("a", {}, "tensor 'a' is undefined");
  refuses("a\xff", one, "names and metadata must be UTF-8, got {\"a\uFFFD\":");
}

TEST_F(SafetensorsTest, AMissingFileOrFolderIsNamed) {
  EXPECT_THAT([&] { ReadSafetensors(ctx_, "/nowhere/x"); },
              ThrowsMessage<Error>(HasSubstr("/nowhere/x")));
  EXPECT_THAT([&] { WriteSafetensors(ctx_, "/nowhere/x", {}); },
              ThrowsMessage<Error>(HasSubstr("/nowhere/x")));
}

}  // namespace
}  // namespace tessera
