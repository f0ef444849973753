import Locking
package import Vocabulary

/// Drives a session machine to one verdict, then closes its socket: a link as `doctor` needs it.
package final class LinkProbe<Machine: SessionMachine & ~Copyable, Verdict: Sendable>: Sendable {
    private struct State {
        var runner: LinkRunner<Machine>?
        var completion: (@Sendable (Verdict?) -> Void)?
    }

    private let state = Locked(State())
    private let deadline: any Alarm

    /// `judge` receives each order that is not about the socket, until it returns a verdict. `completion` is called once: with the verdict,
    /// or with nil after `limit`. `deadline` rings for the limit, and serves nothing else.
    package init(
        _ machine: consuming sending Machine, edges: LinkEdges, limit: Duration, deadline: any Alarm,
        judge: @escaping @Sendable (Machine.Order) -> Verdict?, completion: @escaping @Sendable (Verdict?) -> Void
    ) {
        self.deadline = deadline
        let runner = LinkRunner(machine, edges: edges) { [weak state] order in
            guard let verdict = judge(order) else { return }
            let completion = state?.withLock { state in
                defer { state.completion = nil }
                return state.completion
            }
            completion?(verdict)
        }
        state.withLock { $0 = State(runner: runner, completion: completion) }
        deadline.set(edges.clock.now + limit) { [weak self] in self?.timeIsOver() }
    }

    /// Begins to connect.
    package func start() { state.withLock { $0.runner }?.tell { machine, now in machine.start(at: now) } }

    /// Closes the socket in order; true once it is closed.
    package func close() -> Bool {
        guard let runner = state.withLock({ $0.runner }) else { return true }
        runner.tell { machine, now in machine.shutDown(at: now) }
        return runner.isClosed
    }

    /// Cuts whatever is still open.
    package func stop() {
        deadline.stop()
        let runner = state.withLock { state in
            defer { state = State() }
            return state.runner
        }
        runner?.stop()
    }

    private func timeIsOver() {
        let completion = state.withLock { state in
            defer { state.completion = nil }
            return state.completion
        }
        completion?(nil)
    }
}
