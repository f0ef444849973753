import AgentKit
import BridgeCore
import BridgeModel

extension EarlierTurn {
    init(_ record: TurnRecord) {
        let forwarded = record.forwarded
        let opening = record.opening
        self.init(
            session: opening.agentSession,
            runs: forwarded.runs.map { run in
                let message = run == opening.run ? opening.message : nil
                return Run(run, text: message?.prompt, hadFiles: message?.attachments.isEmpty == false)
            },
            isAccepted: forwarded.isAccepted, isStopping: forwarded.isStopping, receivedAt: opening.receivedAt,
            decisions: forwarded.decisions.map {
                Decision(
                    $0.decision, scope: $0.scope, of: $0.approval, subject: $0.subject, decidedAt: $0.decidedAt,
                    expiresAt: $0.expiresAt)
            }, detached: forwarded.detached, questions: forwarded.questions)
    }
}
