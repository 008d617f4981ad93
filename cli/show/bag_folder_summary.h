#ifndef TESSERA_CLI_SHOW_BAG_FOLDER_SUMMARY_H_
#define TESSERA_CLI_SHOW_BAG_FOLDER_SUMMARY_H_
// Summary of rows that tessera preprocess --config wrote, as tessera inspect shows it.
#include <string>

#include "data/files/row_folder_index.h"

namespace tessera::cli {

// Read every byte and every row, and throw Error for what is not as it was written. REQUIRES: the
// folder's index, of version 2.
std::string BagFolderText(const std::string& folder, const RowFolderIndex& index);
std::string BagFolderJson(const std::string& folder, const RowFolderIndex& index);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_BAG_FOLDER_SUMMARY_H_
