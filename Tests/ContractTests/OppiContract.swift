import AgentKit
import BridgeModel
import BridgeTesting
import FoundationEssentials
import Oppi

/// Oppi, in either dialect: its sessions go on without the bridge, and are found again by their numbers or their history.
struct OppiContract: ContractAgent {
    var dialect = OppiDouble.Dialect.seed

    var plugin: any AgentPlugin { OppiPlugin() }
    var variant: String { dialect.rawValue }
    var survives: Survival { .run }
    var forgives: Set<MachineFault> { [] }

    /// A message ends before its tools run, and the texts of a run's messages are joined by a blank line.
    func text(of prompt: String) -> String? {
        switch prompt {
        case "Tool.": "I look. \n\nIt is full."
        case "Ask.": "May I? \n\nDone."
        default: ScriptedRuns.texts[prompt]
        }
    }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let double = OppiDouble(world.time, dialect)
        var stage = ContractStage(
            plugin, double, double.runs, world, seed: seed, configuration: #", "token": "sk_one""#)
        world.sides[0].files.http = { double.answer($0) }
        let cut = stage.cut
        stage.cut = { duration in
            double.awayUntil = world.time.now + duration
            cut(duration)
        }
        return stage
    }
}

/// An Oppi server (oppi.md) on virtual time.
final class OppiDouble: AgentDouble {
    enum Dialect: String { case seed, head }

    private struct Command: Decodable {
        var type: String
        var requestId: String?
        var sessionId: String?
        var level: String?
        var sinceSeq: Int?
        var message: String?
        var clientTurnId: String?
        var id: String?
        var action: String?
    }

    private final class Session {
        let id: String
        var ring: [(sequence: Int, frame: String)] = []
        var sequence = 0
        var rows: [String] = []
        var status = "ready"
        var run: String?
        var said = ""
        var turns: [String: String] = [:]

        init(_ id: String) { self.id = id }
    }

    let runs: ScriptedRuns
    private let time: VirtualTime
    private let dialect: Dialect
    private var sessions: [String: Session] = [:]
    private var lines: [Int: (line: DoubleLine, levels: [String: String])] = [:]
    private var runCount = 0
    var awayUntil = Instant.zero

    init(_ time: VirtualTime, _ dialect: Dialect) {
        self.time = time
        self.dialect = dialect
        runs = ScriptedRuns(time)
        runs.emit = { [weak self] run, event in self?.happened(run, event) }
    }

    // MARK: Sockets

