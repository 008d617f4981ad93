#include "data/files/npy.h"

#include <gtest/gtest.h>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::ReadFile;
using testing::TempPath;
using testing::WriteFile;

std::string Header(const std::string& text, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(text.size()), '\0'};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + text;
}

// The bytes that numpy 2.4 writes of np.array([[1, 2, 3]], dtype=np.float32).
std::string OneRow() {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
  text.resize(117, ' ');
  const float values[] = {1, 2, 3};
  return Header(text + "\n") + std::string(reinterpret_cast<const char*>(values), sizeof values);
}

TEST(Npy, WritesWhatNumpyDoes) {
  const std::string path = TempPath("one.npy");
  const float row[] = {1, 2, 3};
  NpyWriter writer(path, DType::kF32, 3);
  writer.Append(row);
  writer.Prepare();
  writer.Finish();
  EXPECT_EQ(ReadFile(path), OneRow());
}

TEST(Npy, MapsWhatItWrote) {
  const std::string path = TempPath("ids.npy");
  NpyWriter writer(path, DType::kI64, 2);
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t row[] = {i, -i << 40};
    writer.Append(row);
  }
  writer.Prepare();
  writer.Finish();
  const Tensor ids = MapNpy(path);
  EXPECT_EQ(ids.shape(), (Shape{1000, 2}));
  EXPECT_EQ(ids.data<int64_t>()[1999], -(int64_t{999} << 40));
}

TEST(Npy, LeavesNothingBehindUnfinished) {
  const std::string path = TempPath("unfinished.npy");
  { NpyWriter(path, DType::kF32, 1); }
  EXPECT_TRUE(ReadFile(path).empty());
}

TEST(Npy, ReadsOtherHeaders) {
  const NpyHeader one =
      ParseNpyHeader(Header("{'shape': (5,), 'fortran_order': False, 'descr': '<i4'}", 2));
  EXPECT_EQ(one.shape, (Shape{5}));
  EXPECT_EQ(one.dtype, DType::kI32);
  EXPECT_EQ(ParseNpyHeader(Header("{'descr': '<f8', 'fortran_order': False, 'shape': ()}")).shape,
            Shape{});
}

TEST(Npy, BadFilesAreErrors) {
  const auto error_of = [](const std::string& bytes) {
    const std::string path = WriteFile("bad.npy", bytes);
    const std::string error = ErrorOf([&] { MapNpy(path); });
    EXPECT_EQ(error.rfind(path + ": ", 0), 0u) << error;
    return error;
  };
  const auto has = [&](const std::string& bytes, const std::string& text) {
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  has("not one", "it is no npy file");
  has(OneRow().substr(0, 130), "bytes of [1, 3] of f32");
  has(OneRow() + "x", "bytes of [1, 3] of f32");
  has(OneRow().substr(0, 60), "length of the header");
  has(Header("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }"),
      "column by column (fortran_order)");
  has(Header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "got '|O'");
  has(Header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), "expected a length");
  has(Header("{'what': 3}"), "unknown key 'what'");
  EXPECT_NE(ErrorOf([] { MapNpy("/nowhere.npy"); }).find("/nowhere.npy: cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
