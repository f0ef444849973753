import AgentKit
import Vocabulary

// What is observed of a run, a card or a question of the chat.
extension PiChat {
    func signal(_ event: RunEvent, of run: RunID?) -> Observation {
        .signal(RunSignal(run: run, session: session, event: event))
    }

    func settled(_ question: QuestionID, _ reason: QuestionSettlement.Reason) -> Observation {
        signal(.questionSettled(QuestionSettlement(id: question, reason)), of: nil)
    }

    func gone(_ dialog: PiDialogs.Dialog, isExpired: Bool) -> Observation {
        switch dialog {
        case .card(let approval, _, _): settled(approval, isExpired ? .expired : .cancelled)
        case .question(let question): settled(question, isExpired ? .expired : .cancelled)
        }
    }

    func settled(_ approval: ApprovalID, _ outcome: ApprovalSettlement.Outcome) -> Observation {
        signal(.approvalSettled(ApprovalSettlement(id: approval, outcome: outcome)), of: nil)
    }
}
