// How many stored properties a type has. A value with many of them has states that its fields can contradict.
extension Rules {
    static let widthLimit = 12

    /// Types that have more, by file and name, each with the number that it has and must not grow past, and the reason.
    static let wideTypes: [String: (count: Int, reason: String)] = [
        "Sources/BridgeCore/Delivery/DeliveryReport.swift:DeliveryTally": (13, "counts: none depends on another"),
        "Sources/BridgeCore/Delivery/LaneRecord.swift:LaneRecord": (13, "one field for each key of the stored lane"),
        "Sources/BridgeCore/Questions/QuestionLedger.swift:Asked": (
            13, "the course of one question; few of it exclude another"
        ),
        "Sources/BridgeCore/Records/StoredQuestions.swift:Asked": (13, "one field for each key of the journal"),
        "Sources/BridgeCore/Records/StoredApprovals.swift:Approval": (25, "one field for each key of the journal"),
        "Sources/BridgeCore/Records/StoredLane.swift:StoredLane": (16, "one field for each key of the journal"),
        "Sources/BridgeCore/Records/StoredTurn.swift:StoredTurn": (32, "one field for each key of the journal"),
        "Sources/BridgeCore/Records/StoredOpening.swift:StoredOpening": (13, "one field for each key of the journal"),
        "Sources/BridgeCore/Turn/ApprovalLedger.swift:Approval": (
            13, "the course of one ask; few of it exclude another"
        ),
        "Sources/BridgeCore/Turn/Turn.swift:Turn": (13, "each part is one concern, and a value of its own"),
        "Sources/BridgeCore/Turn/TurnOpening.swift:TurnOpening": (
            13, "what is known of a message when it comes, no state"
        ),
        "Sources/BridgeCore/Turn/TurnOpening.swift:TurnSettings": (23, "figures and choices: none depends on another"),
        "Sources/BridgeService/Configuration/Configuration.swift:Connection": (
            13, "one field for each key of the file"
        ),
        "Sources/BridgeService/Live/LiveConnection.swift:Condition": (18, "what is told of both links is one value"),
        "Sources/BridgeService/Live/LiveConnection+Parts.swift:Parts": (15, "the parts of a connection, no state"),
        "Sources/BridgeService/Status/BridgeStatus.swift:Connection": (13, "one field for each key of the file"),
        "Sources/BridgeService/Replay/ReplayPlan.swift:ReplaySummary": (13, "counts: none depends on another"),
    ]

    /// In the rooms of the bridge itself.
    static let roomsOfBoundedWidth: Set = ["BridgeCore", "BridgeService", "RelayProtocol"]

    static func tooWide(_ source: SourceText, excused: [String: (count: Int, reason: String)]) -> [Untidiness] {
        storedProperties(source).filter { type in
            type.names.count > max(widthLimit, excused["\(source.path):\(type.name)"]?.count ?? 0)
        }.map { type in
            Untidiness(
                path: source.path, line: type.line,
                what: "\(type.name) has \(type.names.count) stored properties, over \(widthLimit): which of them are "
                    + "true only in some state, or belong together? If none, say why in Rules.wideTypes")
        }
    }

    /// Exceptions that are wider than their type has become, or of a type that is gone.
    static func needlesslyWide(
        _ sources: [SourceText], excused: [String: (count: Int, reason: String)]
    ) -> [Untidiness] {
        var counts: [String: Int] = [:]
        for source in sources {
            for type in storedProperties(source) { counts["\(source.path):\(type.name)"] = type.names.count }
        }
        return excused.sorted { $0.key < $1.key }.compactMap { name, excuse in
            let count = counts[name] ?? 0
            guard count < excuse.count else { return nil }
            let what = count > widthLimit ? "has \(count): lower it" : "is not over \(widthLimit): take it out"
            return Untidiness(path: "Rules.wideTypes", line: nil, what: "\(name) \(what)")
        }
    }

    struct StoredProperties: Hashable {
        var name: String
        var line: Int
        var names: [String]
    }

    /// Of every struct, class and actor, by the indentation that the formatter gives: a member is four columns to the
    /// right of its type. Members compiled only with planted faults are deeper, and do not count.
    static func storedProperties(_ source: SourceText) -> [StoredProperties] {
        var open: [(indent: Int, type: StoredProperties)] = []
        var found: [StoredProperties] = []
        for (number, line) in source.lines {
            let indent = line.prefix { $0 == " " }.count
            let words = line.dropFirst(indent)
            if words.hasPrefix("}"), open.last?.indent == indent { found.append(open.removeLast().type) }
            if let name = nameOfType(words), !words.hasSuffix("}") {
                open.append((indent, StoredProperties(name: name, line: number, names: [])))
            } else if let last = open.indices.last, indent == open[last].indent + 4, let name = nameOfStored(words) {
                open[last].type.names.append(name)
            }
        }
        return found
    }

    private static func nameOfType(_ words: Substring) -> String? {
        // Most lines are no declaration, and an expression on each would take long.
        guard words.contains("struct ") || words.contains("class ") || words.contains("actor ") else { return nil }
        let match = words.prefixMatch(
            of: /(?:(?:package|public|private|fileprivate|final|@\w+(?:\([^)]*\))?) )*(?:struct|class|actor) (\w+)/)
        return match.map { String($0.output.1) }
    }

    private static func nameOfStored(_ words: Substring) -> String? {
        guard words.contains("let ") || words.contains("var "), !words.hasPrefix("static ") else { return nil }
        guard !words.contains(" static "), !words.hasPrefix("case "), !words.hasPrefix("func ") else { return nil }
        guard
            let match = words.prefixMatch(
                of:
                    /(?:(?:(?:package|public|private|fileprivate|internal|final|weak|unowned|lazy|nonisolated)(?:\(\w+\))?|@\w+(?:\([^)]*\))?) )*(?:let|var) (\w+)/
            )
        else { return nil }
        let rest = words[match.range.upperBound...]
        // A brace without a value before it is a getter, unless it watches what is stored.
        if let brace = rest.firstIndex(of: "{"), !rest[..<brace].contains("=") {
            guard rest[brace...].contains("didSet") || rest[brace...].contains("willSet") else { return nil }
        }
        return String(match.output.1)
    }
}
