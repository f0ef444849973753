/// Programs in other languages, given as text, and the inputs of tools.
///
/// No language is read here: only its texts in quotes, and words that say whether it writes, deletes, runs or fetches.
extension AskScan {
    mutating func code(_ bytes: [UInt8]) {
        // Each word is searched for in the whole text.
        guard bytes.count < budget / 8 else { return exhaust() }
        budget -= 8 * bytes.count
        func has(_ words: String...) -> Bool { words.contains { Self.find($0, in: bytes) } }
        let texts = Self.quoted(bytes)
        let runs = has(
            "system(", "system ", "subprocess", "exec", "popen", "spawn", "Popen", "Command(", "%x", "`", "qx")
        if runs,
            has(
                "urlopen", "urlretrieve", "requests.", "fetch(", "http.get", "https.get", "LWP", "Net::HTTP",
                "open-uri", "URI.open", "file_get_contents")
        {
            meet(.downloadRun)
        }
        if has("eval(", "exec("),
            has("urlopen", "requests.get", "fetch(", "Net::HTTP", "URI.open", "file_get_contents", "LWP")
        {
            meet(.downloadRun)
        }
        let isHome = has(
            "homedir", "expanduser", "Path.home", "environ", "ENV[", "ENV{", "getenv", "process.env", "Dir.home")
        let deletes = has(
            "rmtree", "unlink", "os.remove", "rmSync", "rm_rf", "rm_r", "rmdirSync", "fs.rm", "FileUtils.rm",
            "removeSync", "File.delete", "remove_tree")
        let writes =
            deletes
            || has(
                "write", "'a'", "\"a\"", "'w'", "\"w\"", "'a+'", "'w+'", "appendFile", "copyFile", "copy", "move",
                "rename", "symlink",
                "chmod", "touch", "File.open", "'>", "\">", "print >", "dump(")
        for text in texts {
            if runs { run(script: text) }
            guard text.count < 1_024, !text.contains(0x0A) else { continue }
            for path in Self.paths(text, isHome: isHome) {
                if deletes, path.contains(UInt8(ascii: "/")) || path.first == ShellMark.home { self.deletes(path) }
                if writes { self.writes(path) }
            }
        }
        // The texts may be a list of arguments: `["sudo", "ls"]`.
        if runs, texts.count > 1 { run(script: Array(texts.prefix(Self.memory).joined(separator: [0x20]))) }
    }

    private static func find(_ word: String, in bytes: [UInt8]) -> Bool {
        let word = Array(word.utf8)
        guard let first = word.first, word.count <= bytes.count else { return false }
        return (0...(bytes.count - word.count)).contains { start in
            bytes[start] == first && bytes[start..<(start + word.count)].elementsEqual(word)
        }
    }

    private static func paths(_ text: [UInt8], isHome: Bool) -> [[UInt8]] {
        var paths = [home(text)]
        if isHome {
            // The text may begin with `${home}/`.
            let end = text.first == UInt8(ascii: "$") ? text.firstIndex(of: UInt8(ascii: "}")).map { $0 + 1 } ?? 0 : 0
            let rest = text[end...].drop { $0 == UInt8(ascii: "/") }
            paths.append([ShellMark.home, UInt8(ascii: "/")] + rest)
        }
        return paths
    }

    /// Texts between quotes, backticks included.
    private static func quoted(_ bytes: [UInt8]) -> [[UInt8]] {
        var texts: [[UInt8]] = []
        var at = 0
        while at < bytes.count, texts.count < 1_024 {
            let quote = bytes[at]
            at += 1
            guard quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "`") else {
                continue
            }
            let start = at
            while at < bytes.count, bytes[at] != quote { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
            let end = min(at, bytes.count)
            if end > start { texts.append(unescaped(bytes[start..<end])) }
            at = end + 1
        }
        return texts
    }

    // MARK: Inputs of tools

    private static let commandKeys: Set = ["command", "cmd", "script", "shell_command", "commandline", "rawcommand"]
    private static let folderKeys: Set = ["cwd", "workdir", "working_directory", "workingdirectory", "dir"]
    private static let pathKeys: Set = [
        "path", "file_path", "filepath", "filename", "file", "target", "target_file", "notebook_path", "destination",
        "dest", "new_path",
        "to", "newpath", "absolute_path",
    ]
    /// A tool with one of these inputs changes the file that it names.
    private static let changeKeys: Set = [
        "content", "contents", "file_text", "new_string", "newstring", "newtext", "new_str", "old_string", "oldtext",
        "old_str", "edits", "insert_text",
        "insert_line", "new_source", "text", "data", "append", "replacement", "destination", "dest", "new_path",
        "newpath",
    ]
    private static let patchKeys: Set = ["patch", "diff", "input", "patchtext"]
    private static let verbKeys: Set = ["action", "operation", "op", "mode", "type", "command"]

