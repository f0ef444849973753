import AgentKit
import BridgeModel
import BridgeTesting
import Locking
import Testing

@testable import Hosting

@Suite("Standard error of children")
struct ComplaintTests {
    private let stage = Stage { $0.replacing("hunter2", with: "***") }

    private var notes: [String] {
        stage.events.withLock { $0 }.compactMap { if case .note(.words(let words)) = $0 { words } else { nil } }
    }

    init() { stage.order(.open(Stage.channel, Stage.child())) }

    @Test("a line goes to the log, without secrets and cut")
    func line() {
        stage.programs.handlers[0](.complained("password hunter2"))
        stage.programs.handlers[0](.complained(String(repeating: "x", count: 2_000)))
        #expect(notes.first == "standard error: password ***")
        #expect(notes.last?.count == 1_000 + "standard error: …".count)
    }

    @Test("of many lines some are logged, then their number")
    func many() {
        for number in 0..<50 { stage.programs.handlers[0](.complained("line \(number)")) }
        #expect(notes.count == 20)
        stage.clock.pass(.seconds(10))
        stage.programs.handlers[0](.complained("later"))
        #expect(notes.suffix(2) == ["standard error: 30 lines more were left out", "standard error: later"])
    }

    @Test("once chats are encrypted and the agent has had a message, lines are counted and not quoted")
    func sealed() {
        var limit = ComplaintLimit()
        #expect(limit.take("starting", isSealed: true, at: .zero) == ["standard error: starting"])
        limit.prompted()
        let words = ["Ada's secret 1", "Ada's secret 2", "Ada's secret 3"].flatMap {
            limit.take($0, isSealed: true, at: .zero)
        }
        #expect(words.count == 1 && !words[0].contains("Ada"))
        let later = limit.take("Ada's secret 4", isSealed: true, at: .zero + .seconds(11))
        #expect(later.first == "standard error: 2 lines more, not shown" && !later.joined().contains("Ada"))
        #expect(limit.take("open", isSealed: false, at: .zero + .seconds(12)) == ["standard error: open"])
    }

    @Test("the last words of a child reach its machine without secrets")
    func lastWords() {
        stage.programs.handlers[0](.exited(.exited(1), lastWords: "no hunter2"))
        #expect(stage.script.lastWords == "no ***")
    }
}
