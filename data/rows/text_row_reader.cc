#include "data/rows/text_row_reader.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "data/files/line_reader.h"
#include "data/first_ids.h"
#include "data/rows/bad_line.h"
#include "data/rows/column_cells.h"
#include "data/rows/json_cells.h"
#include "data/rows/row_parser.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"

namespace tessera {
namespace {

constexpr int kPiecesAThread = 2;    // that are parsed, or wait to be given out
constexpr int64_t kRowsAtOnce = 64;  // that are worth a thread

int ThreadsOf(const RowFiles& files) {
  return files.threads == 0 ? DefaultThreads() : files.threads;
}

size_t SlotsOf(const RowFiles& files) {
  const int threads = ThreadsOf(files);
  return static_cast<size_t>(threads == 1 ? 1 : kPiecesAThread * threads);
}

}  // namespace

// Lines of a file that follow each other.
struct RowLines {
  TextPiece text;
  int64_t first_row = 0;
  std::shared_ptr<const FileColumns> columns;  // null for jsonl
  std::vector<std::string_view> rows;          // of `text`, where they are parsed later
};

struct TextRowReader::Piece {
  RowLines lines;
  RowShare share = {};
  std::shared_ptr<RowBlock> block;  // what became of it
};

// Memory of blocks that nobody needs any more: new memory costs about a tenth of the parsing, and
// several threads wait for each other where they get it. Thread safe.
class TextRowReader::Blocks : public std::enable_shared_from_this<Blocks> {
 public:
  explicit Blocks(size_t most) : most_(most) {}

  // A block with anything in it, which comes back when nobody has it any more.
  std::shared_ptr<RowBlock> Take() {
    auto give_back = [self = shared_from_this()](RowBlock* block) { self->GiveBack(block); };
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {new RowBlock, std::move(give_back)};
    std::shared_ptr<RowBlock> block(spare_.back().release(), std::move(give_back));
    spare_.pop_back();
    return block;
  }

 private:
  void GiveBack(RowBlock* block) {
    std::unique_ptr<RowBlock> owned(block);
    const std::lock_guard lock(mutex_);
    if (spare_.size() < most_) spare_.push_back(std::move(owned));
  }

  const size_t most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RowBlock>> spare_;
};

// ---- one piece

class TextRowReader::Parser {
 public:
  explicit Parser(const TextRowReader& reader)
      : reader_(reader),
        rows_(reader.rules_),
        places_(reader.rules_->columns()),
        columns_(reader.rules_->schema()) {
    const DataSchema& schema = reader.rules_->schema();
    if (schema.format == RowFormat::kJsonl)
      json_ = std::make_unique<JsonCells>(reader.rules_->columns(), schema.null);
    const size_t columns = reader.rules_->columns().size();
    cells_.resize(LinesAtOnce(columns));
    for (LineCells& line : cells_) line.cells.resize(columns);
  }

  // Fills piece.block. A line that is bad ends it, unless such lines are skipped.
  void Parse(Piece& piece) {
    piece.block = reader_.blocks_->Take();
    rows_.Begin(*piece.block, piece.lines.text.lines);
    ForRows(piece.lines, [&](std::string_view line, int64_t row) {
      return !reader_.TakesLine(row) || ParseLine(piece.lines, line, row, *piece.block);
    });
    AppendRows(piece.lines, *piece.block);
    piece.block->share = piece.share;
  }

  // Fills piece.block with lines, which it takes from the piece.
  void Split(Piece& piece) {
    piece.block = std::make_shared<RowBlock>();
    piece.lines.rows.reserve(static_cast<size_t>(piece.lines.text.lines));
    piece.block->numbers.reserve(static_cast<size_t>(piece.lines.text.lines));
    ForRows(piece.lines, [&](std::string_view line, int64_t row) {
      piece.lines.rows.push_back(line);
      piece.block->numbers.push_back(row);
      return true;
    });
    piece.block->lines = std::make_shared<RowLines>(std::exchange(piece.lines, {}));
    piece.block->share = piece.share;
  }

  // The rows of runs of lines, up to a bad one.
  std::shared_ptr<const RowBlock> Parse(std::span<const RowRun> runs, int64_t rows) {
    auto block = reader_.blocks_->Take();
    rows_.Begin(*block, rows);
    for (const auto& [from, begin, end] : runs) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        if (!ParseLine(*from->lines, from->lines->rows[i], from->numbers[i], *block)) return block;
      if (!AppendRows(*from->lines, *block)) return block;
    }
    return block;
  }

 private:
  // Calls fn(line, row) for the lines of the range until it returns false.
  template <typename Fn>
  void ForRows(const RowLines& lines, Fn&& fn) const {
    std::string_view text = lines.text.text;
    for (int64_t i = 0; i < lines.text.lines; ++i) {
      const std::string_view line = TakeLine(text);
      const int64_t row = lines.first_row + i;
      if (row < reader_.range_.first) continue;
      if (row >= reader_.range_.last || !fn(line, row)) return;
    }
  }

