import Vocabulary

// The history of sessions, with rows as the gateway writes them (openclaw.md#chathistory).
extension ScriptedGateway {
    static let usualLength = 12_000
    /// Bytes of the longest row. The history replaces a longer one.
    private static let longestRow = 128 << 10

    mutating func history(of session: String, length: Int) -> GatewayValue {
        let page: GatewayValue = [
            "sessionKey": "\(session)", "sessionId": "id-\(session)",
            "messages": .array(onDisk(session).map { cut($0, to: length) }),
        ]
        guard era.tellsWhatRuns else { return page }
        // Includes a run that waits for its turn.
        let active = runs.values.filter { !$0.isOver && $0.session == session }
            .sorted { $0.startedAtMilliseconds < $1.startedAtMilliseconds }
        let running = active.first.map { run in
            connection?.told.insert(run.id)
            runs[run.id]?.sentText = run.chatText
            return ["runId": "\(run.id)", "text": "\(run.chatText)"] as GatewayValue
        }
        return page.with(
            "sessionInfo",
            [
                "hasActiveRun": .flag(!active.isEmpty),
                "activeRunIds": .array(active.map { .text($0.id) }),
            ]
        ).with("inFlightRun", running)
    }

    func row(_ id: String, in session: String) -> GatewayValue {
        guard let row = rows[session]?.first(where: { $0.id == id }) else {
            return ["ok": false, "unavailableReason": "not_found"]
        }
        return ["ok": true, "message": shown(row, isEvent: false)]
    }

    /// Early gateways write a chat's first question only with the first answer.
    private func onDisk(_ session: String) -> [GatewayRow] {
        let all = rows[session] ?? []
        return era.writesFirstQuestionLate && !all.contains { $0.role == "assistant" } ? [] : all
    }

    /// A long text ends with a mark. If the row is still too long, a sentence replaces it and the stop reason goes.
    private func cut(_ row: GatewayRow, to length: Int) -> GatewayValue {
        var row = row
        if row.text.utf8.count > length, row.text.count > length {
            row.text = String(row.text.prefix(length)) + "\n...(truncated)..."
        }
        guard row.text.utf8.count > Self.longestRow else { return shown(row) }
        row.text = "[chat.history omitted: message too large]"
        row.stopReason = nil
        row.usage = nil
        return shown(row, isOversized: true)
    }

    /// `isEvent` selects the form of the event that reports the row.
    func shown(_ row: GatewayRow, isEvent: Bool = false, isOversized: Bool = false) -> GatewayValue {
        var mark: GatewayValue = ["id": "\(row.id)", "seq": .integer(row.number)]
        let key = row.key.map { GatewayValue.text($0) }
        if era == .e4 || era == .e3 && isEvent { mark = mark.with("idempotencyKey", key) }
        mark = mark.with("runId", era == .e4 ? row.run.map { .text($0) } : nil)
        if isOversized { mark = mark.with(["truncated": true, "reason": "oversized"]) }
        var shown: GatewayValue = ["role": "\(row.role)", "timestamp": .integer(row.atMilliseconds)]
        shown = shown.with("content", content(of: row, isEvent: isEvent))
        if era == .e2 || era == .e3 { shown = shown.with("idempotencyKey", key) }
        if era != .e1 { shown = shown.with("__openclaw", mark) }
        if row.role == "assistant" {
            shown = shown.with(["api": "completions", "provider": "acme", "model": "quill-2"])
            // The history of early gateways leaves it out.
            if isEvent || era.isNew { shown = shown.with("usage", row.usage) }
            if isEvent, era.isNew, row.key == nil { shown = shown.with("responseId", "answer-\(row.id)") }
        }
        if row.key?.hasSuffix(":assistant") == true { shown = shown.with("openclawAbort", ["aborted": true]) }
        return shown.with("stopReason", row.stopReason.map { .text($0) })
            .with("errorMessage", row.errorMessage.map { .text($0) })
    }

    private func content(of row: GatewayRow, isEvent: Bool) -> GatewayValue {
        guard row.role == "user" else { return row.text.isEmpty ? [] : [["type": "text", "text": "\(row.text)"]] }
        if era == .e3 { return "\(row.text)" }
        // The history strips the envelope.
        let isEnveloped = isEvent && era == .e2
        let text =
            isEnveloped ? "Sender (untrusted metadata):\n```json\n{}\n```\n\n[Mon 16:37 UTC] \(row.text)" : row.text
        return [["type": "text", "text": "\(text)"]]
    }

    mutating func write(
        _ role: String, _ text: String, in session: String, key: String? = nil, run: String? = nil,
        stopReason: String? = nil, errorMessage: String? = nil, at now: Instant
    ) {
        rowNumber += 1
        var row = GatewayRow(
            id: "row-\(rowNumber)", role: role, text: text, atMilliseconds: milliseconds(now), key: key, run: run,
            stopReason: stopReason, errorMessage: errorMessage)
        row.number = rows[session]?.count ?? 0
        // Rows that the gateway itself writes have no usage.
        if role == "assistant", stopReason != "error", key == nil { row.usage = Self.usage }
        rows[session, default: []].append(row)
        tellRow(shown(row, isEvent: true), row.id, row.number, in: session)
    }

    static let usage: GatewayValue = [
        "input": 11, "output": 7, "cacheRead": 3, "cacheWrite": 0, "totalTokens": 21, "cost": ["total": 0],
    ]

    /// Reports that a message was accepted, in a chat with rows. The event has no place in the history.
    mutating func tellAcceptance(_ text: String, in session: String) {
        guard era.tellsAcceptance, let number = rows[session]?.count else { return }
        let row: GatewayValue = [
            "role": "user", "content": "\(text)", "timestamp": wall(clock), "__openclaw": ["seq": .integer(number)],
        ]
        tellRow(row, nil, number, in: session)
    }

    private mutating func tellRow(_ row: GatewayValue, _ id: String?, _ number: Int, in session: String) {
        let isRunning = runs.values.contains { $0.session == session && $0.hasBegun && !$0.isOver }
        let status = isRunning ? "running" : number > 0 ? "done" : nil
        let name: GatewayValue = ["sessionKey": "\(session)"]
        let place = ([:] as GatewayValue).with("messageId", id.map { .text($0) }).with("messageSeq", .integer(number))
            .with(about(session, status: status))
        if connection?.followed.contains(session) == true {
            tell("session.message", name.with("message", row).with(place))
        }
        guard era == .e2, connection?.followsSessions == true else { return }
        tell("sessions.changed", name.with(["phase": "message", "ts": wall(clock)]).with(place))
    }
}
