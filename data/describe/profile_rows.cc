#include "data/describe/profile_rows.h"

#include <algorithm>
#include <memory>
#include <set>

#include "data/describe/guess_columns.h"
#include "data/rows/bad_line.h"
#include "data/rows/column_cells.h"
#include "data/rows/json_cells.h"
#include "data/rows/text_pieces.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

constexpr int64_t kFirstLook = 1000;  // rows by which columns and separators are chosen

// Gives the cells of each good line to `row`, until that returns false.
class RowWalk {
 public:
  RowWalk(const ProfileOptions& options, const DataSchema& files,
          const std::vector<std::string>& columns)
      : options_(options), files_(files), columns_(columns), reader_(files) {
    if (files.format == RowFormat::kJsonl) json_ = std::make_unique<JsonCells>(columns, files.null);
    cells_.cells.resize(columns.size());
  }

  template <typename Fn>
  void Run(Fn&& row) {
    TextPieces pieces(options_.paths, 1 << 19, JsonCells::kPadding);
    for (TextPiece piece; pieces.Next(piece);) {
      fraction = piece.fraction.value_or(0);
      BeginPiece(piece);
      for (std::string_view text = piece.text; lines_ < piece.lines; ++lines_)
        if (Read(TakeLine(text), piece) && !row(cells_)) return;
    }
    ended = true;
  }

  // "FILE:LINE" of the line that was given last.
  std::string where() const { return Format("{}:{}", path_, number_); }

  double fraction = 0;
  bool ended = false;
  int64_t bad_lines = 0;
  std::string first_bad;

 private:
  void BeginPiece(TextPiece& piece) {
    lines_ = 0;
    if (json_ != nullptr || piece.first_line != 1) return;
    const auto columns = files_.columns.empty() ? TakeHeading(files_, piece) : files_.columns;
    places_ = FindColumns(files_, columns, columns_, Format("{}:1", piece.path));
  }

  bool Read(std::string_view line, const TextPiece& piece) {
    const int64_t number = piece.first_line + lines_;
    path_ = piece.path;
    number_ = number;
    try {
      if (json_ != nullptr)
        json_->Read(line, cells_);
      else
        reader_.Read(line, *places_, cells_);
      return true;
    } catch (const BadLine& bad) {
      if (bad_lines++ == 0) first_bad = Format("{}:{}: {}", piece.path, number, bad.what());
      return false;
    }
  }

  const ProfileOptions& options_;
  const DataSchema& files_;
  const std::vector<std::string>& columns_;
  ColumnCells reader_;
  std::unique_ptr<JsonCells> json_;
  std::shared_ptr<const FileColumns> places_;
  LineCells cells_;
  int64_t lines_ = 0;   // of the piece, that were read
  std::string path_;    // of the piece
  int64_t number_ = 0;  // of the line
};

FirstLines ReadFirstLines(const ProfileOptions& options) {
  FirstLines first{.lines = {}, .path = options.paths.front()};
  TextPieces pieces(options.paths);
  for (TextPiece piece; std::ssize(first.lines) < kFirstLook && pieces.Next(piece);) {
    if (first.lines.empty()) first.path = piece.path;
    std::string_view text = piece.text;
    for (int64_t i = 0; i < piece.lines && std::ssize(first.lines) < kFirstLook; ++i)
      first.lines.emplace_back(TakeLine(text));
  }
  return first;
}

[[noreturn]] void ThrowNoRows(const std::vector<std::string>& paths) {
  const std::string others =
      paths.size() == 1 ? "" : " and " + internal::Counted(std::ssize(paths) - 1, "other file");
  throw Error(Format("{}{}: expected rows, got none", paths.front(), others));
}

void CheckAnyLine(const ProfileOptions& options, const DataSchema& files, const FirstLines& first) {
  if (!first.lines.empty()) return;
  if (files.format == RowFormat::kJsonl || !files.columns.empty()) ThrowNoRows(options.paths);
  throw Error(Format("{}: expected a heading, got an empty file", options.paths.front()));
}