    func opened(_ line: DoubleLine) -> Bool {
        guard line.arguments.first?.hasSuffix("/stream") == true else { return false }
        lines[line.number] = (line, [:])
        line.say(#"{"type":"stream_connected","userName":"potting-shed"}"#)
        return true
    }

    func ended(_ line: DoubleLine) { lines[line.number] = nil }

    func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard let command = try? JSONDecoder().decode(Command.self, from: Data(bytes)) else {
            return runs.breaches.append("frame \(String(decoding: bytes, as: UTF8.self))")
        }
        switch command.type {
        case "permission_response": decided(command, on: line)
        case "unsubscribe":
            lines[line.number]?.levels[command.sessionId ?? ""] = nil
            result(command, on: line)
        case "subscribe": subscribe(command, on: line)
        default:
            guard let session = command.sessionId.flatMap({ sessions[$0] }) else {
                return line.say(#"{"type":"error","error":"Session not found: \#(command.sessionId ?? "")"}"#)
            }
            guard lines[line.number]?.levels[session.id] == "full" else {
                runs.breaches.append("\(command.type) without a subscription")
                return
            }
            self.command(command, session, on: line)
        }
    }

    private func subscribe(_ command: Command, on line: DoubleLine) {
        guard let session = command.sessionId.flatMap({ sessions[$0] }) else {
            return result(command, error: "Session not found: \(command.sessionId ?? "")", on: line)
        }
        if command.sinceSeq == nil { runs.breaches.append("a subscription without a number") }
        let level = command.level ?? "full"
        if level == "full", dialect == .seed {
            for (id, former) in lines[line.number]?.levels ?? [:] where former == "full" && id != session.id {
                lines[line.number]?.levels[id] = "notifications"
            }
        }
        lines[line.number]?.levels[session.id] = level
        if level == "full" {
            line.say(
                #"{"type":"connected","session":\#(json(session)),"currentSeq":\#(session.sequence),"sessionId":"\#(session.id)"}"#
            )
        }
        line.say(state(session))
        let since = command.sinceSeq ?? session.sequence
        for entry in session.ring where entry.sequence > since { line.say(entry.frame) }
        for (run, approval) in runs.open where run == session.run { line.say(asked(approval, session)) }
        result(
            command,
            data:
                #"{"sessionId":"\#(session.id)","level":"\#(level)","currentSeq":\#(session.sequence),"catchUpComplete":true}"#,
            on: line)
    }

    private func command(_ command: Command, _ session: Session, on line: DoubleLine) {
        switch command.type {
        case "get_state": line.say(state(session))
        case "prompt": prompt(command, session, on: line)
        case "stop":
            guard let run = session.run else {
                let members = #""type":"stop_confirmed","source":"user","reason":"Session already idle""#
                say(members, session, isDurable: true)
                return result(command, on: line)
            }
            say(#""type":"stop_requested","source":"user""#, session, isDurable: true)
            session.status = "stopping"
            tellState(session)
            result(command, on: line)
            runs.stop(run)
            say(#""type":"stop_confirmed","source":"user""#, session, isDurable: true)
        default: runs.breaches.append("command \(command.type)")
        }
    }

    private func prompt(_ command: Command, _ session: Session, on line: DoubleLine) {
        let text = command.message ?? ""
        guard let turn = command.clientTurnId else { return runs.breaches.append("a prompt without a turn: \(text)") }
        func acknowledge(_ stage: String, _ more: String = "") {
            line.say(
                #"{"type":"turn_ack","command":"prompt","clientTurnId":"\#(turn)","stage":"\#(stage)","requestId":"\#(command.requestId ?? "")","sessionId":"\#(session.id)"\#(more)}"#
            )
        }
        if let known = session.turns[turn] {
            guard known == text else { return result(command, error: "clientTurnId conflict: \(turn)", on: line) }
            acknowledge("started", #","duplicate":true"#)
            return result(command, on: line)
        }
        guard session.run == nil else { return runs.breaches.append("a prompt in the middle of a run: \(text)") }
        session.turns[turn] = text
        acknowledge("accepted")
        acknowledge("dispatched")
        result(command, on: line)
        runCount += 1
        let run = "run-\(runCount)"
        session.run = run
        say(#""type":"agent_start""#, session, isDurable: true)
        session.status = "busy"
        tellState(session)
        endMessage("user", text, session)
        runs.prompt(run, text)
    }

    private func decided(_ command: Command, on line: DoubleLine) {
        guard runs.open.contains(where: { $0.approval == command.id }) else {
            return line.say(#"{"type":"error","error":"Permission request not found: \#(command.id ?? "")"}"#)
        }
        runs.decide(command.id ?? "", isYes: command.action == "allow")
        if command.requestId != nil { result(command, on: line) }
    }

    private func result(_ command: Command, data: String? = nil, error: String? = nil, on line: DoubleLine) {
        guard let request = command.requestId else { return }
        let name = dialect == .seed ? "rpc_result" : "command_result"
        let more = (data.map { #","data":\#($0)"# } ?? "") + (error.map { #","error":"\#($0)""# } ?? "")
        let session = command.type == "permission_response" ? nil : command.sessionId
        line.say(
            #"{"type":"\#(name)","command":"\#(command.type)","requestId":"\#(request)","success":\#(error == nil)\#(more)"#
                + (session.map { #","sessionId":"\#($0)"}"# } ?? "}"))
    }

    // MARK: Runs

    private func happened(_ run: String, _ event: ScriptedRuns.Event) {
        guard let session = sessions.values.first(where: { $0.run == run }) else { return }
        switch event {
        case .text(let text):
            session.said += text
            say(#""type":"text_delta","delta":"\#(text)""#, session, isDurable: false)
        case .tool(let id, let name): begin(id, name, session)
        case .tooled(let id, let result): finish(id, "df", result, session)
        case .ask(let id, _):
            begin("call-\(id)", "bash", session)
            for entry in lines.values { entry.line.say(asked(id, session)) }
        case .decided(let id, let isYes):
            finish("call-\(id)", "bash", isYes ? "done" : "Denied by user", session, isError: !isYes)
        case .end:
            if !session.said.isEmpty { endMessage("assistant", session.said, session) }
            session.run = nil
            say(#""type":"agent_end""#, session, isDurable: true)
            session.status = "ready"
            tellState(session)
        }
    }

    private func begin(_ id: String, _ name: String, _ session: Session) {
        endMessage("assistant", session.said, session)
        session.rows.append(
            #"{"id":"\#(id)","type":"toolCall","timestamp":"\#(timestamp)","tool":"\#(name)","args":{}}"#)
        say(#""type":"tool_start","tool":"\#(name)","args":{},"toolCallId":"\#(id)""#, session, isDurable: true)
    }

    private func finish(_ id: String, _ name: String, _ output: String, _ session: Session, isError: Bool = false) {
        say(#""type":"tool_output","output":"\#(output)","toolCallId":"\#(id)""#, session, isDurable: false)
        let mark = isError ? #","isError":true"# : ""
        say(#""type":"tool_end","tool":"\#(name)","toolCallId":"\#(id)"\#(mark)"#, session, isDurable: true)
        session.rows.append(
            #"{"id":"result-\#(id)","type":"toolResult","timestamp":"\#(timestamp)","toolCallId":"\#(id)","output":"\#(output)"}"#
        )
    }

    private func endMessage(_ role: String, _ text: String, _ session: Session) {
        if role == "assistant" { session.said = "" }
        let entry = "e\(session.rows.count + 1)\(role == "user" ? "" : "-text-0")"
        session.rows.append(
            #"{"id":"\#(entry)","type":"\#(role)","timestamp":"\#(timestamp)","text":"\#(text)"}"#)
        say(#""type":"message_end","role":"\#(role)","content":"\#(text)""#, session, isDurable: true)
    }

    private var timestamp: String {
        let date = Date(timeIntervalSince1970: Double(time.wallMilliseconds) / 1_000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    // MARK: Frames

    private func json(_ session: Session) -> String {
        #"{"id":"\#(session.id)","workspaceId":"w1","status":"\#(session.status)","messageCount":\#(session.rows.count),"tokens":{"input":0,"output":0},"cost":0}"#
    }

    private func state(_ session: Session) -> String {
        #"{"type":"state","session":\#(json(session)),"sessionId":"\#(session.id)"}"#
    }

    private func tellState(_ session: Session) {
        for entry in lines.values where entry.levels[session.id] != nil { entry.line.say(state(session)) }
    }

    private func asked(_ approval: String, _ session: Session) -> String {
        let timeout = time.wallMilliseconds + 120_000
        return
            #"{"type":"permission_request","id":"\#(approval)","sessionId":"\#(session.id)","tool":"bash","input":{},"displaySummary":"reboot","reason":"Reboot?","timeoutAt":\#(timeout),"expires":true}"#
    }

    private func say(_ members: String, _ session: Session, isDurable: Bool) {
        var frame = "{\(members)"
        if isDurable {
            session.sequence += 1
            frame += #","seq":\#(session.sequence)"#
        }
        frame += #","sessionId":"\#(session.id)"}"#
        if isDurable { session.ring.append((session.sequence, frame)) }
        for entry in lines.values where entry.levels[session.id] == "full" { entry.line.say(frame) }
    }

    // MARK: REST

    func answer(_ request: HTTPRequest) -> WorkResult {
        guard time.now >= awayUntil else { return .failed(WorkFailure(.unreachable, "connection refused")) }
        guard request.headers.contains(HTTPHeader("Authorization", "Bearer sk_one")) else {
            return reply(401, #"{"error":"Unauthorized"}"#)
        }
        let path = request.url.replacing("http://127.0.0.1:7749", with: "").prefix { $0 != "?" }
        let parts = path.split(separator: "/").map(String.init)
        switch (request.method, parts) {
        case ("GET", ["server", "info"]):
            return reply(200, #"{"name":"shed","version":"0.9.1","uptime":\#(time.now.nanoseconds / 1_000_000_000)}"#)
        case ("GET", ["workspaces"]): return reply(200, #"{"workspaces":[{"id":"w1","name":"garden"}]}"#)
        case ("GET", ["permissions", "pending"]):
            let pending = runs.open.compactMap { run, approval in
                sessions.values.first { $0.run == run }.map { asked(approval, $0) }
            }
            return reply(
                200, #"{"pending":[\#(pending.joined(separator: ","))],"serverTime":\#(time.wallMilliseconds)}"#)
        case ("POST", ["workspaces", "w1", "sessions"]):
            let session = Session("s\(sessions.count + 1)")
            sessions[session.id] = session
            return reply(201, #"{"session":\#(json(session))}"#)
        case ("GET", _) where parts.count >= 4 && parts[2] == "sessions":
            guard let session = sessions[parts[3]] else { return reply(404, #"{"error":"Session not found"}"#) }
            if parts.last == "events" {
                return reply(
                    200,
                    #"{"events":[],"currentSeq":\#(session.sequence),"session":\#(json(session)),"catchUpComplete":true}"#
                )
            }
            return reply(
                200, #"{"session":\#(json(session)),"trace":[\#(session.rows.joined(separator: ","))]}"#)
        default:
            runs.breaches.append("\(request.method) \(request.url)")
            return reply(404, #"{"error":"Not found"}"#)
        }
    }

    private func reply(_ status: Int, _ body: String) -> WorkResult {
        .answered(HTTPResponse(status: status, body: Array(body.utf8)))
    }
}
