import BridgeCore
import BridgeService
import RelayRules
import Vocabulary

/// Judges a world from outside: by the phones, the commands that the agents heard, and the journal. The plan tells it
/// what to expect.
struct WorldJudge {
    private(set) var plan: WorldPlan
    private(set) var violations: [String] = []
    /// When the phone had an answer complete, by side and interaction.
    var wholeAt: [String: Instant] = [:]
    /// When the current process received a Stop, by side and interaction. A new process forgets a Stop that was not
    /// acknowledged.
    private var stopped: [String: Instant] = [:]
    /// When the bridge received the end of a chat, by side and relay session.
    private(set) var leftHeard: [String: Instant] = [:]
    private var lastLife = 0
    private var checked: Set<String> = []
    /// Sides whose removal was judged.
    var judgedRemovals: Set<Int> = []
    /// Questions that the relay refused to show, once the chat's next message had its answer.
    var judgedQuestions: Set<String> = []

    init(_ plan: WorldPlan) { self.plan = plan }

    mutating func violation(_ sentence: String, _ run: WorldRun) {
        guard !violations.contains(where: { $0.hasSuffix(sentence) }) else { return }
        violations.append("at \(run.world.time.now - Instant.zero): \(sentence)")
    }

    // MARK: During the run

    mutating func step(_ run: WorldRun) {
        judgeBytes(run)
        noteWhole(run)
        judgeRemoval(run)
        judgeRefusedQuestions(run)
        guard run.world.life != lastLife else { return }
        lastLife = run.world.life
        // A Stop without an acknowledgement comes again to the next process.
        for (index, side) in run.world.sides.enumerated() {
            for update in side.relay.pendingUpdates() where update.type == "session.cancelled" {
                for message in side.sent where Self.names(update.frame, message.interaction) {
                    stopped["\(index) \(message.interaction)"] = nil
                }
            }
        }
    }

    /// The bound does not cut everything: here the ends and approvals of a few turns, and each turn's tried call, may
    /// exceed it.
    private mutating func judgeBytes(_ run: WorldRun) {
        guard let bound = plan.heldBytes else { return }
        for (index, side) in run.world.sides.enumerated() {
            let held = side.heldBytes.lanes
            let tried = side.openTurns * WorldScript.longestOutput
            if held > bound + 10_000 + tried { violation("side \(index) holds \(held) bytes in its lanes", run) }
        }
    }

    /// The bridge received the person's Stop, or the deletion or archiving of a chat.
    mutating func endHeard(_ frame: [UInt8], _ index: Int, _ run: WorldRun) {
        guard WorldSide.isStop(frame) else {
            for chat in run.world.sides[index].relay.sessions where Self.names(frame, chat.id) {
                let key = "\(index) \(chat.id)"
                leftHeard[key] = leftHeard[key] ?? run.world.time.now
            }
            return
        }
        for message in run.world.sides[index].sent where Self.names(frame, message.interaction) {
            let key = "\(index) \(message.interaction)"
            stopped[key] = stopped[key] ?? run.world.time.now
        }
    }

    private static func names(_ frame: [UInt8], _ interaction: String) -> Bool {
        String(decoding: frame, as: UTF8.self).contains("\"\(interaction)\"")
    }

    /// A frame leaves the bridge for the agent.
    mutating func leaves(_ frame: [UInt8], _ index: Int, _ run: WorldRun) {
        for message in messages(allowedBy: frame, index, run) {
            guard let sent = run.world.sides[index].sent.first(where: { $0.text == message.text }) else { continue }
            if let at = stopped["\(index) \(sent.interaction)"] {
                violation("an allow for \(message.script.name) left after the Stop of \(at - Instant.zero)", run)
            }
        }
    }

    /// The relay received an acknowledgement: a power cut from now on must not lose its message.
    mutating func acknowledged(_ index: Int, _ run: WorldRun) {
        let side = run.world.sides[index]
        let pending = side.relay.pendingUpdates()
        for message in side.sent where !checked.contains("\(index) \(message.message)") {
            guard !pending.contains(where: { $0.type == "session.message" && Self.names($0.frame, message.message) })
            else { continue }
            checked.insert("\(index) \(message.message)")
            if !side.journal.holds(MessageID(message.message)) {
                violation("\(message.text) was acknowledged before it was durable", run)
            }
        }
    }