// Takes what a schema says of the items of a column; false where it has no entry for it.
bool TakeItems(const DataSchema& schema, ColumnProfile& column) {
  bool found = false;
  const auto take = [&](const std::string& from, const std::string& separator,
                        const std::string& weight_after) {
    if (from != column.name) return;
    found = true;
    if (column.separator.empty()) column.separator = separator;
    if (column.weight_after.empty()) column.weight_after = weight_after;
  };
  for (const FeatureEntry& entry : schema.features)
    take(entry.from, entry.separator, entry.weight_after);
  for (const DenseEntry& entry : schema.dense) take(entry.from, entry.separator, "");
  return found;
}

// The mark that both texts and items of lists have, where there are both.
std::string WeightMarkOf(const std::vector<std::string>& texts, const std::string& separator,
                         const std::vector<std::string>& items) {
  if (items.empty()) return GuessWeightMark(texts, separator);
  const std::string of_items = GuessWeightMark(items, "");
  return texts.empty() || GuessWeightMark(texts, separator) == of_items ? of_items : "";
}

void FirstLook(const ProfileOptions& options, const std::vector<std::string>& names,
               RowsProfile& profile) {
  std::vector<std::vector<std::string>> texts(names.size()), items(names.size());
  RowWalk walk(options, profile.files, names);
  int64_t rows = 0;
  walk.Run([&](const LineCells& line) {
    for (size_t i = 0; i < names.size(); ++i)
      if (line.cells[i].kind == LineCell::Kind::kText)
        texts[i].emplace_back(line.cells[i].text());
      else if (line.cells[i].kind == LineCell::Kind::kList)
        for (const std::string_view item : line.ItemsOf(line.cells[i])) items[i].emplace_back(item);
    return ++rows < kFirstLook;
  });
  for (size_t i = 0; i < names.size(); ++i) {
    ColumnProfile& column = profile.columns.emplace_back();
    column.name = names[i];
    if (options.schema != nullptr && TakeItems(*options.schema, column)) continue;
    column.separator = GuessSeparator(texts[i], profile.files.delimiter);
    column.weight_after = WeightMarkOf(texts[i], column.separator, items[i]);
  }
}

// JSON is UTF-8 by itself; cells of other files may be anything.
void CheckUtf8(const LineCells& line, const LineCell& cell, const RowWalk& walk,
               ColumnProfile& column) {
  bool good = cell.kind != LineCell::Kind::kText || internal::IsUtf8(cell.text());
  if (cell.kind == LineCell::Kind::kList)
    for (const std::string_view item : line.ItemsOf(cell)) good = good && internal::IsUtf8(item);
  if (!good && column.not_utf8++ == 0) column.first_not_utf8 = walk.where();
}

void Add(const LineCells& line, const LineCell& cell, ColumnProfile& column) {
  switch (cell.kind) {
    case LineCell::Kind::kMissing:
      return column.AddMissing();
    case LineCell::Kind::kText:
      return column.AddText(cell.text());
    case LineCell::Kind::kList:
      return column.AddList(line.ItemsOf(cell));
  }
}

}  // namespace

RowsProfile ProfileRows(const ProfileOptions& options) {
  TESSERA_CHECK(!options.paths.empty(), "describe: expected a file, got none");
  const FirstLines first = ReadFirstLines(options);
  RowsProfile profile;
  profile.files = GuessFiles(options, first.lines.empty() ? "" : first.lines.front());
  CheckAnyLine(options, profile.files, first);
  const std::vector<std::string> names =
      GuessColumns(first, options.schema != nullptr, profile.files);
  if (profile.files.format == RowFormat::kJsonl) profile.objects = KeysOfObjects(first);
  FirstLook(options, names, profile);
  RowWalk walk(options, profile.files, names);
  walk.Run([&](const LineCells& line) {
    for (size_t i = 0; i < names.size(); ++i) {
      Add(line, line.cells[i], profile.columns[i]);
      CheckUtf8(line, line.cells[i], walk, profile.columns[i]);
    }
    ++profile.rows;
    if (options.progress && profile.rows % 8192 == 0) options.progress(walk.fraction, profile.rows);
    return profile.rows < options.most_rows;
  });
  profile.all = walk.ended;
  profile.bad_lines = walk.bad_lines;
  profile.first_bad = walk.first_bad;
  if (profile.rows == 0 && !profile.first_bad.empty()) throw Error(profile.first_bad);
  if (profile.rows == 0) ThrowNoRows(options.paths);
  return profile;
}

}  // namespace tessera
