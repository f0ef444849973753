import AgentKit
import BridgeCore
import BridgeService
import Commands
import Links
import Locking
import Sealing
import Vocabulary

/// Output of a running bridge: events for programs on standard output, and the log.
final class RunReport: Sendable {
    private struct State {
        /// Connections whose token the relay accepts no longer.
        var stopped: Set<ConnectionName> = []
        var lastStop: CommandFailure?
        var losses = LossLimit()
        /// Last time that the log named the other bridge of a connection.
        var othersToldAt: [ConnectionName: Instant] = [:]
    }

    private let output: Output
    private let log: Log
    /// Kind of each connection's agent.
    private let agents: [ConnectionName: AgentKind]
    private let clock = SystemClock()
    private let state = Locked(State())

    init(_ output: Output, _ log: Log, connections: [Configuration.Connection]) {
        self.output = output
        self.log = log
        agents = Dictionary(connections.map { ($0.name, $0.agent.kind) }) { first, _ in first }
    }

    /// Why the process must end: no connection is left that could work.
    var lastStop: CommandFailure? { state.withLock { $0.stopped.count >= agents.count ? $0.lastStop : nil } }

    func tell(_ event: LiveEvent) {
        tellPrograms(event)
        switch event {
        case .agentConnected(let name, let version, let scopes, _):
            state.withLock { $0.losses.isBack(name, .agent) }
            log.info(
                "connected to the agent",
                [
                    ("connection", .text(name.text)), ("version", .text(version)),
                    ("scopes", .text(scopes?.joined(separator: " ") ?? "")),
                ])
        case .agentLost(let name, let reason, let wait, let remedy):
            if isNews(name, .agent, reason, remedy) {
                log.warning("the agent is away", Self.fields(name, reason, wait, remedy))
            }
        case .relayConnected(let name, let installation, _):
            state.withLock { $0.losses.isBack(name, .relay) }
            log.info(
                "connected to the relay",
                [("connection", .text(name.text)), ("installation", .text(installation ?? ""))])
        case .relayLost(let name, let reason, let wait, let remedy):
            if isNews(name, .relay, reason, remedy) {
                log.warning("the relay is away", Self.fields(name, reason, wait, remedy))
            }
        case .ready(let name): log.info("ready", [("connection", .text(name.text))])
        case .restored(let name, let turns):
            log.info("resuming open turns", [("connection", .text(name.text)), ("turns", .integer(turns))])
        case .turnBegan(let name, let turn, let session):
            log.info(
                "turn began",
                [("connection", .text(name.text)), ("turn", .text(turn.text)), ("session", .text(session.text))])
        case .turnEnded(let name, let turn, let outcome):
            log.info(
                "turn ended",
                [("connection", .text(name.text)), ("turn", .text(turn.text)), ("outcome", .text(outcome.rawValue))])
        case .turnNote(let name, let turn, let note):
            log.debug(
                "turn", [("connection", .text(name.text)), ("turn", .text(turn.text)), ("note", .text(note.rawValue))])
        case .anotherBridge(let name, let turn, let messages): tellOfAnother(name, turn, messages)
        case .askUnanswered(let name, let chat, let cards):
            log.info(
                "nobody answered a card; the ask waits at the agent",
                [("connection", .text(name.text)), ("chat", .text(chat.text)), ("cards", .integer(cards))])
        case .stuck(let name, let turn):
            log.warning(
                "nothing is heard of a run", [("connection", .text(name.text)), ("turn", .text(turn.text))])
        case .remedy(let name, _, let words):
            log.warning("something to do", [("connection", .text(name.text)), ("remedy", .text(words))])
        case .interference(let name, let answer?):
            log.warning(
                "something between here and the relay answers",
                Self.fields(name, "\(answer)") + [("remedy", .text(ForeignAnswer.remedy))])
        case .interference(let name, nil):
            log.info("the relay itself answers again", [("connection", .text(name.text))])
        case .note(let name, let words): log.warning("note", Self.fields(name, words))
        case .notice(let name, let news): NoticeReport.log(news, of: name, log)
        case .keys(let name, let news): tell(name, news)
        case .callFailed, .deliveryNote, .unknownFrames, .journalFailed, .journalWorks, .memory, .keyFiles:
            tellTroubles(event)
        case .stopped(let name, let message, let remedy, let exitCode):
            log.error(
                "stopped",
                [
                    ("connection", .text(name.text)), ("link", .text(LinkName.relay.rawValue)),
                    ("reason", .text(message)), ("remedy", .text(remedy)),
                ])
            stopped(name, message, exitCode)
        case .mended(let name):
            log.info("the connection has another token", [("connection", .text(name.text))])
            state.withLock { _ = $0.stopped.remove(name) }
        }
    }

