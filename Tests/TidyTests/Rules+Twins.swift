// One name, one type: a reader who meets it in two rooms takes one for the other.
extension Rules {
    /// Names that two rooms need, with the reason of each.
    static let twinTypes: [String: String] = [
        "Stage": "what a test has around its subject: another in each room of tests"
    ]

    /// Types at the top of a file that another room names alike. Suites of tests may share a name: their rooms tell
    /// them apart.
    static func twins(_ sources: [SourceText], excused: [String: String]) -> [Untidiness] {
        var places: [String: [(room: String, path: String, line: Int)]] = [:]
        for source in sources {
            let room = source.room ?? source.path.split(separator: "/").prefix(2).joined(separator: "/")
            for (number, line) in source.lines {
                guard let name = nameOfTopType(line), !name.hasSuffix("Tests") else { continue }
                places[name, default: []].append((room, source.path, number))
            }
        }
        let twins = places.filter { Set($0.value.map(\.room)).count > 1 }
        let unexcused = twins.filter { excused[$0.key] == nil }.sorted { $0.key < $1.key }.flatMap { name, found in
            found.map { place in
                let others = Set(found.map(\.room)).subtracting([place.room]).sorted().joined(separator: " and ")
                return Untidiness(
                    path: place.path, line: place.line,
                    what: "\(name) is a type of \(others) too: use that one, or name this one by what differs")
            }
        }
        let needless = excused.keys.filter { twins[$0] == nil }.sorted().map {
            Untidiness(path: "Rules.twinTypes", line: nil, what: "\($0) is in one room alone: take it out")
        }
        return unexcused + needless
    }

    private static func nameOfTopType(_ line: Substring) -> String? {
        guard let first = line.utf8.first, first != UInt8(ascii: " "), first != UInt8(ascii: "/") else { return nil }
        let match = line.prefixMatch(
            of:
                /(?:(?:package|public|private|fileprivate|final|indirect|@\w+(?:\([^)]*\))?) )*(?:struct|class|enum|actor|protocol) (\w+)/
        )
        return match.map { String($0.output.1) }
    }
}
