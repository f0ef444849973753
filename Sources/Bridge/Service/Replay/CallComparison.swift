import FoundationEssentials

/// Calls of a replay against a real relay, compared with a golden file of a replay on virtual time (DESIGN.md#recording).
///
/// Details that depend on the relay or on its speed are not compared: times, the names it gives, how text is cut into deltas (neighbours are
/// joined), progress of tasks (it may be dropped), and the order among turns. The comparison covers each turn's calls, in order, with their key
/// within the turn and all other content.
package struct CallComparison {
    /// Each difference as a line: the turn, `-` for an expected call, `+` for an actual one.
    package let differences: [String]
    /// Number of compared calls, deltas joined.
    package let count: Int

    /// `expected` has lines of a golden file, `time method body`; `found` has lines of a `CallLog`, `method body`.
    package init(expected: [String], found: [String]) {
        let expected = Self.turns(expected.map { line in String(line.drop { $0 != " " }.dropFirst()) })
        let found = Self.paired(Self.turns(found), with: expected)
        differences = (0..<max(expected.count, found.count)).flatMap { turn -> [String] in
            Self.differences(
                turn < expected.count ? expected[turn] : [], turn < found.count ? found[turn] : []
            ).map { "turn \(turn + 1): \($0)" }
        }
        count = found.map(\.count).reduce(0, +)
    }

    /// Lines of one list that are missing in the other, in order.
    package static func differences(_ expected: [String], _ found: [String]) -> [String] {
        found.difference(from: expected).map { change in
            switch change {
            case .remove(let offset, let line, _): (offset, 0, "\(offset + 1): - \(line)")
            case .insert(let offset, let line, _): (offset, 1, "\(offset + 1): + \(line)")
            }
        }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    /// Moves turns that are as expected to their expected places: two that begin at once may be seen in either order.
    private static func paired(_ found: [[String]], with expected: [[String]]) -> [[String]] {
        var left = found
        var paired = expected.map { turn in left.firstIndex(of: turn).map { left.remove(at: $0) } }
        for place in paired.indices where paired[place] == nil && !left.isEmpty { paired[place] = left.removeFirst() }
        return paired.map { $0 ?? [] } + left
    }

    // MARK: Calls, by turn

    private enum Line {
        case delta(String)
        case call(String)

        var text: String {
            switch self {
            case .delta(let text): "sendMessageDelta \(JSONMember.string(text).text)"
            case .call(let text): text
            }
        }
    }

    private static func turns(_ lines: [String]) -> [[String]] {
        var turns: [[Line]] = []
        var numbers: [String: Int] = [:]
        var sessions: [String: Int] = [:]
        for line in lines {
            let method = String(line.prefix { $0 != " " })
            let body = line.dropFirst(method.count + 1)
            guard !["updateTask", "createSession"].contains(method), !method.isEmpty else { continue }
            guard var members = try? JSONDecoder().decode([String: JSONMember].self, from: Data(body.utf8)) else {
                turns.append([.call(line)])
                continue
            }
            let (turn, name) = parts(of: members["idempotency_key"]?.string ?? "", turns: numbers.keys)
            let number = numbers[turn] ?? turns.count
            if numbers.updateValue(number, forKey: turn) == nil { turns.append([]) }
            if method == "sendMessageDelta", let delta = members["delta"]?.string {
                if case .delta(let text) = turns[number].last {
                    turns[number][turns[number].count - 1] = .delta(text + delta)
                } else {
                    turns[number].append(.delta(delta))
                }
                continue
            }
            members["idempotency_key"] = .string(name)
            members["interaction_id"] = nil
            members["message_id"] = nil
            // A card's life counts from the moment when the card leaves, which differs by milliseconds.
            if members["expires_in_ms"] != nil { members["expires_in_ms"] = .string("its life") }
            if let session = members["session_id"]?.string {
                let number = sessions[session] ?? sessions.count + 1
                sessions[session] = number
                members["session_id"] = .string("session \(number)")
            }
            turns[number].append(.call("\(method) \(JSONMember.object(members).text)"))
        }
        return turns.map { $0.map(\.text) }
    }

    /// Splits a key into the turn's name and the call's name within the turn (DESIGN.md#lanes-buckets-pacing). Names may contain text that looks
    /// like an ending: match the turns that were opened first, and search for an ending in other keys alone.
    private static func parts(of key: String, turns: some Collection<String>) -> (turn: String, name: String) {
        if let turn = turns.filter({ key.hasPrefix($0 + "-") }).max(by: { $0.count < $1.count }) {
            return (turn, String(key.dropFirst(turn.count + 1)))
        }
        for mark in ["-open", "-end", "-more-", "-late", "-line-", "-t-", "-a-", "-d"] {
            guard let range = key.ranges(of: mark).last else { continue }
            return (String(key[..<range.lowerBound]), String(key[range.lowerBound...].dropFirst()))
        }
        return (key, "")
    }
}

/// A JSON value that is written again with its members in one order.
private enum JSONMember: Codable {
    case string(String)
    case number(Double)
    case flag(Bool)
    case object([String: JSONMember])
    case array([JSONMember])
    case null

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSONMember].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONMember].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .string(let string): try value.encode(string)
        case .number(let number): try value.encode(number)
        case .flag(let flag): try value.encode(flag)
        case .object(let object): try value.encode(object)
        case .array(let array): try value.encode(array)
        case .null: try value.encodeNil()
        }
    }

    var string: String? { if case .string(let string) = self { string } else { nil } }

    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "?"
    }
}
