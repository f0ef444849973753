import FoundationEssentials
import Glibc

/// A text of the project, by its path from the root.
struct SourceText: Hashable, CustomStringConvertible {
    var path: String
    var text: String

    var description: String { path }

    /// Numbered lines, from 1.
    var lines: [(number: Int, text: Substring)] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { ($0 + 1, $1) }
    }

    /// Lines with one of these words, found before any expression runs: expressions on every line of the project
    /// would take half a minute.
    func lines(with words: [String]) -> [(number: Int, text: Substring)] {
        func isIn(_ text: String) -> Bool { words.contains { strstr(text, $0) != nil } }
        return isIn(text) ? lines.filter { isIn(String($0.text)) } : []
    }

    /// The room of `Sources/Bridge/Core/Turn/Turn.swift` is `BridgeCore`.
    var room: String? { Rooms.all.first { path.hasPrefix("\($0.folder)/") }?.name }
}

/// The rooms of the package, and the folder of each.
enum Rooms {
    typealias Room = (name: String, folder: String)

    static let all = (try? of(Project.text("Package.swift").text)) ?? []

    static func folder(of room: String) -> String { all.first { $0.name == room }?.folder ?? "" }

    static func of(_ package: String) -> [Room] {
        package.matches(of: /"([\w-]+)", at: "([^"]+)"/).map { (String($0.output.1), String($0.output.2)) }
            + package.matches(of: /path: "([^"]+\/([\w-]+))"/).map { (String($0.output.2), String($0.output.1)) }
    }
}

/// A finding, with the way to mend it.
struct Untidiness: Hashable, CustomStringConvertible {
    var path: String
    var line: Int?
    var what: String

    var description: String { "\(path)\(line.map { ":\($0)" } ?? ""): \(what)" }
}

/// Files of the project on the disk, without build products.
enum Project {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Paths of every file, from the root.
    static func paths() throws -> [String] { try paths(in: "") }

    static func text(_ path: String) throws -> SourceText {
        SourceText(path: path, text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
    }

    static func texts(ending suffixes: String...) throws -> [SourceText] {
        try paths().filter { path in suffixes.contains { path.hasSuffix($0) } }.map(text)
    }

    /// All Swift files, read once.
    static let swift = Result { try texts(ending: ".swift") }

    private static func paths(in folder: String) throws -> [String] {
        let directory = folder.isEmpty ? root.path : root.appending(path: folder).path
        return try FileManager.default.contentsOfDirectory(atPath: directory).sorted().flatMap { name in
            // Skips `.build`, `.git` and their like, and `build`, where scripts put their output.
            if name.hasPrefix(".") && name != ".github" && name != ".swift-format" || name == "build" {
                return [String]()
            }
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            var isDirectory = false
            guard FileManager.default.fileExists(atPath: root.appending(path: path).path, isDirectory: &isDirectory)
            else { return [] }
            return isDirectory ? try paths(in: path) : [path]
        }
    }
}
