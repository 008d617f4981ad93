#ifndef TESSERA_TRAIN_HISTORIES_H_
#define TESSERA_TRAIN_HISTORIES_H_
// The items that each row has had, and what can be foreseen from them without learning: two
// baselines that a model of a whole catalogue is held against.
//
//   popularity   score(j) = number of histories that have j
//   item-kNN     score(j) = Σ_{i in the row's history, j among i's nearest} cos(i, j), where
//                cos(i, j) = |i and j| / √(|i|·|j|), |·| a number of histories
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

// Sets of items [0, items), one after the other.
class Histories {
 public:
  // REQUIRES: items > 0.
  explicit Histories(int64_t items) : items_(items) {}
  // Adds the ids of a bag, each once. REQUIRES: ids below items().
  void Add(std::span<const int64_t> bag);
  int64_t size() const { return std::ssize(ends_) - 1; }
  int64_t items() const { return items_; }
  // The items of a row, rising.
  std::span<const int64_t> operator[](int64_t row) const;
  // How many rows have each item.
  std::vector<float> Popularity() const;

 private:
  int64_t items_;
  std::vector<int64_t> ids_, ends_ = {0};
};

// The nearest items of each item.
class ItemNeighbours {
 public:
  // Costs Σ over rows of the square of their items. Of equal cosines, smaller ids are nearer.
  explicit ItemNeighbours(const Histories& histories, int64_t nearest = 100);
  // Scores of all items for a row of these items.
  void Score(std::span<const int64_t> history, std::span<float> scores) const;

 private:
  struct Neighbour {
    int64_t item;
    float cosine;
  };
  std::vector<std::vector<Neighbour>> of_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_HISTORIES_H_
