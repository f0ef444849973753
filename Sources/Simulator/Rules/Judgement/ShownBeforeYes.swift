/// Judges, for tests, whether a person saw the agent's actions before their yes.
///
/// The judge reads all content that the relay received, in order, and then the actions that an agent's double executed, split by the
/// double's own rules. No code is shared with the maker of cards: the judge undoes escapes by itself.
package struct ShownBeforeYes: Sendable {
    /// A card in the form that a person reads; in a sealed chat, opened by the phone.
    package struct Card: Sendable, Hashable {
        package var title: String
        package var message: String
        package var command: String?
        package var host: String?

        package init(title: String = "", message: String = "", command: String? = nil, host: String? = nil) {
            (self.title, self.message, self.command, self.host) = (title, message, command, host)
        }
    }

    /// A piece of an executed action, and its place on the card. A title is one line and no place for decisive facts.
    package enum Executed: Sendable, Hashable {
        /// A program with all its arguments, in order, with nothing but space between them; each literal, quoted for a shell, or as a string of JSON.
        /// If a shell runs the command of the card, a line of the message may state so: `arguments: sh -c (the command above)`.
        case arguments([String])
        /// Working folder: the value of the first line `Folder: VALUE` of the message.
        case folder(String)
        /// A patch, a script, written bytes: these bytes without a gap, literal, quoted for a shell, or in JSON's escapes.
        case content([UInt8])
        /// The whole input of a tool, as JSON: the same value in any spacing and order of members.
        case input(String)
        /// A tool, a server or a machine: the title and the host count as places too.
        case name(String)
    }

    private enum End: Sendable, Hashable {
        case allowed, denied
        case byItself(reason: String)
    }

    private struct Asked: Sendable {
        var card: Card
        /// Joined parts, from part 2 on, of a text that is too long for the card. Nil if the card has all of it.
        var rest: String?
        var end: End?

        /// Whether the message names a shell, and the command is its whole input.
        func givesShell(_ arguments: [String]) -> Bool {
            guard arguments.count == 3, let command = card.command,
                ShownText.unescaped(command + (rest ?? "")) == Array(arguments[2].utf8)
            else { return false }
            let line = Array(": \(arguments[0]) \(arguments[1]) (the command above)".utf8)
            return ShownText.unescaped(card.message).split(separator: UInt8(ascii: "\n")).contains {
                $0.count > line.count && $0.suffix(line.count).elementsEqual(line)
            }
        }
    }

    private var asked: [String: Asked] = [:]
    /// All approvals, in the order of the requests.
    package private(set) var approvals: [String] = []
    /// Messages that are parts, by chat.
    private var parts: [String: [ShownPart]] = [:]

    package init() {}

    // MARK: Input of the relay

    /// A whole message that the relay accepted.
    package mutating func heard(_ message: String, in chat: String) {
        if let part = ShownPart(message) { parts[chat, default: []].append(part) }
    }

    package mutating func asked(_ approval: String, _ card: Card, in chat: String) {
        let saysSo = card.title.lowercased().contains("part")
        if asked[approval] == nil { approvals.append(approval) }
        asked[approval] = Asked(card: card, rest: saysSo ? ShownPart.rest(of: parts[chat] ?? []) : nil)
    }

    /// `reason` is the relay's own for ending the approval, or nil if a person decided.
    package mutating func decided(_ approval: String, _ decision: String, reason: String? = nil) {
        guard asked[approval] != nil, asked[approval]?.end == nil else { return }
        if let reason {
            asked[approval]?.end = .byItself(reason: reason)
        } else {
            asked[approval]?.end = decision == "approve" || decision == "approve_always" ? .allowed : .denied
        }
    }

    private static let events: Set = ["message_added", "approval_requested", "approval_resolved"]

    /// The same input from the phone's events. `open` is the phone: it opens an envelope of a chat, sealed under `messages` or `approvals`.
    package mutating func take(
        _ event: PhoneEvent, open: (_ sealed: String, _ path: String, _ chat: String) -> String? = { _, _, _ in nil }
    ) {
        guard Self.events.contains(event.type), let data = try? JSONParser.parse(event.data),
            let chat = data["session_id"]?.string
        else { return }
        switch event.type {
        case "message_added" where data["role"]?.string == "agent":
            let opened = data["text_ct"]?.string.flatMap { open($0, "messages", chat) }
            if let text = opened ?? data["text"]?.string { heard(text, in: chat) }
        case "approval_requested":
            guard let approval = data["approval_id"]?.string else { return }
            var shown = data
            if let sealed = data["details_ct"]?.string {
                let opened = open(sealed, "approvals", chat)
                shown = opened.flatMap { try? JSONParser.parse(Array($0.utf8)) } ?? .null
            }
            let card = Card(
                title: shown["title"]?.string ?? "", message: shown["message"]?.string ?? "",
                command: shown["command"]?.string, host: shown["host"]?.string)
            asked(approval, card, in: chat)
        case "approval_resolved":
            guard let approval = data["approval_id"]?.string else { return }
            decided(approval, data["decision"]?.string ?? "deny", reason: data["reason"]?.string)
        default: break
        }
    }

    package func title(of approval: String) -> String? { asked[approval]?.card.title }
    /// A person's decision, or nil if nobody has decided.
    package func decision(on approval: String) -> Bool? {
        switch asked[approval]?.end {
        case .allowed: true
        case .denied: false
        case .byItself, nil: nil
        }
    }

    // MARK: The judgement

    /// Actions that a person did not see before their yes to this approval, as sentences. Empty if they saw all of them.
    package func lies(_ executed: [Executed], allowedBy approval: String) -> [String] {
        guard let asked = asked[approval] else { return ["\(approval) was never asked"] }
        switch asked.end {
        case .allowed: break
        case .denied: return ["\(approval) was denied"]
        case .byItself(let reason): return ["\(approval) ended by itself: \(reason)"]
        case nil: return ["\(approval) was not decided yet"]
        }
        let card = asked.card
        var places = [card.message] + (card.command.map { [$0] } ?? [])
        if let rest = asked.rest { places += places.map { $0 + rest } }
        let texts = places.map(ShownText.init)
        let names = texts + [card.title, card.host ?? ""].map(ShownText.init)
        return executed.filter { piece in
            switch piece {
            case .arguments(let arguments):
                !texts.contains { $0.holds(arguments: arguments) } && !asked.givesShell(arguments)
            case .folder(let folder): !ShownText(card.message).holds(folder: folder)
            case .content(let bytes): !texts.contains { $0.holds(content: bytes) }
            case .input(let json): !texts.contains { $0.holds(input: json) }
            case .name(let name): !names.contains { $0.holds(content: Array(name.utf8)) }
            }
        }.map { "\(approval) was allowed, and its card does not show \($0.words)" }
    }

    /// Scalars of a card that are invisible, or look like an escape, in the form `U+202E`.
    package func unseen(on approval: String) -> [String] {
        guard let asked = asked[approval] else { return [] }
        let rest = asked.rest ?? ""
        return ShownText.unseen(in: asked.card.title, spacesCount: false, linesCount: true)
            + ShownText.unseen(in: asked.card.message + (asked.card.command == nil ? rest : ""), spacesCount: false)
            + ShownText.unseen(in: asked.card.command.map { $0 + rest } ?? "", spacesCount: true)
            + ShownText.unseen(in: asked.card.host ?? "", spacesCount: false, linesCount: true)
    }
}

