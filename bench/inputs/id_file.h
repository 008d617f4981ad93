#ifndef TESSERA_BENCH_INPUTS_ID_FILE_H_
#define TESSERA_BENCH_INPUTS_ID_FILE_H_
// Ids of users, out of files of several layouts: the reader of every topic that takes ids.
//
//   text:FILE        ids between blanks, commas and line ends; one table, without bags
//   lines:FILE       a line is a bag of its words; one table
//   bags:FILE        likewise, but each line's first word is left out
//   column:N:FILE    the N-th of columns between tabs, from 1, as of Criteo's files; empty ones are
//                    left out; one table, without bags
//   npy:FILE         i32 or i64: [N] ids without bags, or [B, L], a bag a row; one table
//   rows:FOLDER      what `tessera preprocess` writes: a table a column, an id a bag
//   fbgemm:FILE      requests of FBGEMM's benchmarks, (indices, offsets, lengths [T, B]) by
//                    torch.save; or a folder of indices.npy and lengths.npy
//
// Text may be gzip. Words are numbers if all of a file's are; else they become 64-bit hashes.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct IdTable {
  std::vector<int64_t> ids = {};
  std::vector<int64_t> offsets = {};  // of bags, from 0; empty: the file has no bags
};

struct IdFile {
  std::vector<IdTable> tables;
  bool hashed = false;  // ids are hashes of words
};

constexpr const char* kIdFileHelp =
    "text:FILE | lines:FILE (a bag a line) | bags:FILE (without each line's first word) | "
    "column:N:FILE (between tabs, from 1) | npy:FILE | rows:FOLDER | fbgemm:FILE (its request "
    "files, or a folder of indices.npy and lengths.npy)";

// Whether the text begins like one of those above.
bool NamesIdFile(const std::string& text);
// Throws Error for text that names no file as above. The file need not be there.
void CheckIdFile(const std::string& text);
// Throws Error, naming the file, for one that cannot be read or has no ids.
IdFile ReadIdFile(const std::string& text);

// The numbers of an array of i32 or i64, row after row. Throws Error, naming the file, for any
// other, and where it cannot be read; `what` says what the numbers are.
std::vector<int64_t> ReadWholeNpy(const std::string& path, const std::string& what);

// Ids that no row has are an error, become numbers 0, 1, … in the order of first use, or are hashed
// to a row.
enum class Remap { kNone, kDense, kHash };
Remap ParseRemap(const std::string& text);

// The table's ids as rows below `rows`. Throws Error, naming `what` and the id, where --remap none
// meets an id that is no row, or --remap dense more distinct ids than rows.
std::vector<int64_t> RowsOfIds(const IdFile& file, const IdTable& table, int64_t rows, Remap remap,
                               const std::string& what);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_ID_FILE_H_