  // How many lines are parsed at once: their cells stay in a core's second cache. The texts of JSON
  // are there until the next line is read, and some filters look at each row.
  size_t LinesAtOnce(size_t columns) const {
    constexpr size_t kMaxLines = 64, kCells = 2048;
    const bool looks =
        reader_.files_.filter != nullptr && reader_.files_.filter->by() != SplitBy::kRandom;
    return json_ != nullptr || looks ? 1 : std::clamp(kCells / (columns + 1), size_t{1}, kMaxLines);
  }

  // Reads a line's cells; its row is added with those of other lines, by AppendRows at the latest.
  // False where a line ends the block.
  bool ParseLine(const RowLines& lines, std::string_view line, int64_t row, RowBlock& block) {
    if (std::ssize(line) > TextPieces::kMaxLineBytes)
      return AppendRows(lines, block) && End(lines, row, TextPieces::TooLong(), block);
    LineCells& cells = cells_[numbers_.size()];
    try {
      if (json_ != nullptr)
        json_->Read(line, cells);
      else
        columns_.Read(line, *lines.columns, cells);
    } catch (const BadLine& bad) {
      return AppendRows(lines, block) &&
             LeaveOut(lines, row, bad, line.empty() ? kSkipsBlank : "", block);
    }
    numbers_.push_back(row);
    return numbers_.size() < cells_.size() || AppendRows(lines, block);
  }

  // Adds the rows of the lines that are read: all at once, or, where one is bad, one after the
  // other, which finds the first. False where a line ends the block.
  bool AppendRows(const RowLines& lines, RowBlock& block) {
    const CellPlaces& places = json_ != nullptr ? places_ : lines.columns->places;
    size_t count = numbers_.size();
    bool goes_on = true;
    for (size_t done = 0; goes_on && done < numbers_.size();) {
      try {
        rows_.Append(std::span(cells_).subspan(done, count), places,
                     std::span(numbers_).subspan(done, count), block);
        if (!reader_.TakesLastRow(block)) rows_.TakeBack(block);
        done += count;
      } catch (const BadLine& bad) {
        if (count == 1) goes_on = LeaveOut(lines, numbers_[done++], bad, "", block);
        count = 1;
      }
    }
    numbers_.clear();
    return goes_on;
  }

  // Leaves a bad line out. False where it ends the block instead.
  bool LeaveOut(const RowLines& lines, int64_t row, const BadLine& bad, const std::string& hint,
                RowBlock& block) {
    if (!reader_.files_.skip_bad_lines) return End(lines, row, bad.what() + hint, block);
    block.skipped[bad.reason()].push_back(row);
    return true;
  }

  // Ends the block before a row, and returns false.
  static bool End(const RowLines& lines, int64_t row, const std::string& why, RowBlock& block) {
    const int64_t number = lines.text.first_line + row - lines.first_row;
    block.error = Format("{}:{}: {}", lines.text.path, number, why);
    return false;
  }

  const TextRowReader& reader_;
  RowParser rows_;
  CellPlaces places_;  // of JSON
  ColumnCells columns_;
  std::unique_ptr<JsonCells> json_;
  std::vector<LineCells> cells_;  // of lines that are parsed at once
  std::vector<int64_t> numbers_;  // of those that are read
};

// ---- all pieces

TextRowReader::TextRowReader(std::shared_ptr<const RowRules> rules, const RowFiles& files,
                             RowRange range, int64_t from)
    : rules_(std::move(rules)),
      files_(files),
      first_row_(range.first),
      range_({std::max(range.first, from), range.last}),
      text_(files.paths, files.piece_bytes, JsonCells::kPadding),
      ctx_({.threads = files.lines_alone ? files.threads : 1}),
      blocks_(std::make_shared<Blocks>(SlotsOf(files) + 1)),
      pieces_(SlotsOf(files)) {
  TESSERA_CHECK(rules_->schema().is_text(), "rows of {} are not read from text",
                rules_->schema().format);
  TESSERA_CHECK(!files_.lines_alone || (!files_.skip_bad_lines && files_.filter == nullptr),
                "lines of which some are left out by what they have");
  for (size_t i = 0; i < pieces_.size(); ++i) parsers_.push_back(std::make_unique<Parser>(*this));
  if (files_.filter != nullptr) FindKey();
  work_.emplace(ThreadsOf(files), pieces_.size(),
                OrderedWork::Steps{.read = [this](size_t slot) { return ReadPiece(pieces_[slot]); },
                                   .work = [this](size_t slot) { ParsePiece(slot); }});
}

