import Vocabulary

/// One picture of `top`: a status as lines of a terminal, none wider than the terminal.
package struct TopPicture {
    package var width: Int
    /// Height of the terminal, or nil if the output is no terminal and must not be truncated.
    package var height: Int?
    package var hasColor: Bool

    package init(width: Int, height: Int?, hasColor: Bool) {
        (self.width, self.height, self.hasColor) = (max(1, width), height, hasColor)
    }

    /// SGR parameters, used if the terminal has color.
    private enum Shade: String { case plain = "", title = "1", good = "32", wait = "33", bad = "31" }

    private struct Row {
        var label = ""
        var text: String
        var shade = Shade.plain
    }

    private static let labelWidth = 9

    package func lines(_ status: BridgeStatus?, isRunning: Bool, wallMilliseconds now: Int64) -> [String] {
        var rows: [Row]
        if let status, isRunning {
            rows = head(status, now)
            for connection in status.connections { rows += [Row(text: "")] + self.rows(connection, now) }
        } else if let status {
            let notRunning = StatusText.lines(status, isRunning: false, wallMilliseconds: now)
            rows = notRunning.map { Row(text: $0, shade: .bad) }
        } else {
            rows = [Row(text: isRunning ? StatusText.hasNotSaid : StatusText.neverRan, shade: .bad)]
        }
        let lines = rows.flatMap(lines)
        guard let height, lines.count > height else { return lines }
        let more = "\u{2026} \(lines.count - max(0, height - 1)) more lines"
        return Array(lines.prefix(max(0, height - 1))) + [DisplayWidth.clipped(more, to: width)]
    }

    // MARK: Rows

    private func head(_ status: BridgeStatus, _ now: Int64) -> [Row] {
        let age = StatusText.span(from: status.ts, to: now)
        let life = StatusText.span(from: status.started, to: now)
        let state = status.ready ? "ready" : "not ready"
        var rows = [
            Row(
                text: "sophon-bridge \(status.version): \(state), for \(life), as of \(age) ago",
                shade: status.ready ? .title : .bad)
        ]
        if status.age(at: now) >= StatusFile.freshMilliseconds {
            rows.append(Row(text: "it has said nothing for \(age)", shade: .bad))
        }
        if let fault = status.journalFault {
            rows.append(Row(text: "the journal cannot be written: \(fault)", shade: .bad))
        }
        return rows
    }

    private func rows(_ connection: BridgeStatus.Connection, _ now: Int64) -> [Row] {
        let agent = connection.agent
        let version = agent.version.map { " \($0)" } ?? ""
        var rows = [
            Row(text: connection.name, shade: .title), row("relay", connection.relay, of: "", now),
            row("agent", agent.link, of: "\(agent.kind)\(version) ", now),
            Row(label: "work", text: StatusText.work(connection.work)),
        ]
        if let words = StatusText.tokens(connection.work) {
            rows.append(Row(label: "calls", text: "free now: \(words)"))
        }
        if let asks = connection.asks, let since = asks.map(\.since).min() {
            let noun = asks.count == 1 ? "ask" : "asks"
            let age = StatusText.span(from: since, to: now)
            rows.append(Row(label: "waits", text: "\(asks.count) \(noun) for you, \(age)", shade: .wait))
        }
        if connection.work.isMemoryFull == true {
            rows.append(Row(label: "waits", text: "no socket of the agent is read: memory is full", shade: .bad))
        }
        if let sealing = connection.sealing, max(sealing.runsWaiting, sealing.messagesWaiting) > 0 {
            rows.append(
                Row(
                    label: "waits",
                    text: "\(sealing.runsWaiting) runs for a phone, \(sealing.messagesWaiting) chats for a key",
                    shade: .wait))
        }
        if let notices = connection.work.notices, notices.waiting > 0 {
            rows.append(Row(label: "waits", text: "\(notices.waiting) notices", shade: .wait))
        }
        if let error = connection.lastError {
            let age = StatusText.span(from: error.at, to: now)
            rows.append(Row(label: "error", text: "\(age) ago: \(error.message)", shade: .bad))
        }
        return rows + (connection.chats ?? []).map { row($0, now) }
    }

    private func row(_ label: String, _ link: BridgeStatus.Link, of whom: String, _ now: Int64) -> Row {
        let since = StatusText.span(from: link.since, to: now)
        let remedy = link.remedy.map { "; what to do: \($0)" } ?? ""
        let reason = link.reason.map { ": \($0)" } ?? ""
        switch link.state {
        case .up: return Row(label: label, text: "\(whom)up \(since)\(remedy)", shade: .good)
        case .connecting: return Row(label: label, text: "\(whom)connecting \(since)\(remedy)", shade: .wait)
        case .waiting:
            let text = "\(whom)away \(since)\(reason)\(StatusText.nextTry(link, now))\(remedy)"
            return Row(label: label, text: text, shade: .wait)
        case .stopped: return Row(label: label, text: "\(whom)given up \(since) ago\(reason)\(remedy)", shade: .bad)
        }
    }

    private func row(_ chat: BridgeStatus.Chat, _ now: Int64) -> Row {
        let (words, shade): (String, Shade) =
            switch chat.state {
            case "asks": ("waits for you", .wait)
            case "silent": ("no sign of life", .bad)
            case "behind_run": ("waits behind a run", .plain)
            case "files": ("waits for its files", .plain)
            case "key": ("waits for its key", .wait)
            case "away": ("the agent is away", .wait)
            case "tool": ("a tool runs", .plain)
            case "retry": ("tries again", .plain)
            case "compaction": ("sums up", .plain)
            default: (chat.state, .plain)
            }
        let place = chat.chat ?? "a sealed chat"
        let age = StatusText.span(from: chat.since, to: now)
        return Row(label: "chat", text: "\(age) \(words): \(place)", shade: shade)
    }

    // MARK: Lines

    private func lines(_ row: Row) -> [String] {
        // The text holds reasons, ids and names of the far sides.
        let text = VisibleText.value(row.text)
        // A narrow terminal has one column, in which the label precedes the text.
        let indent = row.label.isEmpty || width < 4 ? 0 : width >= 3 * Self.labelWidth ? Self.labelWidth : 1
        let isApart = indent == Self.labelWidth || row.label.isEmpty
        let wrapped = DisplayWidth.wrapped(isApart ? text : "\(row.label) \(text)", to: max(1, width - indent))
        return wrapped.enumerated().map { number, line in
            let label = isApart && number == 0 && !row.label.isEmpty ? "  " + row.label : ""
            let margin =
                indent == 1 && number == 0 ? "" : label + String(repeating: " ", count: max(0, indent - label.count))
            return margin + colored(line, row.shade)
        }
    }

    private func colored(_ line: String, _ shade: Shade) -> String {
        hasColor && shade != .plain && !line.isEmpty ? "\u{1B}[\(shade.rawValue)m\(line)\u{1B}[0m" : line
    }
}
