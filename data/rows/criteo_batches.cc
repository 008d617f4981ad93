#include "data/rows/criteo_batches.h"

#include <span>
#include <utility>

#include "data/batch_source.h"
#include "data/files/criteo_line.h"
#include "data/rank_rows.h"
#include "data/shuffled_stream.h"
#include "data/split/split_stream.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera {
namespace {

// Opens the rows of the range from one on, in the order of the epoch.
template <typename Row>
std::unique_ptr<RowStream<Row>> OpenInEpoch(const typename ShuffledRows<Row>::Open& open,
                                            const TextRowSourceOptions& options) {
  if (!options.shuffle) return open(options.first_place);
  return std::make_unique<ShuffledRows<Row>>(open, options.range, *options.shuffle, options.epoch,
                                             options.first_place);
}

// Makes a rank's rows of the lines of a batch, of which it parses no others.
class PartOfLines {
 public:
  PartOfLines(BatchBuilder builder, int rank, int ranks)
      : builder_(std::move(builder)), rank_(rank), ranks_(ranks) {}

  Batch operator()(Context& ctx, std::span<const TextLine> lines) {
    const RankRows mine = RowsOfRank(std::ssize(lines), rank_, ranks_);
    rows_.resize(static_cast<size_t>(mine.size()));
    for (size_t i = 0; i < rows_.size(); ++i)
      Parse(lines[static_cast<size_t>(mine.begin) + i], rows_[i]);
    Batch part = builder_.Build(ctx, rows_);
    part.rows_of_all = std::ssize(lines);
    return part;
  }

 private:
  static void Parse(const TextLine& line, ClickRow& row) {
    const auto error = ParseCriteoLine(line.text, row);
    if (!error) return;
    throw Error(CriteoErrorText(Format("{}:{}", line.path, line.number), *error, line.text));
  }

  BatchBuilder builder_;
  int rank_, ranks_;
  std::vector<ClickRow> rows_;
};

}  // namespace

std::unique_ptr<ClickRowStream> OpenClicks(const CriteoRows& rows, RowRange range, int64_t from) {
  auto stream = std::make_unique<CriteoStream>(rows.files, range, from);
  if (rows.filter == nullptr) return stream;
  return std::make_unique<SplitStream>(std::move(stream), *rows.filter, rows.features,
                                       rows.missing);
}

std::unique_ptr<DataSource> OpenCriteoBatches(const CriteoRows& rows,
                                              const TextRowSourceOptions& options) {
  BatchBuilder builder(rows.features, rows.missing);
  if (options.ranks == 1) {
    const auto open = [&](int64_t from) { return OpenClicks(rows, options.range, from); };
    return std::make_unique<BatchSource>(OpenInEpoch<ClickRow>(open, options), std::move(builder),
                                         options.batch_size);
  }
  TESSERA_CHECK(!rows.files.skip_bad_lines && rows.filter == nullptr,
                "a rank's part of rows of which some are left out by what they have");
  const auto open = [&](int64_t from) {
    return std::make_unique<CriteoLines>(rows.files.paths, options.range, from);
  };
  return std::make_unique<LineBatches>(OpenInEpoch<TextLine>(open, options),
                                       PartOfLines(std::move(builder), options.rank, options.ranks),
                                       options.batch_size);
}

}  // namespace tessera
