/// Rules over whole files. Each is given the texts it judges, so a test can plant a bad one.
enum Rules {
    // MARK: Links

    /// Relative links of a document that lead to no file of the project.
    static func brokenLinks(_ document: SourceText, among paths: [String]) -> [Untidiness] {
        var isCode = false
        return document.lines.flatMap { number, line -> [Untidiness] in
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode else { return [] }
            guard line.utf8.contains(UInt8(ascii: "]")) else { return [] }
            return line.matches(of: /\]\(<?([^)#\s>]+)/).map { String($0.output.1) }
                .filter { !$0.contains("://") && !$0.hasPrefix("mailto:") }
                .filter { !leads(from: document.path, to: $0, among: paths) }
                .map {
                    Untidiness(
                        path: document.path, line: number, what: "leads to \($0), which is not there: mend the link")
                }
        }
    }

    private static func leads(from document: String, to link: String, among paths: [String]) -> Bool {
        var parts = document.split(separator: "/").dropLast().map(String.init)
        for part in link.split(separator: "/") where part != "." {
            if part != ".." {
                parts.append(String(part))
            } else if parts.popLast() == nil {
                return false
            }
        }
        let target = parts.joined(separator: "/")
        return paths.contains { $0 == target || target.isEmpty || $0.hasPrefix(target + "/") }
    }

    // MARK: Targets

    /// Swift files that no target of the package builds: nothing checks them.
    static func homeless(_ paths: [String], package: String) -> [Untidiness] {
        let tests = package.matches(of: /tests\(\s*"(\w+)"/).map { "Tests/\($0.output.1)" }
        let folders = Rooms.of(package).map(\.folder) + tests
        return paths.filter { $0.hasSuffix(".swift") && $0 != "Package.swift" }.filter { path in
            !folders.contains { path.hasPrefix("\($0)/") }
        }.map {
            Untidiness(path: $0, line: nil, what: "is in no target of Package.swift: move it into one, or remove it")
        }
    }

    /// Rooms of the package that the page does not describe. `scripts/graph --check` judges the picture, and asks the
    /// package itself.
    static func undescribed(_ document: SourceText, package: String) -> [Untidiness] {
        let calls = package.matches(
            of: /(?:room|pureRoom|systemLibrary|target|executableTarget)\(\s*(?:name: )?"([\w-]+)"/)
        let rooms = Set(calls.map { String($0.output.1) })
        return rooms.filter { !document.text.contains("`\($0)`") }.sorted().map {
            Untidiness(path: document.path, line: nil, what: "\($0) is described nowhere: say what it holds")
        }
    }

    // MARK: Machine paths

    /// A path that only one machine has.
    static func machinePaths(_ source: SourceText) -> [Untidiness] {
        source.lines(with: ["/home/", "/Users/", "/root/", "/work/", "/tmp/", "/private/var/"]).flatMap {
            number, line in
            line.matches(of: /(?:^|[^\w.~$}])(\/(?:home|Users|root|work|tmp|private\/var)\/[\w.-]+)/)
                .map { String($0.output.1) }
                .filter { !$0.hasPrefix("/home/ada") }
                .map {
                    Untidiness(
                        path: source.path, line: number,
                        what: "\($0) is of one machine: use a relative path, #filePath or the temporary directory")
                }
        }
    }
}
