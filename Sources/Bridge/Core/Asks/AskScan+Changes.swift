/// Programs that write, delete and push.
extension AskScan {
    // MARK: Writing

    /// Nil if `program` writes no file that its words name.
    mutating func write(_ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow? {
        switch program {
        case "tee", "sponge":
            for file in ShellArguments(rest).operands {
                writes(file.bytes)
                keep(input, in: file)
            }
            return input
        case "cp", "mv", "ln", "install", "rsync", "scp", "ditto": copy(program, rest)
        case "sed", "gsed":
            let arguments = ShellArguments(rest, valued: "e f l expression file")
            guard arguments.has("i", "in-place") else { return nil }
            let isScripted = arguments.value("e", "f", "expression", "file") != nil
            for file in arguments.operands.dropFirst(isScripted ? 0 : 1) { writes(file.bytes) }
        case "dd":
            for word in rest where word.bytes.starts(with: "of=".utf8) {
                writes(Array(word.bytes.dropFirst(3)))
                keep(input, in: ShellWord(Array(word.bytes.dropFirst(3))))
            }
        case "touch", "truncate", "chattr", "vim", "vi", "nvim", "nano", "emacs", "ed", "ex", "pico", "micro", "code":
            let arguments = ShellArguments(rest, valued: "s r d t c S size reference date")
            for word in arguments.operands { program == "truncate" ? deletes(word.bytes) : writes(word.bytes) }
            for word in arguments.values("c") where program == "vim" || program == "nvim" || program == "vi" {
                editor(word.bytes)
            }
        case "chmod", "chown", "chgrp":
            let arguments = ShellArguments(rest, valued: "reference from")
            // The first operand is the mode or the owner, unless an option gives it: `chmod -x FILE`, `--reference=FILE`.
            let hasMode = program == "chmod" && arguments.has("r", "w", "x", "X", "s", "t", "u", "g", "o")
            let isOption = arguments.has("reference") || hasMode
            for file in arguments.operands.dropFirst(isOption ? 0 : 1) { writes(file.bytes) }
        case "setfacl":
            let arguments = ShellArguments(
                rest, valued: "m x M X modify remove modify-file remove-file set set-file restore")
            for file in arguments.operands { writes(file.bytes) }
        case "tar", "bsdtar", "unzip", "gpg-zip", "7z":
            unpack(program, rest)
            return ShellFlow()
        case "split", "csplit":
            let arguments = ShellArguments(rest, valued: "a b C l n t f")
            if let name = arguments.operands.dropFirst().first { writes(name.bytes) }
        case "patch":
            let arguments = ShellArguments(rest, valued: "p i o d input output directory")
            if let file = arguments.operands.first ?? arguments.value("o", "output") { writes(file.bytes) }
            if let text = input.text { patch(text) }
        case "apply_patch", "applypatch":
            if let text = input.text ?? rest.first?.bytes { patch(text) }
        case "sort", "openssl", "age-keygen", "gcc", "go", "yq", "jq", "pandoc", "convert", "ffmpeg":
            let arguments = ShellArguments(rest, valued: "o out output keyout", isLong: true)
            if program == "yq", arguments.has("i", "inplace") {
                for file in arguments.operands.dropFirst() { writes(file.bytes) }
            }
            guard let file = arguments.value("o", "out", "output", "keyout") else { return nil }
            writes(file.bytes)
        default: return nil
        }
        return ShellFlow(isDownload: input.isDownload)
    }

    private mutating func editor(_ command: [UInt8]) {
        guard let place = command.firstIndex(of: UInt8(ascii: "!")) else { return }
        run(script: Array(command[(place + 1)...]))
    }

    private mutating func copy(_ program: String, _ rest: ArraySlice<ShellWord>) {
        let arguments = ShellArguments(
            rest,
            valued: program == "scp" || program == "rsync"
                ? "e P i F o c l S f exclude include rsh filter files-from"
                : "t S m o g target-directory suffix mode owner group")
        var sources = arguments.operands
        let target = arguments.value("t", "target-directory") ?? sources.popLast()
        if program == "mv" { for source in sources { writes(source.bytes) } }
        if program == "install", arguments.has("d") { return }
        guard let target else { return }
        let isRemote = (program == "rsync" || program == "scp") && Self.isRemote(target)
        let deletesMore = arguments.flags.contains { $0.hasPrefix("del") || $0 == "remove-source-files" }
        if program == "rsync", deletesMore {
            if isRemote { meet(.deletionOutside) } else { deletes(target.bytes) }
        }
        guard !isRemote else { return }
        writes(target.bytes)
        guard let folder = path(target.bytes) else { return }
        for source in sources.prefix(Self.memory) {
            if let name = source.bytes.split(separator: UInt8(ascii: "/")).last { writes(to: folder + [Array(name)]) }
            if let flow = content(source) { keep(flow, in: target) }
        }
        // A move into the workspace or into nothing counts as a deletion of its sources.
        if program == "mv", AskPlaces.isNothing(folder) || !places.isOutside(folder) {
            for source in sources { deletes(source.bytes) }
        }
    }

    /// Whether the word has the form `host:path`.
    private static func isRemote(_ word: ShellWord) -> Bool {
        let name = word.bytes.prefix { $0 != UInt8(ascii: ":") }
        return name.count < word.bytes.count && !name.contains(UInt8(ascii: "/"))
    }

    private mutating func unpack(_ program: String, _ rest: ArraySlice<ShellWord>) {
        if program == "7z" { return }
        guard program != "unzip" else {
            if let folder = ShellArguments(rest, valued: "d x").value("d") { writes(folder.bytes) }
            return
        }
        let arguments = ShellArguments(
            rest, valued: "C f b I directory file use-compress-program to-command checkpoint-action")
        for script in arguments.values("to-command", "checkpoint-action", "use-compress-program", "I") {
            run(script: script.bytes.starts(with: "exec=".utf8) ? Array(script.bytes.dropFirst(5)) : script.bytes)
        }
        let isMade = arguments.has("c", "create", "r", "append") || arguments.operands.first?.text.contains("c") == true
        if isMade {
            let file = arguments.value("f", "file") ?? arguments.operands.dropFirst().first
            if let file, file.text != "-" { writes(file.bytes) }
            if arguments.has("remove-files") { for word in arguments.operands { deletes(word.bytes) } }
        } else if arguments.has("x", "extract", "get") || arguments.operands.first?.text.contains("x") == true {
            if let folder = arguments.value("C", "directory") { writes(folder.bytes) }
        }
    }

    /// Marks the files that a patch changes, in the form of `diff` and in that of Codex.
    mutating func patch(_ text: [UInt8]) {
        for line in text.split(separator: 0x0A) {
            for (prefix, deletesFile) in [
                ("+++ ", false), ("*** Update File: ", false), ("*** Add File: ", false), ("*** Move to: ", false),
                ("*** Delete File: ", true),
            ] where line.starts(with: prefix.utf8) {
                var name = line.dropFirst(prefix.utf8.count).prefix { $0 != 0x09 && $0 != 0x0D }
                if prefix == "+++ ", name.starts(with: "b/".utf8) { name = name.dropFirst(2) }
                let bytes = Self.home(Array(name))
                if deletesFile { deletes(bytes) } else { writes(bytes) }
            }
        }
    }

    /// A path that no shell has read. Its `~` is the home folder all the same, because tools read it so.
    static func home(_ bytes: [UInt8]) -> [UInt8] {
        for prefix in ["~", "$HOME", "${HOME}"] where bytes.starts(with: prefix.utf8) {
            let rest = bytes.dropFirst(prefix.utf8.count)
            if rest.isEmpty || rest.first == UInt8(ascii: "/") { return [ShellMark.home] + rest }
        }
        return bytes
    }

    // MARK: Deleting

    mutating func delete(_ program: String, _ rest: ArraySlice<ShellWord>) {
        switch program {
        case "rm", "unlink", "shred", "srm", "wipe", "rimraf", "del", "Remove-Item":
            for word in ShellArguments(rest, valued: "n s iterations size").operands { deletes(word.bytes) }
        case "npx", "pnpx", "bunx":
            let words = rest.drop(while: \.isOption)
            if words.first?.text == "rimraf" { delete("rimraf", words.dropFirst()) }
        case "wipefs", "blkdiscard", "sgdisk", "sfdisk", "fdisk", "parted", "mkswap":
            if rest.contains(where: { path($0.bytes).map(AskPlaces.isDisk) ?? false }) { meet(.deletionOutside) }
        case "rclone":
            if ["delete", "purge", "sync", "deletefile"].contains(rest.first { !$0.isOption }?.text) {
                meet(.deletionOutside)
            }
        case "gsutil":
            if rest.contains(where: { $0.text == "rm" || $0.text == "rb" }) { meet(.deletionOutside) }
        case _ where program.hasPrefix("mkfs"): meet(.deletionOutside)
        default: break
        }
    }

    mutating func aws(_ rest: ArraySlice<ShellWord>) {
        let arguments = ShellArguments(rest, valued: "profile region endpoint-url")
        let words = arguments.operands.map(\.text)
        switch words.first {
        case "s3" where words.count > 1:
            if ["rm", "rb"].contains(words[1]) || words[1] == "sync" && arguments.has("delete") {
                meet(.deletionOutside)
            }
        case "configure":
            if words.count == 1 || ["set", "import", "sso"].contains(words[1]) { meet(.keyFile) }
        default: break
        }
    }

    // MARK: Git

    mutating func git(_ rest: ArraySlice<ShellWord>) {
        let before = folder
        defer { folder = before }
        var aliases: [String: [UInt8]] = [:]
        var words = rest
        while let word = words.first, word.isOption {
            words.removeFirst()
            switch word.text {
            case "-C": if let value = words.popFirst() { enter(value.bytes) }
            case "-c":
                guard let setting = words.popFirst() else { break }
                executes(setting: setting, &aliases)
            case "--git-dir", "--work-tree", "--namespace", "--exec-path": _ = words.popFirst()
            default: break
            }
        }
        guard let verb = words.popFirst() else { return }
        if let alias = aliases[verb.text] {
            if alias.first == UInt8(ascii: "!") {
                run(script: Array(alias.dropFirst()))
            } else {
                run(script: Array("git ".utf8) + alias + words.flatMap { [0x20] + $0.bytes })
            }
            return
        }
        switch verb.text {
        case "push": push(words)
        case "clean":
            let arguments = ShellArguments(words, valued: "e exclude")
            let targets = arguments.operands.isEmpty ? [ShellWord(".")] : arguments.operands
            if !arguments.has("n", "dry-run") { for target in targets { deletes(target.bytes) } }
        case "rm": for word in ShellArguments(words).operands { deletes(word.bytes) }
        case "config": configure(words)
        case "clone":
            let operands = ShellArguments(words, valued: "b o c j u branch depth origin config").operands
            if operands.count > 1 { writes(operands[1].bytes) }
        case "worktree":
            let operands = ShellArguments(words, valued: "b B").operands
            if operands.first?.text == "remove", operands.count > 1 { deletes(operands[1].bytes) }
        case "submodule":
            if words.first?.text == "foreach" {
                run(script: Array(words.dropFirst().map(\.bytes).joined(separator: [0x20])))
            }
        case "bisect":
            if words.first?.text == "run" { _ = run(Array(words.dropFirst()), ShellFlow()) }
        case "rebase", "filter-branch":
            for script in ShellArguments(words, valued: "x exec tree-filter index-filter msg-filter").values(
                "x", "exec", "tree-filter", "index-filter", "msg-filter")
            {
                run(script: script.bytes)
            }
        default: break
        }
    }

    private mutating func executes(setting: ShellWord, _ aliases: inout [String: [UInt8]]) {
        guard let end = setting.bytes.firstIndex(of: UInt8(ascii: "=")) else { return }
        let key = String(decoding: setting.bytes[..<end], as: UTF8.self).lowercased()
        let value = Array(setting.bytes[(end + 1)...])
        if key.hasPrefix("alias.") { aliases[String(key.dropFirst(6))] = value }
        if key == "core.sshcommand" || key == "core.pager" || key == "core.editor" || key == "sequence.editor" {
            run(script: value)
        }
    }

    private mutating func push(_ words: ArraySlice<ShellWord>) {
        let arguments = ShellArguments(words, valued: "o push-option repo receive-pack exec")
        guard !arguments.has("n", "dry-run") else { return }
        let isForced = arguments.flags.contains {
            $0 == "f" || $0.hasPrefix("forc") && $0 != "force-if-includes" || $0 == "mirror"
        }
        let hasForcedRef = arguments.operands.dropFirst().contains { $0.bytes.first == UInt8(ascii: "+") }
        if isForced || hasForcedRef { meet(.forcedPush) }
    }

    /// Settings of git that are programs, or say where programs are.
    private mutating func configure(_ words: ArraySlice<ShellWord>) {
        let arguments = ShellArguments(words, valued: "f file type blob")
        if let file = arguments.value("f", "file"), arguments.operands.count > 1 { writes(file.bytes) }
        guard !arguments.has("get", "get-all", "l", "list", "unset", "get-regexp", "e", "edit") else { return }
        var operands = arguments.operands.map(\.text)
        if operands.first == "set" { operands.removeFirst() }
        guard operands.count > 1 || arguments.has("add", "replace-all"), let key = operands.first?.lowercased() else {
            return
        }
        let programs = [
            "core.hookspath", "core.sshcommand", "core.fsmonitor", "core.pager", "core.gitproxy", "init.templatedir",
        ]
        let isProgram =
            programs.contains(key) || key.hasPrefix("credential.") || key.hasPrefix("filter.")
            || key.hasPrefix("include")
        if isProgram || key.hasPrefix("alias.") && operands.count > 1 && operands[1].hasPrefix("!") {
            meet(.startUpFile)
        }
    }
}
