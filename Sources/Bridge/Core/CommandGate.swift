import Vocabulary

/// A command that waits for its turn's record.
package struct CommandNumber: Hashable, Sendable {
    let number: Int
}

/// Commands that leave only when their turn's record is written: a message would run twice after a crash, and the agent would
/// call a decision unknown that it had taken.
///
/// The disk may take its time, and a Stop does not wait for it: what is withdrawn meanwhile never leaves. Each waits from
/// `enter` to `leave`, which the runner calls once for each number.
struct CommandGate: Sendable {
    private var waiting: [CommandNumber: (command: AgentCommand, turn: TurnID)] = [:]
    private var last = 0

    mutating func enter(_ command: AgentCommand, of turn: TurnID) -> CommandNumber {
        last += 1
        let number = CommandNumber(number: last)
        waiting[number] = (command, turn)
        return number
    }

    /// Nil: it was withdrawn.
    mutating func leave(_ number: CommandNumber) -> (command: AgentCommand, turn: TurnID)? {
        waiting.removeValue(forKey: number)
    }

    /// False: it has left, or was never to leave.
    mutating func withdraw(run: RunID) -> Bool {
        let found = waiting.first { if case .send(_, _, run, _) = $0.value.command { true } else { false } }
        guard let found else { return false }
        waiting[found.key] = nil
        return true
    }

    /// False: it has left, or was never to leave.
    mutating func withdraw(answerTo question: QuestionID) -> Bool {
        let found = waiting.first { if case .answer(question, _, _, _) = $0.value.command { true } else { false } }
        return found.flatMap { waiting.removeValue(forKey: $0.key) } != nil
    }

    mutating func withdraw(decisionOf approval: ApprovalID) {
        let found = waiting.first {
            if case .resolve(approval, _, _, _, _, _) = $0.value.command { true } else { false }
        }
        if let found { waiting[found.key] = nil }
    }
}
