import BridgeCore
import BridgeService
import RelayRules
import Vocabulary

// The fate of a run whose agent loses it together with a process.
extension WorldPlan {
    func words(_ script: WorldScript, _ side: Int) -> [String] { script.words(eras[side], agents[side]) }
    func agentName(_ side: Int) -> String { agents[side] == .openClaw ? "\(eras[side])" : agents[side].rawValue }
    func isEarly(_ side: Int) -> Bool { agents[side] == .openClaw && eras[side] == .e1 }
}

extension WorldJudge {
    /// Messages whose approval the frame allows.
    func messages(allowedBy frame: [UInt8], _ index: Int, _ run: WorldRun) -> [WorldPlan.Message] {
        let text = String(decoding: frame, as: UTF8.self)
        guard plan.agents[index].isAllow(text) else { return [] }
        let named = run.world.sides[index].scripted?.approval(answeredBy: frame)
        return plan.messages.filter { message in
            let approval = message.script.approval
            return message.side == index && (named == approval || text.contains("\"\(approval)\""))
        }
    }

    /// Whether a process of the agent may take a run along. The bubble must explain that, and the run never begins
    /// again.
    func mayLoseRuns(_ side: Int) -> Bool {
        switch plan.agents[side] {
        case .openClaw: false
        case .pi: losesAgent(side)
        case .codex: losesCodexRuns(side)
        // Claude Code's process works on without the bridge.
        case .claude: losesProcess(side)
        case .oppi:
            plan.troubles.contains { trouble in
                guard trouble.side == side, case .oppi(let trouble) = trouble.misfortune else { return false }
                return trouble.losesRuns
            }
        }
    }

    /// The message never left the bridge, and its bubble says why.
    func endsUnsent(_ message: WorldPlan.Message, _ answer: PhoneMessage, _ side: WorldSide) -> Bool {
        isTakenForReply(message, answer, side) || isUnmade(message, answer, side)
            || isTokenRefused(message, answer, side) || isCodexUnable(message, answer, side)
            || isWithoutPlace(answer.text) || isUnfound(message, answer.text)
    }

    /// A restarted bridge looks for a run for 30 s (DESIGN.md), and no program could be asked for longer.
    private func isUnfound(_ message: WorldPlan.Message, _ text: String) -> Bool {
        guard plan.agents[message.side] == .claude, text.contains("it does not know what became of this run") else {
            return false
        }
        return plan.troubles.contains { trouble in
            guard trouble.side == message.side, case .pairing(let time) = trouble.misfortune else { return false }
            return time > .seconds(30)
        }
    }

    /// The sessions of a removed installation keep their places at a server.
    func isWithoutPlace(_ text: String) -> Bool { plan.isRemoved && text.hasPrefix("Oppi has no place") }

    /// The message arrived while a question of its chat was open and matches no option, or after the question closed.
    private func isTakenForReply(_ message: WorldPlan.Message, _ answer: PhoneMessage, _ side: WorldSide) -> Bool {
        Self.isNoReply(answer) && side.begun(message.text) == 0 && hasQuestion(message, side)
            && showsQuestion(message, side)
    }

    /// No message may count as an answer to a question that no person could read.
    private func showsQuestion(_ message: WorldPlan.Message, _ side: WorldSide) -> Bool {
        guard let session = side.sent.first(where: { $0.text == message.text })?.session else { return false }
        return side.scripted?.questions.contains { Self.shows($0, in: session, side) } == true
    }

    private static func shows(_ question: String, in session: String, _ side: WorldSide) -> Bool {
        side.seenSession(session)?.messages.contains {
            $0.role == .agent && ($0.text + $0.streamed).contains(ScriptedChoice.title(question))
        } == true
    }

    /// A message must not count as a reply before the relay has shown the question. The bubble's end may show it
    /// later.
    mutating func judgeRefusedQuestions(_ run: WorldRun) {
        for id in plan.refusedQuestions.keys.sorted() where !judgedQuestions.contains(id) {
            for side in run.world.sides {
                guard let sent = side.sent.first(where: { $0.text == WorldRun.meanwhile(id) }),
                    let answer = side.answers(to: sent).first(where: \.isFinal)
                else { continue }
                judgedQuestions.insert(id)
                if Self.isNoReply(answer), !Self.shows(id, in: sent.session, side) {
                    violation("\(sent.text) was taken for an answer to a question that nobody saw", run)
                }
            }
        }
    }

    private static func isNoReply(_ answer: PhoneMessage) -> Bool {
        answer.text.hasPrefix("That is none of the options.")
            || answer.text.hasPrefix("The question was over before this came")
    }

    /// A second message, written while a question of its chat was open or before the chat showed its end.
    func isReply(
        _ second: WorldScript, _ message: WorldPlan.Message, _ chat: [PhoneMessage], _ side: WorldSide
    ) -> Bool {
        side.begun(WorldRun.question(second)) == 0 && hasQuestion(message, side) && chat.contains(where: Self.isNoReply)
    }

    private func hasQuestion(_ message: WorldPlan.Message, _ side: WorldSide) -> Bool {
        plan.messages.contains { other in
            other.side == message.side && other.chat == message.chat
                && side.scripted?.questions.contains(other.script.approval) == true
        }
    }

