import FoundationEssentials

/// Files of this package that the tests read, found from the path of this file.
enum Fixtures {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    static func trace(_ name: String) -> String { tests.appending(path: "Fixtures/traces/\(name)").path() }
    static func golden(_ trace: String) -> URL {
        tests.appending(path: "PipelineTests/Golden/\(trace.replacing(".jsonl", with: ".golden"))")
    }

    struct End: Decodable, Sendable {
        var prompt: String?
        var kind: String
        var text: String
        var why: String
    }

    /// Output of `Tests/expectations/expected_ends.py`, which shares no code with the bridge.
    static let ends: [String: [End]] = {
        guard let data = try? Data(contentsOf: tests.appending(path: "expectations/ends.json")) else { return [:] }
        return (try? JSONDecoder().decode([String: [End]].self, from: data)) ?? [:]
    }()

    static let traces = ends.keys.sorted()
}
