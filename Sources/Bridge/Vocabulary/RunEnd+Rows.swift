extension RunEnd {
    /// One row of a history. Histories give rows with or without the white space at their ends (openclaw.md#chathistory).
    package struct Row: Hashable, Sendable {
        package var text: String
        /// Begins a segment or a run of its own, instead of continuing the text before it.
        package var beginsParagraph: Bool
        /// First row after a restart of the agent. No row has the text that was on its way then.
        package var followsRestart: Bool

        package init(_ text: String, beginsParagraph: Bool = false, followsRestart: Bool = false) {
            self.text = text
            self.beginsParagraph = beginsParagraph
            self.followsRestart = followsRestart
        }
    }

    /// A run's end from a history, row by row.
    package init(
        rows: [Row], reason: Reason = .stop, truncated: Bool = false, includesFollowUp: Bool = false
    ) {
        let text = RowJoining.text(of: rows, along: "")
        self.init(
            text: text.isEmpty ? nil : text, reason: reason, truncated: truncated, includesFollowUp: includesFollowUp)
        // One row has no joint.
        if rows.count > 1 || rows.first?.followsRestart == true { self.rows = rows }
    }

    /// The same end, its rows joined as in the stream.
    package func joined(along stream: String) -> RunEnd {
        guard !rows.isEmpty, !stream.isEmpty else { return self }
        var end = self
        end.text = RowJoining.text(of: rows, along: stream)
        return end
    }
}

/// Puts the rows of a history together.
///
/// Between two rows it puts the first of these that applies:
/// - the white space that the stream had there, if the stream covers the joint. A joint without any white
///   space in the stream keeps none, unless the two rows would become one word;
/// - the white space at the stream's end, if the stream ended at the joint: the streamed text stays a beginning of the whole;
/// - the rows' own white space;
/// - a blank line.
/// A paragraph always begins with a blank line, unless the stream covers the joint.
struct RowJoining {
    private static let blankLine = Array("\n\n".utf8)

    /// The stream's bytes before a row.
    private enum Gap {
        case covered(ArraySlice<UInt8>)
        /// The stream ends within the gap.
        case begun(ArraySlice<UInt8>)
        /// The stream differs from the row, or ended earlier.
        case unknown
    }

    private let stream: [UInt8]
    /// Beginning of the next row in the stream, or nil once the two have parted.
    private var place: Int?
    private var text: [UInt8] = []
    /// White space at the end of the row before.
    private var trailing: ArraySlice<UInt8> = []

    static func text(of rows: [RunEnd.Row], along stream: String) -> String {
        if let first = rows.firstIndex(where: \.followsRestart), !stream.isEmpty {
            return text(before: rows[..<first], after: rows[first...], along: stream)
        }
        var joining = RowJoining(stream)
        for row in rows { joining.add(row) }
        return String(decoding: joining.text + joining.trailing, as: UTF8.self)
    }

    /// Joins the rows from before the restart, streamed text that is in no row, and the later rows, a part of which may have been streamed.
    private static func text(
        before: ArraySlice<RunEnd.Row>, after: ArraySlice<RunEnd.Row>, along stream: String
    ) -> String {
        let head = text(of: Array(before), along: stream)
        let tail = Array(
            text(of: after.map { .init($0.text, beginsParagraph: $0.beginsParagraph) }, along: "").utf8)
        let streamed = Array(stream.utf8)
        var shown = streamed.starts(with: head.utf8) ? streamed : Array(head.utf8)
        let ends = shown.indices.filter { shown[$0...].starts(with: blankLine) }.map { $0 + blankLine.count }
        if let place = ([0] + ends).first(where: { $0 < shown.count && tail.starts(with: shown[$0...]) }) {
            return String(decoding: shown[..<place] + tail, as: UTF8.self)
        }
        while let last = shown.last, isSpace(last) { shown.removeLast() }
        if !shown.isEmpty { shown += blankLine }
        return String(decoding: shown + tail, as: UTF8.self)
    }

    private init(_ stream: String) {
        self.stream = Array(stream.utf8)
        place = 0
    }

    private mutating func add(_ row: RunEnd.Row) {
        let bytes = Array(row.text.utf8)
        guard let first = bytes.firstIndex(where: { !Self.isSpace($0) }),
            let last = bytes.lastIndex(where: { !Self.isSpace($0) })
        else { return }
        let core = bytes[first...last]
        let gap = gap(before: core)
        text += text.isEmpty ? Array(bytes[..<first]) : joint(gap, row, bytes[..<first], core)
        text += core
        trailing = bytes[(last + 1)...]
    }

    private func joint(
        _ gap: Gap, _ row: RunEnd.Row, _ leading: ArraySlice<UInt8>, _ core: ArraySlice<UInt8>
    ) -> [UInt8] {
        var (before, after) = (trailing, leading)
        switch gap {
        case .covered(let streamed):
            let isOneWord = text.last.map(Self.isWord) == true && core.first.map(Self.isWord) == true
            if !streamed.isEmpty || !(row.beginsParagraph || isOneWord) { return Array(streamed) }
        case .begun(let streamed): if !(trailing + leading).starts(with: streamed) { (before, after) = (streamed, []) }
        case .unknown: break
        }
        let own = Array(before + after)
        if own.isEmpty { return Self.blankLine }
        return row.beginsParagraph && !Self.hasBlankLine(own) ? before + Self.blankLine + after : own
    }

    /// The stream's white space before the row, if the row follows it, or as much of the row as was streamed.
    private mutating func gap(before core: ArraySlice<UInt8>) -> Gap {
        guard let place else { return .unknown }
        self.place = nil
        let rest = stream[place...]
        guard let begins = rest.firstIndex(where: { !Self.isSpace($0) }) else {
            return rest.isEmpty ? .unknown : .begun(rest)
        }
        let count = min(stream.count - begins, core.count)
        guard stream[begins...].prefix(count).elementsEqual(core.prefix(count)) else { return .unknown }
        if begins + core.count <= stream.count { self.place = begins + core.count }
        return .covered(rest[..<begins])
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func hasBlankLine(_ space: [UInt8]) -> Bool { space.count { $0 == 0x0A } > 1 }

    /// Letters and digits that white space separates. Scripts beyond ASCII may do without.
    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
