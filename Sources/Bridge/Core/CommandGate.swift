import Vocabulary

/// A command that waits for its turn's record.
package struct CommandNumber: Hashable, Sendable {
    let number: Int
}

/// Commands that leave only once their turn's record is written. Without it a message would run twice after a crash, and the agent would
/// call a decision unknown that it had taken.
///
/// - The disk may take its time, and a Stop does not wait for it: a command that is withdrawn meanwhile never leaves.
/// - A command waits from `enter` until it is `kept`, or cannot be and is `dropped`. The runner says one of these once for each number.
/// - Messages of one session leave in the order in which they entered, although the folder of one may be found before that of an
///   earlier one.
struct CommandGate: Sendable {
    private struct Waiting {
        var command: AgentCommand
        var turn: TurnID
        var isKept = false

        /// The session of a message, or nil for other commands.
        var session: AgentSession? { if case .send(_, let session, _, _) = command { session } else { nil } }
    }

    private var waiting: [CommandNumber: Waiting] = [:]
    private var last = 0

    var isEmpty: Bool { waiting.isEmpty }

    mutating func enter(_ command: AgentCommand, of turn: TurnID) -> CommandNumber {
        last += 1
        let number = CommandNumber(number: last)
        waiting[number] = Waiting(command: command, turn: turn)
        return number
    }

    /// `folder`: of a message, as it was found. Does nothing if the command was withdrawn.
    mutating func kept(_ number: CommandNumber, in folder: String?) {
        waiting[number]?.isKept = true
        if let folder, case .send(let turn, let session, let run, var message)? = waiting[number]?.command {
            message.folder = folder
            waiting[number]?.command = .send(turn: turn, session: session, run: run, message: message)
        }
    }

    /// Nil if the command was withdrawn.
    mutating func dropped(_ number: CommandNumber) -> (command: AgentCommand, turn: TurnID)? {
        waiting.removeValue(forKey: number).map { ($0.command, $0.turn) }
    }

    /// Commands that may leave now, in order.
    mutating func takeKept() -> [(command: AgentCommand, turn: TurnID)] {
        var taken: [(command: AgentCommand, turn: TurnID)] = []
        var held: Set<AgentSession> = []
        for (number, command) in waiting.sorted(by: { $0.key.number < $1.key.number }) {
            let isHeld = command.session.map(held.contains) == true
            if command.isKept, !isHeld {
                waiting[number] = nil
                taken.append((command.command, command.turn))
            } else if let session = command.session {
                held.insert(session)
            }
        }
        return taken
    }

    /// False if the message has left, or was never to leave.
    mutating func withdraw(run: RunID) -> Bool {
        let found = waiting.first { if case .send(_, _, run, _) = $0.value.command { true } else { false } }
        guard let found else { return false }
        waiting[found.key] = nil
        return true
    }

    /// False if the answer has left, or was never to leave.
    mutating func withdraw(answerTo question: QuestionID) -> Bool {
        let found = waiting.first { if case .answer(question, _, _, _) = $0.value.command { true } else { false } }
        return found.flatMap { waiting.removeValue(forKey: $0.key) } != nil
    }

    mutating func withdraw(decisionOf approval: ApprovalID) {
        let found = waiting.first {
            if case .resolve(approval, _, _, _, _, _, _) = $0.value.command { true } else { false }
        }
        if let found { waiting[found.key] = nil }
    }
}
