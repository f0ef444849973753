import RelayRules
import Vocabulary

// Denials need a person.
extension WorldJudge {
    /// Without a person's no, nothing is denied: a card that the relay refuses once returns with less, and a proxy's
    /// page refuses nothing.
    mutating func judgeDenials(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let isLenient = plan.code?.effect == .endsTurn || plan.isRemoved || plan.closesTurns
        guard !isLenient, refusals({ $0 == nil || $0 == "requestApproval" }) <= 1,
            plan.themes.isDisjoint(with: [.sleep, .numbers])
        else { return }
        for approval in side.denied {
            let message = plan.messages.first { $0.side == index && $0.script.approval == approval }
            guard let message, message.decision?.tap == "approve", message.stopsAfter == nil,
                let sent = side.sent.first(where: { $0.text == message.text }),
                run.deleted["\(index) \(sent.session)"] == nil
            else { continue }
            violation("\(approval) was denied, and the person allowed it", run)
        }
    }

    /// Number of calls refused for good, of methods that fit.
    private func refusals(_ fits: (String?) -> Bool) -> Int {
        plan.troubles.reduce(0) { sum, trouble in
            guard case .call(let fault) = trouble.misfortune, case .refused(let status, _, _) = fault.kind,
                (400..<500).contains(status), fits(fault.method)
            else { return sum }
            return sum + fault.count
        }
    }
}