    /// Logs once an hour; `status` and the events have each message.
    private func tellOfAnother(_ name: ConnectionName, _ turn: TurnID, _ messages: Int) {
        let now = clock.now
        let isNews = state.withLock { state in
            if let last = state.othersToldAt[name], now - last < .seconds(3_600) { return false }
            state.othersToldAt[name] = now
            return true
        }
        guard isNews else { return }
        log.warning(
            "another bridge answers with this token",
            [
                ("connection", .text(name.text)), ("turn", .text(turn.text)), ("messages", .integer(messages)),
                ("remedy", .text(BridgeStatus.Another.remedy)),
            ])
    }

    private func tell(_ name: ConnectionName, _ news: KeyRingNews) {
        let fields: Log.Fields = [("connection", .text(name.text)), ("what", .text(news.words))]
        if let remedy = news.remedy {
            log.warning("encrypted chats", fields + [("remedy", .text(remedy))])
        } else {
            log.info("encrypted chats", fields)
        }
    }

    private func tellTroubles(_ event: LiveEvent) {
        switch event {
        case .callFailed(let name, let turn, let post, let refusal, let request):
            log.warning(
                "the relay refused a call",
                [
                    ("connection", .text(name.text)), ("turn", .text(turn.text)), ("call", .text("\(post)")),
                    ("status", .integer(refusal.status)), ("code", .text("\(refusal.code)")),
                    ("fields", .text(refusal.fields.joined(separator: " "))), ("request", .text(request?.text ?? "")),
                ])
        case .deliveryNote(let name, let note, let turn, let post):
            log.warning(
                "delivery",
                [
                    ("connection", .text(name.text)), ("turn", .text(turn.text)), ("call", .text("\(post)")),
                    ("note", .text("\(note)")),
                ])
        case .unknownFrames(let name, let link, let tally):
            log.warning(
                "frames that are not understood",
                [
                    ("connection", .text(name.text)), ("link", .text(link)),
                    ("kinds", .text(tally.counts.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " "))),
                    ("malformed", .integer(tally.malformed)),
                ])
        case .journalFailed(let name, let failure):
            log.error("the journal cannot be written", Self.fields(name, failure.message))
        case .journalWorks(let name): log.info("the journal can be written again", [("connection", .text(name.text))])
        case .keyFiles(let name, .failed(let words)):
            log.error("the keys of encrypted chats cannot be written", Self.fields(name, words))
        case .keyFiles(let name, .elsewhere(let words)): log.warning("keys", Self.fields(name, words))
        case .keyFiles(let name, .works):
            log.info("the keys of encrypted chats can be written again", [("connection", .text(name.text))])
        case .memory(let name, true, let held):
            log.warning(
                "too much waits in memory: no socket of the agent is read until it is less",
                [
                    ("connection", .text(name.text)), ("bytes", .integer(held)),
                    ("remedy", .text("see what holds the relay up, or raise limits.memory_mb")),
                ])
        case .memory(let name, false, let held):
            log.info("the agent is read again", [("connection", .text(name.text)), ("bytes", .integer(held))])
        default: break
        }
    }

    private func tellPrograms(_ event: LiveEvent) {
        switch event {
        case .agentConnected(let name, let version, _, let isReconnect):
            let members: [(String, JSONText)] = [
                ("connection", .string(name.text)), ("version", .string(version)), ("reconnect", .flag(isReconnect)),
            ]
            // The agent's own event comes first: scripts knew it before there were several agents.
            if let kind = agents[name] { output.event("\(kind.rawValue)_connected", members) }
            output.event("agent_connected", members)
        case .agentLost(let name, let reason, _, _):
            output.event("agent_lost", [("connection", .string(name.text)), ("reason", .string(reason))])
        case .relayConnected(let name, let installation, let isReconnect):
            output.event(
                "sophon_connected",
                [
                    ("connection", .string(name.text)), ("installation_id", .string(installation ?? "")),
                    ("reconnect", .flag(isReconnect)),
                ])
        case .relayLost(let name, let reason, _, _):
            output.event("relay_lost", [("connection", .string(name.text)), ("reason", .string(reason))])
        case .ready(let name): output.event("ready", [("connection", .string(name.text))])
        case .turnEnded(let name, let turn, let outcome):
            output.event(
                "turn_ended",
                [
                    ("connection", .string(name.text)), ("turn", .string(turn.text)),
                    ("outcome", .string(outcome.rawValue)),
                ])
        case .anotherBridge(let name, let turn, let messages):
            output.event(
                "another_bridge",
                [
                    ("connection", .string(name.text)), ("turn", .string(turn.text)), ("messages", .number(messages)),
                ])
        case .askUnanswered(let name, let chat, let cards):
            output.event(
                "ask_unanswered",
                [("connection", .string(name.text)), ("chat", .string(chat.text)), ("cards", .number(cards))])
        case .notice(let name, let news): NoticeReport.tell(news, of: name, output)
        case .stuck(let name, let turn):
            output.event("stuck", [("connection", .string(name.text)), ("turn", .string(turn.text))])
        case .stopped(let name, let message, let remedy, let exitCode):
            error(name, message, remedy, exitCode)
        case .keys(let name, .deviceHeld(let device)), .keys(let name, .deviceChangedKey(let device)):
            output.event(
                "device_held",
                [("connection", .string(name.text)), ("device_id", .string(device.id.text))]
                    + (device.number.map { [("number", .number($0))] } ?? []))
        case .turnBegan, .callFailed, .deliveryNote, .turnNote, .unknownFrames, .remedy, .note, .interference,
            .journalFailed, .journalWorks, .restored, .mended, .memory, .keys, .keyFiles:
            break
        }
    }

    private func error(_ name: ConnectionName, _ message: String, _ remedy: String, _ exitCode: ExitCode) {
        output.event(
            "error",
            [
                ("connection", .string(name.text)), ("code", .number(exitCode)), ("message", .string(message)),
                ("remedy", .string(remedy)),
            ])
    }

    /// True if the loss is due in the log and in the error events, which name each once in a while; `status` has all of them. A loss that only a
    /// person can mend is an error too, though the link is retried.
    private func isNews(_ name: ConnectionName, _ link: LinkName, _ reason: String, _ remedy: LinkRemedy?) -> Bool {
        let now = clock.now
        let isNews = state.withLock { $0.losses.isNews(name, link, reason, remedy: remedy?.words, at: now) }
        if isNews, let remedy, let code = remedy.exitCode { error(name, reason, remedy.words, code) }
        return isNews
    }

    private func stopped(_ name: ConnectionName, _ message: String, _ exitCode: ExitCode) {
        let failure = CommandFailure(code: exitCode, message: message)
        state.withLock { state in
            state.stopped.insert(name)
            state.lastStop = failure
        }
    }

    private static func fields(
        _ name: ConnectionName, _ reason: String, _ wait: Duration, _ remedy: LinkRemedy?
    ) -> Log.Fields {
        fields(name, reason) + [("retry_in", .duration(wait))]
            + (remedy.map { [("remedy", .text($0.words))] } ?? [])
    }

    private static func fields(_ name: ConnectionName, _ reason: String) -> Log.Fields {
        [("connection", .text(name.text)), ("reason", .text(reason))]
    }
}
