#include "runtime/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

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
  WriteSafetensors(path, content);
  const Safetensors read = ReadSafetensors(ctx_, path);
  EXPECT_EQ(read.metadata, content.metadata);
  ASSERT_EQ(read.tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors)
    EXPECT_TRUE(SameBits(tensor, read.tensors.at(name))) << name;
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  Safetensors content;
  content.tensors["a"] = Tensor::From<float>(ctx_, {1, 2, 3});
  const std::string path = Path("whole.safetensors");
  WriteSafetensors(path, content);
  const std::string whole = Get(path);
  for (size_t length = 0; length < whole.size(); ++length)
    ExpectRefused(whole.substr(0, length), "");
  ExpectRefused(whole + "x", "truncated or too long");
}

TEST_F(SafetensorsTest, RefusesBadHeaders) {
  ExpectRefused(File("[]", 0), "not a JSON object");
  ExpectRefused(File("{", 0), "not a JSON object");
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

TEST_F(SafetensorsTest, AMissingFileOrFolderIsNamed) {
  EXPECT_THAT([&] { ReadSafetensors(ctx_, "/nowhere/x"); },
              ThrowsMessage<Error>(HasSubstr("/nowhere/x")));
  EXPECT_THAT([&] { WriteSafetensors("/nowhere/x", {}); },
              ThrowsMessage<Error>(HasSubstr("/nowhere/x")));
}

}  // namespace
}  // namespace tessera
