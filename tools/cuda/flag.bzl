"""A true/false build setting, and a target that cannot be built."""

BoolInfo = provider(fields = ["value"])

def _bool_flag_impl(ctx):
    return BoolInfo(value = ctx.build_setting_value)

bool_flag = rule(
    implementation = _bool_flag_impl,
    build_setting = config.bool(flag = True),
)

def _refusal_impl(ctx):
    fail(ctx.attr.sentence)

refusal = rule(
    implementation = _refusal_impl,
    attrs = {"sentence": attr.string(mandatory = True)},
    provides = [CcInfo],
)
