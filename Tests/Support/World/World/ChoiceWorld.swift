import BridgeCore
import RelayRules
import Vocabulary

/// A world about choices of chats: models that change between messages, and that the gateway refuses or cannot set,
/// and chats and tools that end at random moments; with kills and lost links on both sides.
package final class ChoiceWorld {
    private struct Message {
        var at: Duration
        var chat: Int
        var model: String?
        var hasTool: Bool
        var text: String
    }

    static let models: [String?] = ["acme/one", "acme/two", nil, "acme/none"]
    /// Time in which a message gets its answer, even after a kill and two lost links.
    private static let patience = Duration.seconds(10)
    /// Time in which a lost link is back, or its back-off outlasts every run.
    private static let returnLimit = Duration.seconds(5)

    private let world: LiveWorld
    private var random: SeededGenerator
    private var messages: [Message] = []
    /// When the bridge acknowledged the end of a chat, by the agent's session.
    private var ended: [String: Instant] = [:]
    private var ending: [String: String] = [:]
    private struct EndedTool {
        var text: String
        var update: String
        /// When the bridge acknowledged the update.
        var at: Instant?
        /// When the gateway last had the run at work after that.
        var ranAt: Instant?
    }

    /// Tools that ended while they ran.
    private var toolsEnded: [EndedTool] = []
    /// Spans without the bridge or the agent's link, plus `returnLimit`.
    private var absences: [(from: Instant, to: Instant)] = []
    private var violations: [String] = []

    /// `trace` receives everything that happens, in words.
    package static func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> [String] {
        let choices = ChoiceWorld(seed)
        choices.side.trace = trace
        defer { choices.world.end() }
        return choices.play()
    }

    private init(_ seed: UInt64) {
        random = SeededGenerator(seed: seed &* 91 &+ 7)
        let count = Int.random(in: 3...9, using: &random)
        var scripts: [String: GatewayScript] = [:]
        for number in 0..<count {
            let hasTool = random.happens(0.4)
            let text = "Question \(number)?"
            messages.append(
                Message(
                    at: .milliseconds(Int64.random(in: 100...15_000, using: &random)),
                    chat: Int.random(in: 0...1, using: &random), model: random.pick(Self.models), hasTool: hasTool,
                    text: text))
            scripts[text] = Self.script(number, hasTool: hasTool)
        }
        messages.sort { $0.at < $1.at }
        // Two messages in one millisecond could swap their models.
        for index in messages.indices.dropFirst() {
            messages[index].at = max(messages[index].at, messages[index - 1].at + .milliseconds(1))
        }
        world = LiveWorld(.e4, scripts: scripts, seed: seed)
        world.sides[0].bridge.choosesModels = true
        world.sides[0].gateway.models.known = ["acme/one", "acme/two"]
    }

    private static func script(_ number: Int, hasTool: Bool) -> GatewayScript {
        guard hasTool else {
            return GatewayScript((80, .says("Answer \(number) ")), (700, .says("is here.")), (60, .finishes))
        }
        return GatewayScript(
            (80, .says("Answer \(number) ")), (100, .callsTool(id: "tool-\(number)", command: "df -h")),
            (3_000, .toolReturns(id: "tool-\(number)", output: "61%")), (100, .says("is here.")), (60, .finishes))
    }

    // MARK: The course

    private func play() -> [String] {
        world.start()
        for message in messages { write(message) }
        drawTroubles()
        drawEnds()
        let end = Instant.zero + .seconds(240)
        while violations.count < 6, world.step(until: end), world.time.steps < 200_000 {
            watch()
            if world.time.now > .zero + .seconds(60), isDrained { break }
        }
        judge()
        return violations
    }

    private var side: WorldSide { world.sides[0] }

    private var isDrained: Bool {
        world.isRunning && world.openTurns == 0 && side.relay.pendingUpdates().isEmpty && side.journal.openTurns.isEmpty
    }

    /// The choice belongs to the chat: it goes out first by itself, then with the message.
    private func write(_ message: Message) {
        world.time.after(message.at) { [weak self] in
            guard let self else { return }
            if let session = side.chats[message.chat] {
                side.relay.userChooses(model: message.model, session: session, at: side.moment)
            }
            side.writes(message.text, chat: message.chat, after: .zero)
        }
    }

    private func drawTroubles() {
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let at = Duration.milliseconds(Int64.random(in: 100...17_000, using: &random))
            let away = Duration.milliseconds(Int64.random(in: 0...3_000, using: &random))
            let kind = Int.random(in: 0..<4, using: &random)
            if kind < 2 { absences.append((Instant.zero + at, Instant.zero + at + away + Self.returnLimit)) }
            world.time.after(at) { [weak self] in
                guard let self else { return }
                switch kind {
                case 0: if world.isRunning { world.restarts(down: away) }
                case 1: side.cutAgent(away: away)
                case 2: side.cutRelay()
                default: side.gateway.models.failures += 1
                }
                side.pump()
            }
        }
    }

    private func drawEnds() {
        if random.happens(0.4) {
            let chat = Int.random(in: 0...1, using: &random)
            world.time.after(.milliseconds(Int64.random(in: 500...16_000, using: &random))) { [weak self] in
                guard let self, let session = side.chats[chat] else { return }
                let native = side.agentSession(ofChat: chat)?.text ?? ""
                side.deletesChat(chat)
                ending[native] = session
            }
        }
        for message in messages where message.hasTool && random.happens(0.5) {
            let after = Duration.milliseconds(Int64.random(in: 300...3_200, using: &random))
            world.time.after(message.at + after) { [weak self] in self?.endTool(of: message.text) }
        }
    }

    private func endTool(of text: String) {
        guard let sent = side.sent.first(where: { $0.text == text }),
            let task = side.relay.sessions.first(where: { $0.id == sent.session })?.tasks
                .first(where: { $0.interaction == sent.interaction && $0.status == nil })
        else { return }
        let update = side.relay.pushUpdate(
            type: "task.timeout", session: sent.session, interaction: nil,
            payload: Array(#"{"task_id":"\#(task.id)","reason":"user_cancelled"}"#.utf8), at: side.moment)
        toolsEnded.append(EndedTool(text: text, update: update))
        side.pump()
    }

    // MARK: The judge

    /// Notes when the bridge acknowledged updates.
    private func watch() {
        let pending = side.relay.pendingUpdates()
        for (native, session) in ending where !pending.contains(where: { $0.session == session && Self.ends($0.type) })
        {
            ended[native] = world.time.now
            ending[native] = nil
        }
        for index in toolsEnded.indices where toolsEnded[index].at == nil {
            if !pending.contains(where: { $0.id == toolsEnded[index].update }) { toolsEnded[index].at = world.time.now }
        }
        for index in toolsEnded.indices where toolsEnded[index].at != nil {
            if side.gateway.isRunning(toolsEnded[index].text) { toolsEnded[index].ranAt = world.time.now }
        }
    }

    private static func ends(_ type: String) -> Bool { type == "session.ended" || type == "session.cancelled" }

    private func judge() {
        judgeModels()
        for begin in side.gateway.models.begun {
            guard let end = ended[begin.session], begin.at > end + .milliseconds(50) else { continue }
            violations.append("\(begin.text) went to the agent after its chat was gone")
        }
        for (native, _) in ended {
            for begin in side.gateway.models.begun where begin.session == native && side.gateway.isRunning(begin.text) {
                violations.append("\(begin.text) runs on in a chat that is gone")
            }
        }
        for tool in toolsEnded where tool.at.map({ world.time.now - $0 > Self.patience }) == true {
            let mayHaveEnded =
                side.gateway.wasAborted(tool.text) || endedByItself(tool.text, by: tool.at)
                || (!side.gateway.isRunning(tool.text) && wasAway(from: tool.at))
            // The tool may just have returned at the gateway, and then the run is nearly done.
            let wentOn =
                tool.at.flatMap { at in tool.ranAt.map { $0 - at > .milliseconds(500) } } == true
                && !wasAway(from: tool.at) && !side.gateway.wasAborted(tool.text)
            if !mayHaveEnded || wentOn {
                violations.append("the run of \(tool.text) goes on though its tool was ended")
            }
        }
        for message in messages where !isGone(message) && answer(to: message.text) == nil {
            violations.append("\(message.text) has no answer")
        }
        violations += side.gateway.breaches.map { "gateway: \($0)" }
    }

    /// Each run of a session has the phone's model, or the model before if the gateway refused that.
    private func judgeModels() {
        var had: [String: String?] = [:]
        for begin in side.gateway.models.begun {
            guard let message = messages.first(where: { $0.text == begin.text }) else { continue }
            let before = had[begin.session] ?? nil
            had[begin.session] = .some(begin.model)
            let isFirst =
                side.sent.first { sent in side.sent.first { $0.text == begin.text }?.session == sent.session }?
                .text == begin.text
            // The first message creates the chat, before any choice.
            let wanted = isFirst ? nil : message.model
            let wasRefused = side.gateway.models.refused.contains("\(begin.session) \(wanted ?? "-")")
            if begin.model == wanted || (wasRefused && begin.model == before) { continue }
            violations.append("\(begin.text) has the model \(begin.model ?? "-"), not \(wanted ?? "-")")
        }
    }

    private func isGone(_ message: Message) -> Bool {
        guard let sent = side.sent.first(where: { $0.text == message.text }) else { return true }
        return side.relay.sessions.first { $0.id == sent.session }?.isDeleted != false
    }

    /// A run continues to its end if nothing could stop it.
    private func wasAway(from moment: Instant?) -> Bool {
        guard let moment else { return false }
        return absences.contains { $0.from < moment + .seconds(4) && moment < $0.to }
    }

    /// The run had ended when the end of its tool came, or soon after.
    private func endedByItself(_ text: String, by moment: Instant?) -> Bool {
        guard let moment, let sent = side.sent.first(where: { $0.text == text }),
            let ended = side.gateway.endedAt(side.runID(of: sent))
        else { return false }
        return ended <= moment + .milliseconds(500)
    }

    private func answer(to text: String) -> String? {
        guard let sent = side.sent.first(where: { $0.text == text }) else { return nil }
        let messages = side.relay.sessions.first { $0.id == sent.session }?.messages ?? []
        return messages.first { $0.role == .agent && $0.interaction == sent.interaction && $0.isFinal }?.text
    }
}