    func freshIsAnswered(_ run: WorldRun) -> Bool {
        run.world.sides.indices.allSatisfy { index in
            let side = run.world.sides[index]
            guard let sent = side.sent.first(where: { $0.text == WorldRun.fresh(index) }) else { return false }
            return side.answers(to: sent).contains { $0.isFinal }
        }
    }

    // MARK: At the end

    mutating func end(_ run: WorldRun, cameToRest: Bool) {
        for (index, side) in run.world.sides.enumerated() {
            if !cameToRest { judgeRest(index, side, run) }
            for breach in side.relay.breaches where !isExplained(breach, index, run) {
                violation("breach \(breach.code) in \(breach.method): \(breach.sentence)", run)
            }
            for breach in side.agentBreaches.prefix(3) { violation("asked against its rules: \(breach)", run) }
            if index == plan.untouched {
                judgeUntouched(index, side, run)
            } else {
                judgeMessages(index, side, run)
            }
            for message in plan.messages where message.side == index { judgeSecond(message, side, run) }
            judgePrivacy(index, side, run)
            judgeConversations(side, run)
            judgeSealing(index, side, run)
            judgeJobs(index, side, run)
            judgeScopes(index, side, run)
            judgeDenials(index, side, run)
            judgeTasks(index, side, run)
            judgeOwnTurns(index, side, run)
            if cameToRest, !violations.isEmpty || !freshIsExact(index, side) {
                if !freshIsExact(index, side) { violation("a fresh message on side \(index) was not answered", run) }
            }
        }
    }

    private func freshIsExact(_ index: Int, _ side: WorldSide) -> Bool {
        guard let sent = side.sent.first(where: { $0.text == WorldRun.fresh(index) }) else { return false }
        let answers = side.answers(to: sent).map(\.text)
        return answers == ["Fresh \(index)."] || answers.first.map { isWithoutPlace($0) } == true
    }

    private mutating func judgeRest(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let open = side.journal.openTurns
        if !open.isEmpty { violation("\(open.count) turns of side \(index) are still open in the journal", run) }
        if side.openTurns > 0 { violation("\(side.openTurns) turns of side \(index) are still open", run) }
        let pending = side.relay.pendingUpdates()
        if !pending.isEmpty {
            violation("side \(index) never acknowledged \(Set(pending.map(\.type)).sorted())", run)
        }
        if side.agentIsBusy { violation("a run of side \(index) still goes on", run) }
        if open.isEmpty, pending.isEmpty { violation("side \(index) did not come to rest", run) }
    }

    /// Breaches that the world itself causes, such as by a revoked token or a deleted chat.
    private func isExplained(_ breach: Breach, _ index: Int, _ run: WorldRun) -> Bool {
        switch breach.code {
        case .revokedToken, .badToken: run.revoked.contains(index)
        case .rateLimited: run.world.life > 0
        // A card whose end the relay refused for good stays open, and the bubble still ends.
        case .endWithOpenTasks: plan.mayBeRefused
        // A day after a lost answer the bridge cannot know whether a card exists, and finishes it anyway.
        case .unknownTask: plan.mayBeRefused || plan.themes.contains(.sleep)
        // The person deleted the chat while the bridge was away, and a day later the relay has forgotten it.
        case .unknownSession, .unknownMessage: plan.themes.contains(.sleep) && !run.deleted.isEmpty
        // A call that was never tried may be tried once, a day later.
        case .interactionExpired: plan.themes.contains(.sleep)
        // A notice outside all turns is sealed anew by the next try, and a conflict counts as delivered.
        case .idempotencyConflict: plan.sealing != nil && breach.sentence.contains("The key notice-")
        default: false
        }
    }

    private mutating func judgePrivacy(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let mode = plan.mirrors[index]
        for session in side.seenSessions {
            let texts =
                session.messages.map(\.text) + session.messages.map(\.streamed) + session.tasks.compactMap(\.result)
            for text in texts {
                if mode != .all, text.contains("private\(plan.seed)") {
                    violation("a private run was shown: \(text)", run)
                }
                if mode == .none, text.contains("job\(plan.seed)") { violation("a job was shown: \(text)", run) }
            }
        }
        judgeOthers(index, side, run)
        for heard in side.gateway.heard where heard.method == "chat.abort" {
            if heard.name.hasPrefix("private") || heard.name.hasPrefix("job") {
                violation("the run \(heard.name), which the bridge did not start, was aborted", run)
            }
        }
    }