    /// A new process of the bridge that owes a stop looks for the run in the history, which may not have it yet.
    func mayMissStop(_ message: WorldPlan.Message, _ side: WorldSide) -> Bool {
        guard let scripted = side.scripted else { return false }
        let hasNewProcess = plan.troubles.contains { trouble in
            switch trouble.misfortune {
            case .kill, .shutDown: true
            default: false
            }
        }
        return scripted.ignoresStop(message.text) || hasNewProcess && scripted.isUnwritten(message.text)
    }

    /// Something in front of Oppi's server answered every attempt to make a session.
    private func isUnmade(_ message: WorldPlan.Message, _ answer: PhoneMessage, _ side: WorldSide) -> Bool {
        let hasPages = plan.troubles.contains { trouble in
            if trouble.side == message.side, case .oppi(.pages) = trouble.misfortune { true } else { false }
        }
        return hasPages && side.begun(message.text) == 0
            && answer.text.hasPrefix("No session could be made at the agent: something before Oppi answered")
    }

    /// A refused token needs a person, so a message that has not left ends with the remedy.
    private func isTokenRefused(_ message: WorldPlan.Message, _ answer: PhoneMessage, _ side: WorldSide) -> Bool {
        let refusesToken = plan.troubles.contains { trouble in
            if trouble.side == message.side, case .pairing = trouble.misfortune { true } else { false }
        }
        return refusesToken && plan.agents[message.side] == .oppi && side.begun(message.text) == 0
            && answer.text.hasPrefix("Oppi refused the bridge's token, so the message was not sent. Please pair again")
    }

    /// The text without the sentence about a lost conversation, if the agent may have lost it.
    func withoutLostPast(_ text: String, _ message: WorldPlan.Message, _ side: WorldSide) -> String {
        let sentence = """
            \n\nThe agent no longer has this chat's earlier conversation. This is a new one: it does not know what was said before.
            """
        guard side.scripted?.mayLackPast(message.text) == true, text.hasSuffix(sentence) else { return text }
        return String(text.dropLast(sentence.count))
    }

    /// A permission of Oppi's may expire or get its answer on another device, and a dialog grants nothing for later.
    func isRemarked(_ message: WorldPlan.Message, _ said: String, _ text: String, _ side: WorldSide) -> Bool {
        if losesEmptyEnd(message), said.hasPrefix("\(text)\n\nThe agent stopped before it had finished.") {
            return true
        }
        if let claude = side.scripted as? ScriptedClaude {
            // An early version names a turn's prompts only at the turn's end, and not in a turn of the session's own.
            let own = ScriptedClaude.ownWords
            if claude.habits.isOld, said == "\(own)\n\n\(text)" { return true }
            if claude.habits.isOld, claude.joined.contains(message.text), said == "\(text)\n\n\(own)" { return true }
            if claude.deniesUnheard(message.text), Self.tellsOfRefusals(said, behind: text) { return true }
        }
        guard [.oppi, .codex, .claude].contains(plan.agents[message.side]),
            [.approval, .detached].contains(message.script.kind)
        else {
            return false
        }
        var remarks = ["The approval was not answered in time.", "The agent no longer waited for this approval."]
        if losesAgent(message.side) || mayLoseRuns(message.side) || mayCut(message.side) {
            remarks.append("The agent did not confirm this decision")
        }
        // A bridge that shuts down still reads the withdrawal of Claude Code's open asks.
        if plan.agents[message.side] == .claude, isShutDown(message.side) {
            remarks.append("The approval was withdrawn by the agent.")
        }
        if let isYes = side.scripted?.decidedElsewhere[message.script.approval] {
            remarks.append("The approval was \(isYes ? "given" : "denied") elsewhere.")
        }
        if message.decision?.tap == "approve_always" { remarks.append("“Always” could not be granted") }
        return remarks.contains { said.hasPrefix("\(text)\n\n\($0)") }
    }

