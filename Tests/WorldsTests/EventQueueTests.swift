import Testing
import Vocabulary
import Worlds

@Suite("The order of simulated events")
struct EventQueueTests {
    @Test("the earliest comes first, and of one moment the one that was added first")
    func order() {
        var queue = EventQueue<Int>()
        var random = SeededGenerator(seed: 5)
        var added: [(at: Int64, number: Int)] = []
        for number in 0..<500 {
            let at = Int64.random(in: 0...40, using: &random)
            added.append((at, number))
            queue.add(number, at: .zero + .milliseconds(at))
        }
        let expected = added.sorted { ($0.at, $0.number) < ($1.at, $1.number) }
        for event in expected {
            #expect(queue.nextAt == .zero + .milliseconds(event.at))
            #expect(queue.takeNext() == event.number)
        }
        #expect(queue.nextAt == nil)
        #expect(queue.takeNext() == nil)
    }
}
