#include "bench/inputs/id_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "bench/inputs/torch_file.h"
#include "bench/inputs/trace.h"
#include "data/files/line_reader.h"
#include "data/files/npy.h"
#include "data/files/row_folder.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kBlanks = " \t,";

struct Source {
  std::string kind, path;
  int64_t column = 0;  // of kind "column", from 1
};

Source ParseSource(const std::string& text) {
  const size_t colon = text.find(':');
  Source source{.kind = text.substr(0, colon),
                .path = colon == std::string::npos ? "" : text.substr(colon + 1)};
  if (source.kind == "column") {
    const size_t second = source.path.find(':');
    const char* begin = source.path.data();
    const char* end = begin + std::min(second, source.path.size());
    const auto [read, error] = std::from_chars(begin, end, source.column);
    if (error != std::errc() || read != end || source.column < 1)
      throw Error(Format("ids: expected column:N:FILE, columns counted from 1; got '{}'", text));
    source.path = second == std::string::npos ? "" : source.path.substr(second + 1);
  }
  if (!NamesIdFile(text)) throw Error(Format("ids: expected {}; got '{}'", kIdFileHelp, text));
  if (source.path.empty()) throw Error(Format("ids: '{}' names no file", text));
  return source;
}

// Words of one table, as numbers while all are.
class Words {
 public:
  void Add(std::string_view word) {
    hashes_.push_back(static_cast<int64_t>(internal::HashOf(word)));
    int64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [read, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc() || read != end) numbers_are_all_ = false;
    if (numbers_are_all_) numbers_.push_back(number);
  }
  void EndBag() { offsets_.push_back(static_cast<int64_t>(hashes_.size())); }

  IdFile File(bool bags) && {
    IdFile file;
    file.hashed = !numbers_are_all_;
    file.tables.push_back({file.hashed ? std::move(hashes_) : std::move(numbers_)});
    if (bags) file.tables[0].offsets = std::move(offsets_);
    return file;
  }

 private:
  std::vector<int64_t> hashes_, numbers_, offsets_{0};
  bool numbers_are_all_ = true;
};

void AddWords(std::string_view line, int64_t skip, Words& words) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return;
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    if (skip-- <= 0) words.Add(word);
    line.remove_prefix(word.size());
  }
}

// Returns how many columns the line has, at most `column`.
int64_t AddColumn(std::string_view line, int64_t column, Words& words) {
  for (int64_t at = 1; at < column; ++at) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return at;
    line.remove_prefix(tab + 1);
  }
  const std::string_view word = line.substr(0, line.find('\t'));
  if (!word.empty()) words.Add(word);
  return column;
}

IdFile ReadText(const Source& source) {
  LineReader reader({source.path});
  Words words;
  int64_t columns = 0;
  for (std::string_view line; reader.Next(line); words.EndBag()) {
    if (source.kind == "column")
      columns = std::max(columns, AddColumn(line, source.column, words));
    else
      AddWords(line, source.kind == "bags" ? 1 : 0, words);
  }
  if (columns < source.column)
    throw Error(Format("{}: expected a column {} between tabs; its lines have at most {}",
                       source.path, source.column, columns));
  return std::move(words).File(source.kind == "lines" || source.kind == "bags");
}

std::vector<int64_t> WholeNumbers(const Tensor& tensor, const std::string& path,
                                  const std::string& what) {
  if (tensor.dtype() != DType::kI32 && tensor.dtype() != DType::kI64)
    throw Error(Format("{}: expected {} of i32 or i64, got {}", path, what, tensor.dtype()));
  std::vector<int64_t> numbers(static_cast<size_t>(tensor.numel()));
  const IndexArray from = {tensor.raw_data(), tensor.dtype() == DType::kI64};
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = from[static_cast<int64_t>(i)];
  return numbers;
}

IdFile ReadNpy(const std::string& path) {
  const Tensor tensor = MapNpy(path);
  const int dims = tensor.rank();
  if (dims != 1 && dims != 2)
    throw Error(Format("{}: expected ids [N] or bags [B, L], got {} dimensions", path, dims));
  IdTable table{WholeNumbers(tensor, path, "ids")};
  for (int64_t bag = 0; dims == 2 && bag <= tensor.dim(0); ++bag)
    table.offsets.push_back(bag * tensor.dim(1));
  return {{std::move(table)}};
}

IdFile ReadRowFolder(const std::string& folder) {
  IdFile file;
  file.tables.resize(ReadRowFolderIndex(folder).features.size());
  const StoredParts stored = MapRowFolder(folder);
  for (const StoredRowsPart& part : stored.parts()) {
    const Tensor& ids = part.ids.tensor;
    const bool wide = ids.dtype() == DType::kI64;
    for (int64_t row = 0; row < ids.dim(0); ++row) {
      const IndexArray columns = {part.ids.Row(row), wide};
      for (size_t c = 0; c < file.tables.size(); ++c)
        file.tables[c].ids.push_back(columns[static_cast<int64_t>(c)]);
    }
  }
  for (IdTable& table : file.tables)
    for (size_t bag = 0; bag <= table.ids.size(); ++bag)
      table.offsets.push_back(static_cast<int64_t>(bag));
  return file;
}