    private func isShutDown(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            if trouble.side == side, case .shutDown = trouble.misfortune { true } else { false }
        }
    }

    /// Claude Code denies its asks while the bridge is away. The chat's next bubble reports the count.
    private static func tellsOfRefusals(_ said: String, behind text: String) -> Bool {
        said.hasPrefix("\(text)\n\n") && said.dropFirst(text.count + 2).first?.isNumber == true
            && ["call", "calls"].contains { said.contains(" \($0) could not be asked about while the bridge was away") }
    }

    /// Oppi's traces do not show an end without words, and the process that saw it is gone.
    private func losesEmptyEnd(_ message: WorldPlan.Message) -> Bool {
        guard plan.agents[message.side] == .oppi, message.script.kind == .emptyEnd else { return false }
        return plan.troubles.contains { trouble in
            if case .oppi(.restarts) = trouble.misfortune { trouble.side == message.side } else { false }
        }
    }

    /// The server cuts sockets of a session.
    private func mayCut(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            guard trouble.side == side else { return false }
            return switch trouble.misfortune {
            case .oppi(.cuts), .codex(.cuts): true
            default: false
            }
        }
    }

    /// Runs of the owner's other device stay there. If the plan mirrors them, they appear beside our bubbles.
    mutating func judgeOthers(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        judgeAborts(side, run)
        let mark = "private\(plan.seed)"
        for sent in side.sent {
            for answer in side.answers(to: sent) where (answer.text + answer.streamed).contains(mark) {
                violation("another client's words are in the answer to \(sent.text): \(answer.text)", run)
            }
        }
        judgeChoices(index, side, run)
        guard plan.mirrors[index] != .all, let decided = side.scripted?.decided else { return }
        for decision in decided where decision.approval.hasPrefix(mark) {
            violation("\(decision.approval) of another client's run was answered", run)
        }
    }

    /// No two chats share a conversation at the agent.
    mutating func judgeConversations(_ side: WorldSide, _ run: WorldRun) {
        var chats: [String: String] = [:]
        for sent in side.sent {
            guard let session = side.scripted?.session(of: sent.text) else { continue }
            let chat = chats[session] ?? sent.session
            chats[session] = chat
            if chat != sent.session { violation("\(sent.text) went to the conversation of another chat", run) }
        }
    }

    /// A person who chose no option of consent never has the agent hear one.
    private mutating func judgeChoices(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        guard let scripted = side.scripted else { return }
        for message in plan.messages where message.side == index && message.decision?.tap == "deny" {
            let approval = message.script.approval
            if scripted.questions.contains(approval),
                scripted.decided.contains(where: { $0.approval == approval && $0.isYes })
            {
                violation("\(approval) was answered with an option that nobody chose", run)
            }
        }
    }

    /// The next process of the bridge finds an answer that is whole in the session file. An answer that died with the
    /// agent's process is explained.
    func isFound(_ message: WorldPlan.Message, _ run: WorldRun) -> Bool {
        let side = run.world.sides[message.side]
        guard ![.oppi, .codex].contains(plan.agents[message.side]) else {
            // The bridge may never learn whether a prompt arrived whose session is gone.
            let isUnheard = mayLoseRuns(message.side) && side.begun(message.text) == 0
            return side.scripted?.isLost(message.text) == false && !isUnheard && !deletesUnheard(message.side)
        }
        guard mayLoseRuns(message.side) else { return true }
        let isLost = plan.agents[message.side] != .claude && losesProcess(message.side)
        return !isLost && side.isFinished(message.text)
    }

    /// A thread is deleted while the bridge hears nothing, and its words are lost.
    private func deletesUnheard(_ side: Int) -> Bool {
        var (deletes, isDeaf) = (false, false)
        for trouble in plan.troubles where trouble.side == side {
            switch trouble.misfortune {
            case .codex(.deletes): deletes = true
            case .deafGateway: isDeaf = true
            default: break
            }
        }
        return deletes && isDeaf
    }

    /// A process of the agent may die in the middle of a run, or fail to start.
    private func losesProcess(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            switch trouble.misfortune {
            case .cutGateway, .cutGatewayBehind, .deafGateway, .gatewayRestarts, .pairing: trouble.side == side
            default: false
            }
        }
    }

    /// The answer is complete as soon as the run is. Only silence reveals a lost end.
    func isQuick(_ message: WorldPlan.Message) -> Bool {
        let isOpenClaw = plan.agents[message.side] == .openClaw
        return ![.approval, .detached, .fails].contains(message.script.kind)
            && (isOpenClaw || message.script.kind != .emptyEnd)
    }

    /// An early gateway has no list of approvals asked while the bridge was down (openclaw.md#others).
    func losesAgent(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            switch trouble.misfortune {
            case .kill, .shutDown: true
            case .cutGateway, .cutGatewayBehind, .deafGateway, .gatewayRestarts, .pairing: trouble.side == side
            case .cutRelay, .cutRelayBehind, .relayAway, .call, .socket, .lossyCalls, .fullDisk, .slowDisk,
                .deletesChat, .foreignRun, .job, .relayCancels, .revokes, .distortsNumbers, .privateRun, .jobStarts,
                .jobFinishes,
                .leavesJobChat, .anotherToken, .oppi, .codex:
                false
            }
        }
    }

    /// A failed run is no answer and says why. If its frames may be lost, the bubble may say that the outcome is
    /// unknown.
    mutating func judgeFailure(
        _ name: String, _ message: WorldPlan.Message, _ answer: PhoneMessage, _ run: WorldRun
    ) {
        guard message.script.kind == .fails, message.stopsAfter == nil, plan.agents[message.side] == .openClaw,
            !plan.closesTurns, !plan.mayBeRefused, !plan.themes.contains(.numbers),
            run.world.sides[message.side].begun(message.text) > 0
        else { return }
        for case .turnEnded(_, let turn, .answered) in run.world.events where turn.text == answer.interaction {
            violation("\(name) failed, and counts as answered", run)
        }
        let end =
            losesAgent(message.side)
            ? "ask again" : "The agent could not finish. Please ask again. (\(WorldScript.failure))"
        if !answer.text.contains(end) {
            violation("\(name) failed, and ended with \(answer.text.debugDescription)", run)
        }
    }
}
