import AgentKit
import JSONReading
import Vocabulary

/// A program a chat. It gives the chat its id, which is kept before the first prompt: with it a later program finds the transcript.
/// A prompt is confirmed by nothing but its writing, and never said twice.
struct ToyChildrenMachine: AgentMachine {
    private struct Chat {
        let channel: ChannelID
        var native: String?
        var isOpen = false
        /// Its id is kept: it may be spoken to.
        var isReady = false
        /// Frames that wait for that, with the runs that they begin.
        var waiting: [(frame: [UInt8], begins: RunID?)] = []
        var runs: Set<RunID> = []
    }

    private enum Errand {
        case prompt(RunID, AgentSession), keep(AgentSession), query(QueryID), version
    }

    private let command: [String]
    private let connection: ConnectionName
    private let parser = FrameParser()
    private let decoder = ToyChildrenDecoder()
    private var chats: [AgentSession: Chat] = [:]
    private var sessions: [ChannelID: AgentSession] = [:]
    private var asked: [ApprovalID: AgentSession] = [:]
    private var errands: [WorkID: Errand] = [:]
    private var lastErrand = 0

    init(_ command: [String], _ connection: ConnectionName) { (self.command, self.connection) = (command, connection) }

    mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        for fact in past.facts {
            change(AgentSession(fact.name)) { $0.native = fact.value.map { String(decoding: $0, as: UTF8.self) } }
        }
        return [.state(.up(version: "1", scopes: nil)), .observed([.linkBack])]
    }

    mutating func check(_ now: Occasion) -> [AgentOrder] { [run("--version", .version)] }

    mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        [run("--models", .query(id))]
    }

    private mutating func run(_ argument: String, _ errand: Errand) -> AgentOrder {
        .work(begins(errand), .run(plan([argument]), input: [], outputLimit: 65_536, deadline: .seconds(10)))
    }

    private func plan(_ arguments: [String]) -> ChildPlan {
        ChildPlan(
            arguments: command + arguments, folder: "/", life: .withBridge(grace: .seconds(2)),
            pipes: .lines(limit: 1 << 20))
    }

    private mutating func begins(_ errand: Errand) -> WorkID {
        lastErrand += 1
        errands[WorkID(lastErrand)] = errand
        return WorkID(lastErrand)
    }

    private mutating func change<Result>(_ session: AgentSession, _ change: (inout Chat) -> Result) -> Result {
        let new = ChannelID(chats.count + 1)
        if chats[session] == nil { sessions[new] = session }
        return change(&chats[session, default: Chat(channel: new)])
    }

    mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        switch command {
        case .send(_, let session, let run, let message):
            return say("prompt", run.text, message.text, in: session, begins: run)
        case .lookUp(let session, let run): return say("look", run.text, in: session)
        case .abort(let session, let run, _):
            guard chats[session]?.runs.contains(run) == true else { return [.observed([.abortAnswered(run)])] }
            return say("stop", run.text, in: session)
        case .resolve(let approval, _, let decision, _, _, _, _):
            guard let session = asked[approval], chats[session]?.isReady == true else {
                let settlement = ApprovalSettlement(id: approval, outcome: .unknown)
                return [.observed([.signal(RunSignal(run: nil, session: nil, event: .approvalSettled(settlement)))])]
            }
            return say("answer", approval.text, decision == .deny ? "no" : "yes", in: session)
        case .answer(let question, let session, _, _):
            let unknown = QuestionSettlement(id: question, .unknown)
            return [.observed([.signal(RunSignal(run: nil, session: session, event: .questionSettled(unknown)))])]
        case .release: return []
        }
    }

    private mutating func say(
        _ verb: String, _ id: String, _ text: String? = nil, in session: AgentSession, begins: RunID? = nil
    ) -> [AgentOrder] {
        var frame = JSONObjectWriter()
        frame.string("type", "toy-child")
        frame.string("do", verb)
        frame.string("id", id)
        frame.string("text", text)
        let bytes = frame.finish()
        let chat = change(session) { chat in
            defer { chat.isOpen = true }
            chat.waiting.append((bytes, begins))
            return chat
        }
        guard !chat.isOpen else { return chat.isReady ? flush(session) : [] }
        return [.open(chat.channel, .child(plan(chat.native.map { ["--session", $0] } ?? [])))]
    }

    private mutating func flush(_ session: AgentSession) -> [AgentOrder] {
        let (channel, waiting) = change(session) { chat in
            defer { (chat.isReady, chat.waiting) = (true, []) }
            chat.runs.formUnion(chat.waiting.compactMap(\.begins))
            return (chat.channel, chat.waiting)
        }
        return waiting.map { message in
            .send(channel, message.frame, telling: message.begins.map { begins(.prompt($0, session)) })
        }
    }

    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        guard let session = sessions[channel], let root = parser.parse(frame, capacity: capacity), root.isObject else {
            return
        }
        if root["is"]?.holds("ready") == true, let native = root["session"]?.string {
            if chats[session]?.native == native {
                orders += flush(session)
                return
            }
            change(session) { $0.native = native }
            return orders.append(.work(begins(.keep(session)), .keep([Fact(session.text, Array(native.utf8))])))
        }
        if root["is"]?.holds("ask") == true, let id = root["id"]?.string { asked[ApprovalID(id)] = session }
        if root["is"]?.holds("end") == true, let run = root["run"]?.string { chats[session]?.runs.remove(RunID(run)) }
        orders.append(.observed(decoder.observation(root)))
    }

    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        guard let session = sessions[channel] else { return [] }
        switch event {
        case .exited: return left(session, "the toy's program ended")
        case .failed(let reason, _): return left(session, reason)
        case .opened, .spawned, .skipped, .heard, .refused, .closed, .waits,
            .wanted:
            return []
        }
    }

    private mutating func left(_ session: AgentSession, _ reason: String) -> [AgentOrder] {
        let chat = change(session) { chat in
            defer { (chat.isOpen, chat.isReady, chat.waiting, chat.runs) = (false, false, [], []) }
            return chat
        }
        asked = asked.filter { $0.value != session }
        let refused = chat.waiting.compactMap(\.begins).map {
            Observation.sendAnswered(asked: $0, .refused(message: reason))
        }
        return [
            .observed(
                refused
                    + chat.runs.sorted().flatMap { run -> [Observation] in
                        [
                            .signal(RunSignal(run: run, session: session, event: .failed(ToyChildrenDecoder.gone))),
                            .abortAnswered(run),
                        ]
                    })
        ]
    }

    mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        switch (errands.removeValue(forKey: work), result) {
        case (.prompt(let run, _), .done): return [.observed([.sendAnswered(asked: run, .accepted(run: run))])]
        case (.keep(let session), .done): return flush(session)
        case (.keep(let session), .failed(let failure)):
            guard let channel = chats[session]?.channel else { return [] }
            change(session) { $0.native = nil }
            return [.close(channel, .child(atOnce: true))] + left(session, "the chat's id cannot be kept: \(failure)")
        case (.query(let id), .ran(_, let output, _)):
            let names = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
            return [.replied(id, .models(names.map { AgentModel(id: $0, name: $0) }))]
        case (.query(let id), .failed(let failure)): return [.replied(id, .refused(message: failure.message))]
        case (.version, .ran(.exited(0), let output, _)):
            return found(.ok, "the toy has version \(String(decoding: output.dropLast(), as: UTF8.self))")
        case (.version, .failed(let failure)): return found(.failed, failure.message)
        case (.version, _): return found(.failed, "the toy does not say its version")
        // Its program has ended, which says more.
        case (.prompt, _), (.keep, _), (.query, _), (nil, _): return []
        }
    }

    private func found(_ outcome: DoctorFinding.Outcome, _ words: String) -> [AgentOrder] {
        let exitCode: ExitCode? = outcome == .ok ? nil : .agentNotInstalled
        return [
            .finding(DoctorFinding(.agent, outcome, words, connection: connection.text, exitCode: exitCode)), .done,
        ]
    }

    // Pipes and programs sleep with the computer.
    mutating func slept(_ now: Occasion) -> [AgentOrder] { [] }

    mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        chats.values.filter(\.isOpen).sorted { $0.channel.number < $1.channel.number }
            .map { .close($0.channel, .child(atOnce: false)) }
    }
}
