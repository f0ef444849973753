import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The names of whole messages")
struct MessageNamesTests {
    @Test("none is used twice, whether it continues the bubble or comes after it")
    func unique() {
        var names = MessageNames()
        #expect(names.nextPart() == .more(1))
        #expect(names.nextLate() == .late)
        #expect(names.nextLate() == .more(2))
        #expect(names.nextPart() == .more(3))
        #expect(names.nextLine() == .line(1))
    }

    @Test("there is an end to the lines")
    func lines() {
        var names = MessageNames()
        for number in 1...MessageNames.lineLimit { #expect(names.nextLine() == .line(number)) }
        #expect(names.nextLine() == nil)
    }
}
