// A shared object that is no plugin.
extern "C" int SomethingElse() { return 1; }