extension ShownBeforeYes.Executed {
    fileprivate var words: String {
        switch self {
        case .arguments(let arguments): "the arguments \(arguments.map { String($0.prefix(120)) })"
        case .folder(let folder): "the folder \(folder)"
        case .content(let bytes): "the \(bytes.count) bytes \(String(decoding: bytes.prefix(120), as: UTF8.self))"
        case .input(let json): "the input \(json.prefix(120))"
        case .name(let name): "the name \(name)"
        }
    }
}

/// A message with a part of a text that is too long for a card: a line `Part 2 of 3 of …:`, and below it the part.
struct ShownPart: Sendable, Hashable {
    let number: Int
    let count: Int
    let what: String
    let text: String

    init?(_ message: String) {
        guard let end = message.utf8.firstIndex(of: UInt8(ascii: "\n")),
            let head = message[..<end].wholeMatch(of: /Part ([0-9]{1,4}) of ([0-9]{1,4}) of (.+):/),
            let number = Int(head.1), let count = Int(head.2)
        else { return nil }
        (self.number, self.count, what) = (number, count, String(head.3))
        text = String(message[message.utf8.index(after: end)...])
    }

    /// Parts from 2 to the last, joined, if the newest parts are exactly these. Part 1 is on the card.
    static func rest(of parts: [ShownPart]) -> String? {
        guard let last = parts.last, last.number == last.count, last.count >= 2, parts.count >= last.count - 1 else {
            return nil
        }
        let run = parts.suffix(last.count - 1)
        let isWhole = zip(run, 2...last.count).allSatisfy { part, number in
            part.number == number && part.count == last.count && part.what == last.what
        }
        return isWhole ? run.map(\.text).joined() : nil
    }
}
