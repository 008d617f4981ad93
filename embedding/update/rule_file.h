#ifndef TESSERA_EMBEDDING_UPDATE_RULE_FILE_H_
#define TESSERA_EMBEDDING_UPDATE_RULE_FILE_H_
// Includes the header of the rule for which BUILD compiles a file.
#define TESSERA_QUOTE_(path) #path
#define TESSERA_QUOTE(path) TESSERA_QUOTE_(path)
#ifdef TESSERA_RULE_FILE
#include TESSERA_QUOTE(TESSERA_RULE_FILE.h)
#endif
#endif  // TESSERA_EMBEDDING_UPDATE_RULE_FILE_H_
