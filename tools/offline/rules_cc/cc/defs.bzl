"""The names that Bazel's own rules load from rules_cc, as Bazel's native rules."""

cc_library = native.cc_library
cc_binary = native.cc_binary
cc_test = native.cc_test
cc_import = native.cc_import
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_libc_top_alias = native.cc_libc_top_alias
cc_proto_library = native.cc_proto_library
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_library = native.objc_library
objc_import = native.objc_import

def cc_flags_supplier(**kwargs):
    native.cc_flags_supplier(**kwargs)

def compiler_flag(**kwargs):
    native.compiler_flag(**kwargs)

def cc_toolchain_alias(**kwargs):
    native.cc_toolchain_alias(**kwargs)
