import AgentKit
import FoundationEssentials
import OpenClaw
import Testing
import Vocabulary
import Worlds

/// A session with its runner's side: one line per event, and the orders since.
final class OpenClawConversation {
    typealias Order = OpenClawSession.Order
    typealias Note = OpenClawSession.Note

    struct Sent: Equatable {
        var id: String
        var method: String
        var params: String
    }

    static let key = "agent:main:phone-1"
    static let session = AgentSession(key)

    var session: OpenClawSession
    var now = Instant.zero
    /// The host does not read the socket.
    var isPaused = false
    var wall: Int64 = 1_770_000_000_000
    var era: GatewayEra
    /// When the gateway's process started, on the session's clock.
    var gatewayBegan = Instant.zero - .seconds(86_400)
    /// Methods that an older build of the era lacks.
    var lacks: Set<String> = ["approval.resolve", "chat.message.get"]
    var scopes: [String]? = ["operator.read", "operator.write", "operator.approvals"]
    /// Further members of the greeting's `policy`.
    var files = ""
    var maxPayload = 524_288
    /// A terminal frame ends only an attempt, and the run continues.
    var goesOn = false
    private(set) var orders: [Order] = []
    private var random = NoJitter()

    let settings: OpenClawSettings

    init(era: GatewayEra = .e3, change: (inout OpenClawSettings) -> Void = { _ in }) {
        self.era = era
        var settings = OpenClawSettings(
            url: "ws://127.0.0.1:18789", token: "secret", device: OpenClawDevice(id: "d1", signer: MirrorSigner()),
            client: OpenClawClient(displayName: "Test bridge", version: "1.0.0"))
        change(&settings)
        session = OpenClawSession(settings)
        self.settings = settings
    }

    // MARK: Events

    func pass(_ seconds: Double, asleep: Bool = false) {
        let end = now + .seconds(seconds)
        // A runner calls at each deadline, unless it slept.
        while !asleep, let next = nextAlarm, next <= end {
            move(to: max(next, now))
            session.timePassed(at: now, wallMilliseconds: wall, using: &random)
            collect()
        }
        move(to: end)
        guard asleep else { return }
        session.timePassed(at: now, wallMilliseconds: wall, using: &random)
        collect()
    }

    private var nextAlarm: Instant? {
        let reading = isPaused ? nil : session.nextReadingDeadline.map { $0 + session.unread }
        return [session.nextDeadline, reading].compactMap(\.self).min()
    }

    /// Advances time on a link that the gateway keeps alive.
    func passTicking(_ seconds: Double) {
        var left = seconds
        while left > 0 {
            pass(min(left, 29))
            event("tick", "{}")
            left -= 29
        }
    }

    private func move(to moment: Instant) {
        wall += (moment - now).nanoseconds / 1_000_000
        if isPaused { session.unread += moment - now }
        now = moment
    }

    func use(_ settings: OpenClawSettings) {
        session.use(settings, at: now)
        collect()
    }

    func start() {
        session.start(at: now)
        collect()
    }

    func open() {
        session.opened(at: now)
        collect()
    }

    func receive(_ frame: String) {
        let bytes = Array(frame.utf8)
        bytes.withUnsafeBytes { session.received($0, capacity: $0.count, at: now, using: &random) }
        collect()
    }

    func close(_ code: Int, _ reason: String = "") {
        session.closed(code: code, reason: reason, at: now, using: &random)
        collect()
    }

    func refuse(_ status: Int) {
        session.refused(status: status, body: [], at: now, using: &random)
        collect()
    }

    func fail(_ message: String) {
        session.failed(message: message, at: now, using: &random)
        collect()
    }

    func command(_ command: AgentCommand) {
        session.command(command, at: now, wallMilliseconds: wall)
        collect()
    }

    func query(_ query: AgentQuery) {
        session.query(query, as: QueryID(1), at: now)
        collect()
    }

    func load(_ loaded: FileLoads.Loaded) {
        session.loaded(loaded, at: now)
        collect()
    }

    func cannotRead(_ run: String = "r1", _ sentence: String = "Unread.") {
        session.unreadable(RunID(run), sentence, at: now)
        collect()
    }

    func shutDown() {
        session.shutDown(at: now)
        collect()
    }

    // MARK: Frames of the gateway

