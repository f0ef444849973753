import AgentKit
import BridgeCore
import Vocabulary

extension EarlierTurn {
    /// `models` holds the choices of the chats: a message that is sent again needs the same ones. `folder` is that of the turn's message.
    init(_ record: TurnRecord, models: [SessionID: ChosenModel] = [:], folder: String? = nil) {
        let forwarded = record.forwarded
        let opening = record.opening
        self.init(
            session: opening.agentSession,
            runs: forwarded.runs.map { run in
                let message = run == opening.run ? record.prompt : nil
                // A message that went without its files is text alone, and its text must stay the same (openclaw.md#disconnects).
                let isBare = !forwarded.wentWithout.isEmpty
                return Run(
                    run, text: message.map { PromptText.noting(forwarded.wentWithout, behind: $0.prompt) },
                    hadFiles: message?.attachments.isEmpty == false && !isBare,
                    model: message.map { Self.choice(of: $0, models[$0.session]) } ?? .unchanged,
                    level: message.map { Self.level(of: $0, models[$0.session]) } ?? .unchanged,
                    folder: message == nil ? nil : folder)
            },
            isAccepted: forwarded.isAccepted, isStopping: forwarded.isStopping, receivedAt: opening.receivedAt,
            decisions: forwarded.decisions.map {
                Decision(
                    $0.decision, scope: $0.scope, of: $0.approval, subject: $0.subject, decidedAt: $0.decidedAt,
                    expiresAt: $0.expiresAt, fingerprint: $0.fingerprint, isUnanswered: $0.isUnanswered)
            }, asks: forwarded.asks.map { Ask($0.approval, fingerprint: $0.fingerprint, isOver: $0.isOver) },
            detached: forwarded.detached, questions: forwarded.questions, stopReach: forwarded.stopReach)
    }

    private static func level(of message: UserMessage, _ known: ChosenModel?) -> LevelChoice {
        guard let level = message.thoughtLevel.flatMap({ ThoughtLevel(rawValue: $0) }) else {
            return known?.level.map { .own($0.original) } ?? .unchanged
        }
        return known?.level?.level == level ? .level(level) : .unchanged
    }

    private static func choice(of message: UserMessage, _ known: ChosenModel?) -> ModelChoice {
        guard let model = message.model else { return known?.name == nil ? .unchanged : .own(known?.original) }
        return ModelChoice.isName(model) && known?.name == model ? .named(model) : .unchanged
    }
}
