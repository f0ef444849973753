import Locking
import Testing

@Suite("The lock")
struct LockedTests {
    @Test("ten tasks that count together lose nothing")
    func countsTogether() async {
        let count = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask { for _ in 0..<1_000 { count.withLock { $0 += 1 } } }
            }
        }
        #expect(count.withLock { $0 } == 10_000)
    }

    @Test("a body that throws gives the lock back")
    func throwsAndUnlocks() {
        struct Refusal: Error {}
        let value = Locked(1)
        #expect(throws: Refusal.self) { try value.withLock { _ in throw Refusal() } }
        #expect(value.withLock { $0 } == 1)
    }
}
