"""merged_archive: one static library of all that targets link."""

def _merged_archive(ctx):
    archives = {}  # by the objects' library, in link order
    for dep in ctx.attr.deps:
        for input in dep[CcInfo].linking_context.linker_inputs.to_list():
            for library in input.libraries:
                # Programs elsewhere are position independent, as Debian's compilers make them.
                archive = library.pic_static_library or library.static_library
                if archive:
                    archives[archive] = True
    out = ctx.actions.declare_file(ctx.attr.archive)
    script = ctx.actions.declare_file(ctx.attr.name + ".mri")
    lines = ["create " + out.path] + ["addlib " + archive.path for archive in archives] + ["save", "end"]
    ctx.actions.write(script, "\n".join(lines) + "\n")
    ctx.actions.run_shell(
        command = "ar -M < " + script.path,
        inputs = list(archives) + [script],
        outputs = [out],
        mnemonic = "MergeArchives",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

merged_archive = rule(
    doc = "`archive`: the objects of everything that `deps` link.",
    implementation = _merged_archive,
    attrs = {
        "archive": attr.string(mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
    },
)
