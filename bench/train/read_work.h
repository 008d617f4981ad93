#ifndef TESSERA_BENCH_TRAIN_READ_WORK_H_
#define TESSERA_BENCH_TRAIN_READ_WORK_H_
// Reading rows, on one thread: from text, and from the files that text is preprocessed to. Files
// are in the page cache; bytes are those of the files read.
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/topic.h"
#include "bench/train/criteo_text.h"

namespace tessera::bench {

// rows: text parsed; batches: text as a model takes it; folder, shuffled, npy: the same from mapped
// files, shuffled in another order; preprocess: text to a folder.
std::vector<std::string> ReadParts();

// batch: rows of one; table_rows: of each of the tables that ids are for.
Work ReadWork(const std::string& part, std::shared_ptr<CriteoText> text, int64_t batch,
              int64_t table_rows);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_TRAIN_READ_WORK_H_
