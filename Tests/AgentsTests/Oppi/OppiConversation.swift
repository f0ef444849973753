import AgentKit
import JSONReading
import Links
import Oppi
import Vocabulary

/// Oppi's machine and the events that it meets. Orders become lines.
struct OppiConversation: MachineConversation {
    static let chat = AgentSession("oppi:ses_1")
    static let wall: Int64 = 1_770_000_000_000

    var machine: OppiMachine
    var now = Instant.zero + .seconds(1_000)
    var reading = ReadingClock()
    private var random: UInt64 = 0
    /// Calls and reads without a result so far, oldest first.
    private var works: [(id: WorkID, name: String)] = []
    let result: String
    var sequence = 0
    private var requests: [String: String] = [:]
    /// Requests of all approvals.
    private(set) var cards: [ApprovalRequest] = []

    init(
        result: String = "rpc_result", settings: OppiSettings? = nil, facts: [Fact] = [], turns: [EarlierTurn] = []
    ) {
        self.result = result
        machine = OppiMachine(
            settings ?? OppiSettings(address: WebAddress(.http, "127.0.0.1", 7749), token: Secret("sk_one")))
        var past = AgentPast()
        past.facts = facts
        past.turns = turns
        begun = []
        begun = lines(machine.begin(past, occasion()))
    }

    private(set) var begun: [String]

    /// The main stream is live.
    static func live(
        result: String = "rpc_result", settings: OppiSettings? = nil, facts: [Fact] = [], turns: [EarlierTurn] = []
    ) -> Self {
        var conversation = Self(result: result, settings: settings, facts: facts, turns: turns)
        _ = conversation.greets()
        return conversation
    }

    /// The prompt `r1` "Hi" is written on the stream of its chat.
    static func prompted(result: String = "rpc_result", text: String = "Hi") -> Self {
        var conversation = live(result: result)
        _ = conversation.sends("r1", text)
        _ = conversation.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        _ = conversation.keeps()
        _ = conversation.follows(2)
        return conversation
    }

