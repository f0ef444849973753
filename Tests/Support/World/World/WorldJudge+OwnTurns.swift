import RelayRules
import Vocabulary

/// An ask that no message's script has. The person's answer to it follows from its number.
struct OwnAsk {
    private let digit: Int

    /// Nil for the ask of a script. `name` may have a beginning of the relay's.
    init?(_ name: String) {
        guard name.contains(ScriptedClaude.ownAsk), let digit = name.last?.wholeNumberValue else { return nil }
        self.digit = digit
    }

    var isAllowed: Bool { digit % 2 == 0 }
    var tap: String { isAllowed ? "approve" : "deny" }
    var wait: Duration { .milliseconds(200 + Int64(digit) * 900) }
}

// Turns that a session of Claude Code starts by itself, and the asks of its helpers.
extension WorldJudge {
    mutating func judgeOwnTurns(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        guard let claude = side.scripted as? ScriptedClaude else { return }
        for decision in claude.decided where decision.isYes && OwnAsk(decision.approval)?.isAllowed == false {
            violation("\(decision.approval) was allowed, and the person denied it", run)
        }
        guard plan.troubles.isEmpty, !plan.isRemoved, !plan.mayBeRefused else { return }
        for decision in claude.decided where !decision.isYes && OwnAsk(decision.approval)?.isAllowed == true {
            violation("\(decision.approval) was denied, and the person allowed it", run)
        }
        guard plan.sealing == nil else { return }
        for (session, turns) in claude.ownTurns {
            guard let text = side.sent.first(where: { claude.session(of: $0.text) == session }),
                run.deleted["\(index) \(text.session)"] == nil, let chat = side.seenSession(text.session)
            else { continue }
            let shown = chat.messages.count { $0.role == .agent && $0.text.contains(ScriptedClaude.ownWords) }
            if !(turns.read...turns.begun).contains(shown) {
                violation("\(shown) of \(turns) turns of the session's own were shown", run)
            }
        }
    }
}
