#include "data/files/ratings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "data/files/line_reader.h"
#include "runtime/base/parse_number.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr std::string_view kUser = "userId", kItem = "movieId";  // features
constexpr int kNone = -1;

// The columns of a line, which has `columns` of them or, with `more`, at least so many.
struct Layout {
  std::string_view expected, separator;
  int columns;
  bool more;
  int user, item, rating, time;  // columns; kNone
};

constexpr Layout kTabs{"user, item, rating and time separated by tabs", "\t", 4, false, 0, 1, 2, 3};
constexpr Layout kColons{"user::item::rating::time", "::", 4, false, 0, 1, 2, 3};
constexpr Layout kCommas{"user,item,rating,time", ",", 4, false, 0, 1, 2, 3};
constexpr Layout kRatingFirst{
    "rating, user, item and more separated by tabs", "\t", 9, true, 1, 2, 0, kNone};

bool HasHeading(std::string_view line) { return line.starts_with("userId"); }

const Layout& LayoutOf(std::string_view line) {
  if (HasHeading(line)) return kCommas;
  if (line.find("::") != std::string_view::npos) return kColons;
  int tabs = 0;
  for (const char c : line) tabs += c == '\t';
  return tabs + 1 >= kRatingFirst.columns ? kRatingFirst : kTabs;
}

constexpr size_t kMaxColumns = 9;  // that are looked at

// The columns of a line. False for another number of them than the layout's.
bool Split(std::string_view line, const Layout& layout,
           std::array<std::string_view, kMaxColumns>& columns) {
  int count = 0;
  while (true) {
    const size_t end = line.find(layout.separator);
    if (count < layout.columns) columns[static_cast<size_t>(count)] = line.substr(0, end);
    ++count;
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + layout.separator.size());
  }
  return count == layout.columns || (layout.more && count > layout.columns);
}

std::optional<Rating> ParseRating(std::string_view line, const Layout& layout) {
  std::array<std::string_view, kMaxColumns> columns;
  if (!Split(line, layout, columns)) return std::nullopt;
  const auto column = [&](int i) { return columns[static_cast<size_t>(i)]; };
  Rating rating;
  const bool good = ParseNumber(column(layout.user), rating.user) && rating.user >= 0 &&
                    ParseNumber(column(layout.item), rating.item) && rating.item >= 0 &&
                    ParseNumber(column(layout.rating), rating.rating) && rating.rating >= 0 &&
                    rating.rating <= 5;
  if (!good) return std::nullopt;
  if (layout.time != kNone && (!ParseNumber(column(layout.time), rating.time) || rating.time < 0))
    return std::nullopt;
  return rating;
}

void ReadFile(const std::string& path, std::vector<Rating>& ratings) {
  LineReader lines({path});
  const Layout* layout = nullptr;
  std::string_view line;
  while (lines.Next(line)) {
    const bool first = layout == nullptr;
    if (first) layout = &LayoutOf(line);
    if (first && HasHeading(line)) continue;
    const auto rating = ParseRating(line, *layout);
    if (!rating)
      throw Error(Format("{}: expected {}, with a rating from 0 to 5, got '{}'", lines.where(),
                         layout->expected, line.substr(0, 60)));
    ratings.push_back(*rating);
  }
}

}  // namespace

std::vector<Rating> ReadRatings(const std::vector<std::string>& paths) {
  std::vector<Rating> ratings;
  for (const std::string& path : paths) ReadFile(path, ratings);
  return ratings;
}

void CheckRatingFeature(const std::string& feature) {
  if (feature != kUser && feature != kItem)
    throw Error(Format("feature '{}': ratings have {} and {}", feature, kUser, kItem));
}

RatingRows::RatingRows(std::vector<Rating> ratings, const std::vector<CategoricalFeature>& features,
                       float like_from)
    : ratings_(std::move(ratings)),
      like_from_(like_from),
      has_times_(std::ranges::none_of(
          ratings_, [](const Rating& rating) { return rating.time == Rating::kNoTime; })) {
  for (const CategoricalFeature& feature : features) {
    CheckRatingFeature(feature.name);
    const int64_t rows = CheckedHashSize(feature);
    keys_.push_back(feature.name);
    columns_.push_back({feature.name == kUser ? &Rating::user : &Rating::item, rows});
  }
}

Batch RatingRows::Gather(Context& ctx, std::span<const int64_t> rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  const auto bags = static_cast<int64_t>(keys_.size()) * count;
  Batch batch;
  batch.dense = Tensor::Zeros(ctx, {count, 1});
  batch.labels = Tensor::Empty(ctx, {count});
  for (int64_t b = 0; b < count; ++b) {
    const float rating = ratings_[static_cast<size_t>(rows[static_cast<size_t>(b)])].rating;
    batch.labels.data<float>()[b] =
        like_from_ > 0 ? static_cast<float>(rating >= like_from_) : rating;
  }
  if (has_times_) batch.time = Tensor::Empty(ctx, {count}, DType::kI64);
  for (int64_t b = 0; has_times_ && b < count; ++b)
    batch.time.data<int64_t>()[b] =
        ratings_[static_cast<size_t>(rows[static_cast<size_t>(b)])].time;
  const Tensor values = Tensor::Empty(ctx, {bags}, DType::kI64);
  int64_t* value = values.data<int64_t>();
  for (const Column& column : columns_) {
    ItemCount& items = batch.items.emplace_back(count);
    for (const int64_t row : rows) {
      const int64_t id = ratings_[static_cast<size_t>(row)].*column.id;
      items.unknown += column.rows != 0 && id >= column.rows;
      *value++ = column.rows == 0 ? id : id % column.rows;
    }
  }
  batch.features =
      KeyedJaggedTensor::FromLengthsSync(keys_, values, Tensor::Full(ctx, {bags}, 1, DType::kI32));
  return batch;
}

}  // namespace tessera
