import Locking

/// An answer that comes later: the handler returns `.deferred(ticket)`, and any thread redeems it, once.
///
/// Only the first answer counts. Without a client the answer is dropped. A ticket that is
/// released without an answer answers 500: no client waits without end.
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

/// The server's half of a ticket. It is separate, so the ticket's release can be detected.
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

    /// On the library's thread: returns the answer, or nil after suspending the connection until there is one.
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
