import BridgeCore
import Testing
import Vocabulary

@Suite("Deadlines")
struct DeadlineHeapTests {
    private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

    @Test("owners are told in the order of their moments, each once")
    func order() {
        var heap = DeadlineHeap<String>()
        heap.set(at(30), for: "c")
        heap.set(at(10), for: "a")
        heap.set(at(20), for: "b")
        #expect(heap.earliest == at(10))
        #expect(heap.popDue(at: at(9)) == nil)
        #expect(heap.popDue(at: at(25)) == "a")
        #expect(heap.popDue(at: at(25)) == "b")
        #expect(heap.popDue(at: at(25)) == nil)
        #expect(heap.popDue(at: at(99)) == "c")
        #expect(heap.earliest == nil)
    }

    @Test("an earlier moment replaces the one before, a later one waits for it")
    func moves() {
        var heap = DeadlineHeap<String>()
        heap.set(at(30), for: "a")
        heap.set(at(10), for: "a")
        heap.set(at(90), for: "a")
        #expect(heap.popDue(at: at(10)) == "a")
        #expect(heap.popDue(at: at(50)) == nil)
    }

    @Test("an owner that was forgotten is not told")
    func forgotten() {
        var heap = DeadlineHeap<String>()
        heap.set(at(10), for: "a")
        heap.forget("a")
        #expect(heap.popDue(at: at(50)) == nil)
    }

    @Test("a thousand owners in any order come out sorted")
    func sorted() {
        var heap = DeadlineHeap<Int>()
        var state: UInt64 = 7
        for owner in 0..<1_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            heap.set(at(Int64(state >> 50)), for: owner)
        }
        var last = Instant.zero
        var count = 0
        while let moment = heap.earliest {
            #expect(moment >= last)
            last = moment
            #expect(heap.popDue(at: moment) != nil)
            count += 1
        }
        #expect(count == 1_000)
    }
}