    /// The second message gets its answer beside the first one's bubble.
    private mutating func judgeSecond(_ message: WorldPlan.Message, _ side: WorldSide, _ run: WorldRun) {
        let lenient: Set<WorldPlan.Theme> = [.refusals, .disk, .sleep, .numbers, .stops]
        // A removed installation takes the answer along.
        guard let second = message.second, plan.themes.isDisjoint(with: lenient), !plan.mayBeRefused, !plan.isRemoved,
            !mayLoseRuns(message.side), side.scripted?.isLost(WorldRun.question(second)) != true
        else { return }
        guard let sent = side.sent.first(where: { $0.text == message.text }),
            run.deleted["\(message.side) \(sent.session)"] == nil
        else { return }
        let chat = side.seenSession(sent.session)?.messages.filter { $0.role == .agent } ?? []
        let said = chat.flatMap { WorldScript.words(of: second.name, in: $0.text) }
        let expected = plan.words(second, message.side)
        // The shutdown closed the turn, queued or with its text so far.
        let isClosed = plan.closesTurns && expected.starts(with: said)
        if isClosed, chat.contains(where: { $0.text.contains("The bridge was stopped") }) { return }
        if plan.sealing?.grant(message.side, message.chat) == .never || isReply(second, message, chat, side) { return }
        if mayBeUnreadable(message), chat.contains(where: { $0.text.hasPrefix(Self.unread) }) { return }
        if said != expected { violation("the second message \(second.name) was answered with \(said)", run) }
    }

    private mutating func judgeScopes(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        for heard in side.gateway.heard where heard.decision == "allow-always" {
            let message = plan.messages.first { $0.side == index && $0.script.approval == heard.name }
            guard let decision = message?.decision else { continue }
            if decision.tap != "approve_always" || decision.isNarrow {
                violation("\(heard.name) was granted for ever, and the person said \(decision)", run)
            }
        }
    }

    private mutating func judgeTasks(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        guard !plan.mayBeRefused, !plan.isRemoved, !plan.themes.contains(.sleep) else { return }
        // A chat that the person archived or deleted shows nothing further.
        for session in side.relay.sessions where !session.isDeleted && !session.isArchived {
            let open = session.tasks.filter { $0.status == nil }
            if let first = open.first { violation("task \(first.id) was never finished", run) }
            for bubble in side.seenSession(session.id)?.messages ?? [] where isOpen(bubble) {
                violation("the bubble \(bubble.id) was never ended", run)
            }
        }
    }

    /// A placeholder or a streamed text without its end. Other text is whole from its beginning.
    private func isOpen(_ message: PhoneMessage) -> Bool {
        message.role == .agent && !message.isFinal
            && (!message.streamed.isEmpty || message.text.allSatisfy(\.isWhitespace))
    }

    func result(_ run: WorldRun) -> WorldResult {
        var result = WorldResult()
        result.violations = violations
        result.steps = run.world.time.steps
        for side in run.world.sides {
            HabitTally.add(side.habitEntries, to: &result.habits)
            result.calls += side.relay.tally.calls.values.reduce(0, +)
            for session in side.relay.sessions {
                for message in session.messages { result.mix("\(message.id)\(message.text)\(message.at.milliseconds)") }
            }
        }
        result.mix("\(result.steps) \(run.world.time.now - Instant.zero)")
        return result
    }

    // MARK: A message

    /// Judges as if there were no other connection and no trouble.
    private mutating func judgeUntouched(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let whole = plan
        plan.themes = []
        plan.troubles = []
        judgeMessages(index, side, run)
        judgePromptness(index, side, run)
        plan = whole
    }

    private mutating func judgeMessages(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        // The relay's code ends only one turn.
        var mayForgive = plan.code?.effect == .endsTurn
        for message in plan.messages where message.side == index {
            let before = violations.count
            judge(message, index, side, run)
            guard mayForgive, violations.count > before else { continue }
            violations.removeSubrange(before...)
            mayForgive = false
        }
    }

