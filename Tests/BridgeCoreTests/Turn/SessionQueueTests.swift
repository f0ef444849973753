import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The queue of an agent session")
struct SessionQueueTests {
    private let first = TurnID("1")
    private let second = TurnID("2")

    private func queue(_ whenBusy: WhenBusy = .wait) -> SessionQueue {
        var queue = SessionQueue(whenBusy: whenBusy)
        queue.arrived(first)
        queue.arrived(second)
        return queue
    }

    @Test("one run at a time, in the order the messages came")
    func waits() {
        var queue = queue()
        #expect(queue.next(agentPresent: true) == first)
        #expect(queue.next(agentPresent: true) == nil)
        #expect(queue.active == first)
        #expect(queue.turns == [first, second])
        queue.left(first)
        #expect(queue.next(agentPresent: true) == second)
        queue.left(second)
        #expect(queue.isEmpty)
    }

    @Test("nothing is handed over while the agent is away")
    func away() {
        var queue = queue()
        #expect(queue.next(agentPresent: false) == nil)
        #expect(queue.next(agentPresent: true) == first)
    }

    @Test("a message that steers does not wait")
    func steers() {
        var queue = queue(.steer)
        #expect(queue.next(agentPresent: false) == nil)
        #expect(queue.next(agentPresent: true) == first)
        #expect(queue.next(agentPresent: true) == second)
        #expect(queue.active == first)
        queue.left(first)
        #expect(queue.active == second)
    }

    @Test("one that leaves while it waits is not handed over")
    func leaves() {
        var queue = queue()
        queue.left(first)
        #expect(queue.next(agentPresent: true) == second)
    }
}
