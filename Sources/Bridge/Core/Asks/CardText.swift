import Vocabulary

/// The words of a card: everything that a yes allows the agent, in a form that an eye can read.
///
/// Invariants:
/// - Nothing is cut in silence: text beyond the card is in `overflow`, or `isCut` holds and the ask can only be denied.
/// - The long text occurs once, in `command` or in `message`.
/// - Facts come before the agent's own words, so that those cannot forge them.
struct CardText: Hashable, Sendable {
    /// Bytes that fit into the relay's field of 64 KB once base64 has made them a third longer (relay.md#size-limits).
    static let fieldLimit = 48_000
    /// Bytes of the part that goes out as whole messages before the card.
    static let overflowLimit = 65_536
    static let titleLimit = 200
    /// Beyond this length the message does not repeat the command.
    private static let shortCommand = 200
    /// Bytes that a card shows of an ask that can only be denied.
    private static let cutLimit = 16_000
    /// Bytes of the shorter text in a sealed card, where both texts share one field.
    private static let besideLimit = 16_000
    /// Bytes of slug, call, and the names of the members around the texts.
    private static let frame = 1_000

    var title: String
    var message: String
    var command: String?
    var host: String?
    var overflow = ""
    var isCut = false

    /// `until`: the hour up to which the agent waits. `takesWords`: the chat's next message may say what to do instead.
    init(_ request: ApprovalRequest, isSealed: Bool, until: String?, takesWords: Bool = false) {
        let said = VisibleText.line(request.title)
        let wholeTitle = Self.isReserved(said) ? "The agent says: \(said)" : said
        title = wholeTitle.isEmpty ? "Approval needed" : TextCut.marked(wholeTitle, atMost: Self.titleLimit)
        command = request.command.map { VisibleText.command($0) }
        let wholeHost = request.host.map { VisibleText.line($0) }
        host = wholeHost.map { TextCut.marked($0, atMost: Self.titleLimit) }
        let own = Self.own(request)
        var lines = Self.lines(request.facts)
        if let wholeHost, wholeHost != host { lines.append("Host: \(wholeHost)") }
        // The card's title is one line. A title of several lines stands in the message in full.
        let unbroken = VisibleText.unbroken(VisibleText.trimmed(request.title))
        if said != unbroken {
            lines.append("Title: \(unbroken)")
        } else if wholeTitle.utf8.count > Self.titleLimit {
            lines.append("Title: \(wholeTitle)")
        }
        // The message is never empty: the relay refused such a request, and the run hung (relay.md#requestapproval).
        // The agent's own words come last: none of them can pass for a line of the bridge's in front of it.
        let texts = own.map { lines + [$0] } ?? command.map { [Self.question($0)] + lines } ?? lines + [title]
        message = (texts + (until.map { ["The agent waits until \($0)."] } ?? [])).joined(separator: "\n")
        let whole = message
        fit(isSealed: isSealed, beside: [title, host], less: takesWords ? Self.hint.utf8.count + 1 : 0)
        guard takesWords else { return }
        // Nothing may stand between a text and its next part.
        let isSplit = !overflow.isEmpty && message != whole
        message = isSplit ? "\(Self.hint)\n\(message)" : "\(message)\n\(Self.hint)"
    }

    private static let hint = "Tap your answer, or write what to do instead"

    /// The agent's own words, or nil if they are blank. Without a command, the words of a permission are a patch or JSON, in which each
    /// scalar counts as in a command.
    private static func own(_ request: ApprovalRequest) -> String? {
        let text = request.message
        guard !text.unicodeScalars.allSatisfy(VisibleText.isBlank) else { return nil }
        let isExact = request.subject == .permission && request.command == nil
        return isExact ? VisibleText.command(text) : VisibleText.words(text)
    }

    private static func question(_ command: String) -> String {
        let isShort = command.utf8.count <= shortCommand && !command.contains(where: \.isNewline)
        return isShort ? "Run \(command)?" : "Run this command?"
    }

    /// One line for each fact, whatever the agent writes into a name or a value.
    private static func lines(_ facts: AskFacts) -> [String] {
        var lines: [String] = []
        if facts.leavesSandbox { lines.append("A yes may run it outside of the agent's sandbox.") }
        if facts.reachesNetwork { lines.append("A yes opens the network.") }
        if let folder = facts.folder { lines.append("Folder: \(VisibleText.value(folder))") }
        return lines + facts.lines.map { "\(VisibleText.line($0.label)): \(VisibleText.value($0.value))" }
    }

