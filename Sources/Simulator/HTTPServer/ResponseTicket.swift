import Locking

/// An answer that is given later: the handler returns `.deferred(ticket)`, and any thread redeems it, once.
///
/// Only the first answer counts. When the client has gone meanwhile, the answer goes nowhere. A ticket that is dropped
/// without an answer is answered with 500, so that no client waits for ever.
package final class ResponseTicket: Sendable {
    package enum Answer: Sendable {
        case whole(LocalResponse)
        case reset
    }

    let pending = PendingAnswer()

    package init() {}

    deinit {
        pending.settle(.whole(.text(500, "The request was dropped without an answer.")))
    }

    package func answer(_ answer: Answer) { pending.settle(answer) }
}

/// The half of a ticket that the server holds. It is apart, so that the ticket's end can be noticed.
final class PendingAnswer: Wakeable {
    private struct State {
        var answer: ResponseTicket.Answer?
        var latch = ConnectionLatch()
    }

    private let state = Locked(State())

    func settle(_ answer: ResponseTicket.Answer) {
        state.withLock { state in
            guard state.answer == nil else { return }
            state.answer = answer
            state.latch.resume()
        }
    }

    /// On the library's thread: the answer, or nil, and then the connection is suspended until there is one.
    func takeOrSuspend(_ connection: Connection) -> ResponseTicket.Answer? {
        state.withLock { state in
            if let answer = state.answer { return answer }
            state.latch.attach(connection)
            state.latch.suspend()
            return nil
        }
    }

    func requestCompleted() { state.withLock { $0.latch.detach() } }

    func serverStops() { settle(.reset) }
}
