"""A true/false build setting."""

BoolInfo = provider(fields = ["value"])

def _bool_flag_impl(ctx):
    return BoolInfo(value = ctx.build_setting_value)

bool_flag = rule(
    implementation = _bool_flag_impl,
    build_setting = config.bool(flag = True),
)
