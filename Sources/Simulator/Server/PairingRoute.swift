import LocalServer
import RelayRules

/// A pairing poll that is held back until there are news (relay.md#pairing-the-shipping-form).
struct WaitingPoll {
    let request: RawRequest
    let ticket: ResponseTicket
    let until: Moment
}

extension RelaySimulator {
    /// Number of held polls; further ones are answered at once.
    private static let waitingLimit = 256

    /// Nil if the poll needs an answer like any other call.
    func heldPoll(_ request: RawRequest) -> LocalAnswer? {
        let now = clock.now()
        let ticket = change { state -> ResponseTicket? in
            state.relay.tick(at: now)
            guard state.waitingPolls.count < Self.waitingLimit,
                let milliseconds = state.relay.pairingWait(request, at: now)
            else { return nil }
            let ticket = ResponseTicket()
            state.waitingPolls.append(
                WaitingPoll(request: request, ticket: ticket, until: now.advanced(byMilliseconds: milliseconds)))
            return ticket
        }
        return ticket.map { .deferred($0) }
    }
}

extension SimulatorState {
    /// Answers the polls that have news, or waited long enough. Every change of the relay calls it.
    mutating func answerWaitingPolls(at now: Moment) {
        guard !waitingPolls.isEmpty else { return }
        var waiting: [WaitingPoll] = []
        for poll in waitingPolls {
            if now < poll.until, relay.pairingWait(poll.request, at: now) != nil {
                waiting.append(poll)
            } else {
                let exchange = relay.respond(to: poll.request, at: now)
                // A poll meets faults that answer in the relay's place, and no other delivery.
                let isReset = exchange.delivery == .connectionReset
                poll.ticket.answer(isReset ? .reset : .whole(RelaySimulator.localResponse(exchange.response)))
            }
        }
        waitingPolls = waiting
    }
}
