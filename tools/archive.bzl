"""merged_archive: one static library of what targets link."""

def _archives(targets):
    archives = {}  # by the objects' library, in link order
    for target in targets:
        for input in target[CcInfo].linking_context.linker_inputs.to_list():
            for library in input.libraries:
                # Programs elsewhere are position independent, as Debian's compilers make them.
                archive = library.pic_static_library or library.static_library
                if archive:
                    archives[archive] = True
    return archives

def _merged_archive(ctx):
    elsewhere = _archives(ctx.attr.without)
    archives = [archive for archive in _archives(ctx.attr.deps) if archive not in elsewhere]
    out = ctx.actions.declare_file(ctx.attr.archive)
    script = ctx.actions.declare_file(ctx.attr.name + ".mri")
    lines = ["create " + out.path] + ["addlib " + archive.path for archive in archives]
    lines += ["save", "end"]
    ctx.actions.write(script, "\n".join(lines) + "\n")
    ctx.actions.run_shell(
        command = "ar -M < " + script.path,
        inputs = archives + [script],
        outputs = [out],
        mnemonic = "MergeArchives",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

merged_archive = rule(
    doc = "`archive`: the objects of everything that `deps` link and `without` does not.",
    implementation = _merged_archive,
    attrs = {
        "archive": attr.string(mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "without": attr.label_list(providers = [CcInfo]),
    },
)
