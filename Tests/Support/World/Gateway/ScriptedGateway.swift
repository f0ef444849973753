package import Vocabulary

/// A request that sends a message, aborts a run or decides an approval.
package struct GatewayHeard: Sendable, Hashable {
    package var method: String
    /// Key of the message, id of the run, or id of the approval.
    package var name: String
    package var decision: String?
    package var at: Instant
}

/// Attachments of one message.
package struct GatewayFiles: Sendable, Hashable {
    package struct File: Sendable, Hashable {
        package var name: String
        /// Base64, as it arrived.
        package var content: String

        package init(name: String, content: String) {
            self.name = name
            self.content = content
        }
    }

    package var run: String
    package var files: [File]
    /// The person's words, without the bridge's notes behind them.
    package var prompt: String

    init(run: String, files: [File], prompt: String) {
        self.run = run
        self.files = files
        self.prompt = prompt
    }

    /// Files of an agent that accepts only pictures, without names.
    init(pictures: [GatewayValue], of prompt: String) {
        self.init(
            run: "", files: pictures.map { File(name: "", content: $0["data"]?.string ?? "") }, prompt: prompt)
    }
}

/// An OpenClaw gateway of one of four eras, written from the documentation without code of the bridge: frames go in
/// with the time, and frames for the connection come out. One client at a time; `breaches` lists whatever the client
/// does against the documentation.
package struct ScriptedGateway {
    package enum Output: Sendable, Equatable {
        case frame([UInt8])
        case close(code: Int, reason: String)
    }

    enum Errand {
        case begin(run: String)
        case step(run: String)
        case answer(GatewayValue, connection: Int)
        case waitEnds(run: String, request: String, connection: Int)
        case verdict(run: String, message: String)
        case lifecycleAfterAbort(run: String)
        case runQueue(session: String)
        case resumes(run: String)
        case followUp(approval: String)
        case notice(approval: String)
        case expires(approval: String)
        case tick(connection: Int)
        case handshakeLimit(connection: Int)
    }

    struct Timer {
        var due: Instant
        var order: Int
        var errand: Errand
    }

    struct Connection {
        var number: Int
        var nonce: String
        var isGreeted = false
        var sequence = 0
        var capabilities: Set<String> = []
        var scopes: Set<String> = []
        var hasDevice = false
        var followsSessions = false
        var followed: Set<String> = []
        /// Runs whose text this connection has received. The first text of a run is whole (openclaw.md#chat).
        var told: Set<String> = []
    }

    package let era: GatewayEra
    /// Script of the agent for a message, by its text.
    package var scripts: [String: GatewayScript] = [:]
    /// Places of commands that need approval. Without an entry a command runs in the garden.
    package var places: [String: GatewayPlace] = [:]
    /// Commands that ran after the bridge's yes, in order.
    package internal(set) var executed: [AgentExecuted] = []
    package internal(set) var introductionsRefused = 0
    /// Reason to refuse every handshake, until cleared.
    package var refusal: GatewayRefusal?
    /// Judges a device's signature: text, signature and public key as sent. Nil if every signature passes.
    package var checksSignature: (@Sendable (_ text: String, _ signature: String, _ publicKey: String) -> Bool)?
    package internal(set) var breaches: [String] = []
    /// Number of runs that began with each text.
    package internal(set) var begun: [String: Int] = [:]
    /// Attachments of every accepted message that had any.
    package internal(set) var attached: [GatewayFiles] = []
    /// Methods in the order of the calls.
    package internal(set) var calls: [String] = []
    /// Requests about runs and approvals, in order.
    package internal(set) var heard: [GatewayHeard] = []
    /// Decisions about approvals, in order.
    package internal(set) var decisions: [String] = []
    package var models = GatewayModels()
    /// The link is up and ticks, but the gateway neither handles nor answers requests.
    package var isDeaf = false
    /// Number of requests that arrived while deaf.
    package private(set) var unheard = 0

    var outputs: [Output] = []
    var timers: [Timer] = []
    var timerOrder = 0
    var connection: Connection?
    var connections = 0
    var startedAt: Instant
    /// The process survives a restart, so its uptime continues.
    package var restartsWithinProcess = false
    var downUntil: Instant?
    /// Current time of the event that the gateway handles.
    var clock = Instant.zero
    /// Runs that wait for one at work to end.
    var lane: [String] = []
    var drops = 0
    var globalSequence = 5_000
    /// Stopped runs that the agent has not released.
    var tearingDown: Set<String> = []
    /// Messages that wait for a session to be free, in order.
    var waiting: [String: [GatewayWaiting]] = [:]
    var ownRuns = 0
    /// When a client first set a row length on this socket, which E1 refuses.
    var refusedLengthAt: Instant?

    var runs: [String: GatewayRun] = [:]
    var rows: [String: [GatewayRow]] = [:]
    var rowNumber = 0
    /// Idempotency keys. The gateway knows them for five minutes and forgets them in a restart
    /// (openclaw.md#chatsend).
    var keys: [String: Instant] = [:]
    var approvals: [String: GatewayApproval] = [:]

    package init(_ era: GatewayEra, scripts: [String: GatewayScript] = [:]) {
        self.era = era
        self.scripts = scripts
        startedAt = .zero - .seconds(3_600)
    }

    // MARK: The socket

    /// False if nothing listens now.
    package mutating func connected(at now: Instant) -> Bool {
        clock = now
        if let downUntil, downUntil > now { return false }
        downUntil = nil
        if connection != nil { disconnected(at: now) }
        connections += 1
        let nonce = "nonce-\(connections)"
        connection = Connection(number: connections, nonce: nonce)
        refusedLengthAt = nil
        send(["type": "event", "event": "connect.challenge", "payload": ["nonce": "\(nonce)", "ts": wall(now)]])
        // E1 and E2 wait 10 s, later eras 15 (openclaw.md#challenge).
        schedule(.handshakeLimit(connection: connections), after: .seconds(era.isNew ? 15 : 10), at: now)
        return true
    }

    package mutating func disconnected(at now: Instant) { connection = nil }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    package mutating func received(_ frame: [UInt8], at now: Instant) {
        clock = now
        guard connection != nil else { return }
        guard let request = GatewayValue.parse(frame), request.isObject, let id = request["id"]?.string,
            let method = request["method"]?.string, request["type"] == "req"
        else {
            breaches.append("no request: \(String(decoding: frame, as: UTF8.self))")
            return
        }
        if isDeaf, connection?.isGreeted == true {
            unheard += 1
            return
        }
        for name in request.names where !["type", "id", "method", "params"].contains(name) {
            breaches.append("a request with \(name)")
        }
        calls.append(method)
        let params = request["params"] ?? [:]
        if connection?.isGreeted != true { return introduce(id, method, params, at: now) }
        call(id, method, params, at: now)
    }

    /// Whether some run is at work or waits for a decision.
    package var isBusy: Bool { runs.values.contains { !$0.isOver } }

    /// Names of undecided approvals.
    package var openApprovals: [String] { approvals.values.filter { $0.decision == nil }.map(\.name).sorted() }

    /// When the run finished by itself, or nil if it did not or there is no such run.
    package func endedAt(_ run: String) -> Instant? { runs[run]?.endedAt }

    mutating func note(_ method: String, _ params: GatewayValue, at now: Instant) {
        let name: String?
        switch method {
        case "chat.send": name = params["idempotencyKey"]?.string
        case "chat.abort": name = params["runId"]?.string ?? ""
        case "exec.approval.resolve", "plugin.approval.resolve", "approval.resolve": name = params["id"]?.string
        default: return
        }
        heard.append(
            GatewayHeard(method: method, name: name ?? "", decision: params["decision"]?.string, at: now))
    }

    package func isActive(_ run: String) -> Bool { runs[run]?.isOver == false }

    // MARK: Time

    package var nextDeadline: Instant? { timers.map(\.due).min() }

    package mutating func timePassed(at now: Instant) {
        clock = now
        while let next = timers.indices.min(by: { isEarlier(timers[$0], timers[$1]) }), timers[next].due <= now {
            run(timers.remove(at: next).errand, at: now)
        }
    }

    private func isEarlier(_ left: Timer, _ right: Timer) -> Bool {
        (left.due, left.order) < (right.due, right.order)
    }

    mutating func schedule(_ errand: Errand, after delay: Duration, at now: Instant) {
        timerOrder += 1
        timers.append(Timer(due: now + delay, order: timerOrder, errand: errand))
    }

    private mutating func run(_ errand: Errand, at now: Instant) {
        switch errand {
        case .begin(let id): begin(id, at: now)
        case .step(let id): step(id, at: now)
        case .answer(let frame, let number): if connection?.number == number { send(frame) }
        case .waitEnds(let id, let request, let number):
            if connection?.number == number { answer(request, ["runId": "\(id)", "status": "timeout"]) }
        case .verdict(let id, let message): verdict(id, message, at: now)
        case .lifecycleAfterAbort(let id): tornDown(id, at: now)
        case .runQueue(let session): runQueue(session, at: now)
        case .resumes(let id): resume(id, at: now)
        case .followUp(let approval): beginFollowUp(of: approval, at: now)
        case .notice(let approval): beginNotice(of: approval, at: now)
        case .expires(let approval): expire(approval, at: now)
        case .tick(let number):
            guard connection?.number == number else { return }
            broadcast("tick", ["ts": wall(now)], mayDrop: true)
            schedule(.tick(connection: number), after: .milliseconds(era.tickMilliseconds), at: now)
        case .handshakeLimit(let number):
            guard connection?.number == number, connection?.isGreeted == false else { return }
            close(1000, "", at: now)
        }
    }

    func wall(_ now: Instant) -> GatewayValue { .integer(milliseconds(now)) }
    func milliseconds(_ now: Instant) -> Int { 1_770_000_000_000 + Int((now - Instant.zero).nanoseconds / 1_000_000) }

    // MARK: Frames

    mutating func send(_ frame: GatewayValue) {
        if connection != nil { outputs.append(.frame(frame.bytes)) }
    }

    mutating func close(_ code: Int, _ reason: String, at now: Instant) {
        guard connection != nil else { return }
        outputs.append(.close(code: code, reason: reason))
        disconnected(at: now)
    }

    mutating func answer(_ id: String, _ payload: GatewayValue) {
        send(["type": "res", "id": "\(id)", "ok": true, "payload": payload])
    }

    mutating func refuse(_ id: String, _ code: String, _ message: String, details: GatewayValue? = nil) {
        let error: GatewayValue = ["code": "\(code)", "message": "\(message)"]
        send(["type": "res", "id": "\(id)", "ok": false, "error": error.with("details", details)])
    }

    /// Sends a numbered event to all clients. An event dropped for a slow reader takes a number, too
    /// (openclaw.md#four-different-counters).
    mutating func broadcast(_ name: String, _ payload: GatewayValue, mayDrop: Bool = false) {
        guard connection?.isGreeted == true else { return }
        globalSequence += 1
        connection?.sequence += 1
        if mayDrop, drops > 0 {
            drops -= 1
            return
        }
        // An event of another scope took a number.
        if era.countsForAll, globalSequence.isMultiple(of: 9) { globalSequence += 1 }
        let number = era.countsForAll ? globalSequence : connection?.sequence ?? 0
        send(["type": "event", "event": "\(name)", "payload": payload, "seq": .integer(number)])
    }

    /// Sends an event without a number to a subscriber.
    mutating func tell(_ name: String, _ payload: GatewayValue) {
        send(["type": "event", "event": "\(name)", "payload": payload])
    }

    // MARK: Misfortunes

    /// An orderly restart: active runs, keys, open approvals and live text die with the process
    /// (openclaw.md#disconnects).
    package mutating func restart(down: Duration, at now: Instant) {
        clock = now
        let interrupted = runs.values.filter { !$0.isOver && $0.hasBegun }.map(\.id).sorted()
        // In E3 each run at work gets a terminal frame of its own, and the next process continues it.
        if era == .e3 { for id in interrupted { terminal(id, "aborted", ["stopReason": "restart"]) } }
        broadcast("shutdown", ["reason": "restart", "restartExpectedMs": .integer(Int(down.nanoseconds / 1_000_000))])
        close(1012, "service restart", at: now)
        downUntil = now + down
        if !restartsWithinProcess { startedAt = now + down }
        for id in runs.keys where runs[id]?.isOver == false { runs[id]?.state = .dead }
        keys = [:]
        for id in approvals.keys where approvals[id]?.decision == nil { approvals[id]?.decision = "cancelled" }
        if era != .e3 { approvals = [:] }
        lane = []
        drops = 0
        timers = []
        tearingDown = []
        waiting = [:]
        guard era == .e3 else { return }
        for id in interrupted { schedule(.resumes(run: id), after: down + .seconds(3), at: now) }
    }
}