// Requests of FBGEMM: ids of all tables, and lengths [tables · bags], table after table.
struct Requests {
  std::vector<int64_t> ids, lengths;
  int64_t tables = 1;
};

Requests OfTorchFile(const std::string& path) {
  std::vector<TorchTensor> tensors = ReadTorchFile(path);
  if (tensors.size() != 3 || tensors[2].shape.empty() || tensors[2].shape.size() > 2)
    throw Error(
        Format("{}: expected (indices, offsets, lengths), lengths [T, B]; got {} tensors of "
               "whole numbers",
               path, tensors.size()));
  return {std::move(tensors[0].numbers), std::move(tensors[2].numbers),
          tensors[2].shape.size() == 2 ? tensors[2].shape[0] : 1};
}

Requests OfNpyFolder(const std::filesystem::path& folder) {
  const std::string ids = folder / "indices.npy", path = folder / "lengths.npy";
  const Tensor lengths = MapNpy(path);
  if (lengths.rank() > 2)
    throw Error(Format("{}: expected [T, B] or [B], got {} dimensions", path, lengths.rank()));
  return {ReadWholeNpy(ids, "ids"), WholeNumbers(lengths, path, "lengths"),
          lengths.rank() == 2 ? lengths.dim(0) : 1};
}

IdFile ReadRequests(const std::string& path) {
  const Requests all = std::filesystem::is_directory(path) ? OfNpyFolder(path) : OfTorchFile(path);
  const size_t bags = all.lengths.size() / static_cast<size_t>(std::max<int64_t>(1, all.tables));
  IdFile file;
  size_t at = 0;
  for (int64_t t = 0; t < all.tables; ++t) {
    IdTable table{.offsets = {0}};
    for (size_t b = 0; b < bags; ++b) {
      const int64_t length = all.lengths[static_cast<size_t>(t) * bags + b];
      if (length < 0 || at + static_cast<size_t>(length) > all.ids.size())
        throw Error(Format("{}: bag {} of table {} has {} ids, where {} are left", path, b, t,
                           length, all.ids.size() - at));
      const auto first = all.ids.begin() + static_cast<int64_t>(at);
      table.ids.insert(table.ids.end(), first, first + length);
      table.offsets.push_back(table.offsets.back() + length);
      at += static_cast<size_t>(length);
    }
    file.tables.push_back(std::move(table));
  }
  if (at != all.ids.size())
    throw Error(Format("{}: has {} ids, where lengths add up to {}", path, all.ids.size(), at));
  return file;
}

}  // namespace

bool NamesIdFile(const std::string& text) {
  const std::string kind = text.substr(0, text.find(':'));
  for (const char* known : {"text", "lines", "bags", "column", "npy", "rows", "fbgemm"})
    if (kind == known) return true;
  return false;
}

void CheckIdFile(const std::string& text) { ParseSource(text); }

IdFile ReadIdFile(const std::string& text) {
  const Source source = ParseSource(text);
  IdFile file = source.kind == "npy"      ? ReadNpy(source.path)
                : source.kind == "rows"   ? ReadRowFolder(source.path)
                : source.kind == "fbgemm" ? ReadRequests(source.path)
                                          : ReadText(source);
  for (size_t t = 0; t < file.tables.size(); ++t)
    if (file.tables[t].ids.empty())
      throw Error(Format("{}: table {}: there are no ids", source.path, t));
  if (file.tables.empty()) throw Error(Format("{}: there are no ids", source.path));
  return file;
}

std::vector<int64_t> ReadWholeNpy(const std::string& path, const std::string& what) {
  return WholeNumbers(MapNpy(path), path, what);
}

Remap ParseRemap(const std::string& text) {
  if (text == "none") return Remap::kNone;
  if (text == "dense") return Remap::kDense;
  if (text == "hash") return Remap::kHash;
  throw Error(Format("expected one of none, dense, hash; got '{}'", text));
}

std::vector<int64_t> RowsOfIds(const IdFile& file, const IdTable& table, int64_t rows, Remap remap,
                               const std::string& what) {
  if (remap == Remap::kNone) {
    if (file.hashed)
      throw Error(
          Format("{}: its words are no numbers; --remap dense or hash makes rows of them", what));
    for (size_t i = 0; i < table.ids.size(); ++i)
      if (!IsRow(table.ids[i], rows))
        throw Error(
            Format("{}: id {} (place {}) is no row of a table of {} rows; --remap dense or "
                   "hash makes rows of ids, or give the table more rows",
                   what, table.ids[i], i, rows));
    return table.ids;
  }
  std::vector<int64_t> renamed;
  if (remap == Remap::kHash) {
    for (const int64_t id : table.ids)
      renamed.push_back(
          static_cast<int64_t>(MixBits(static_cast<uint64_t>(id)) % static_cast<uint64_t>(rows)));
    return renamed;
  }
  renamed = RenamedDensely(table.ids);
  const int64_t distinct = *std::max_element(renamed.begin(), renamed.end()) + 1;
  if (distinct > rows)
    throw Error(Format(
        "{}: {} distinct ids do not fit a table of {} rows; --remap hash lets ids share rows", what,
        distinct, rows));
  return renamed;
}

}  // namespace tessera::bench
