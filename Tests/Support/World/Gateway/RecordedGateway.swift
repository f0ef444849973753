import Vocabulary

/// Plays a real gateway's recording to a bridge that may ask in another order than the recorded bridge did.
///
/// - Events come in the order of the recording and with its pauses. Events behind a message, a stop or a decision of
///   the recorded bridge wait until this bridge has sent the same. Behind a message, events of other runs still pass,
///   because it may leave later than in the recording.
/// - Requests get the recorded answer to their method, the newest by then if there are several. A method without one
///   gets the shortest valid answer.
/// - Without a recorded history of that time, the rows reported so far make one. E1 reports no rows, so the runs'
///   texts make them.
/// - Runs and chats have the names that this bridge gives them.
package final class RecordedGateway: AgentDouble, @unchecked Sendable {
    private struct Line {
        var milliseconds: Int
        var isIncoming: Bool
        var frame: GatewayValue
        var text: String
    }

    /// One socket of the recording, from its challenge on.
    private struct Socket {
        var lines: [Line] = []
        var answers: [String: (method: String, params: GatewayValue)] = [:]
    }

    private let time: VirtualTime
    private var sockets: [Socket] = []
    private var socket = -1
    private var line: DoubleLine?
    /// Lines of the socket that are still to come.
    private var ahead: [Line] = []
    /// Virtual time minus the recording's.
    private var shift = Duration.zero
    private var isStepping = false
    /// Names in the recording, with this bridge's name for the same thing.
    private var names: [(recorded: String, given: String)] = []
    private var heardRuns: Set<String> = []
    private var sentMethods: [String: Int] = [:]
    private var texts: [String: [String]] = [:]
    private var rows: [GatewayValue] = []
    private var lastRow = -1
    /// Text of the message of each run, in the order of their beginnings.
    private var asked: [String] = []
    private var active: [String] = []
    package weak var network: DoubleNetwork?
    /// Repeats of a message under a key that the recorded bridge did not use, by text.
    package private(set) var sentAnew: [String: Int] = [:]
    /// Methods in the order of the calls.
    package private(set) var calls: [String] = []

    /// A deed of the person, as the recording shows it.
    package struct Deed: Sendable, Hashable {
        package enum What: Sendable, Hashable { case writes(String), stops, decides(String) }
        package var what: What
        package var at: Duration
    }

    package private(set) var deeds: [Deed] = []

    package init(_ recording: String, _ time: VirtualTime) {
        self.time = time
        let lines = recording.split(separator: "\n")
        asked = (lines.first.flatMap { GatewayValue.parse(Array($0.utf8)) }?["the_agent_said"]?.elements ?? [])
            .compactMap { $0["message"]?.string }
        for row in lines.dropFirst() {
            guard let value = GatewayValue.parse(Array(row.utf8)), let frame = value["frame"] else { continue }
            let text = String(decoding: frame.bytes, as: UTF8.self)
            if frame["event"] == "connect.challenge" { sockets.append(Socket()) }
            guard !sockets.isEmpty else { continue }
            let line = Line(
                milliseconds: value["at_ms"]?.number ?? 0, isIncoming: value["dir"] == "in", frame: frame, text: text)
            if !line.isIncoming, let id = frame["id"]?.string, let method = frame["method"]?.string {
                sockets[sockets.count - 1].answers[id] = (method, frame["params"] ?? [:])
                note(method, frame["params"] ?? [:], at: .milliseconds(Int64(line.milliseconds)))
            }
            sockets[sockets.count - 1].lines.append(line)
        }
    }

    private func note(_ method: String, _ params: GatewayValue, at moment: Duration) {
        switch method {
        case "chat.send": deeds.append(Deed(what: .writes(params["message"]?.string ?? ""), at: moment))
        case "chat.abort": deeds.append(Deed(what: .stops, at: moment))
        case "exec.approval.resolve", "approval.resolve":
            deeds.append(Deed(what: .decides(params["decision"]?.string ?? ""), at: moment))
        default: break
        }
    }

    // MARK: The socket

    package func opened(_ line: DoubleLine) -> Bool {
        let isPlayed = socket + 1 >= sockets.count
        socket = min(socket + 1, sockets.count - 1)
        guard socket >= 0, let first = sockets[socket].lines.first else { return false }
        self.line = line
        // A recording that has ended repeats only its greeting.
        ahead = isPlayed ? [first] : sockets[socket].lines
        shift = (time.now - .zero) - .milliseconds(Int64(first.milliseconds))
        goOn()
        return true
    }

    package func ended(_ line: DoubleLine) { if self.line === line { self.line = nil } }

    private var recordedNow: Int { Int(((time.now - .zero) - shift).nanoseconds / 1_000_000) }

    /// Sends all that is due, and sets an alarm for the next line.
    private func goOn() {
        guard let line, line.isOpen else { return }
        var awaited: (run: String, text: String)?
        var kept: [Line] = []
        while let next = ahead.first {
            if next.milliseconds > recordedNow {
                wake(at: next.milliseconds)
                break
            }
            if next.isIncoming {
                if next.frame["type"] == "event" {
                    if let awaited, isAbout(next, awaited.run, awaited.text) { break }
                    say(next)
                }
            } else if awaited != nil {
                break
            } else {
                let waiting = wait(for: next)
                if waiting == .all { break }
                if waiting == .done, isLate(next) {
                    shift = (time.now - .zero) - .milliseconds(Int64(next.milliseconds))
                }
                if case .but(let run, let text) = waiting {
                    awaited = (run, text)
                    kept.append(next)
                }
            }
            ahead.removeFirst()
        }
        ahead = kept + ahead
        if ahead.isEmpty, socket + 1 < sockets.count { cutLater() }
    }

    /// Whether this bridge sent the request well after the recorded one did.
    private func isLate(_ line: Line) -> Bool {
        recordedNow - line.milliseconds > 50 && ["chat.send", "chat.abort"].contains(line.frame["method"]?.string)
    }

    private enum Waiting: Equatable { case done, all, but(run: String, text: String) }

    private func wait(for line: Line) -> Waiting {
        let params = line.frame["params"] ?? [:]
        switch line.frame["method"]?.string ?? "" {
        case "connect": return sentMethods["connect", default: 0] > socket ? .done : .all
        case "chat.abort": return sentMethods["chat.abort", default: 0] > 0 ? .done : .all
        case "exec.approval.resolve", "approval.resolve":
            return sentMethods["resolve", default: 0] > 0 ? .done : .all
        case "chat.send":
            let run = params["idempotencyKey"]?.string ?? ""
            if heardRuns.contains(run) { return .done }
            return .but(run: run, text: params["message"]?.string ?? "")
        default: return .done
        }
    }

    private func isAbout(_ line: Line, _ run: String, _ text: String) -> Bool {
        if line.text.contains(run) || line.text.contains("\(text)\"") { return true }
        guard let named = line.frame["payload"]?["runId"]?.string else { return false }
        return !heardRuns.contains(named)
    }

    private func wake(at milliseconds: Int) {
        guard !isStepping else { return }
        isStepping = true
        time.at(.zero + shift + .milliseconds(Int64(milliseconds))) { [weak self] in
            self?.isStepping = false
            self?.goOn()
        }
    }

    /// Cuts the line and lets the bridge reconnect when the recording's next socket began.
    private func cutLater() {
        guard let last = sockets[socket].lines.last, let next = sockets[socket + 1].lines.first, let line else {
            return
        }
        time.after(.milliseconds(5)) { [weak self] in
            guard let self, self.line === line else { return }
            self.network?.cut(away: .milliseconds(Int64(max(next.milliseconds - last.milliseconds, 100))))
        }
    }

    private func say(_ next: Line) {
        let payload = next.frame["payload"]
        if let run = payload?["runId"]?.string { heardRuns.insert(run) }
        if next.frame["event"] == "agent", payload?["stream"] == "assistant", let run = payload?["runId"]?.string,
            let text = payload?["data"]?["text"]?.string
        {
            hear(text, of: run)
        }
        let run = payload?["runId"]?.string ?? ""
        if next.frame["event"] == "agent", payload?["data"]?["phase"] == "start", payload?["stream"] == "lifecycle" {
            active.append(run)
            if prompts[run] == nil, asked.indices.contains(begun) { prompts[run] = asked[begun] }
            begun += 1
        }
        if next.frame["event"] == "chat", payload?["state"] == "final" {
            active.removeAll { $0 == run }
            if isEarly { write(run) }
        }
        if next.frame["event"] == "session.message", let row = payload?["message"] {
            // The event of an acceptance has no id, and its row is in no transcript.
            if row["__openclaw"]?["id"] != nil { rows.append(row) }
            lastRow = next.milliseconds
        }
        notice(next.frame, run)
        line?.say(given(next.text))
    }

    /// Notes runs that `agent.wait` may report as ended.
    private func notice(_ frame: GatewayValue, _ run: String) {
        let payload = frame["payload"]
        switch (frame["event"]?.string, payload?["state"]?.string ?? payload?["phase"]?.string) {
        case ("chat", "final"), ("chat", "error"), ("sessions.changed", "error"): ended.insert(given(run))
        case ("agent", _) where payload?["stream"] == "lifecycle" && payload?["data"]?["phase"] == "start":
            ended.remove(given(run))
        default: break
        }
    }

    private func given(_ text: String) -> String {
        names.reduce(text) { $0.replacing($1.recorded, with: $1.given) }
    }

    // MARK: Rows of early gateways

    private func hear(_ text: String, of run: String) {
        var known = texts[run] ?? []
        if let last = known.last, text.hasPrefix(last) { known.removeLast() }
        texts[run] = known + [text]
    }

    private func write(_ run: String) {
        let wall = GatewayValue.integer(Int(time.wallMilliseconds))
        if let prompt = prompts[run] {
            rows.append(["role": "user", "content": [["type": "text", "text": .text(prompt)]], "timestamp": wall])
        }
        let said = texts[run] ?? []
        for (index, text) in said.enumerated() {
            rows.append([
                "role": "assistant", "content": [["type": "text", "text": .text(text)]], "timestamp": wall,
                "stopReason": index + 1 < said.count ? "toolUse" : "stop",
            ])
        }
    }

    private var prompts: [String: String] = [:]
    private var begun = 0
    /// Runs whose terminal frame went out.
    private var ended: Set<String> = []

    // MARK: Requests

    package func received(_ frame: [UInt8], on line: DoubleLine) {
        guard let request = GatewayValue.parse(frame), let id = request["id"]?.string,
            let method = request["method"]?.string, self.line === line
        else { return }
        calls.append(method)
        let params = request["params"] ?? [:]
        sentMethods[method.hasSuffix(".resolve") ? "resolve" : method, default: 0] += 1
        let answer = answer(to: method, params)
        let isOver = params["runId"]?.string.map { ended.contains($0) } ?? false
        let delay: Duration = method == "agent.wait" && !isOver ? .milliseconds(500) : .milliseconds(8)
        time.after(delay) { [weak self] in
            guard self?.line === line else { return }
            line.say(self?.given(String(decoding: answer.with("id", .text(id)).bytes, as: UTF8.self)) ?? "")
        }
        if method == "chat.send" { learn(params) }
        goOn()
    }

    private func learn(_ params: GatewayValue) {
        let text = params["message"]?.string ?? ""
        let key = params["idempotencyKey"]?.string ?? ""
        let session = params["sessionKey"]?.string ?? ""
        for recorded in sockets.flatMap({ $0.answers.values }) where recorded.method == "chat.send" {
            guard recorded.params["message"] == params["message"], let run = recorded.params["idempotencyKey"]?.string
            else { continue }
            if heardRuns.contains(run), !names.contains(where: { $0.given == key }) { sentAnew[text, default: 0] += 1 }
            if heardRuns.insert(run).inserted {
                prompts[run] = text
                names.append((run, key))
                if let known = recorded.params["sessionKey"]?.string { names.append((known, session)) }
            }
        }
    }

    private func answer(to method: String, _ params: GatewayValue) -> GatewayValue {
        func good(_ payload: GatewayValue) -> GatewayValue { ["type": "res", "ok": true, "payload": payload] }
        if method == "chat.send" { return good(["runId": params["idempotencyKey"] ?? "", "status": "started"]) }
        if method == "chat.message.get" { return good(row(params["messageId"]?.string ?? "")) }
        if method == "chat.history", isEarly { return earlyHistory(params) }
        if method == "agent.wait", let run = params["runId"]?.string, ended.contains(run) {
            return good(["runId": .text(run), "status": "ok"])
        }
        if let recorded = recorded(method) { return recorded }
        switch method {
        case "agent.wait": return good(["runId": params["runId"] ?? "", "status": "timeout"])
        case "chat.history":
            let page: GatewayValue = [
                "sessionKey": params["sessionKey"] ?? "", "messages": .array(rows.map(displayed)),
            ]
            let info: GatewayValue = ["activeRunIds": .array(active.map { .text($0) })]
            return good(page.with("sessionInfo", rows.contains { $0["idempotencyKey"] != nil } ? info : nil))
        case "exec.approval.list", "plugin.approval.list": return good([])
        default: return good(["ok": true])
        }
    }

    /// The row as the history has it, without the envelope of a user's message.
    private func displayed(_ row: GatewayValue) -> GatewayValue {
        guard row["role"] == "user", let text = row["content"]?.elements.first?["text"]?.string,
            let end = text.firstRange(of: " UTC] ")
        else { return row }
        let content: GatewayValue = [["type": "text", "text": .text(String(text[end.upperBound...]))]]
        return .object(row.names.map { ($0, $0 == "content" ? content : row[$0] ?? .null) })
    }

    private var isEarly: Bool {
        sockets.first?.lines.contains { $0.frame["payload"]?["protocol"] == 3 && !$0.text.contains("plugin.approval") }
            ?? false
    }

    private func earlyHistory(_ params: GatewayValue) -> GatewayValue {
        guard params["maxChars"] == nil else {
            return [
                "type": "res", "ok": false,
                "error": [
                    "code": "INVALID_REQUEST",
                    "message": "invalid chat.history params: at root: unexpected property 'maxChars'",
                ],
            ]
        }
        return [
            "type": "res", "ok": true, "payload": ["sessionKey": params["sessionKey"] ?? "", "messages": .array(rows)],
        ]
    }

    /// Recorded answer without its id: the last one up to now, or the first of all if it came later.
    private func recorded(_ method: String) -> GatewayValue? {
        let known = sockets.prefix(socket + 1).reversed().first { $0.answers.values.contains { $0.method == method } }
        let answers = (known?.lines ?? []).filter { line in
            line.isIncoming && line.frame["type"] == "res"
                && line.frame["id"]?.string.flatMap { known?.answers[$0]?.method } == method
        }
        let chosen = answers.last { $0.milliseconds <= recordedNow + 400 } ?? answers.first
        // Rows arrived since that answer.
        if method == "chat.history", let chosen, chosen.milliseconds < lastRow { return nil }
        guard let frame = chosen?.frame else { return nil }
        return .object(frame.names.filter { $0 != "id" }.map { ($0, frame[$0] ?? .null) })
    }

    private func row(_ id: String) -> GatewayValue {
        for socket in sockets {
            for line in socket.lines {
                let messages = line.frame["payload"]?["messages"]?.elements ?? []
                if let row = messages.first(where: { $0["__openclaw"]?["id"]?.string == id }) {
                    return ["ok": true, "message": row]
                }
            }
        }
        return ["ok": false, "unavailableReason": "not_found"]
    }
}

extension WorldSide {
    /// Takes the place of the scripted gateway at the next start.
    package func plays(_ recorded: RecordedGateway) {
        let network = DoubleNetwork(recorded, time, seed: 1)
        recorded.network = network
        var agent = openClaw
        agent.network = network
        self.agent = agent
    }
}
