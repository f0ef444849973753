/// Programs that run others, and programs that a rule names.
extension AskScan {
    static let shells: Set = ["sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "rbash", "csh", "tcsh"]
    static let interpreters: Set = [
        "python", "python2", "python3", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "pwsh",
        "powershell", "osascript", "tclsh", "Rscript", "tsx", "ts-node",
    ]
    static let downloaders: Set = [
        "curl", "wget", "fetch", "aria2c", "axel", "http", "https", "xh", "lwp-request", "GET", "lynx", "w3m", "links",
        "nc", "ncat",
        "netcat", "socat", "iwr", "irm", "Invoke-WebRequest", "Invoke-RestMethod",
    ]

    mutating func run(_ words: [ShellWord], _ input: ShellFlow) -> ShellFlow {
        budget -= 8 * words.count
        guard depth < Self.depthLimit, budget > 0 else {
            exhaust()
            return ShellFlow()
        }
        depth += 1
        defer { depth -= 1 }
        var words = words[...]
        while let word = words.first, let (name, value, isAdded) = Self.assignment(word) {
            let before = isAdded ? variables[name]?.values.first ?? [] : []
            budget -= before.count
            assign(name, ShellValue(values: [before + value], isDownload: word.isDownload))
            words.removeFirst()
        }
        guard let first = words.first else { return ShellFlow() }
        let rest = words.dropFirst()
        if first.isDownload, first.bytes.first == ShellMark.unknown { meet(.downloadRun) }
        // The value may be empty, as that of `$SUDO`: the next word is the program.
        if first.isUnknown { return run(Array(rest), input) }
        if first.bytes.contains(UInt8(ascii: "/")), let flow = content(first) { executes(flow, isShell: true) }
        if let alias = variables["alias \(first.text)"]?.values.first {
            return run(script: Array(([alias] + rest.map(\.bytes)).joined(separator: [0x20])), input: input)
        }
        return run(first.program, rest, input)
    }

    static func assignment(_ word: ShellWord) -> (name: String, value: [UInt8], isAdded: Bool)? {
        guard let end = word.bytes.firstIndex(of: UInt8(ascii: "=")), end > 0, !word.bytes[0].isDigit else {
            return nil
        }
        let isAdded = word.bytes[end - 1] == UInt8(ascii: "+")
        let name = word.bytes[..<(isAdded ? end - 1 : end)]
        guard !name.isEmpty, name.allSatisfy(\.isNamePart) else { return nil }
        return (String(decoding: name, as: UTF8.self), Array(word.bytes[(end + 1)...]), isAdded)
    }

    private mutating func run(
        _ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow
    ) -> ShellFlow {
        if let flow = runOther(program, rest, input) { return flow }
        if let flow = write(program, rest, input) { return flow }
        if Self.shells.contains(program) { return shell(rest, input) }
        if Self.isInterpreter(program) { return interpreter(program, rest, input) }
        if Self.downloaders.contains(program) { return download(program, rest) }
        delete(program, rest)
        switch program {
        case "git": git(rest)
        case "cd", "pushd", "chdir":
            let words = ShellArguments(rest).operands
            if let word = words.first { enter(word.bytes) } else { enter([ShellMark.home]) }
        case "export", "declare", "local", "readonly", "typeset":
            for word in rest {
                guard let (name, value, _) = Self.assignment(word) else { continue }
                assign(name, ShellValue(values: [value], isDownload: word.isDownload))
            }
        case "for", "select":
            guard rest.count > 2, let name = rest.first else { break }
            let values = rest.dropFirst(2)
            assign(name.text, ShellValue(values: values.map(\.bytes), isDownload: values.contains(where: \.isDownload)))
        case "read", "mapfile", "readarray":
            let lines = input.text.map { $0.split(separator: 0x0A).map { Array($0) } } ?? input.roots
            for word in ShellArguments(rest, valued: "d n N p t u i a").operands {
                assign(
                    word.text,
                    ShellValue(values: lines.isEmpty ? [[ShellMark.unknown]] : lines, isDownload: input.isDownload))
            }
        case "set":
            guard let start = rest.firstIndex(where: { $0.text == "--" }) else { break }
            positional(rest[(start + 1)...])
        case "crontab":
            let arguments = ShellArguments(rest, valued: "u")
            if !arguments.has("l") { meet(.startUpFile) }
        case "ssh-keygen":
            let arguments = ShellArguments(rest, valued: "f t b C N P m R F s I n V Y O D")
            if !arguments.has("l", "y", "F", "B", "e") {
                if let file = arguments.value("f") {
                    writes(file.bytes)
                } else {
                    writes([ShellMark.home] + "/.ssh".utf8)
                }
            }
        case "ssh-copy-id": meet(.keyFile)
        case "gpg", "gpg2":
            let arguments = ShellArguments(rest, isLong: true)
            let changing = [
                "import", "gen-key", "generate-key", "full-generate-key", "full-gen-key", "quick-generate-key",
                "quick-gen-key",
                "delete-keys", "delete-key", "delete-secret-keys", "delete-secret-key", "delete-secret-and-public-key",
                "edit-key",
            ]
            if changing.contains(where: arguments.flags.contains) { meet(.keyFile) }
        case "aws": aws(rest)
        case "systemctl":
            let words = ShellArguments(rest).operands.map(\.text)
            if ["edit", "link"].contains(words.first) { meet(.startUpFile) }
        case "printf" where rest.first?.text == "-v":
            let name = rest.dropFirst().first?.text ?? ""
            assign(name, ShellValue(values: [said(program, rest.dropFirst(2)).text?.dropLast() ?? []]))
        case "echo", "printf": return said(program, rest)
        case "pwd": return ShellFlow(text: folder.map { places.text($0) })
        case "ls": return ShellFlow(roots: rest.map(\.bytes).filter { $0.contains(ShellMark.any) })
        case "mktemp":
            return ShellFlow(text: places.text(["tmp", "made-\(budget)"].map { Array($0.utf8) }))
        case "dirname", "realpath", "readlink":
            guard let path = ShellArguments(rest).operands.first.flatMap({ path($0.bytes) }) else { break }
            return ShellFlow(text: places.text(program == "dirname" ? path.dropLast() : path))
        case "docker", "podman":
            let start = rest.lastIndex { Self.shells.contains($0.program) }
            if input.isDownload, let start { return shell(rest[(start + 1)...], ShellFlow(isDownload: true)) }
        case "which": return ShellFlow(text: rest.first?.bytes)
        case "base64": return decoded(rest, input) { Self.base64($0) }
        case "xxd": return decoded(rest, input) { Self.hexadecimal($0) }
        case "rev": return ShellFlow(isDownload: input.isDownload, text: input.text.map(Self.reversed))
        case "cat", "tac", "zcat", "gunzip", "head", "tail", "tr", "sed", "grep", "less":
            return read(program, rest, input)
        case "find", "fd", "fdfind": return find(program, rest)
        case "gh" where ["api", "gist", "release"].contains(rest.first?.text ?? ""): return ShellFlow(isDownload: true)
        case "gsutil" where rest.contains { $0.text == "cat" }: return ShellFlow(isDownload: true)
        default: break
        }
        return ShellFlow(isDownload: input.isDownload)
    }

    static func isInterpreter(_ program: String) -> Bool {
        interpreters.contains(program) || program.hasPrefix("python3.") || program.hasPrefix("python2.")
    }

    mutating func positional(_ words: ArraySlice<ShellWord>) {
        for (index, word) in words.prefix(9).enumerated() {
            assign("\(index + 1)", ShellValue(values: [word.bytes], isDownload: word.isDownload))
        }
        let all = ShellValue(
            values: words.isEmpty ? [[]] : words.map(\.bytes), isDownload: words.contains(where: \.isDownload))
        assign("@", all)
        assign("*", all)
    }

    // MARK: Output that is known

    private func said(_ program: String, _ rest: ArraySlice<ShellWord>) -> ShellFlow {
        let isPlain = program == "echo"
        let words = rest.drop { isPlain && ["-n", "-e", "-E", "-ne", "-en"].contains($0.text) }
        let isDownload = words.contains(where: \.isDownload)
        let isEscaped = !isPlain || rest.prefix(2).contains { $0.text.hasPrefix("-") && $0.text.contains("e") }
        var text = Array(words.map(\.bytes).joined(separator: [0x20]))
        if !isPlain, var format = words.first?.bytes[...], format.contains(UInt8(ascii: "%")) {
            text = []
            var arguments = words.dropFirst()
            while let place = format.firstIndex(of: UInt8(ascii: "%")), place + 1 < format.endIndex,
                let word = arguments.popFirst()
            {
                text += format[..<place] + word.bytes
                format = format[(place + 2)...]
            }
            text += format
        }
        return ShellFlow(isDownload: isDownload, text: (isEscaped ? Self.unescaped(text[...]) : text) + [0x0A])
    }

    private mutating func read(_ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        let files = ShellArguments(rest, valued: "n c").operands.compactMap { content($0) }
        let isWhole = ["cat", "tail", "head", "tac"].contains(program)
        guard let file = files.first else {
            var flow = ShellFlow(isDownload: input.isDownload, text: isWhole ? input.text : nil)
            flow.isOfFile = isWhole && (input.isOfFile || !ShellArguments(rest, valued: "n c").operands.isEmpty)
            return flow
        }
        return ShellFlow(isDownload: file.isDownload || input.isDownload, text: isWhole ? file.text : nil)
    }

    private mutating func decoded(
        _ rest: ArraySlice<ShellWord>, _ input: ShellFlow, _ decode: ([UInt8]) -> [UInt8]?
    ) -> ShellFlow {
        let arguments = ShellArguments(rest)
        guard arguments.has("d", "D", "r", "decode") else { return ShellFlow(isDownload: input.isDownload) }
        let source = arguments.operands.first.flatMap { content($0) } ?? input
        return ShellFlow(isDownload: source.isDownload, text: source.text.flatMap(decode))
    }

    private static func base64(_ bytes: [UInt8]) -> [UInt8]? {
        var made: [UInt8] = []
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in bytes where !byte.isSpace && byte != UInt8(ascii: "=") {
            let value: UInt8
            switch byte {
            case 0x41...0x5A: value = byte - 0x41
            case 0x61...0x7A: value = byte - 0x61 + 26
            case 0x30...0x39: value = byte - 0x30 + 52
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            made.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return made.map { $0 < ShellMark.first ? $0 : UInt8(ascii: "?") }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> [UInt8]? {
        let digits = bytes.compactMap(\.digit)
        return stride(from: 0, to: digits.count - 1, by: 2).map { index in
            let byte = digits[index] << 4 | digits[index + 1]
            return byte < ShellMark.first ? byte : UInt8(ascii: "?")
        }
    }

    private static func reversed(_ bytes: [UInt8]) -> [UInt8] {
        Array(bytes.split(separator: 0x0A).map { $0.reversed() }.joined(separator: [0x0A]))
    }

    // MARK: Downloads

    private mutating func download(_ program: String, _ rest: ArraySlice<ShellWord>) -> ShellFlow {
        let download = ShellFlow(isDownload: true)
        switch program {
        case "curl":
            let arguments = ShellArguments(
                rest,
                valued:
                    "o H d X A u b c e F T x m r w K E Y y z D Q C output header data data-raw data-binary request user-agent "
                    + "user url output-dir max-time retry connect-timeout form json proxy cookie cookie-jar cacert cert key "
                    + "upload-file write-out referer range")
            let files = arguments.values("o", "output").filter { $0.text != "-" }
            for file in files { save(file) }
            for url in arguments.operands where arguments.has("O", "remote-name") { save(Self.named(url)) }
            return files.isEmpty && !arguments.has("O", "remote-name", "I", "head") ? download : ShellFlow()
        case "wget":
            let arguments = ShellArguments(
                rest,
                valued:
                    "O P o a i U e t T w Q l A R D X I output-document directory-prefix header user-agent post-data tries timeout"
            )
            if let file = arguments.value("O", "output-document") {
                if file.text == "-" || file.text.hasPrefix("/dev/") { return download }
                save(file)
            } else {
                for url in arguments.operands {
                    var file = Self.named(url)
                    if let folder = arguments.value("P", "directory-prefix") {
                        file.bytes = folder.bytes + [UInt8(ascii: "/")] + file.bytes
                    }
                    save(file)
                }
            }
            return ShellFlow()
        case "aria2c", "axel":
            let arguments = ShellArguments(rest, valued: "o d x s j out dir")
            for url in arguments.operands { save(arguments.value("o", "out") ?? Self.named(url)) }
            return ShellFlow()
        case "iwr", "irm", "Invoke-WebRequest", "Invoke-RestMethod":
            if let file = ShellArguments(rest, valued: "OutFile Uri", isLong: true).value("OutFile") { save(file) }
            return download
        default:
            for file in ShellArguments(rest, valued: "o output").values("o", "output") { save(file) }
            return download
        }
    }

    private mutating func save(_ file: ShellWord) {
        writes(file.bytes)
        keep(ShellFlow(isDownload: true), in: file)
    }

    /// The file under whose name an address is saved.
    private static func named(_ url: ShellWord) -> ShellWord {
        let path = url.bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return ShellWord(Array(path.split(separator: UInt8(ascii: "/")).last ?? []))
    }
}
