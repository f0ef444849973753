import RelayRules
import Vocabulary

// Words that only the phone may read.
extension WorldJudge {
    /// Beginnings of everything that the bridge may say in the open.
    private static let fixed = [
        "Stopped.", "This message is encrypted, and its key has not come", "The answer is encrypted, and its key",
        "The bridge could not read what it had kept", "The bridge was stopped before",
        "The bridge cannot write to its disk",
        "The connection to the agent was lost",
    ]

    static let unread = "This message is encrypted, and the bridge cannot"

    mutating func judgeSealing(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        guard plan.sealing != nil else { return }
        for session in side.relay.sessions where !side.keys(of: session.id).isEmpty {
            judgeOpenWords(session, side, run)
            judgeKeys(session, side, run)
        }
        for approval in side.approvalsInTheOpen { violation("approval \(approval) was asked in the open", run) }
        if let stranger = WorldRun.stranger(of: side), !side.relay.wrappedKeys(of: stranger.id).isEmpty {
            violation("side \(index) wrapped a key for a device that nobody has allowed", run)
        }
        judgeJournal(index, run)
    }

    private mutating func judgeOpenWords(_ session: PhoneSession, _ side: WorldSide, _ run: WorldRun) {
        for message in session.messages where message.role == .agent {
            let isFixed = Self.fixed.contains { message.text.hasPrefix($0) }
            if message.sealedText == nil, !isFixed { violation("in the open: \(message.text.debugDescription)", run) }
            if !message.streamed.isEmpty { violation("streamed in the open: \(message.streamed)", run) }
        }
        for task in session.tasks {
            let words = [task.label, task.arguments, task.partialResult, task.result, task.error].compactMap { $0 }
            if !words.isEmpty { violation("a card in the open: \(words)", run) }
        }
    }

    /// A turn keeps the key that it began with.
    private mutating func judgeKeys(_ session: PhoneSession, _ side: WorldSide, _ run: WorldRun) {
        var used: [String: Set<Int>] = [:]
        func note(_ sealed: String, _ path: SealedReader.Path, _ interaction: String?) -> Bool {
            guard let opened = side.opened(sealed, path, in: session.id) else { return false }
            if let interaction, let key = opened.key { used[interaction, default: []].insert(key) }
            return true
        }
        for message in session.messages where message.role == .agent {
            for sealed in [message.sealedText].compactMap({ $0 }) + side.pieces(of: message.id)
            where !note(sealed, .messages, message.interaction) {
                violation("\(message.id) cannot be read by the phone", run)
            }
        }
        for task in session.tasks {
            for sealed in task.sealed.values where !note(sealed, .tasks, task.interaction) {
                violation("the card \(task.id) cannot be read by the phone", run)
            }
        }
        for (interaction, keys) in used.sorted(by: { $0.key < $1.key }) where keys.count > 1 {
            violation("\(interaction) was told under \(keys.count) keys", run)
        }
    }

    /// Searches the journal's present content for words of messages.
    mutating func judgeJournal(_ index: Int, _ run: WorldRun) {
        guard plan.sealing != nil else { return }
        let contents = run.world.sides[index].journal.load()
        var kept: [[UInt8]] = contents.accepted.map(\.opening) + contents.settings.values
        for turn in contents.turns { kept += [turn.record] + turn.parts + turn.calls.map(\.call.body) }
        for bytes in kept {
            let text = String(decoding: bytes, as: UTF8.self)
            for message in plan.messages where message.side == index {
                if text.contains("\(message.script.name)w") || text.contains(message.text) {
                    violation("the journal holds words of \(message.script.name): \(text.prefix(200))", run)
                }
            }
        }
    }

    /// The key never comes, or not before the Stop: the bubble is empty, and one sentence stands beside it.
    func endsUnspoken(_ message: WorldPlan.Message, _ chat: [PhoneMessage]) -> Bool {
        guard let sealing = plan.sealing else { return false }
        let isCutShort = message.stopsAfter != nil || plan.closesTurns
        let mayLackKey = sealing.grant(message.side, message.chat) == .never || isCutShort
        return mayLackKey && chat.contains { $0.sealedText == nil && isFixed($0) }
    }

    private func isFixed(_ message: PhoneMessage) -> Bool { Self.fixed.contains { message.text.hasPrefix($0) } }

    /// The agent never heard the message, and the chat says why.
    mutating func judgeWithoutKey(
        _ name: String, _ message: WorldPlan.Message, _ answers: [PhoneMessage], _ chat: [PhoneMessage],
        _ side: WorldSide, _ run: WorldRun
    ) {
        if side.begun(message.text) > 0 { violation("\(name) was begun without its key", run) }
        for answer in answers where !answer.text.isEmpty || !answer.isFinal {
            violation("\(name), without a key, is \(answer.text.debugDescription), final: \(answer.isFinal)", run)
        }
        if !chat.contains(where: { $0.sealedText == nil && isFixed($0) }) {
            violation("\(name) has no key, and nothing says so", run)
        }
    }

    /// The message may be sealed under a key that was replaced before the bridge read it, or that the bridge lacks.
    func mayBeUnreadable(_ message: WorldPlan.Message) -> Bool { plan.sealing?.rotatesAt != nil }
}
