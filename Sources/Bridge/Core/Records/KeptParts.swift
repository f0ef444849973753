import Vocabulary

/// The parts of a turn: rows of the journal besides its record, each written once.
///
/// A run of hundreds of tool calls has hundreds of ended texts and finished calls. In the record they would be written anew with every call;
/// in parts each is written once, and the record holds what no part has yet: less than `size` bytes of it.
///
/// States of a part:
/// - *pending*: numbered and handed to the journal. Every record's job carries all pending parts, so that no record is on disk without the
///   parts that it needs. Leads to *kept* when one of these jobs is written (`kept(through:)`), whatever became of the others.
/// - *kept*: no later job carries it. The turn's close removes the row.
///
/// Invariants:
/// - A record needs the parts 1 to `count`, and each of them was written in its job or before it. A kill leaves a job whole or not at all.
/// - In one process a number has one content. Rows beyond the `count` of the record that a start finds are replaced as their numbers come.
/// - The text of a turn may start over (`RunText.restart`): then `first` names the part in which the new one begins, and earlier parts hold
///   nothing of it. A finished call never opens again.
/// - A start joins the parts to the record (`TurnRecord.join`). A part that is missing, or of another turn, makes the record unreadable.
/// - A record without parts is whole, as earlier programs wrote it; its turn has parts from the next record on. An earlier program refuses
///   the whole journal by its schema version.
/// - The parts of a sealed turn are sealed as its record is.
package struct KeptParts: Sendable {
    /// New content of this many bytes becomes a part: a record with less fits into one page of the journal.
    package static let size = 1_024

    /// A text whose beginning the parts hold.
    struct Beginning: Sendable {
        /// The part in which the text begins, or 0 if no part holds any of it.
        var first = 0
        var text = ""
    }

    package struct Part: Sendable {
        package var number: Int
        var turn: TurnID
        var base: String?
        var ended: String?
        var finished: [ToolCallID] = []
    }

    /// The number of the newest part.
    var count = 0
    var base = Beginning()
    var ended = Beginning()
    var finished: Set<ToolCallID> = []
    package internal(set) var pending: [Part] = []

    /// Text and calls that ended since the newest part become the next one, if they are worth a row.
    mutating func take(_ turn: Turn, from size: Int) {
        fit(turn)
        let texts = (Self.rest(of: turn.text.base, base), Self.rest(of: turn.text.ended, ended))
        let calls = turn.tools.calls.count - turn.tools.open.count - finished.count
        guard texts.0.utf8.count + texts.1.utf8.count + 32 * calls >= size else { return }
        count += 1
        var part = Part(number: count, turn: turn.opening.id)
        part.base = add(texts.0, to: \.base)
        part.ended = add(texts.1, to: \.ended)
        part.finished = turn.tools.calls.filter { $0.value.finished && !finished.contains($0.key) }.keys.sorted()
        finished.formUnion(part.finished)
        pending.append(part)
    }

    private mutating func add(_ rest: Substring, to path: WritableKeyPath<Self, Beginning>) -> String? {
        guard !rest.isEmpty else { return nil }
        if self[keyPath: path].first == 0 { self[keyPath: path].first = count }
        self[keyPath: path].text += rest
        return String(rest)
    }

    /// A text that has started over has no beginning in the parts.
    mutating func fit(_ turn: Turn) {
        if !extends(turn.text.base, base.text) { base = Beginning() }
        if !extends(turn.text.ended, ended.text) { ended = Beginning() }
    }

    /// The turn without what the parts hold.
    func cut(_ turn: Turn) -> Turn {
        guard count > 0 else { return turn }
        var turn = turn
        turn.text.base = String(Self.rest(of: turn.text.base, base))
        turn.text.ended = String(Self.rest(of: turn.text.ended, ended))
        if !finished.isEmpty { turn.tools.calls = turn.tools.calls.filter { !finished.contains($0.key) } }
        return turn
    }

    /// A part ends where a text ended, so never within a character.
    private static func rest(of text: String, _ beginning: Beginning) -> Substring {
        text[text.utf8.index(text.startIndex, offsetBy: beginning.text.utf8.count)...]
    }

    mutating func kept(through number: Int) { pending.removeAll { $0.number <= number } }
}

extension KeptParts: Kept {
    package static let blank = Self()
    package static let fields: [Field<Self>] = [
        Field(always: "count", \.count), Field("base", \.base.first, absent: 0),
        Field("ended", \.ended.first, absent: 0),
    ]
}

extension KeptParts.Part: Kept {
    package static let blank = Self(number: 0, turn: TurnID(""))
    package static let fields: [Field<Self>] = [
        Field(always: "number", \.number), Field(always: "turn", \.turn), Field("base", \.base),
        Field("ended", \.ended),
        Field("finished", \.finished, absent: []),
    ]
}

/// A record needs a part that the journal does not have.
package struct MissingPart: Error, CustomStringConvertible {
    var number: Int
    package var description: String { "part \(number) of it is missing" }
}

extension TurnRecord {
    /// Number of parts that the record needs.
    package var partCount: Int { parts.count }

    /// Puts the texts and calls of its parts, in order, before those that it holds itself.
    package mutating func join(_ all: [KeptParts.Part]) throws {
        var (base, ended): (String, String) = ("", "")
        guard parts.count >= 0 else { throw MissingPart(number: parts.count) }
        for number in stride(from: 1, through: parts.count, by: 1) {
            guard all.indices.contains(number - 1), all[number - 1].number == number, all[number - 1].turn == id else {
                throw MissingPart(number: number)
            }
            let part = all[number - 1]
            if let text = part.base, parts.base.first > 0, number >= parts.base.first { base += text }
            if let text = part.ended, parts.ended.first > 0, number >= parts.ended.first { ended += text }
            for call in part.finished {
                turn.tools.calls[call] = .finished(call)
                parts.finished.insert(call)
            }
        }
        (parts.base.text, parts.ended.text) = (base, ended)
        (turn.text.base, turn.text.ended) = (base + turn.text.base, ended + turn.text.ended)
    }
}
