/// Programs that run their words, their input or a file.
extension AskScan {
    /// Programs that do no more than run another, with the names of their options that take a value.
    private static let starters: [String: String] = [
        "nohup": "", "setsid": "", "chronic": "", "unbuffer": "", "caffeinate": "t w", "builtin": "",
        "xvfb-run": "s n f w e", "busybox": "",
        "toybox": "", "eatmydata": "", "stdbuf": "i o e", "nice": "n adjustment", "ionice": "c n p",
        "strace": "e o p s", "ltrace": "e o",
        "exec": "a", "time": "f o format output", "proxychains": "f", "proxychains4": "f",
        "systemd-run": "p u E property unit setenv",
        "systemd-inhibit": "what who why mode", "dbus-run-session": "", "torsocks": "", "coproc": "", "catchsegv": "",
        "gtime": "f o",
        "unshare": "", "nsenter": "t S G", "iex": "", "noglob": "", "nocorrect": "", "cgexec": "g", "firejail": "",
        "fakeroot": "",
        "arch": "", "setarch": "", "dotenvx": "", "prlimit": "", "chrt": "", "taskset": "", "with-contenv": "",
    ]

    /// Nil if `program` runs no other.
    mutating func runOther(_ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow? {
        if let valued = Self.starters[program] {
            if program == "iex" || program == "Invoke-Expression" { executes(input, isShell: true) }
            return run(ShellArguments(rest, valued: valued, stops: true).operands, input)
        }
        switch program {
        case "sudo", "doas", "pkexec", "run0", "sudoedit", "gosu", "su-exec":
            meet(.otherUser)
            return elevated(program, rest, input)
        case "su", "runuser":
            meet(.otherUser)
            let arguments = ShellArguments(rest, valued: "c s g G command shell session-command")
            for script in arguments.values("c", "command", "session-command") { run(script: script.bytes) }
            return ShellFlow()
        case "env":
            let arguments = ShellArguments(rest, valued: "u C S unset chdir split-string", stops: true)
            if let script = arguments.value("S", "split-string") {
                return run(
                    script: script.bytes + [0x20] + arguments.operands.flatMap { [0x20] + $0.bytes }, input: input)
            }
            return inFolder(arguments.value("C", "chdir")) { $0.run(arguments.operands, input) }
        case "command", "type", "hash":
            let arguments = ShellArguments(rest, stops: true)
            guard program == "command", !arguments.has("v", "V") else {
                return ShellFlow(text: arguments.operands.first?.bytes)
            }
            return run(arguments.operands, input)
        case "timeout", "gtimeout", "flock", "chroot":
            let arguments = ShellArguments(rest, valued: "s k signal kill-after w E c userspec", stops: true)
            if program == "flock", let script = ShellArguments(rest, valued: "c w E").value("c") {
                return run(script: script.bytes)
            }
            return run(Array(arguments.operands.dropFirst()), input)
        case "watch":
            let words = ShellArguments(rest, valued: "n interval", stops: true).operands
            return run(script: Self.joined(words), input: input)
        case "eval":
            executes(
                ShellFlow(isDownload: rest.contains(where: \.isDownload), text: Self.joined(Array(rest))), isShell: true
            )
            return ShellFlow()
        case "trap", "alias":
            if program == "trap" { return run(script: rest.first?.bytes ?? []) }
            for word in rest {
                guard let (name, value, _) = Self.assignment(word) else { continue }
                assign("alias \(name)", ShellValue(values: [value]))
            }
            return ShellFlow()
        case "source", ".":
            if let file = rest.first {
                if let flow = content(file) { executes(flow, isShell: true) }
                if file.text == "/dev/stdin" { executes(input, isShell: true) }
            }
            return ShellFlow()
        case "script", "expect", "nix-shell", "tmux", "screen", "at", "batch":
            return scripted(program, rest, input)
        case "xargs", "parallel": return xargs(rest, input)
        case "ssh", "slogin", "mosh": return remote(rest, input)
        case "uv", "poetry", "pipenv", "bundle", "mise", "direnv", "rye", "hatch", "pdm", "conda", "asdf":
            guard let verb = rest.firstIndex(where: { ["run", "exec"].contains($0.text) }) else { return nil }
            var words = rest[(verb + 1)...]
            if program == "direnv" { words = words.dropFirst() }
            return run(ShellArguments(words, valued: "with python p n", stops: true).operands, input)
        case "awk", "gawk", "mawk":
            let arguments = ShellArguments(rest, valued: "F v f i", stops: true)
            if let text = arguments.operands.first { code(text.bytes) }
            guard arguments.value("i")?.text == "inplace" else { return nil }
            for file in arguments.operands.dropFirst() { writes(file.bytes) }
            return ShellFlow()
        default: return nil
        }
    }

    private static func joined(_ words: [ShellWord]) -> [UInt8] { Array(words.map(\.bytes).joined(separator: [0x20])) }

    private mutating func inFolder(_ word: ShellWord?, _ body: (inout Self) -> ShellFlow) -> ShellFlow {
        let before = folder
        defer { folder = before }
        if let word { enter(word.bytes) }
        return body(&self)
    }

    private mutating func elevated(_ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        let valued = "u g h p C r t T D R a user group host prompt chdir chroot role type"
        let arguments = ShellArguments(rest, valued: valued, stops: true)
        if program == "sudoedit" || arguments.has("e", "edit") {
            for word in arguments.operands { writes(word.bytes) }
            return ShellFlow()
        }
        var words = arguments.operands
        if program == "gosu" || program == "su-exec" { words = Array(words.dropFirst()) }
        // `sudo -s` and `sudo -i` hand their input to a shell.
        if words.isEmpty, arguments.has("s", "i", "shell", "login") { words = [ShellWord("sh")] }
        return inFolder(arguments.value("D", "chdir")) { $0.run(words, input) }
    }

    private mutating func scripted(_ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        switch program {
        case "tmux", "screen":
            // A command of `new-session` and `send-keys` is one word, or the last ones.
            for word in rest where word.bytes.contains(0x20) { run(script: word.bytes) }
        case "at", "batch": executes(input, isShell: true)
        default:
            let arguments = ShellArguments(rest, valued: "c run command p I")
            for word in arguments.values("c", "run", "command") { run(script: word.bytes) }
        }
        return ShellFlow()
    }

    // MARK: Shells and interpreters

    mutating func shell(_ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        let arguments = ShellArguments(rest, valued: "O o init-file rcfile command", stops: true)
        let words = arguments.operands[...]
        if let script = arguments.value("command") {
            executes(ShellFlow(isDownload: script.isDownload, text: script.bytes), isShell: true, input: input)
        }
        if arguments.has("c") {
            guard let script = words.first else { return ShellFlow() }
            if script.isDownload { meet(.downloadRun) }
            let before = (variables, folder)
            if words.count > 1 {
                assign("0", ShellValue(values: [words[1].bytes]))
                positional(words.dropFirst(2))
            }
            let flow = run(script: script.bytes, input: input)
            (variables, folder) = before
            return flow
        }
        // The script is checked, and not run.
        if arguments.has("n") { return ShellFlow() }
        guard let file = words.first, !arguments.has("s"), !["-", "/dev/stdin"].contains(file.text) else {
            executes(input, isShell: true)
            return ShellFlow(isDownload: input.isDownload)
        }
        if let flow = content(file) { executes(flow, isShell: true) }
        return ShellFlow()
    }

    mutating func interpreter(_ program: String, _ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        let isDownload = input.isDownload
        let inline: Set = [
            "-c", "-e", "-E", "-p", "-r", "-ne", "-pe", "-ni", "-pie", "-le", "-lne", "-pi", "--eval", "--print",
            "-Command", "eval",
        ]
        let words = rest.drop { program == "deno" && $0.text == "run" || program == "bun" && $0.text == "run" }
        if program == "perl" || program == "ruby", rest.contains(where: { Self.isInPlace($0.text) }) {
            for word in ShellArguments(rest, valued: "e").operands { writes(word.bytes) }
        }
        for (index, word) in zip(words.indices, words) {
            if inline.contains(word.text)
                || word.text.hasPrefix("-") && !word.text.hasPrefix("--") && word.text.hasSuffix("e")
            {
                guard index + 1 < words.endIndex else { break }
                let text = words[index + 1]
                if text.isDownload { meet(.downloadRun) }
                if ["pwsh", "powershell"].contains(program) { run(script: text.bytes) } else { code(text.bytes) }
                return ShellFlow(isDownload: isDownload)
            }
            if word.text == "-m" { return ShellFlow(isDownload: isDownload) }
            if word.text == "-" { break }
            guard !word.isOption else { continue }
            if word.text.hasPrefix("https://") || word.text.hasPrefix("http://") { meet(.downloadRun) }
            if word.text == "/dev/stdin" { break }
            if let flow = content(word) { executes(flow, isShell: false) }
            return ShellFlow(isDownload: isDownload)
        }
        executes(input, isShell: false)
        return ShellFlow(isDownload: isDownload)
    }

    private static func isInPlace(_ option: String) -> Bool {
        option.hasPrefix("-") && !option.hasPrefix("--") && option.dropFirst().prefix(3).contains("i")
    }

    // MARK: Words from the input

    private mutating func xargs(_ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        let arguments = ShellArguments(
            rest, valued: "I i n P L d a E s j max-args max-procs replace delimiter arg-file", stops: true)
        let command = arguments.operands
        var names = input.roots
        if let text = input.text {
            names += text.split { $0.isSpace || $0 == 0 }.prefix(Self.memory).map { Array($0) }
        }
        // A file may name any path.
        let file = arguments.value("a", "arg-file")
        if input.isOfFile || file.map({ content($0) == nil }) == true { names.append(Array("/*".utf8)) }
        var words = names.map { ShellWord($0) }
        if input.isDownload {
            var word = ShellWord([ShellMark.unknown])
            word.isDownload = true
            words.append(word)
        }
        let place = arguments.value("I", "replace")?.bytes ?? Array("{}".utf8)
        guard command.contains(where: { Self.replaced($0, place, by: []) != nil }) else {
            return run(command + words, input)
        }
        // One run for each name, and each reads the whole command again.
        guard !words.isEmpty else { return run(command, input) }
        var output = ShellFlow()
        for name in words {
            budget -= command.reduce(0) { $0 + $1.bytes.count + name.bytes.count }
            guard budget > 0 else { break }
            output.add(run(command.map { Self.fill($0, place, name) ?? $0 }, input))
        }
        return output
    }

    private static func fill(_ word: ShellWord, _ place: [UInt8], _ name: ShellWord) -> ShellWord? {
        guard var filled = replaced(word, place, by: name.bytes) else { return nil }
        filled.isDownload = word.isDownload || name.isDownload
        return filled
    }

    /// Nil if the word does not hold `place`.
    static func replaced(_ word: ShellWord, _ place: [UInt8], by name: [UInt8]) -> ShellWord? {
        guard !place.isEmpty, word.bytes.count >= place.count else { return nil }
        let start = (0...(word.bytes.count - place.count)).first {
            word.bytes[$0..<($0 + place.count)].elementsEqual(place)
        }
        guard let start else { return nil }
        var made = word
        made.bytes.replaceSubrange(start..<(start + place.count), with: name)
        return made
    }

    mutating func find(_ program: String, _ rest: ArraySlice<ShellWord>) -> ShellFlow {
        var roots =
            program == "find"
            ? rest.drop { ["-H", "-L", "-P"].contains($0.text) }.prefix {
                !$0.isOption && $0.text != "(" && $0.text != "!"
            }
            : rest.filter { $0.bytes.contains(UInt8(ascii: "/")) }[...]
        if roots.isEmpty { roots = [ShellWord(".")] }
        if rest.contains(where: { $0.text == "-delete" }) { for root in roots { deletes(root.bytes) } }
        var words = rest
        while let word = words.popFirst() {
            if ["-fprint", "-fprintf", "-fls", "-fprint0"].contains(word.text), let file = words.first {
                writes(file.bytes)
            }
            guard ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"].contains(word.text)
            else { continue }
            let command = words.prefix { ![";", "+"].contains($0.text) }
            words = words.dropFirst(command.count)
            for root in roots.prefix(ShellWordBuilder.limit) {
                _ = run(command.map { Self.replaced($0, Array("{}".utf8), by: root.bytes) ?? $0 }, ShellFlow())
            }
        }
        return ShellFlow(roots: roots.map(\.bytes))
    }

    private mutating func remote(_ rest: ArraySlice<ShellWord>, _ input: ShellFlow) -> ShellFlow {
        let words = ShellArguments(
            rest, valued: "p i l o F J L R D b c E e I m O Q S W w", stops: true
        ).operands.dropFirst()
        let before = folder
        folder = AskPlaces.unknown
        if words.isEmpty {
            executes(input, isShell: true)
        } else {
            run(script: Self.joined(Array(words)), input: input)
        }
        folder = before
        return ShellFlow(isDownload: true)
    }
}
