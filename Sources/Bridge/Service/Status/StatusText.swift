import Vocabulary

/// A status in plain words.
package enum StatusText {
    package static let hasNotSaid = "running; it has not said yet how it is"
    package static let neverRan = "not running, and no bridge has run here"

    /// `hour` maps a moment since 1970 to local time.
    package static func lines(
        _ status: BridgeStatus, isRunning: Bool, wallMilliseconds now: Int64, hour: (Int64) -> String? = { _ in nil }
    ) -> [String] {
        let age = span(from: status.ts, to: now)
        guard isRunning else {
            return [
                "not running; the last bridge here (process \(status.pid)) was heard \(age) ago",
                "start it: sophon-bridge run, or sophon-bridge service restart",
            ]
        }
        let state = status.ready ? "ready" : "not ready"
        var lines = [
            "sophon-bridge \(status.version), process \(status.pid), for \(span(from: status.started, to: now)): \(state), "
                + "as of \(age) ago"
        ]
        if status.age(at: now) >= StatusFile.freshMilliseconds {
            lines.append("it has said nothing for \(age): look into its log, then restart it")
        }
        if let fault = status.journalFault { lines.append("the journal cannot be written: \(fault)") }
        if let remedy = status.journalRemedy { lines.append("the journal keeps its size: \(remedy)") }
        if let fileSystem = status.fileSystem { lines.append("the state directory: \(fileSystem)") }
        for connection in status.connections {
            lines += self.lines(connection, now)
            guard let another = connection.anotherBridge else { continue }
            let words = another.words(hour: hour(another.last) ?? "\(span(from: another.last, to: now)) ago")
            lines.append("  twice   \(words); what to do: \(BridgeStatus.Another.remedy)")
        }
        // The lines hold reasons, ids and names of the far sides.
        return lines.map { VisibleText.value($0) }
    }

    /// One line without times, so that it changes only with the state.
    package static func line(_ status: BridgeStatus) -> String {
        var parts = [status.ready ? "ready" : "not ready"]
        if status.journalFault != nil { parts.append("the journal cannot be written") }
        for connection in status.connections {
            if !connection.relay.isUp { parts.append("\(connection.name): no relay") }
            if !connection.agent.link.isUp { parts.append("\(connection.name): no \(connection.agent.kind)") }
        }
        parts.append(Counted.words(status.connections.map(\.work.openTurns).reduce(0, +), "turn") + " open")
        return parts.joined(separator: ", ")
    }

    private static func lines(_ connection: BridgeStatus.Connection, _ now: Int64) -> [String] {
        let agent = connection.agent
        var lines = ["", "\(connection.name)"]
        let installation = connection.installation.map { " as \($0)" } ?? ""
        lines.append("  relay   \(words(connection.relay, of: "the relay", wallMilliseconds: now))")
        lines.append("          \(connection.relayAddress)\(installation)")
        if let interference = connection.interference {
            lines.append("          \(interference); what to do: \(ForeignAnswer.remedy)")
        }
        let version = agent.version.map { " \($0)" } ?? ""
        lines.append("  agent   \(words(agent.link, of: "\(agent.kind)\(version)", wallMilliseconds: now))")
        if let scopes = agent.scopes { lines.append("          may: \(scopes.joined(separator: ", "))") }
        lines.append("  work    \(work(connection.work))")
        if let tokens = tokens(connection.work) {
            lines.append("          calls that the relay would take now: \(tokens)")
        }
        if let ahead = connection.work.clockAheadSeconds {
            let way = ahead > 0 ? "ahead of" : "behind"
            let difference = span(Int64(min(ahead.magnitude, 1 << 40)) * 1_000)
            lines.append(
                "  clock   this machine's is \(difference) \(way) the relay's; what to do: let the system set it: "
                    + "timedatectl set-ntp true")
        }
        if let notices = connection.work.notices { lines.append("  notices \(words(notices))") }
        lines += asks(connection, now)
        if let sealing = connection.sealing { lines += self.lines(sealing) }
        if connection.work.isMemoryFull == true {
            let held = (connection.work.heldBytes ?? 0) >> 20
            lines.append(
                "  memory  \(held) MB wait, so no socket of the agent is read; what to do: see what holds the relay up, or raise "
                    + "limits.memory_mb")
        }
        if !connection.unknown.isEmpty {
            let counts = connection.unknown.sorted { $0.key < $1.key }.map { "\($0.key) ×\($0.value)" }
            lines.append("  unknown \(counts.joined(separator: ", "))")
        }
        if let error = connection.lastError {
            lines.append("  last error, \(span(from: error.at, to: now)) ago: \(error.message)")
        }
        return lines
    }

    /// Empty if there is nothing to report.
    private static func lines(_ sealing: BridgeStatus.Sealing) -> [String] {
        var lines: [String] = []
        if max(sealing.sealedChats, sealing.devicesPinned, sealing.devicesHeld) > 0 || sealing.encryption != "auto" {
            let off = sealing.isRegistered || sealing.encryption == "off" ? "" : "; not registered as a device"
            lines.append(
                "  sealed  \(Counted.words(sealing.sealedChats, "chat")), \(Counted.words(sealing.devicesPinned, "device")) may read, "
                    + "\(sealing.devicesHeld) held; encryption is \(sealing.encryption)\(off)")
        }
        if sealing.devicesHeld > 0 {
            lines.append("          a device waits for you; what to do: sophon-bridge devices list")
        }
        if sealing.devicesPinned == 0, sealing.sealedChats > 0 {
            lines.append(
                "          no phone may read; what to do: open its app, then sophon-bridge devices list, and devices allow NUMBER"
            )
        }
        if let changed = sealing.keysChanged, changed > 0 {
            let verb = changed == 1 ? "has" : "have"
            lines.append(
                "          \(Counted.words(changed, "chat")) \(verb) another key, since the relay says that a device was revoked; what to do: "
                    + "sophon-bridge devices list; if you revoked it yourself, devices revoke NUMBER; if not, begin another chat"
            )
        }
        if sealing.runsWaiting > 0 {
            lines.append(
                "          \(Counted.words(sealing.runsWaiting, "run")) waiting for a phone that may read; what to do: open its app, then "
                    + "sophon-bridge devices list")
        }
        if sealing.messagesWaiting > 0 {
            lines.append("          \(Counted.words(sealing.messagesWaiting, "chat")) waiting for a key")
        }
        if let fault = sealing.filesFault { lines.append("          the keys cannot be written: \(fault)") }
        return lines
    }

    /// Empty if there is nothing to report.
    private static func asks(_ connection: BridgeStatus.Connection, _ now: Int64) -> [String] {
        var lines: [String] = []
        if let asks = connection.asks, let since = asks.map(\.since).min() {
            let verb = asks.count == 1 ? "waits" : "wait"
            let age = asks.count == 1 ? "for" : "the oldest for"
            let words = Counted.words(asks.count, "ask")
            lines.append("  asks    \(words) \(verb) for an answer, \(age) \(span(from: since, to: now))")
        }
        if let ends = connection.cardEnds, !ends.isEmpty {
            let words = ends.sorted { $0.key < $1.key }.map { "\($0.key) ×\($0.value)" }
            lines.append("  cards   closed by the relay: \(words.joined(separator: ", "))")
        }
        return lines
    }

    private static func words(_ notices: BridgeStatus.Notices) -> String {
        var words = "\(notices.told) delivered, \(notices.dropped) dropped, \(notices.waiting) waiting"
        if notices.dropped > 0 { words += "; what to do: look into the log, and run: sophon-bridge doctor" }
        return words
    }

    static func work(_ work: BridgeStatus.Work) -> String {
        var parts = [
            "\(Counted.words(work.openTurns, "turn")) open", "\(work.waiting) waiting",
            "\(Counted.words(work.callsUnderWay, "call")) under way",
        ]
        if work.deadLetters > 0 { parts.append("\(Counted.words(work.deadLetters, "call")) refused for good") }
        return parts.joined(separator: ", ")
    }

    /// Free calls of each bucket, or nil if they are not known.
    static func tokens(_ work: BridgeStatus.Work) -> String? {
        guard let tokens = work.tokens, !tokens.isEmpty else { return nil }
        let words = tokens.sorted { $0.key < $1.key }.map { "\($0.key) \(Int(max(-1e9, min($0.value, 1e9))))" }
        return words.joined(separator: ", ")
    }

    /// One sentence, with the remedy if there is one.
    static func words(_ link: BridgeStatus.Link, of whom: String, wallMilliseconds now: Int64) -> String {
        let since = span(from: link.since, to: now)
        let reason = link.reason.map { ": \($0)" } ?? ""
        var words =
            switch link.state {
            case .connecting: "connecting to \(whom) for \(since)"
            case .up: "connected to \(whom) for \(since)"
            case .waiting: "no connection to \(whom) for \(since)\(reason)\(nextTry(link, now))"
            case .stopped: "gave up on \(whom) \(since) ago\(reason)"
            }
        if let remedy = link.remedy { words += "; what to do: \(remedy)" }
        return words
    }

    static func nextTry(_ link: BridgeStatus.Link, _ now: Int64) -> String {
        guard let retryAt = link.retryAt else { return "" }
        return retryAt > now ? "; next try in \(span(from: now, to: retryAt))" : "; trying again"
    }

    static func span(from start: Int64, to end: Int64) -> String { span(milliseconds(from: start, to: end)) }

    /// Times in a file may be absurd: the difference is clamped.
    static func milliseconds(from start: Int64, to end: Int64) -> Int64 {
        let (difference, overflows) = end.subtractingReportingOverflow(start)
        return overflows ? (start > end ? .min : .max) : difference
    }

    /// The span in its largest unit.
    static func span(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1_000)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}
