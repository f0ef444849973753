import AgentKit
import Codex
import FoundationEssentials
import Vocabulary
import Worlds

/// Codex: the server's threads continue without the bridge, which finds their turns again by label.
struct CodexContract: ContractAgent {
    var plugin: any AgentPlugin { CodexPlugin() }
    var survives: Survival { .run }
    // Once the machine follows the thread again, the list of turns reaches the bridge as the run's own events, with
    // or without a look-up.
    var forgives: Set<MachineFault> { [.neverLooksUp, .handsNothingBack] }

    /// A message ends before its tools run, and a blank line joins the messages of a turn.
    func text(of prompt: String) -> String? {
        switch prompt {
        case "Tool.": "I look. \n\nIt is full."
        case "Ask.": "May I? \n\nDone."
        default: ScriptedRuns.texts[prompt]
        }
    }

    func stage(seed: UInt64) -> ContractStage {
        let world = LiveWorld(.e4, scripts: [:], seed: seed)
        let double = CodexDouble(world.time)
        let configuration = #", "url": "ws://127.0.0.1:4500/", "directory": "/garden""#
        return ContractStage(plugin, double, double.runs, world, seed: seed, configuration: configuration)
    }
}

/// A named app-server on virtual time (codex.md), which lives as long as the world.
final class CodexDouble: AgentDouble {
    private struct Message: Decodable {
        struct Params: Decodable {
            struct Input: Decodable { var text: String? }
            var threadId: String?
            var turnId: String?
            var clientUserMessageId: String?
            var input: [Input]?
            var approvalPolicy: String?
            var approvalsReviewer: String?
            var sandbox: String?
        }
        struct Result: Decodable { var decision: String? }

        var id: Int?
        var method: String?
        var params: Params?
        var result: Result?
    }

    private final class Thread {
        let id: String
        var turns: [Turn] = []
        var watchers: Set<Int> = []

        init(_ id: String) { self.id = id }

        var going: Turn? { turns.last { $0.status == "inProgress" } }
    }

    private final class Turn {
        let id: String
        let thread: Thread
        var items: [String]
        var status = "inProgress"
        var hasStarted = false
        /// The streamed message. No list shows it before it ends.
        var message: (id: String, text: String)?
        var lastMessage: String?
        /// Item of the open approval, and the number of its request.
        var asked: (item: String, request: Int)?

        init(_ id: String, _ thread: Thread, _ first: String) {
            self.id = id
            self.thread = thread
            items = [first]
        }
    }

    let runs: ScriptedRuns
    private let time: VirtualTime
    private var lines: [Int: (line: DoubleLine, isGreeted: Bool)] = [:]
    private var threads: [String: Thread] = [:]
    private var count = 0
    private var requests = 0
    /// Requests that have an answer. Codex ignores a second one, and no client has a reason to send it.
    private var answered: Set<Int> = []

    init(_ time: VirtualTime) {
        self.time = time
        runs = ScriptedRuns(time)
        runs.emit = { [weak self] run, event in self?.happened(run, event) }
    }

    // MARK: Sockets

    func opened(_ line: DoubleLine) -> Bool {
        lines[line.number] = (line, false)
        return true
    }

    func ended(_ line: DoubleLine) {
        lines[line.number] = nil
        for thread in threads.values { thread.watchers.remove(line.number) }
    }