    /// False if the command is no input of a tool.
    mutating func toolInput(_ text: String) -> Bool {
        guard let pairs = ToolInputReader.pairs(of: Array(text.utf8)) else { return false }
        budget -= text.utf8.count
        func values(_ keys: Set<String>) -> [[UInt8]] {
            pairs.filter { keys.contains($0.key) && !$0.isInList }.map(\.value)
        }
        if let folder = values(Self.folderKeys).first { enter(Self.home(folder)) }
        for command in values(Self.commandKeys) { run(script: command) }
        let words = pairs.filter {
            Self.commandKeys.contains($0.key) && $0.isInList || $0.key == "args" || $0.key == "argv"
        }
        if !words.isEmpty {
            let program = words.contains { $0.key == "args" } ? values(Self.commandKeys) : []
            _ = run((program + words.map(\.value)).map { ShellWord($0) }, ShellFlow())
        }
        for patch in values(Self.patchKeys) { self.patch(patch) }
        let paths = values(Self.pathKeys).map(Self.home)
        let verbs = values(Self.verbKeys).map { String(decoding: $0, as: UTF8.self).lowercased() }
        if verbs.contains(where: { $0.hasPrefix("delete") || $0.hasPrefix("remove") }) {
            for path in paths { deletes(path) }
        }
        let changes = pairs.contains { Self.changeKeys.contains($0.key) }
        let creates = verbs.contains {
            ["create", "write", "append", "str_replace", "insert", "move", "copy", "edit"].contains($0)
        }
        if changes || creates { for path in paths { writes(path) } }
        return true
    }
}

/// Texts of a JSON object, under their names.
struct ToolInputReader {
    struct Pair {
        /// In lower case.
        var key: String
        var value: [UInt8]
        var isInList: Bool
    }

    /// Nil if the text is no JSON object. Texts of inner objects have the names that they have there; those in a list have the list's name.
    static func pairs(of text: [UInt8]) -> [Pair]? {
        var reader = Self(text: text)
        reader.skipSpace()
        guard reader.byte == UInt8(ascii: "{"), reader.value("", isInList: false, depth: 0) else { return nil }
        reader.skipSpace()
        return reader.at == text.count ? reader.found : nil
    }

    private let text: [UInt8]
    private var at = 0
    private var found: [Pair] = []

    private init(text: [UInt8]) { self.text = text }

    private var byte: UInt8? { at < text.count ? text[at] : nil }

    private mutating func skipSpace() { while let byte, byte.isSpace { at += 1 } }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: scalar) else { return false }
        at += 1
        return true
    }

    private mutating func value(_ key: String, isInList: Bool, depth: Int) -> Bool {
        guard depth < 32 else { return false }
        skipSpace()
        switch byte {
        case UInt8(ascii: "\""):
            guard let value = string() else { return false }
            found.append(Pair(key: key, value: value, isInList: isInList))
            return true
        case UInt8(ascii: "{"):
            at += 1
            if take("}") { return true }
            repeat {
                skipSpace()
                guard let name = string(), take(":") else { return false }
                let key = String(decoding: name, as: UTF8.self).lowercased()
                guard value(key, isInList: false, depth: depth + 1) else { return false }
            } while take(",")
            return take("}")
        case UInt8(ascii: "["):
            at += 1
            if take("]") { return true }
            repeat { guard value(key, isInList: true, depth: depth + 1) else { return false } } while take(",")
            return take("]")
        default:
            let start = at
            while let byte, byte.isNamePart || "+-.".utf8.contains(byte) { at += 1 }
            return at > start
        }
    }

    private mutating func string() -> [UInt8]? {
        guard byte == UInt8(ascii: "\"") else { return nil }
        at += 1
        var made: [UInt8] = []
        while let byte {
            at += 1
            if byte == UInt8(ascii: "\"") { return made }
            guard byte == UInt8(ascii: "\\") else {
                made.append(byte)
                continue
            }
            guard let next = self.byte else { return nil }
            at += 1
            switch next {
            case UInt8(ascii: "n"), UInt8(ascii: "r"): made.append(0x0A)
            case UInt8(ascii: "t"): made.append(0x09)
            case UInt8(ascii: "u"): made += Array(String(Character(scalar())).utf8)
            default: made.append(next)
            }
        }
        return nil
    }

    /// Half of a surrogate pair becomes a question mark: no rule looks for such a letter.
    private mutating func scalar() -> Unicode.Scalar {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = byte?.digit else { break }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return Unicode.Scalar(value) ?? "?"
    }
}
