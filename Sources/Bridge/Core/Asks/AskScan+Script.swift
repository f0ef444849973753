/// A command of a script before it runs: its words, its input and its output.
struct ShellCommand {
    struct Redirection {
        enum Kind { case input, output, here }
        var kind: Kind
        /// The output for errors, which has the number 2.
        var isErrors = false
        var targets: [ShellWord] = []
        /// Text of a here-document or a here-string.
        var body = ShellFlow()
    }

    var words: [ShellWord] = []
    var redirections: [Redirection] = []
    var input = ShellFlow()
    /// The output of the group that was closed just before; `body` is its text.
    var group: ShellFlow?
    var body: ArraySlice<UInt8> = []

    var isEmpty: Bool { words.isEmpty && redirections.isEmpty && group == nil }
}

/// The commands of a script that is being read.
private struct ShellScript {
    struct Group {
        enum Kind { case parentheses, braces, compound }
        var kind: Kind
        var folder: [[UInt8]]?
        var input: ShellFlow
        /// The place at which its text begins.
        var start = 0
        var output: ShellFlow?
    }

    var command = ShellCommand()
    var groups: [Group]

    init(_ input: ShellFlow, folder: [[UInt8]]?) {
        groups = [Group(kind: .compound, folder: folder, input: input)]
        command.input = input
    }

    var top: Group {
        get { groups[groups.count - 1] }
        set { groups[groups.count - 1] = newValue }
    }

    mutating func collect(_ flow: ShellFlow) {
        guard var all = top.output else {
            top.output = flow
            return
        }
        all.isDownload = all.isDownload || flow.isDownload
        if let text = flow.text { all.text = (all.text ?? []) + text }
        all.roots += flow.roots
        top.output = all
    }
}

/// The grammar of scripts: lists, pipelines, groups, redirections.
extension AskScan {
    /// Runs the text up to `end`, which is passed over, and returns its output.
    mutating func script(_ cursor: inout ShellCursor, until end: UInt8?, input: ShellFlow) -> ShellFlow {
        guard depth < Self.depthLimit else {
            exhaust()
            return ShellFlow()
        }
        depth += 1
        defer { depth -= 1 }
        var script = ShellScript(input, folder: folder)
        while budget > 0, let byte = cursor.byte {
            budget -= 1
            switch byte {
            case 0x20, 0x09, 0x0D: cursor.at += 1
            case 0x0A:
                cursor.endLine()
                finish(&script)
            case UInt8(ascii: "#"): cursor.skipComment()
            case UInt8(ascii: ";"):
                cursor.at += 1
                finish(&script)
            case UInt8(ascii: "&") where cursor.ahead(1) == UInt8(ascii: ">"):
                cursor.at += 1
                redirect(&cursor, &script.command, isErrors: false)
            case UInt8(ascii: "&"):
                cursor.at += cursor.has("&&") ? 2 : 1
                finish(&script)
            case UInt8(ascii: "|"):
                let isPipe = !cursor.has("||")
                cursor.at += isPipe && !cursor.has("|&") ? 1 : 2
                finish(&script, isPipe: isPipe)
            case UInt8(ascii: "("): open(&cursor, &script)
            case UInt8(ascii: ")"):
                cursor.at += 1
                finish(&script)
                budget -= script.groups.count
                if script.groups.contains(where: { $0.kind == .parentheses }) {
                    close(.parentheses, cursor, &script)
                } else if end == byte {
                    return script.groups[0].output ?? ShellFlow()
                }
            case UInt8(ascii: "<") where !cursor.has("<("), UInt8(ascii: ">"):
                redirect(&cursor, &script.command, isErrors: false)
            default: word(&cursor, &script)
            }
        }
        finish(&script)
        while script.groups.count > 1 {
            close(script.top.kind, cursor, &script)
            finish(&script)
        }
        return script.groups[0].output ?? ShellFlow()
    }

    private mutating func open(_ cursor: inout ShellCursor, _ script: inout ShellScript) {
        cursor.at += 1
        // A function's body is read at its definition.
        if script.command.words.count == 1 {
            var ahead = cursor
            ahead.skipBlanks()
            if ahead.byte == UInt8(ascii: ")") {
                cursor.at = ahead.at + 1
                script.command.words = []
                return
            }
        }
        if cursor.byte == UInt8(ascii: "("), arithmetic(&cursor) { return }
        finish(&script)
        push(.parentheses, cursor, &script)
    }

    private func push(_ kind: ShellScript.Group.Kind, _ cursor: ShellCursor, _ script: inout ShellScript) {
        script.groups.append(
            ShellScript.Group(kind: kind, folder: folder, input: script.command.input, start: cursor.at))
    }

