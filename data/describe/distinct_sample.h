#ifndef TESSERA_DATA_DESCRIBE_DISTINCT_SAMPLE_H_
#define TESSERA_DATA_DESCRIBE_DISTINCT_SAMPLE_H_
// Counts distinct texts in bounded memory: exactly up to kMaxKept, then by the k smallest hashes
// (the k-th smallest of n uniform numbers lies at k/n, within some 1.6 %). The texts that are kept
// are a uniform sample of all, with exact counts.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera {

class DistinctSample {
 public:
  static constexpr size_t kMaxKept = 8192;
  static constexpr size_t kTextBytes = 64;  // of a text that is kept

  struct Entry {
    std::string text;  // cut at kTextBytes
    int64_t count = 0;
  };

  void Add(std::string_view text);

  // Whether every text is kept.
  bool exact() const { return below_ == kAll; }
  int64_t count() const;  // at most the texts that were added
  // Whether every kept text came once; of many texts, hardly one came twice then.
  bool all_once() const;
  // The kept texts, the most frequent first; of equally frequent ones the smaller text.
  std::vector<Entry> Entries() const;

 private:
  static constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  void Halve();

  std::unordered_map<uint64_t, Entry> entries_;  // by hash
  uint64_t below_ = kAll;                        // hashes that are kept
  int64_t added_ = 0;                            // texts, equal ones too
};

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_DISTINCT_SAMPLE_H_