    private mutating func judge(_ message: WorldPlan.Message, _ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let script = message.script
        guard let sent = side.sent.first(where: { $0.text == message.text }) else {
            return violation("\(script.name) was never written", run)
        }
        let name = "\(script.name) (\(script.kind), \(plan.agentName(index)))"
        let stopAt = stopped["\(index) \(sent.interaction)"]
        judgeRun(name, sent, message, stopAt, side, run)
        guard run.deleted["\(index) \(sent.session)"] == nil else { return }
        let answers = side.answers(to: sent)
        let chat = side.seenSession(sent.session)?.messages.filter { $0.role == .agent } ?? []
        if plan.sealing?.grant(index, message.chat) == .never, !plan.abandons(answers) {
            return judgeWithoutKey(name, message, answers, chat, side, run)
        }
        let expected = plan.words(script, index)
        let said = chat.flatMap { WorldScript.words(of: script.name, in: $0.text) }
        if Set(said).count != said.count { violation("\(name) was said twice: \(said)", run) }
        let places = said.compactMap { expected.firstIndex(of: $0) }
        // A day later the remaining text comes beside the bubble, in the order of the answers.
        if script.kind != .retry, !plan.themes.contains(.sleep), places != places.sorted() {
            violation("\(name) is out of order: \(said)", run)
        }
        let mayBeRefused = plan.mayBeRefused
        let isLate = plan.themes.contains(.sleep)
        if answers.count > 1 || (answers.isEmpty && !mayBeRefused && !isLate && !plan.isRemoved) {
            violation("\(name) has \(answers.count) bubbles", run)
        }
        // A day later the relay accepts nothing under this interaction.
        if isLate || (mayBeRefused && mayLoseText(index)) || plan.abandons(answers) { return }
        for answer in answers where !answer.isFinal { violation("\(name) was never ended", run) }
        // The filter refuses the same words in any message, so only the notice remains.
        if said.isEmpty, (answers.isEmpty ? chat : answers).contains(where: { $0.text == Self.blocked }) { return }
        guard let answer = answers.first, answer.isFinal else { return judgeWhole(name, message, expected, said, run) }
        if answer.text.isEmpty ? endsUnspoken(message, chat) : isUnsentWithFiles(message, side, answer.text) { return }
        if answer.text.isEmpty { violation("\(name) ended empty", run) }
        if mayBeUnreadable(message), answer.text.hasPrefix(Self.unread) { return }
        if endsUnsent(message, answer, side) { return }
        judgeText(name, message, answer, expected, said, side, run)
    }

    private mutating func judgeText(
        _ name: String, _ message: WorldPlan.Message, _ answer: PhoneMessage, _ expected: [String], _ said: [String],
        _ side: WorldSide, _ run: WorldRun
    ) {
        let wasStopped = message.stopsAfter != nil
        let streamed = WorldScript.words(of: message.script.name, in: answer.streamed)
        let isRight =
            mayLackPieces(message.side) || side.scripted?.hasHoles == true
            ? Self.isSubsequence(streamed, of: expected) : expected.starts(with: streamed)
        if message.script.kind != .retry, !isRight, !wasStopped, !plan.themes.contains(.numbers) {
            violation("\(name) streamed \(streamed) of \(expected)", run)
        }
        judgeStreamed(name, message, answer, streamed, run)
        judgeFailure(name, message, answer, run)
        guard isToldWhole(message), !plan.closesTurns else { return }
        // The message was never handed over, and its bubble says so.
        if plan.themes.contains(.disk), side.begun(message.text) == 0, said.isEmpty { return }
        if plan.mayBeRefused { return judgeWhole(name, message, expected, said, run) }
        guard isExact(message, run) else { return }
        // The question and its reply are part of the text.
        if side.scripted?.questions.contains(message.script.approval) == true {
            return judgeWhole(name, message, expected, said, run)
        }
        let text = message.script.text(plan.eras[message.side], plan.agents[message.side]) + notices(message)
        // The chat says once that the grant was narrower.
        let wasNarrowed =
            message.decision?.isNarrow == true && answer.text.hasPrefix(text + "\n\n“Always” could not be granted")
        let ended = Self.withoutLevels(withoutLostPast(answer.text, message, side))
        if ended != text, !wasNarrowed, !isRemarked(message, ended, text, side) {
            violation("\(name) ended with \(answer.text.debugDescription) instead of \(text.debugDescription)", run)
        }
    }