    func event(_ name: String, _ payload: String, seq: Int? = nil) {
        let number = seq.map { ",\"seq\":\($0)" } ?? ""
        receive(#"{"type":"event","event":"\#(name)","payload":\#(payload)\#(number)}"#)
    }

    func challenge(nonce: String = "n1") {
        event("connect.challenge", #"{"nonce":"\#(nonce)","ts":\#(wall)}"#)
    }

    /// Answers the latest request of this method, however long ago. A nil `payload` answers with `error`.
    func answer(_ method: String, _ payload: String?, error: String = "{}") {
        guard let request = allSent.last(where: { $0.method == method }) else {
            Issue.record("nothing was asked of \(method)")
            return
        }
        answer(id: request.id, payload, error: error)
    }

    func answer(id: String, _ payload: String?, error: String = "{}") {
        receive(
            payload.map { #"{"type":"res","id":"\#(id)","ok":true,"payload":\#($0)}"# }
                ?? #"{"type":"res","id":"\#(id)","ok":false,"error":\#(error)}"#)
    }

    var hello: String {
        let uptime = (now - gatewayBegan).nanoseconds / 1_000_000
        let granted = era == .e1 || era == .e2 ? nil : scopes
        let auth = granted.map { #","auth":{"role":"operator","scopes":\#(Self.list($0)),"deviceToken":"dt-1"}"# } ?? ""
        return """
            {"type":"hello-ok","protocol":\(era.protocolVersion),"server":{"version":"\(era.version)","connId":"c"},
            "features":{"methods":\(Self.list(era.methods.filter { era == .e4 || !lacks.contains($0) })),"events":[]},
            "snapshot":{"presence":[],"health":{},"stateVersion":{"presence":1,"health":1},"uptimeMs":\(uptime)}\(auth),
            "policy":{"maxPayload":\(maxPayload),"maxBufferedBytes":1572864,"tickIntervalMs":30000\(files)}}
            """
    }

    private static func list(_ texts: [String]) -> String { "[\(texts.map { "\"\($0)\"" }.joined(separator: ","))]" }

    /// Plays the dial and the greeting, and forgets the orders so far.
    func goLive() {
        if case .dial? = orders.last {} else { start() }
        open()
        challenge()
        clear()
        let request = allSent.last { $0.method == "connect" }
        answer(id: request?.id ?? "", hello)
    }

    /// Adopts a run of an earlier process, as its journal describes it.
    func adopt(
        _ run: String = "r1", text: String? = "Hello?", hadFiles: Bool = false, secondsAgo: Double,
        _ stage: OpenClawSession.AdoptedStage, model: ModelChoice = .unchanged
    ) {
        session.adopt(
            RunID(run), in: Self.session, text: text, hadFiles: hadFiles, stage: stage, model: model,
            sentAtMilliseconds: wall - Int64(secondsAgo * 1_000),
            at: now, wallMilliseconds: wall)
        collect()
    }

    /// Goes live with a message accepted as run r1.
    func goLiveWithRun(_ run: String = "r1") {
        goLive()
        send(run)
        answer("chat.send", #"{"runId":"\#(run)","status":"started"}"#)
        clear()
    }

    func send(
        _ run: String = "r1", text: String = "Hello?", choice: ModelChoice = .unchanged,
        level: LevelChoice = .unchanged
    ) {
        var message = UserMessage(id: MessageID("m"), session: SessionID("s"), interaction: nil, text: text)
        (message.choice, message.level) = (choice, level)
        command(.send(turn: TurnID("t"), session: Self.session, run: RunID(run), message: message))
    }

    func lookUp(_ run: String = "r1") { command(.lookUp(session: Self.session, run: RunID(run))) }

    func chat(_ state: String, _ text: String?, run: String = "r1", seq: Int? = nil) {
        let message = text.map { #","message":{"role":"assistant","content":[{"type":"text","text":"\#($0)"}]}"# } ?? ""
        event(
            "chat", #"{"runId":"\#(run)","sessionKey":"\#(Self.key)","seq":1,"state":"\#(state)"\#(message)}"#,
            seq: seq)
        // The session asks an E2 gateway whether that was the end.
        if era == .e2, state == "final", let last = allSent.last, last.params.contains(#""timeoutMs":1000"#), !goesOn {
            answer(id: last.id, #"{"runId":"\#(run)","status":"ok"}"#)
        }
    }

    /// `data` comes without its braces.
    func lifecycle(_ run: String, _ data: String) {
        event(
            "agent", #"{"runId":"\#(run)","stream":"lifecycle","sessionKey":"\#(Self.key)","data":{\#(data)}}"#)
    }

    func assistant(_ run: String, _ text: String, delta: String? = nil) {
        event(
            "agent",
            #"{"runId":"\#(run)","stream":"assistant","sessionKey":"\#(Self.key)","data":{"text":"\#(text)","delta":"\#(delta ?? text)"}}"#
        )
    }

    /// The gateway wrote the row.
    func wrote(_ row: String) { event("session.message", #"{"sessionKey":"\#(Self.key)","message":\#(row)}"#) }

    static func row(_ role: String, _ text: String, key: String? = nil, more: String = "", mark: String = "") -> String
    {
        let key = key.map { #""idempotencyKey":"\#($0)""# } ?? ""
        let marks = [key, mark].filter { !$0.isEmpty }.joined(separator: ",")
        return #"{"role":"\#(role)","content":[{"type":"text","text":"\#(text)"}],"__openclaw":{\#(marks)}\#(more)}"#
    }

    static func history(_ rows: [String], more: String = "") -> String {
        #"{"sessionKey":"\#(key)","messages":[\#(rows.joined(separator: ","))]\#(more)}"#
    }

    // MARK: Results

    /// All requests ever sent.
    private(set) var allSent: [Sent] = []

    func clear() { orders = [] }

    private func collect() {
        for order in session.takeOrders() {
            orders.append(order)
            if case .send(let frame) = order { allSent.append(Self.parse(frame)) }
        }
    }

    /// Requests sent since `clear`.
    var sent: [Sent] {
        orders.compactMap { if case .send(let frame) = $0 { Self.parse(frame) } else { nil } }
    }

    var methods: [String] { sent.map(\.method) }

    var observations: [Observation] {
        orders.flatMap { order -> [Observation] in if case .observed(let said) = order { said } else { [] } }
    }

    var replies: [AgentReply] { orders.compactMap { if case .replied(_, let reply) = $0 { reply } else { nil } } }

    var loads: [[MessageFile]] {
        orders.compactMap { if case .load(_, let files) = $0 { files } else { nil } }
    }

    var notes: [Note] { orders.compactMap { if case .note(let note) = $0 { note } else { nil } } }

    /// Trouble of the link that a person can mend.
    var trouble: OpenClawSession.Trouble? {
        notes.compactMap { if case .waiting(_, _, let trouble) = $0 { trouble } else { nil } }.last
    }

    var dials: Int { orders.count { if case .dial = $0 { true } else { false } } }

    var closeCodes: [Int] {
        orders.compactMap { if case .close(let code, _) = $0 { code } else { nil } }
    }

    /// Seconds until the next attempt, or nil if none is due.
    var wait: Double? {
        notes.compactMap { if case .waiting(_, let retryAt, _) = $0 { (retryAt - now).seconds } else { nil } }.last
    }

    /// `{"type":"req","id":…,"method":…,"params":…}`, as the session writes it.
    private static func parse(_ frame: [UInt8]) -> Sent {
        struct Head: Decodable {
            var id: String
            var method: String
        }
        let text = String(decoding: frame, as: UTF8.self)
        guard let head = try? JSONDecoder().decode(Head.self, from: Data(frame)),
            let range = text.firstRange(of: "\"params\":")
        else {
            Issue.record("no request: \(text)")
            return Sent(id: "", method: "", params: "")
        }
        return Sent(id: head.id, method: head.method, params: String(text[range.upperBound...].dropLast()))
    }
}

extension Observation {
    static func accepted(_ run: String, as taken: String? = nil) -> Observation {
        .sendAnswered(asked: RunID(run), .accepted(run: RunID(taken ?? run)))
    }

    static func said(_ run: String, _ event: RunEvent) -> Observation {
        .signal(RunSignal(run: RunID(run), session: OpenClawConversation.session, event: event))
    }

    static func settled(_ id: String, _ outcome: ApprovalSettlement.Outcome) -> Observation {
        .signal(
            RunSignal(
                run: nil, session: nil,
                event: .approvalSettled(ApprovalSettlement(id: ApprovalID(id), outcome: outcome))))
    }
}
