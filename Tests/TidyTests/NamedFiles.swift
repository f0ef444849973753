/// Files and functions that a document names.
enum NamedFiles {
    /// Files in backticks whose name no file of the project has, or several have.
    static func missing(_ document: SourceText, among paths: [String]) -> [Untidiness] {
        prose(of: document).flatMap { number, line in
            line.matches(of: /`([\w.+\/-]+\.(?:swift|py|js|c|h|cpp))`/).map { String($0.output.1) }.compactMap { name in
                let found = candidates(name, among: paths)
                guard found.count != 1 else { return nil }
                let what = found.isEmpty ? "is no file of the project: mend the name" : "names \(found.count) files"
                return Untidiness(path: document.path, line: number, what: "\(name) \(what)")
            }
        }
    }

    /// Names that a document places in a file that does not declare them. Two forms place a name: a table cell behind
    /// a cell of files, any of which may declare it, and `name` in `File.swift`.
    static func undeclared(
        _ document: SourceText, among paths: [String], text: (String) throws -> String
    ) rethrows -> [Untidiness] {
        try prose(of: document).flatMap { number, line -> [Untidiness] in
            try placed(in: line).compactMap { name, files in
                let code = try files.compactMap { candidates($0, among: paths).first }.map {
                    try self.code(of: text($0))
                }
                guard !code.contains(where: { declares(name, $0) }) else { return nil }
                return Untidiness(
                    path: document.path, line: number,
                    what: "\(name) is declared nowhere in \(files.joined(separator: ", ")): mend the name or the file")
            }
        }
    }

    /// Tests in backticks that are neither a function of a Python file nor such a file.
    static func missingTests(_ document: SourceText, among tests: Set<String>) -> [Untidiness] {
        prose(of: document).flatMap { number, line in
            line.matches(of: /`(test_\w+)`/).map { String($0.output.1) }.filter { !tests.contains($0) }.map {
                Untidiness(path: document.path, line: number, what: "\($0) is no test: mend the name")
            }
        }
    }

    /// Functions and files that `missingTests` knows.
    static func tests(in files: [SourceText]) -> Set<String> {
        Set(
            files.flatMap { file in
                [String(file.path.split(separator: "/").last?.dropLast(3) ?? "")]
                    + file.lines(with: ["def test_"]).flatMap { _, line in
                        line.matches(of: /def (test_\w+)\(/).map { String($0.output.1) }
                    }
            })
    }

    private static func placed(in line: Substring) -> [(name: String, files: [String])] {
        var placed = line.matches(of: /`(\w+)` in `([\w.+\/-]+\.swift)`/).map {
            (String($0.output.1), [String($0.output.2)])
        }
        let cells = line.split(separator: "|").map { $0.filter { $0 != " " } }
        guard line.hasPrefix("|"),
            let column = cells.firstIndex(where: { $0.wholeMatch(of: /(?:`[\w.+\/-]+\.swift`,?)+/) != nil }),
            column + 1 < cells.count
        else { return placed }
        let files = line.matches(of: /`([\w.+\/-]+\.swift)`/).map { String($0.output.1) }
        placed += cells[column + 1].matches(of: /`(\w+)`/).map { (String($0.output.1), files) }
        return placed
    }

    private static func code(of text: String) -> String {
        text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    }

    private static func declares(_ name: String, _ code: String) -> Bool {
        ["func", "var", "let", "struct", "enum", "class", "protocol", "case"].contains { kind in
            code.ranges(of: "\(kind) \(name)").contains { found in
                found.upperBound == code.endIndex || !isPart(code[found.upperBound])
            }
        }
    }

    private static func isPart(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    private static func candidates(_ name: String, among paths: [String]) -> [String] {
        paths.filter { $0 == name || $0.hasSuffix("/" + name) }
    }

    private static func prose(of document: SourceText) -> [(number: Int, text: Substring)] {
        var isCode = false
        return document.lines.filter { _, line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode
        }
    }
}
