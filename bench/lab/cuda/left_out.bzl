"""Makes the repository @lab_left_out: LEFT_OUT of names.bzl lists the files of variants/ that
$TESSERA_LAB_LEFT_OUT names, joined by commas. tools/lab_cuda leaves out those that do not compile.
"""

def _left_out_variants_impl(ctx):
    names = ctx.os.environ.get("TESSERA_LAB_LEFT_OUT", "").split(",")
    ctx.file("BUILD", "")
    ctx.file("names.bzl", "LEFT_OUT = %r\n" % [name for name in names if name])

left_out_variants = repository_rule(
    implementation = _left_out_variants_impl,
    configure = True,
    environ = ["TESSERA_LAB_LEFT_OUT"],
    local = True,
)