    func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(bytes)) else {
            return runs.breaches.append("frame \(String(decoding: bytes, as: UTF8.self))")
        }
        guard let method = message.method else { return decided(message) }
        guard let id = message.id else { return }
        let params = message.params
        guard method == "initialize" || lines[line.number]?.isGreeted == true else {
            return refuse(id, "Not initialized", line)
        }
        switch method {
        case "initialize":
            lines[line.number]?.isGreeted = true
            answer(id, #"{"userAgent":"sophon_bridge/0.163.0 (Debian)","codexHome":"/home/ada/.codex"}"#, line)
        case "account/read": answer(id, #"{"account":null,"requiresOpenaiAuth":false}"#, line)
        case "thread/goal/set": refuse(id, "thread has no goal", line)
        case "thread/start":
            judge(params)
            count += 1
            let thread = Thread("thread-\(count)")
            threads[thread.id] = thread
            thread.watchers.insert(line.number)
            answer(id, opened(thread), line)
        default:
            guard let thread = params?.threadId.flatMap({ threads[$0] }) else {
                return refuse(id, "thread not found: \(params?.threadId ?? "")", line)
            }
            self.command(method, id, message, thread, line)
        }
    }

    private func command(_ method: String, _ id: Int, _ message: Message, _ thread: Thread, _ line: DoubleLine) {
        switch method {
        case "thread/read": answer(id, opened(thread), line)
        case "thread/resume":
            judge(message.params)
            thread.watchers.insert(line.number)
            answer(id, opened(thread), line)
            if let turn = thread.going, turn.asked != nil { line.say(asked(turn)) }
        case "thread/unsubscribe":
            thread.watchers.remove(line.number)
            answer(id, #"{"status":"unsubscribed"}"#, line)
        case "thread/turns/list":
            let turns = thread.turns.reversed().map { json($0, items: $0.items) }
            answer(id, #"{"data":[\#(turns.joined(separator: ","))],"nextCursor":null}"#, line)
        case "turn/start": start(id, message, thread, line)
        case "turn/interrupt": interrupt(id, message, thread, line)
        case "thread/backgroundTerminals/list": answer(id, #"{"data":[]}"#, line)
        default: runs.breaches.append("request \(method)")
        }
    }

    /// Codex takes a missing setting from elsewhere, so each must be present.
    private func judge(_ params: Message.Params?) {
        let said = [params?.sandbox, params?.approvalPolicy, params?.approvalsReviewer]
        if said != ["workspace-write", "on-request", "user"] { runs.breaches.append("settings \(said)") }
    }

    private func start(_ id: Int, _ message: Message, _ thread: Thread, _ line: DoubleLine) {
        let text = message.params?.input?.compactMap(\.text).joined() ?? ""
        if let going = thread.going {
            runs.breaches.append("a prompt on a busy thread: \(text)")
            return answer(id, #"{"turn":\#(json(going, items: []))}"#, line)
        }
        count += 1
        let label = message.params?.clientUserMessageId ?? ""
        let item = #"{"type":"userMessage","id":"user-\#(count)","clientId":"\#(label)"}"#
        let turn = Turn("turn-\(count)", thread, item)
        thread.turns.append(turn)
        answer(id, #"{"turn":\#(json(turn, items: []))}"#, line)
        time.after(.milliseconds(20)) { [self] in
            guard turn.status == "inProgress" else { return }
            turn.hasStarted = true
            status("active", thread)
            notify("turn/started", #""turn":\#(json(turn, items: []))"#, thread)
            self.item("started", item, turn)
            self.item("completed", item, turn)
            runs.prompt(turn.id, text)
        }
    }

    private func interrupt(_ id: Int, _ message: Message, _ thread: Thread, _ line: DoubleLine) {
        guard let turn = thread.going, turn.hasStarted else {
            return refuse(id, "no active turn to interrupt", line)
        }
        guard turn.id == message.params?.turnId else {
            return refuse(id, "expected active turn id \(message.params?.turnId ?? "") but found \(turn.id)", line)
        }
        runs.stop(turn.id)
        answer(id, "{}", line)
    }

    private func decided(_ message: Message) {
        guard answered.insert(message.id ?? -1).inserted else {
            return runs.breaches.append("request \(message.id ?? -1) was answered twice")
        }
        guard let decision = message.result?.decision,
            let turn = threads.values.compactMap(\.going).first(where: { $0.asked?.request == message.id })
        else { return }
        guard let approval = runs.open.first(where: { $0.run == turn.id })?.approval else { return }
        if decision != "accept" && decision != "decline" { runs.breaches.append("decision \(decision)") }
        runs.decide(approval, isYes: decision == "accept")
    }

    // MARK: Runs

    private func happened(_ run: String, _ event: ScriptedRuns.Event) {
        guard let turn = threads.values.flatMap(\.turns).first(where: { $0.id == run }) else { return }
        switch event {
        case .text(let text): say(text, turn)
        case .tool(let id, let name):
            endMessage(turn)
            item("started", command("\(run)-\(id)", name, "inProgress"), turn)
        case .tooled(let id, let result):
            let item = command("\(run)-\(id)", "df", "completed", output: result)
            turn.items.append(item)
            self.item("completed", item, turn)
        case .ask(let id, _):
            endMessage(turn)
            item("started", command("\(run)-\(id)", "reboot", "inProgress"), turn)
            turn.asked = ("\(run)-\(id)", requests)
            requests += 1
            for watcher in turn.thread.watchers.sorted() { lines[watcher]?.line.say(asked(turn)) }
        case .decided(_, let isYes):
            guard let (id, request) = turn.asked else { return }
            turn.asked = nil
            notify("serverRequest/resolved", #""requestId":\#(request)"#, turn.thread)
            let item = command(id, "reboot", isYes ? "completed" : "declined")
            turn.items.append(item)
            self.item("completed", item, turn)
        case .end(_, let isAborted): end(turn, isAborted ? "interrupted" : "completed")
        }
    }

    private func say(_ text: String, _ turn: Turn) {
        if turn.message == nil {
            count += 1
            turn.message = ("msg-\(count)", "")
            item("started", agentMessage("msg-\(count)", ""), turn)
        }
        turn.message?.text += text
        notify(
            "item/agentMessage/delta",
            #""turnId":"\#(turn.id)","itemId":"\#(turn.message?.id ?? "")","delta":"\#(text)""#, turn.thread)
    }

    private func endMessage(_ turn: Turn) {
        guard let message = turn.message else { return }
        turn.message = nil
        let item = agentMessage(message.id, message.text)
        turn.items.append(item)
        turn.lastMessage = item
        self.item("completed", item, turn)
    }

    private func end(_ turn: Turn, _ status: String) {
        // The streamed part of an interrupted message reaches no record.
        if status == "completed" { endMessage(turn) }
        turn.message = nil
        turn.status = status
        self.status("idle", turn.thread)
        let items = status == "completed" ? [turn.lastMessage].compactMap(\.self) : []
        notify("turn/completed", #""turn":\#(json(turn, items: items))"#, turn.thread)
        if let request = turn.asked?.request {
            notify("serverRequest/resolved", #""requestId":\#(request)"#, turn.thread)
        }
        turn.asked = nil
    }

    // MARK: Frames

    private func answer(_ id: Int, _ result: String, _ line: DoubleLine) {
        line.say(#"{"id":\#(id),"result":\#(result)}"#)
    }

    private func refuse(_ id: Int, _ message: String, _ line: DoubleLine) {
        line.say(#"{"id":\#(id),"error":{"code":-32600,"message":"\#(message)"}}"#)
    }

    private func notify(_ method: String, _ members: String, _ thread: Thread) {
        for watcher in thread.watchers.sorted() {
            lines[watcher]?.line.say(#"{"method":"\#(method)","params":{"threadId":"\#(thread.id)",\#(members)}}"#)
        }
    }

    /// Tells every connection about every thread.
    private func status(_ status: String, _ thread: Thread) {
        for entry in lines.values.sorted(by: { $0.line.number < $1.line.number }) {
            entry.line.say(
                #"{"method":"thread/status/changed","params":{"threadId":"\#(thread.id)","status":{"type":"\#(status)"}}}"#
            )
        }
    }

    private func item(_ phase: String, _ item: String, _ turn: Turn) {
        notify("item/\(phase)", #""turnId":"\#(turn.id)","item":\#(item)"#, turn.thread)
    }

    private func agentMessage(_ id: String, _ text: String) -> String {
        #"{"type":"agentMessage","id":"\#(id)","text":"\#(text)","phase":null,"delivery":null}"#
    }

    private func command(_ id: String, _ name: String, _ status: String, output: String? = nil) -> String {
        let result = output.map { "\"\($0)\"" } ?? "null"
        return
            #"{"type":"commandExecution","id":"\#(id)","command":"/bin/bash -lc '\#(name)'","cwd":"/home/ada","status":"\#(status)","commandActions":[],"aggregatedOutput":\#(result),"exitCode":null}"#
    }

    private func asked(_ turn: Turn) -> String {
        let (item, request) = turn.asked ?? ("", 0)
        return
            #"{"method":"item/commandExecution/requestApproval","id":\#(request),"params":{"kind":"command","threadId":"\#(turn.thread.id)","turnId":"\#(turn.id)","itemId":"\#(item)","reason":"Reboot?","command":"/bin/bash -lc 'reboot'"}}"#
    }

    private func json(_ turn: Turn, items: [String]) -> String {
        let completedAt = turn.status == "inProgress" ? "null" : "1"
        return
            #"{"id":"\#(turn.id)","items":[\#(items.joined(separator: ","))],"status":"\#(turn.status)","error":null,"startedAt":1,"completedAt":\#(completedAt)}"#
    }

    private func opened(_ thread: Thread) -> String {
        let status = thread.going == nil ? "idle" : "active"
        return
            #"{"thread":{"id":"\#(thread.id)","status":{"type":"\#(status)"}},"model":"gpt-5.5","modelProvider":"fake"}"#
    }
}
