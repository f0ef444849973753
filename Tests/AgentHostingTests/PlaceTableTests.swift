import Testing

@testable import AgentHosting

@Suite("A bounded number of places")
struct PlaceTableTests {
    private var table = PlaceTable(limit: 2)

    /// Whether each number gets a place at once.
    private mutating func ask(_ numbers: Int...) -> [Bool] {
        var answers: [Bool] = []
        for number in numbers { answers.append(table.ask(number)) }
        return answers
    }

    @Test("who comes too late waits, and the longest waiting is next")
    mutating func waits() {
        #expect(ask(1, 2) == [true, true])
        #expect(ask(3, 4) == [false, false])
        #expect(table.granted() == [] && table.wanted() == [])
        table.leave(1)
        // Earlier requests come first.
        #expect(ask(5) == [false])
        #expect(table.granted() == [3])
        table.leave(4)
        table.leave(2)
        #expect(table.granted() == [5])
    }

    @Test("the longest idle is asked to leave, once for each that waits")
    mutating func idle() {
        table.limit = 3
        #expect(ask(1, 2, 3) == [true, true, true])
        for number in [2, 3, 1] { table.isIdle(number, true) }
        #expect(table.wanted() == [])
        #expect(ask(4) == [false])
        #expect(table.wanted() == [2])
        #expect(table.wanted() == [])
        #expect(ask(5) == [false])
        #expect(table.wanted() == [3])
        table.leave(2)
        #expect(table.granted() == [4])
        #expect(table.wanted() == [])
    }

    @Test("one that was asked and is busy again stays, and another is asked")
    mutating func busyAgain() {
        #expect(ask(1, 2) == [true, true])
        table.isIdle(1, true)
        table.isIdle(2, true)
        #expect(ask(3) == [false])
        #expect(table.wanted() == [1])
        table.isIdle(1, false)
        #expect(table.wanted() == [2])
        // Holder 2 already leaves its place to 3, so holder 1 is not asked again.
        table.isIdle(1, true)
        #expect(table.wanted() == [])
    }

    @Test("under a lower limit idle ones leave, and a higher one lets in who waits")
    mutating func limits() {
        #expect(ask(1, 2) == [true, true])
        table.isIdle(2, true)
        table.limit = 1
        #expect(table.wanted() == [2])
        #expect(ask(3) == [false])
        table.leave(2)
        #expect(table.granted() == [])
        table.limit = 2
        #expect(table.granted() == [3])
    }
}