TextRowReader::~TextRowReader() = default;

// Finds the feature that the filter goes by.
void TextRowReader::FindKey() {
  const std::vector<std::string>& keys = rules_->layout().keys;
  const auto key = std::ranges::find(keys, files_.filter->options().feature);
  if (files_.filter->by() == SplitBy::kKey) {
    TESSERA_CHECK(key != keys.end(), "no feature '{}'", files_.filter->options().feature);
    key_ = static_cast<size_t>(key - keys.begin());
  }
  TESSERA_CHECK(files_.filter->by() != SplitBy::kTime || rules_->layout().has_time,
                "a split by time of rows that have none");
}

// Whether to parse a row, as far as its number tells.
bool TextRowReader::TakesLine(int64_t row) const {
  if (files_.filter == nullptr || files_.filter->by() != SplitBy::kRandom) return true;
  return files_.filter->TakesNumber(row);
}

bool TextRowReader::TakesLastRow(const RowBlock& block) const {
  if (files_.filter == nullptr || files_.filter->by() == SplitBy::kRandom) return true;
  if (files_.filter->by() == SplitBy::kTime) return files_.filter->TakesTime(block.time.back());
  const FeatureColumn& column = block.features[key_];
  const auto first = static_cast<size_t>(column.begin(block.rows() - 1));
  return files_.filter->TakesFirstId(first < column.ids.size() ? column.ids[first] : kNoId);
}

// Finds the columns in a piece that begins a file.
void TextRowReader::BeginFile(TextPiece& text) {
  const DataSchema& schema = rules_->schema();
  if (schema.format == RowFormat::kJsonl) return;
  const auto columns = schema.columns.empty() ? TakeHeading(schema, text) : schema.columns;
  columns_ = FindColumns(schema, columns, rules_->columns(), Format("{}:1", text.path));
}

// The share of a piece of the range, which begins where its first row does.
RowShare TextRowReader::ShareOf(const RowLines& lines) {
  const TextPiece& text = lines.text;
  RowShare share{lines.first_row, text.lines, text.fraction_before, text.fraction};
  const auto before = share.Before(first_row_);
  if (!before) return share;
  if (lines.first_row <= first_row_) fraction_before_ = *before;
  for (auto* fraction : {&share.before, &share.end})
    *fraction = (**fraction - fraction_before_) / (1 - fraction_before_);
  return share;
}

bool TextRowReader::ReadPiece(Piece& piece) {
  RowLines& lines = piece.lines;
  while (next_row_ < range_.last && text_.Next(lines.text)) {
    if (lines.text.first_line == 1) BeginFile(lines.text);
    lines.columns = columns_;
    lines.first_row = next_row_;
    next_row_ += lines.text.lines;
    piece.share = ShareOf(lines);
    if (lines.text.lines > 0 && next_row_ > range_.first) return true;
  }
  FilledRange(range_, next_row_, files_.paths);
  return false;
}

void TextRowReader::ParsePiece(size_t slot) {
  if (files_.lines_alone)
    parsers_[slot]->Split(pieces_[slot]);
  else
    parsers_[slot]->Parse(pieces_[slot]);
}

std::shared_ptr<const RowBlock> TextRowReader::Next() {
  if (!error_.empty()) throw Error(error_);
  const std::optional<size_t> slot = work_->Next();
  if (!slot) return nullptr;
  std::shared_ptr<const RowBlock> block = std::move(pieces_[*slot].block);
  if (files_.unknown_items != nullptr && block->lines == nullptr)
    files_.unknown_items->Add(*rules_, *block);
  for (const auto& [reason, rows] : block->skipped) {
    skipped_[reason] += std::ssize(rows);
    skipped_rows_ += std::ssize(rows);
  }
  fraction_ = block->share.end;
  error_ = block->error;
  return block;
}

std::vector<std::shared_ptr<const RowBlock>> TextRowReader::Parse(std::span<const RowRun> runs) {
  int64_t rows = 0;
  for (const RowRun& run : runs) rows += run.end - run.begin;
  const int64_t shares = std::clamp(rows / kRowsAtOnce, int64_t{1}, std::ssize(parsers_));
  std::vector<std::shared_ptr<const RowBlock>> blocks(static_cast<size_t>(shares));
  ParallelFor(ctx_, shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = rows * i / shares, last = rows * (i + 1) / shares;
      const auto s = static_cast<size_t>(i);
      blocks[s] = parsers_[s]->Parse(CutRuns(runs, first, last), last - first);
    }
  });
  for (const auto& block : blocks) {
    if (!block->error.empty()) throw Error(block->error);
    if (files_.unknown_items != nullptr) files_.unknown_items->Add(*rules_, *block);
  }
  return blocks;
}

}  // namespace tessera