    private mutating func close(
        _ kind: ShellScript.Group.Kind, _ cursor: ShellCursor, _ script: inout ShellScript
    ) {
        guard let index = script.groups.lastIndex(where: { $0.kind == kind }), index > 0 else { return }
        var output = ShellFlow()
        while script.groups.count > index {
            let group = script.groups.removeLast()
            if let flow = group.output { output = flow }
            if group.kind == .parentheses { folder = group.folder }
            script.command = ShellCommand(input: group.input)
            script.command.body = cursor.text[min(group.start, cursor.at)..<cursor.at]
        }
        script.command.group = output
    }

    private mutating func word(_ cursor: inout ShellCursor, _ script: inout ShellScript) {
        let start = cursor.at
        let words = words(&cursor)
        guard cursor.at > start else {
            cursor.at += 1
            return
        }
        if let last = words.last, last.bytes.last == UInt8(ascii: "="), cursor.byte == UInt8(ascii: "("),
            words.count == 1
        {
            return list(String(decoding: last.bytes.dropLast(), as: UTF8.self), &cursor)
        }
        // A number before a redirection names its file.
        if let byte = cursor.byte, byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">"), words.count == 1,
            !words[0].isQuoted, words[0].bytes.allSatisfy(\.isDigit)
        {
            return redirect(&cursor, &script.command, isErrors: words[0].bytes == [UInt8(ascii: "2")])
        }
        guard script.command.words.isEmpty, let first = words.first, !first.isQuoted else {
            script.command.words += words
            return
        }
        switch first.text {
        case "{": return push(.braces, cursor, &script)
        case "}":
            finish(&script)
            return close(.braces, cursor, &script)
        case "then", "else", "elif", "do", "!": return
        case "if", "while", "until": return push(.compound, cursor, &script)
        case "for", "select", "case": push(.compound, cursor, &script)
        case "fi", "done", "esac":
            finish(&script)
            return close(.compound, cursor, &script)
        case "function":
            cursor.skipBlanks()
            _ = self.words(&cursor)
            return
        default: break
        }
        // The words follow a pattern of `case`.
        if script.command.group != nil { finish(&script) }
        script.command.words += words
    }

    /// Reads `name=(…)`.
    private mutating func list(_ name: String, _ cursor: inout ShellCursor) {
        cursor.at += 1
        var values: [[UInt8]] = []
        while budget > 0, let byte = cursor.byte, byte != UInt8(ascii: ")") {
            let before = cursor.at
            values += words(&cursor).map(\.bytes)
            if cursor.at == before { cursor.at += 1 }
        }
        cursor.at = min(cursor.at + 1, cursor.text.count)
        assign(name, ShellValue(values: values.isEmpty ? [[]] : values))
    }

    /// Runs the collected command.
    private mutating func finish(_ script: inout ShellScript, isPipe: Bool = false) {
        // A line may end after `|`.
        guard !script.command.isEmpty else { return }
        let output = run(script.command)
        script.command = ShellCommand(input: script.top.input)
        if isPipe { script.command.input = output } else { script.collect(output) }
    }

    private mutating func run(_ command: ShellCommand) -> ShellFlow {
        var input = command.input
        for redirection in command.redirections where redirection.kind != .output {
            input = redirection.body
            guard redirection.kind == .input, let word = redirection.targets.first else { continue }
            input = content(word) ?? ShellFlow(isOfFile: true)
            if word.bytes.starts(with: "/dev/tcp/".utf8) { input.isDownload = true }
        }
        var output = command.group ?? run(command.words, input)
        // The input of a group stands behind it, so the body runs again with that input.
        if command.group != nil, input != command.input, input != ShellFlow(), input != ShellFlow(isOfFile: true) {
            output = run(script: Array(command.body), input: input)
        }
        for redirection in command.redirections where redirection.kind == .output {
            for target in redirection.targets {
                writes(target.bytes)
                if !redirection.isErrors { keep(output, in: target) }
            }
            if !redirection.isErrors { output = ShellFlow() }
        }
        return output
    }

    // MARK: Redirections

    private mutating func redirect(_ cursor: inout ShellCursor, _ command: inout ShellCommand, isErrors: Bool) {
        if cursor.has(">(") {
            _ = targets(&cursor, command)
            return
        }
        if cursor.has("<<<") {
            cursor.at += 3
            let words = targets(&cursor, command)
            let body = ShellFlow(
                isDownload: words.contains(where: \.isDownload),
                text: Array(words.map(\.bytes).joined(separator: [0x20])))
            return command.redirections.append(ShellCommand.Redirection(kind: .here, body: body))
        }
        if cursor.has("<<") { return hereDocument(&cursor, &command) }
        let isInput = cursor.byte == UInt8(ascii: "<") && !cursor.has("<>")
        cursor.at += 1
        while let byte = cursor.byte,
            [UInt8(ascii: ">"), UInt8(ascii: "|"), UInt8(ascii: "&")].contains(byte)
        {
            cursor.at += 1
        }
        let words = targets(&cursor, command)
        // `2>&1` and `>&-` write no file.
        if words.count == 1, words[0].bytes.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: "-") }) { return }
        let kind: ShellCommand.Redirection.Kind = isInput ? .input : .output
        command.redirections.append(ShellCommand.Redirection(kind: kind, isErrors: isErrors, targets: words))
        // The socket leads both ways, as under a shell that runs on one.
        if !isInput, let word = words.first, word.bytes.starts(with: "/dev/tcp/".utf8) {
            command.redirections.append(ShellCommand.Redirection(kind: .here, body: ShellFlow(isDownload: true)))
        }
    }

    private mutating func targets(_ cursor: inout ShellCursor, _ command: ShellCommand) -> [ShellWord] {
        cursor.skipBlanks()
        guard cursor.has(">(") else { return words(&cursor) }
        cursor.at += 2
        let isDownload =
            command.input.isDownload || command.words.first.map { Self.downloaders.contains($0.program) } ?? false
        _ = script(
            &cursor, until: UInt8(ascii: ")"), input: ShellFlow(isDownload: isDownload, text: command.input.text))
        return []
    }

    private mutating func hereDocument(_ cursor: inout ShellCursor, _ command: inout ShellCommand) {
        cursor.at += 2
        let dropsTabs = cursor.byte == UInt8(ascii: "-")
        if dropsTabs { cursor.at += 1 }
        cursor.skipBlanks()
        let word = words(&cursor).first ?? ShellWord()
        hereDocuments += 1
        guard hereDocuments <= 64 else { return }
        let body = cursor.hereBody(word.bytes, dropsTabs: dropsTabs)
        budget -= body.count
        if !word.isQuoted { substitutions(body) }
        command.redirections.append(ShellCommand.Redirection(kind: .here, body: ShellFlow(text: body)))
    }

    // MARK: Substitutions

    /// Reads `$(…)`, of which `$(` is passed.
    mutating func output(_ cursor: inout ShellCursor) -> ShellValue {
        let before = folder
        let flow = script(&cursor, until: UInt8(ascii: ")"), input: ShellFlow())
        folder = before
        return Self.value(flow)
    }

    private static func value(_ flow: ShellFlow) -> ShellValue {
        if var text = flow.text, !flow.isDownload {
            while text.last == 0x0A { text.removeLast() }
            return ShellValue(values: [text])
        }
        let values = flow.roots.isEmpty ? [[ShellMark.unknown]] : flow.roots
        return ShellValue(values: values, isDownload: flow.isDownload)
    }

    mutating func backtick(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder, isQuoted: Bool) {
        cursor.at += 1
        var inner: [UInt8] = []
        while let byte = cursor.byte, byte != UInt8(ascii: "`") {
            if byte == UInt8(ascii: "\\"), let next = cursor.ahead(1), "\\`$".utf8.contains(next) {
                inner.append(next)
                cursor.at += 2
            } else {
                inner.append(byte)
                cursor.at += 1
            }
        }
        cursor.at = min(cursor.at + 1, cursor.text.count)
        budget -= inner.count
        var nested = ShellCursor(inner)
        builder.add(output(&nested), isQuoted: isQuoted)
    }

    /// Reads `<(…)`, of which `<(` is passed.
    mutating func substitute(_ cursor: inout ShellCursor, into builder: inout ShellWordBuilder) {
        let before = folder
        let flow = script(&cursor, until: UInt8(ascii: ")"), input: ShellFlow())
        folder = before
        builder.add(ShellMark.unknown)
        if flow.isDownload { builder.downloaded() }
        builder.reads(flow)
    }

    /// Reads `((…))`, of which the first bracket is passed. False if it is something else.
    mutating func arithmetic(_ cursor: inout ShellCursor) -> Bool {
        var inner = cursor
        inner.at += 1
        guard let range = inner.enclosed(UInt8(ascii: "("), UInt8(ascii: ")"), limit: 512),
            range.upperBound + 1 < cursor.text.count, cursor.text[range.upperBound + 1] == UInt8(ascii: ")")
        else { return false }
        substitutions(Array(cursor.text[range]))
        cursor.at = range.upperBound + 2
        return true
    }

    /// Runs the commands within a text that is no script, such as a here-document.
    private mutating func substitutions(_ text: [UInt8]) {
        guard text.contains(UInt8(ascii: "$")) || text.contains(UInt8(ascii: "`")) else { return }
        var cursor = ShellCursor(text)
        var unused = ShellWordBuilder()
        while budget > 0, let byte = cursor.byte {
            budget -= 1
            if cursor.has("$(") {
                cursor.at += 2
                _ = output(&cursor)
            } else if byte == UInt8(ascii: "`") {
                backtick(&cursor, &unused, isQuoted: true)
            } else {
                cursor.at += byte == UInt8(ascii: "\\") ? 2 : 1
            }
        }
    }
}