    /// The agent's title begins like one of the bridge's own.
    private static func isReserved(_ title: String) -> Bool {
        let words = title.lowercased()
        return words.hasPrefix("can only be denied") || words.hasPrefix("in ") && words.contains(" parts")
    }

    // MARK: Size

    /// `less`: bytes to keep free for the last line.
    private mutating func fit(isSealed: Bool, beside: [String?], less: Int) {
        let fieldLimit = Self.fieldLimit - (less > 0 ? less + 1 : 0)
        let own = (command: Self.cost(command, isSealed), message: Self.cost(message, isSealed))
        let other = beside.reduce(Self.frame) { $0 + Self.cost($1, isSealed) }
        let fits =
            isSealed
            ? own.command + own.message + other <= fieldLimit
            : max(own.command, own.message) <= fieldLimit
        if fits { return }
        let commandIsLong = own.command > own.message
        let short = commandIsLong ? own.message : own.command
        guard short <= (isSealed ? Self.besideLimit : fieldLimit) else { return cut() }
        let room = isSealed ? fieldLimit - short - other : fieldLimit
        let (head, rest) = Self.split((commandIsLong ? command : message) ?? "", atMost: room, isSealed)
        guard rest.utf8.count <= Self.overflowLimit else { return cut() }
        overflow = rest
        if commandIsLong { command = head } else { message = head }
    }

    /// Cuts an ask that can only be denied to its beginning, and says so in its title.
    mutating func cut() {
        (overflow, isCut) = ("", true)
        message = TextCut.marked(message, atMost: Self.cutLimit / 4)
        command = command.map { TextCut.marked($0, atMost: Self.cutLimit / 4) }
        title = Self.title(Self.onlyDenied, title)
    }

    static let onlyDenied = "Can only be denied, since it is too long to show"
    static let onlyDeniedUnsaid = "Can only be denied, since the agent does not say all of it"

    static func title(_ beginning: String, _ title: String) -> String {
        title.hasPrefix(beginning) ? title : TextCut.marked("\(beginning): \(title)", atMost: titleLimit)
    }

    private static func cost(_ text: String?, _ isSealed: Bool) -> Int {
        guard let text else { return 0 }
        return isSealed ? text.unicodeScalars.reduce(2) { $0 + cost($1) } : text.utf8.count
    }

    /// Bytes within a JSON string. `VisibleText` has replaced every scalar that takes more than two there.
    private static func cost(_ scalar: Unicode.Scalar) -> Int {
        scalar.value < 0x20 || scalar == "\"" || scalar == "\\" ? 2 : UTF8.width(scalar)
    }

    private static func split(_ text: String, atMost room: Int, _ isSealed: Bool) -> (head: String, rest: String) {
        var (left, end) = (room - 2, text.unicodeScalars.startIndex)
        while end < text.unicodeScalars.endIndex {
            let scalar = text.unicodeScalars[end]
            left -= isSealed ? cost(scalar) : UTF8.width(scalar)
            if left < 0 { break }
            end = text.unicodeScalars.index(after: end)
        }
        if end < text.endIndex { end = VisibleText.wholeEscapes(before: end, in: text) }
        return (String(text.unicodeScalars[..<end]), String(text.unicodeScalars[end...]))
    }

    // MARK: Parts

    /// Messages that go out before a card whose text has an overflow. Part 1 is on the card.
    func parts(atMost limit: Int) -> [String] {
        let pieces = TextCut.pieces(overflow[...], atMost: limit - Self.titleLimit, partsEscapes: false)
        return pieces.enumerated().map { index, piece in
            "Part \(index + 2) of \(pieces.count + 1) of what is asked next:\n\(piece)"
        }
    }

    /// The title of a card behind `count` messages.
    func title(behind count: Int) -> String {
        Self.title("In \(count + 1) parts, read the \(count == 1 ? "message" : "messages") above first", title)
    }
}

extension ApprovalRequest {
    func card(_ text: CardText, named name: ApprovalID, _ severity: Severity) -> ApprovalCard {
        ApprovalCard(
            approval: name, action: subject == .exec ? "shell.exec" : "plugin.invoke", title: text.title,
            message: text.message, severity: severity, command: text.command, host: text.host,
            slug: slug.map { TextCut.marked(VisibleText.line($0), atMost: CardText.titleLimit) },
            toolCall: call.flatMap { $0.text.utf8.count <= CardText.titleLimit ? $0 : nil })
    }
}
