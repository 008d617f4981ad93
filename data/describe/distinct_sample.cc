#include "data/describe/distinct_sample.h"

#include <algorithm>
#include <cmath>

#include "data/rows/text_hash.h"

namespace tessera {
void DistinctSample::Add(std::string_view text) {
  ++added_;
  const uint64_t hash = internal::TableHash(text);
  if (hash > below_) return;
  Entry& entry = entries_[hash];
  if (entry.count++ == 0) entry.text = text.substr(0, kTextBytes);
  if (entries_.size() > kMaxKept) Halve();
}

void DistinctSample::Halve() {
  std::vector<uint64_t> hashes;
  for (const auto& [hash, entry] : entries_) hashes.push_back(hash);
  const auto middle = hashes.begin() + kMaxKept / 2 - 1;
  std::nth_element(hashes.begin(), middle, hashes.end());
  below_ = *middle;
  std::erase_if(entries_, [&](const auto& entry) { return entry.first > below_; });
}

int64_t DistinctSample::count() const {
  const auto kept = static_cast<double>(entries_.size());
  if (exact()) return std::ssize(entries_);
  const double part = static_cast<double>(below_) / static_cast<double>(kAll);
  return std::min<int64_t>(std::llround((kept - 1) / part), added_);
}

bool DistinctSample::all_once() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return entry.second.count == 1; });
}

std::vector<DistinctSample::Entry> DistinctSample::Entries() const {
  std::vector<Entry> entries;
  for (const auto& [hash, entry] : entries_) entries.push_back(entry);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  return entries;
}

}  // namespace tessera
