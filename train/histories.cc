#include "train/histories.h"

#include <algorithm>
#include <cmath>

namespace tessera {

void Histories::Add(std::span<const int64_t> bag) {
  const auto begin = std::ssize(ids_);
  ids_.insert(ids_.end(), bag.begin(), bag.end());
  std::sort(ids_.begin() + begin, ids_.end());
  ids_.erase(std::unique(ids_.begin() + begin, ids_.end()), ids_.end());
  ends_.push_back(std::ssize(ids_));
}

std::span<const int64_t> Histories::operator[](int64_t row) const {
  const auto begin = static_cast<size_t>(ends_[static_cast<size_t>(row)]);
  const auto end = static_cast<size_t>(ends_[static_cast<size_t>(row) + 1]);
  return std::span(ids_).subspan(begin, end - begin);
}

std::vector<float> Histories::Popularity() const {
  std::vector<float> rows(static_cast<size_t>(items_));
  for (const int64_t id : ids_) ++rows[static_cast<size_t>(id)];
  return rows;
}

namespace {

// Rows of each item.
std::vector<std::vector<int64_t>> RowsOfItems(const Histories& histories) {
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(histories.items()));
  for (int64_t row = 0; row < histories.size(); ++row)
    for (const int64_t item : histories[row]) rows[static_cast<size_t>(item)].push_back(row);
  return rows;
}

}  // namespace

ItemNeighbours::ItemNeighbours(const Histories& histories, int64_t nearest) {
  const std::vector<std::vector<int64_t>> rows = RowsOfItems(histories);
  const auto size = [&](size_t item) { return static_cast<double>(rows[item].size()); };
  of_.resize(rows.size());
  std::vector<int64_t> together(rows.size()), touched;
  for (size_t item = 0; item < rows.size(); ++item) {
    touched.clear();
    for (const int64_t row : rows[item])
      for (const int64_t other : histories[row])
        if (together[static_cast<size_t>(other)]++ == 0) touched.push_back(other);
    std::vector<Neighbour>& near = of_[item];
    for (const int64_t other : touched) {
      const auto o = static_cast<size_t>(other);
      const double cosine = static_cast<double>(together[o]) / std::sqrt(size(item) * size(o));
      if (o != item) near.push_back({other, static_cast<float>(cosine)});
      together[o] = 0;
    }
    const auto kept = std::min(std::ssize(near), nearest);
    std::partial_sort(near.begin(), near.begin() + kept, near.end(),
                      [](const Neighbour& a, const Neighbour& b) {
                        return a.cosine > b.cosine || (a.cosine == b.cosine && a.item < b.item);
                      });
    near.resize(static_cast<size_t>(kept), Neighbour{});
    near.shrink_to_fit();
  }
}

void ItemNeighbours::Score(std::span<const int64_t> history, std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), 0.f);
  for (const int64_t item : history)
    for (const Neighbour& near : of_[static_cast<size_t>(item)])
      scores[static_cast<size_t>(near.item)] += near.cosine;
}

}  // namespace tessera
