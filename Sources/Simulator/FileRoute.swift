import LocalServer
import Locking
import RelayRules

/// The phone waits for a file of the bridge.
struct WaitingView {
    let request: String
    let ticket: ResponseTicket
    let until: Moment
}

extension RelaySimulator {
    /// Ours: the sheet knows no time limit of the relay (section 5).
    private static let patienceMilliseconds: Int64 = 15_000

    /// Nil: the request is for something else.
    func fileView(_ request: RawRequest) -> LocalAnswer? {
        let now = clock.now()
        return change { state in
            switch state.relay.viewFile(request, at: now) {
            case nil: return nil
            case .answered(let response): return .whole(Self.localResponse(response))
            case .asked(let id):
                let ticket = ResponseTicket()
                state.waitingViews.append(
                    WaitingView(
                        request: id, ticket: ticket, until: now.advanced(byMilliseconds: Self.patienceMilliseconds)))
                return .deferred(ticket)
            }
        }
    }
}

extension SimulatorState {
    /// Answers the views whose file has come, or whose time is over.
    mutating func answerWaitingViews(at now: Moment) {
        guard !waitingViews.isEmpty else { return }
        waitingViews.removeAll { view in
            guard let answer = relay.fileAnswer(view.request) ?? (now >= view.until ? Relay.noAnswer : nil) else {
                return false
            }
            view.ticket.answer(.whole(RelaySimulator.localResponse(answer)))
            return true
        }
    }
}
