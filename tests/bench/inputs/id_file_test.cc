// Ids of users, out of each layout there is, and what becomes of ids that no row has.
#include "bench/inputs/id_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/files/npy.h"
#include "data/files/row_folder.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::string Text(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/ids.txt";
  ReplaceTextFile(path, text);
  return path;
}

void WriteNpy(const std::string& path, const std::vector<int64_t>& numbers, int64_t columns) {
  NpyWriter writer(path, DType::kI64, columns);
  for (size_t i = 0; i < numbers.size(); i += static_cast<size_t>(columns))
    writer.Append(numbers.data() + i);
  writer.Prepare();
  writer.Finish();
}

IdTable OneTable(const std::string& source) {
  const IdFile file = ReadIdFile(source);
  EXPECT_EQ(file.tables.size(), 1u) << source;
  return file.tables.at(0);
}

TEST(IdFile, TextsOfNumbers) {
  const std::string path = Text("5 7,9\n\n3\t5\n");
  EXPECT_THAT(OneTable("text:" + path).ids, ElementsAre(5, 7, 9, 3, 5));
  EXPECT_THAT(OneTable("text:" + path).offsets, IsEmpty());
  EXPECT_THAT(OneTable("lines:" + path).offsets, ElementsAre(0, 3, 3, 5));
  EXPECT_THAT(OneTable("bags:" + path).ids, ElementsAre(7, 9, 5));
  EXPECT_THAT(OneTable("bags:" + path).offsets, ElementsAre(0, 2, 2, 3));
}

TEST(IdFile, AColumnOfCriteosFilesIsHashed) {
  const std::string source = "column:2:" + Text("1\t68fd1e64\n0\t\n1\t00000005\n0\t68fd1e64\n");
  const IdFile file = ReadIdFile(source);
  EXPECT_TRUE(file.hashed);
  ASSERT_EQ(file.tables[0].ids.size(), 3u);
  EXPECT_EQ(file.tables[0].ids[0], file.tables[0].ids[2]);
  EXPECT_THAT(OneTable("column:1:" + Text("1\tx\n0\ty\n")).ids, ElementsAre(1, 0));
}

TEST(IdFile, ArraysOfNumpy) {
  const std::string path = ::testing::TempDir() + "/ids.npy";
  WriteNpy(path, {1, 2, 3, 4, 5, 6}, 3);
  EXPECT_THAT(OneTable("npy:" + path).ids, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(OneTable("npy:" + path).offsets, ElementsAre(0, 3, 6));
}

TEST(IdFile, RequestsOfFbgemm) {
  const std::string folder = ::testing::TempDir() + "/requests";
  std::filesystem::create_directories(folder);
  WriteNpy(folder + "/indices.npy", {4, 5, 6, 7, 8}, 1);
  WriteNpy(folder + "/lengths.npy", {2, 0, 1, 2}, 2);
  const IdFile file = ReadIdFile("fbgemm:" + folder);
  ASSERT_EQ(file.tables.size(), 2u);
  EXPECT_THAT(file.tables[0].ids, ElementsAre(4, 5));
  EXPECT_THAT(file.tables[0].offsets, ElementsAre(0, 2, 2));
  EXPECT_THAT(file.tables[1].ids, ElementsAre(6, 7, 8));
  EXPECT_THAT(file.tables[1].offsets, ElementsAre(0, 1, 3));
  WriteNpy(folder + "/lengths.npy", {2, 0, 1, 1}, 2);
  EXPECT_THAT([&] { ReadIdFile("fbgemm:" + folder); },
              ThrowsMessage<Error>(HasSubstr("has 5 ids, where lengths add up to 4")));
}

// In the layout of torch.save((indices, offsets, lengths), …); see torch_requests.py.
TEST(IdFile, RequestFilesOfTorch) {
  const IdFile file = ReadIdFile("fbgemm:tests/bench/inputs/requests.pt");
  ASSERT_EQ(file.tables.size(), 2u);
  EXPECT_THAT(file.tables[0].ids, ElementsAre(4, 5));
  EXPECT_THAT(file.tables[0].offsets, ElementsAre(0, 2, 2));
  EXPECT_THAT(file.tables[1].ids, ElementsAre(6, 7, int64_t{1} << 40));
  EXPECT_THAT(file.tables[1].offsets, ElementsAre(0, 1, 3));
  EXPECT_THAT([] { ReadIdFile("fbgemm:" + Text("no archive")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("ids.txt"), HasSubstr("a zip archive"))));
}

TEST(IdFile, RowFolders) {
  const std::string folder = ::testing::TempDir() + "/rows";
  RowFolderWriter writer(folder, {.dense_columns = 1, .features = {{"a", 10}, {"b", 10}}});
  const float dense[] = {0};
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{1, 2}, {3, 4}}) {
    const int64_t ids[] = {a, b};
    writer.Append({.label = 0, .dense = dense, .ids = ids});
  }
  writer.Finish();
  const IdFile file = ReadIdFile("rows:" + folder);
  ASSERT_EQ(file.tables.size(), 2u);
  EXPECT_THAT(file.tables[1].ids, ElementsAre(2, 4));
  EXPECT_THAT(file.tables[1].offsets, ElementsAre(0, 1, 2));
}

TEST(IdFile, SaysWhatIsWrong) {
  for (const char* bad : {"column:0:x", "column:x", "bags", "trace:x", "npy:", ""})
    EXPECT_THROW(CheckIdFile(bad), Error) << bad;
  EXPECT_NO_THROW(CheckIdFile("npy:not-there"));
  EXPECT_THAT([] { ReadIdFile("text:" + Text("")); },
              ThrowsMessage<Error>(HasSubstr("there are no ids")));
  EXPECT_THAT([] { ReadIdFile("column:3:" + Text("1\tx\n0\n")); },
              ThrowsMessage<Error>(
                  HasSubstr("expected a column 3 between tabs; its lines have at most 2")));
  EXPECT_THAT([] { ReadIdFile("npy:/no/such"); }, ThrowsMessage<Error>(HasSubstr("/no/such")));
}

TEST(RowsOfIds, IdsThatAreNoRowsAreErrorsUnlessRemapped) {
  const IdFile file = {{{{7, 900, 7, 3}}}};
  const auto rows_of = [&](int64_t rows, Remap remap) {
    return RowsOfIds(file, file.tables[0], rows, remap, "table 0");
  };
  EXPECT_THAT(rows_of(901, Remap::kNone), ElementsAre(7, 900, 7, 3));
  EXPECT_THAT([&] { rows_of(900, Remap::kNone); },
              ThrowsMessage<Error>(AllOf(HasSubstr("id 900 (place 1)"), HasSubstr("900 rows"),
                                         HasSubstr("--remap dense or hash"))));
  EXPECT_THAT(rows_of(3, Remap::kDense), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT([&] { rows_of(2, Remap::kDense); },
              ThrowsMessage<Error>(HasSubstr("3 distinct ids do not fit a table of 2 rows")));
  for (const int64_t row : rows_of(2, Remap::kHash)) EXPECT_LT(row, 2);
  const IdFile words = {{{{7}}}, /*hashed=*/true};
  EXPECT_THAT([&] { RowsOfIds(words, words.tables[0], 9, Remap::kNone, "table 0"); },
              ThrowsMessage<Error>(HasSubstr("its words are no numbers")));
}

}  // namespace
}  // namespace tessera::bench
