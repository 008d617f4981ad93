// A rule of the library under another name.
#include "embedding/rule_plugin.h"
#include "optim/any_rule.h"

#define TESSERA_TEXT_(name) #name
#define TESSERA_TEXT(name) TESSERA_TEXT_(name)

struct Copied : tessera::TESSERA_COPIED {
  int64_t unused_count = 0;
  int unused_int = 0;
  bool unused_switch = false;
  double unused_double = 0;
  static constexpr const char* kName = TESSERA_TEXT(TESSERA_COPY_NAME);
  void VisitOptions(auto&& visit) {
    visit("lr", lr);
    visit("eps", eps);
    visit("unused_count", unused_count);
    visit("unused_int", unused_int);
    visit("unused_switch", unused_switch);
    visit("unused_double", unused_double);
  }
};

TESSERA_RULE_PLUGIN(Copied)
