"""public_library: what `deps` link, with the headers that programs may include as "tessera/…"."""

def _public_library_impl(ctx):
    below = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    by_path = {header.short_path: header for header in below.compilation_context.headers.to_list()}
    folder = "_include_" + ctx.label.name
    links = []
    for path in ctx.attr.headers:
        if path not in by_path:
            fail("%s is public, but %s links no library that has it" % (path, ctx.label))
        link = ctx.actions.declare_file("%s/tessera/%s" % (folder, path))
        ctx.actions.symlink(output = link, target_file = by_path[path])
        links.append(link)
    own = cc_common.create_compilation_context(
        headers = depset(links),
        quote_includes = depset([ctx.bin_dir.path + "/" + folder]),
    )
    return [
        DefaultInfo(files = depset(links)),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = own)],
            cc_infos = [below],
        ),
    ]

public_library = rule(
    implementation = _public_library_impl,
    attrs = {
        "headers": attr.string_list(doc = "Paths in this repository, of headers that `deps` have."),
        "deps": attr.label_list(providers = [CcInfo]),
    },
    provides = [CcInfo],
)