    /// The run of `r1` has begun.
    static func running(result: String = "rpc_result", text: String = "Hi") -> Self {
        var conversation = prompted(result: result, text: text)
        _ = conversation.accepts()
        _ = conversation.says("agent_start")
        _ = conversation.says("message_end", #""role":"user","content":"\#(text)""#)
        return conversation
    }

    /// The run of `r1` has ended, and the chat's stream is live.
    static func idle(result: String = "rpc_result") -> Self {
        var conversation = running(result: result)
        _ = conversation.answers(text: "Hello")
        _ = conversation.ends()
        _ = conversation.state("ready")
        return conversation
    }

    /// Another client's run is under way, and the prompt `r2` "Ours" is queued behind it.
    static func queuedBehindAnother() -> Self {
        var conversation = idle()
        conversation.queuesBehindAnother()
        return conversation
    }

    mutating func queuesBehindAnother() {
        _ = says("agent_start")
        _ = says("message_end", #""role":"user","content":"Theirs""#)
        _ = state("busy")
        _ = sends("r2", "Ours")
        _ = keeps()
        _ = accepts("r2")
    }

    /// The chat's stream is lost during the run, and the machine has asked the server about missed events.
    mutating func loses(_ channel: Int = 2, current: Int? = nil, isWhole: Bool = true, status: String = "busy") {
        _ = happens(.closed(code: 1006, reason: ""), channel)
        _ = waits(300)
        _ = answers(
            OppiRecoveryTests.events, 200,
            OppiRecoveryTests.missed(current ?? sequence, isWhole: isWhole, status: status))
    }

    /// The server's clock now.
    var wallNow: Int64 { Self.wall + (now - (Instant.zero + .seconds(1_000))).nanoseconds / 1_000_000 }

    mutating func occasion() -> Occasion {
        random += 1
        let passed = (now - (Instant.zero + .seconds(1_000))).nanoseconds / 1_000_000
        return Occasion(now: now, wallMilliseconds: Self.wall + passed, random: random, read: reading.time(at: now))
    }

    // MARK: The bridge

    mutating func sends(
        _ run: String, _ text: String, files: [MessageFile] = [], choice: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged, in session: AgentSession = chat
    ) -> [String] {
        var message = UserMessage(id: MessageID("m"), session: SessionID("ses_1"), interaction: nil, text: text)
        (message.choice, message.level) = (choice, level)
        message.attachments = files.map { file in
            var attachment = Attachment(name: file.name)
            attachment.outcome = .file(file)
            return attachment
        }
        return lines(
            machine.command(.send(turn: TurnID("t"), session: session, run: RunID(run), message: message), occasion()))
    }

    mutating func aborts(_ run: String, reach: StopReach = .everyRun) -> [String] {
        lines(machine.command(.abort(session: Self.chat, run: RunID(run), reach: reach), occasion()))
    }

    mutating func looksUp(_ run: String) -> [String] {
        lines(machine.command(.lookUp(session: Self.chat, run: RunID(run)), occasion()))
    }

    mutating func decides(
        _ approval: String, _ decision: ApprovalDecision, _ scope: DecisionScope = .unscoped,
        subject: ApprovalRequest.Subject = .permission, isUnanswered: Bool = false, shown: AskFingerprint? = nil
    ) -> [String] {
        lines(
            machine.command(
                .resolve(
                    approval: ApprovalID(approval), subject: subject, decision: decision, scope: scope,
                    isUnanswered: isUnanswered, shown: shown), occasion()))
    }

    mutating func answers(
        question: String, _ answer: QuestionAnswer, shown: AskFingerprint? = nil
    ) -> [String] {
        lines(
            machine.command(
                .answer(question: QuestionID(question), session: Self.chat, answer: answer, shown: shown),
                occasion()))
    }

    mutating func asks(_ query: AgentQuery) -> [String] { lines(machine.query(query, as: QueryID(1), occasion())) }

    mutating func releases(isDeleted: Bool) -> [String] {
        lines(machine.command(.release(session: Self.chat, isDeleted: isDeleted), occasion()))
    }

    mutating func shutsDown() -> [String] { lines(machine.shutDown(occasion())) }
    mutating func sleeps() -> [String] { lines(machine.slept(occasion())) }
    mutating func uses(_ settings: OppiSettings) -> [String] { lines(machine.use(settings, occasion())) }

    // MARK: The host

    mutating func opens(_ channel: Int = 1) -> [String] {
        lines(machine.happened(.opened, on: ChannelID(channel), occasion()))
    }

    mutating func happens(_ event: ChannelEvent, _ channel: Int = 1) -> [String] {
        lines(machine.happened(event, on: ChannelID(channel), occasion()))
    }

    mutating func keeps(_ isKept: Bool = true) -> [String] {
        finishes("keep", isKept ? .done : .failed(WorkFailure(.full, "no room")))
    }

    mutating func finishes(_ name: String, _ result: WorkResult) -> [String] {
        guard let index = works.firstIndex(where: { $0.name.hasPrefix(name) }) else { return ["no \(name)"] }
        return lines(machine.finished(works.remove(at: index).id, result, occasion()))
    }

    /// Answers the oldest call with this beginning.
    mutating func answers(_ call: String, _ status: Int = 200, _ body: String) -> [String] {
        finishes(call, .answered(HTTPResponse(status: status, body: Array(body.utf8))))
    }

    /// Answers the newest call with this beginning; the others stay late.
    mutating func answersNewest(_ call: String, _ status: Int = 200, _ body: String) -> [String] {
        guard let index = works.lastIndex(where: { $0.name.hasPrefix(call) }) else { return ["no \(call)"] }
        let response = HTTPResponse(status: status, body: Array(body.utf8))
        return lines(machine.finished(works.remove(at: index).id, .answered(response), occasion()))
    }

    /// Finishes the oldest read of a file.
    mutating func reads(_ bytes: [UInt8]) -> [String] { finishes("read", .read(bytes, size: Int64(bytes.count))) }

    mutating func fails(_ call: String) -> [String] {
        finishes(call, .failed(WorkFailure(.unreachable, "connection refused")))
    }

    var openCalls: [String] { works.map(\.name) }

    // MARK: The server

    static let workspaces = #"{"workspaces":[{"id":"w1","name":"garden"}]}"#

    /// Opens, greets, and answers the first calls. Each answer takes `delay` milliseconds.
    mutating func greets(
        uptime: Int = 500, after delay: Int64 = 0, workspaces: String = Self.workspaces, pending: String = "[]"
    ) -> [String] {
        var all = opens()
        all += hears(#"{"type":"stream_connected","userName":"shed"}"#, on: 1)
        if delay > 0 { all += waits(delay) }
        all += answers("GET /server/info", 200, #"{"version":"0.9.1","uptime":\#(uptime)}"#)
        all += answers("GET /workspaces", 200, workspaces)
        all += answers("GET /permissions/pending", 200, self.pending("[]"))
        all += answers("GET /permissions/pending", 200, self.pending(pending))
        return all
    }

    func pending(_ list: String) -> String {
        let passed = (now - (Instant.zero + .seconds(1_000))).nanoseconds / 1_000_000
        return #"{"pending":\#(list),"serverTime":\#(Self.wall + passed)}"#
    }

    mutating func hears(_ frame: String, on channel: Int) -> [String] {
        let bytes = Array(frame.utf8)
        var orders: [AgentOrder] = []
        let occasion = occasion()
        bytes.withUnsafeBytes {
            machine.received($0, capacity: $0.count, on: ChannelID(channel), occasion, into: &orders)
        }
        return lines(orders)
    }

    /// The stream of a chat opens, and the server answers its subscription.
    mutating func follows(
        _ channel: Int, session: String = "s1", current: Int? = nil, isWhole: Bool = true, status: String = "ready",
        replay: [String] = []
    ) -> [String] {
        var all = opens(channel)
        all += hears(#"{"type":"stream_connected","userName":"shed"}"#, on: channel)
        all += subscribes(
            channel, session: session, current: current, isWhole: isWhole, status: status, replay: replay)
        return all
    }

    mutating func subscribes(
        _ channel: Int, session: String = "s1", current: Int? = nil, isWhole: Bool = true, status: String = "ready",
        replay: [String] = []
    ) -> [String] {
        let current = current ?? sequence
        let body = #"{"id":"\#(session)","status":"\#(status)"}"#
        var all = hears(
            #"{"type":"connected","session":\#(body),"currentSeq":\#(current),"sessionId":"\#(session)"}"#, on: channel)
        all += hears(#"{"type":"state","session":\#(body),"sessionId":"\#(session)"}"#, on: channel)
        for frame in replay { all += hears(frame, on: channel) }
        all += hears(
            #"{"type":"\#(result)","command":"subscribe","requestId":"\#(requests["subscribe"] ?? "?")","success":true,"#
                + #""data":{"sessionId":"\#(session)","level":"full","currentSeq":\#(current),"#
                + #""catchUpComplete":\#(isWhole)},"sessionId":"\#(session)"}"#, on: channel)
        sequence = current
        return all
    }

    private static let durable: Set = [
        "agent_start", "agent_end", "message_end", "tool_start", "tool_end", "stop_requested", "stop_confirmed",
        "stop_failed", "session_ended", "error",
    ]

    /// A frame of the session, numbered if it is durable.
    mutating func frame(_ type: String, _ members: String = "") -> String {
        var number = ""
        if Self.durable.contains(type) {
            sequence += 1
            number = #","seq":\#(sequence)"#
        }
        return #"{"type":"\#(type)","sessionId":"s1"\#(number)\#(members.isEmpty ? "" : "," + members)}"#
    }

    mutating func says(_ type: String, _ members: String = "", on channel: Int = 2) -> [String] {
        hears(frame(type, members), on: channel)
    }

    /// Answers the newest request of this command.
    mutating func replies(
        _ command: String, error: String? = nil, data: String? = nil, on channel: Int = 2
    ) -> [String] {
        var outcome = error.map { #""success":false,"error":"\#($0)""# } ?? #""success":true"#
        if let data { outcome += ",\(data)" }
        let session = command == "unsubscribe" ? "none" : "s1"
        return hears(
            #"{"type":"\#(result)","command":"\#(command)","requestId":"\#(requests[command] ?? "?")",\#(outcome),"#
                + #""sessionId":"\#(session)"}"#,
            on: channel)
    }

    mutating func accepts(_ turn: String = "r1", on channel: Int = 2) -> [String] {
        let acknowledged = hears(
            #"{"type":"turn_ack","command":"prompt","clientTurnId":"\#(turn)","stage":"dispatched","sessionId":"s1"}"#,
            on: channel)
        return acknowledged + replies("prompt", on: channel)
    }

    /// The loop ends, and no frame announces another attempt.
    mutating func ends(on channel: Int = 2) -> [String] { says("agent_end", on: channel) + waits(200) }

    mutating func answers(text: String, on channel: Int = 2) -> [String] {
        says("message_end", #""role":"assistant","content":"\#(text)""#, on: channel)
    }

    /// The same by notifications, which lack the failed message.
    mutating func endsElsewhere() -> [String] { says("agent_end", on: 1) + waits(3_000) }

    mutating func state(_ status: String, on channel: Int = 2) -> [String] {
        says("state", #""session":{"id":"s1","status":"\#(status)"}"#, on: channel)
    }

    /// Id of the newest request of this command.
    func request(_ command: String) -> String { requests[command] ?? "?" }

    // MARK: Lines

    mutating func lines(_ orders: [AgentOrder]) -> [String] { orders.flatMap { line($0) } }

    private mutating func line(_ order: AgentOrder) -> [String] {
        switch order {
        case .open(let channel, .socket(let plan)): return ["open \(channel.number) \(plan.url)"]
        case .open: return ["open"]
        case .send(let channel, let frame, _): return ["\(channel.number) > \(words(of: frame))"]
        case .close(let channel, _): return ["close \(channel.number)"]
        case .work(let id, let work):
            works.append((id, Self.name(of: work)))
            return [works[works.count - 1].name]
        case .observed(let observations):
            for case .signal(let signal) in observations {
                if case .approvalRequested(let request) = signal.event { cards.append(request) }
            }
            return observations.map(ObservationText.line)
        case .note(.words(let words)), .note(.complaint(let words)): return ["note \(words)"]
        case .note(.remedy(let words)): return ["remedy \(words)"]
        case .note(.unknown(let tally)): return ["unknown \(tally.counts.keys.sorted())"]
        case .state(.up(let version, _)): return ["up \(version)"]
        case .state(.waiting(let reason, let until, let remedy)):
            let seconds = (until - now).nanoseconds / 1_000_000_000
            return ["waits \(seconds) s: \(reason)\(remedy.map { "; \($0.words)" } ?? "")"]
        case .finding(let finding): return [finding.line]
        case .done: return ["done"]
        case .readSettings: return ["read settings"]
        case .replied(_, let reply): return ["\(reply)"]
        case .mayPause, .idle, .asks, .cover: return []
        }
    }

    private static func name(of work: Work) -> String {
        switch work {
        case .http(let request, _): "\(request.method) \(request.url.dropFirst("http://127.0.0.1:7749".count))"
        case .keep(let facts):
            "keep \(facts.map { "\($0.name)=\(String(decoding: $0.value ?? [], as: UTF8.self).replacing("\n", with: " "))" }.joined())"
        case .secret(let name): "secret \(name)"
        case .keepSecret(let name, let secret): "keep secret \(name) \(secret?.text ?? "-")"
        case .read(let path, _, _): "read \(path)"
        default: "\(work)"
        }
    }

    private mutating func words(of frame: [UInt8]) -> String {
        let parser = FrameParser()
        return frame.withUnsafeBytes { bytes in
            guard let root = parser.parse(bytes, capacity: bytes.count) else { return "no JSON" }
            let type = root["type"]?.string ?? "?"
            requests[type] = root["requestId"]?.string
            let texts = [
                root["sessionId"]?.string, root["id"]?.string, root["level"]?.string,
                root["sinceSeq"]?.integer(in: .counts).map { "since \($0)" }, root["clientTurnId"]?.string,
                root["message"]?.string, root["streamingBehavior"]?.string, root["action"]?.string,
                root["scope"]?.string, root["value"]?.string, root["confirmed"]?.flag.map { "confirmed \($0)" },
                root["cancelled"]?.flag.map { _ in "cancelled" },
                root["baseVersion"]?.integer(in: .counts).map { "base \($0)" }, root["provider"]?.string,
                root["modelId"]?.string,
            ]
            let pictures = (root["images"]?.elements ?? []).map { image -> String? in
                "\(image["mimeType"]?.string ?? "?") \(image["data"]?.string ?? "?")"
            }
            return ([type] + (texts + pictures).compactMap(\.self)).joined(separator: " ")
        }
    }
}