    private static func isSubsequence(_ part: [String], of whole: [String]) -> Bool {
        var rest = whole[...]
        return part.allSatisfy { word in
            guard let place = rest.firstIndex(of: word) else { return false }
            rest = rest[(place + 1)...]
            return true
        }
    }

    private mutating func judgeWhole(
        _ name: String, _ message: WorldPlan.Message, _ expected: [String], _ said: [String], _ run: WorldRun
    ) {
        guard said != expected, isToldWhole(message), isExact(message, run), !mayLoseText(message.side) else { return }
        violation("\(name) lost its text: \(said) instead of \(expected)", run)
    }

    /// A run that was stopped or failed ends with the words heard so far, with a bubble or without.
    private func isToldWhole(_ message: WorldPlan.Message) -> Bool {
        message.stopsAfter == nil && message.script.kind != .fails
    }

    private static let blocked = "The relay refused to show this answer."

    /// Whether the stream may lack pieces that the end then has. After a lost link an early gateway does not repeat
    /// text from before the last tool, nor a newer one a message that was whole by then. A restarted relay keeps the
    /// key of a sealed piece and shows it to nobody.
    private func mayLackPieces(_ side: Int) -> Bool {
        let isNew = plan.agents[side] == .openClaw && [.e2, .e3].contains(plan.eras[side])
        return plan.isEarly(side) || isNew && losesAgent(side) || plan.sealing != nil && restartsRelay(side)
    }

    private func restartsRelay(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            guard trouble.side == side, case .call(let fault) = trouble.misfortune else { return false }
            return if case .restart = fault.kind { true } else { false }
        }
    }

    /// The person may see nothing of text that the relay refused repeatedly, by one fault or several.
    private func mayLoseText(_ side: Int) -> Bool {
        if plan.themes.contains(.numbers) { return true }
        guard plan.themes.contains(.refusals) else { return false }
        var refusals: [String: Int] = [:]
        // The relay stored a call whose answer a proxy's page hid, and refuses it when it comes again.
        var hidesAnswers = false
        for trouble in plan.troubles where trouble.side == side {
            guard case .call(let fault) = trouble.misfortune else { continue }
            if case .pageAfter = fault.kind { hidesAnswers = true }
            guard case .refused(let status, _, _) = fault.kind,
                (400..<500).contains(status), ![408, 425, 429].contains(status)
            else { continue }
            refusals[fault.method ?? "", default: 0] += fault.count
        }
        return hidesAnswers && plan.mayBeRefused || refusals.values.contains { $0 > 1 }
    }

    /// Lost frames cannot be recovered if numbers are meaningless, or an early gateway has forgotten its questions.
    private func isExact(_ message: WorldPlan.Message, _ run: WorldRun) -> Bool {
        if plan.themes.contains(.numbers) { return false }
        guard plan.agents[message.side] == .openClaw else { return isFound(message, run) }
        let isQuestion = message.script.kind == .approval || message.script.kind == .detached
        return !(plan.isEarly(message.side) && isQuestion && losesAgent(message.side))
    }

    private mutating func judgeRun(
        _ name: String, _ sent: WorldSide.Sent, _ message: WorldPlan.Message, _ stopAt: Instant?, _ side: WorldSide,
        _ run: WorldRun
    ) {
        if side.begun(message.text) > 1 { violation("\(name) was begun twice", run) }
        let asked = side.asked(about: sent)
        if let abort = asked.firstIndex(of: .abort), let send = asked.firstIndex(of: .prompt), abort < send {
            violation("the agent heard \(name) after its abort", run)
        }
        guard let stopAt, let endedAt = side.runEnded(sent), !mayMissStop(message, side) else { return }
        let patience = plan.troubles.isEmpty ? Duration.seconds(3) : .seconds(8)
        let latest = max(stopAt, plan.troubles.isEmpty ? stopAt : min(.zero + plan.quietAt, endedAt)) + patience
        if endedAt > latest { violation("\(name) went on until its end, though it was stopped at \(stopAt)", run) }
    }
}
