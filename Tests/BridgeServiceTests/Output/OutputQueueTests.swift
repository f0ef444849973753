import BridgeService
import Testing
import Vocabulary

@Suite("What of the output is dropped when nobody reads it")
struct OutputQueueTests {
    private typealias Entry = OutputQueue.Entry

    private static func queue(entries: Int = 4, bytes: Int = 1_000) -> OutputQueue {
        var limits = OutputQueue.Limits()
        (limits.entries, limits.bytes) = (entries, bytes)
        return OutputQueue(limits)
    }

    private static func log(_ text: String) -> Entry { Entry(2, .log, text) }
    private static func turn(_ text: String) -> Entry { Entry(1, .turnEnded, text) }
    private static func milestone(_ subject: String, _ text: String) -> Entry {
        Entry(1, .milestone, subject: subject, text)
    }

    /// Written texts, and the counts of dropped ones.
    private static func rest(_ queue: inout OutputQueue) -> [String] {
        var texts: [String] = []
        while let next = queue.next() {
            switch next {
            case .write(let entry): texts.append(String(decoding: entry.bytes, as: UTF8.self))
            case .tell(let losses):
                texts.append(
                    "-\(losses.logLines) log -\(losses.turnsEnded) turns -\(losses.words) words "
                        + "-\(losses.repeatedMilestones) repeated")
            }
        }
        return texts
    }

    @Test("entries of all ranks leave in the order in which they came")
    func order() {
        var queue = Self.queue(entries: 10)
        for entry in [
            Self.log("a"), Self.milestone("ready", "b"), Self.turn("c"), Self.log("d"), Entry(2, .words, "e"),
        ] {
            queue.add(entry)
        }
        #expect(Self.rest(&queue) == ["a", "b", "c", "d", "e"])
        #expect(queue.isEmpty && queue.byteCount == 0)
    }

    @Test("log lines go first, the oldest of them before the younger")
    func logsFirst() {
        var queue = Self.queue()
        for entry in [Self.turn("1"), Self.log("a"), Self.milestone("ready", "ready"), Self.log("b")] {
            queue.add(entry)
        }
        queue.add(Self.turn("2"))
        queue.add(Self.turn("3"))
        #expect(Self.rest(&queue) == ["1", "ready", "-2 log -0 turns -0 words -0 repeated", "2", "3"])
    }

    @Test("a log line does not drive out anything else, not even at the bound")
    func logAtTheBound() {
        var queue = Self.queue(entries: 2)
        for entry in [Self.turn("1"), Self.milestone("ready", "ready"), Self.log("a")] { queue.add(entry) }
        #expect(Self.rest(&queue) == ["1", "-1 log -0 turns -0 words -0 repeated", "ready"])
    }

    @Test("then turn_ended goes, and then words; milestones and results stay above the bound")
    func ranks() {
        var queue = Self.queue(entries: 2)
        queue.add(Entry(2, .words, "words"))
        queue.add(Self.turn("1"))
        for name in ["starting", "ready", "shutdown"] { queue.add(Self.milestone(name, name)) }
        queue.add(Entry(1, .result, "result"))
        #expect(queue.count == 4)
        #expect(!queue.hasRoom)
        #expect(
            Self.rest(&queue) == ["starting", "ready", "shutdown", "-0 log -1 turns -1 words -0 repeated", "result"])
    }

    @Test("of a milestone that comes again for the same connection the youngest stays")
    func repeated() {
        var queue = Self.queue(entries: 3)
        queue.add(Self.milestone("ready", "ready"))
        for number in 1...1_000 {
            queue.add(Self.milestone("relay_lost a", "lost \(number)"))
            queue.add(Self.milestone("sophon_connected a", "connected \(number)"))
        }
        #expect(queue.count == 3)
        #expect(
            Self.rest(&queue) == ["ready", "lost 1000", "-0 log -0 turns -0 words -1998 repeated", "connected 1000"])
    }

    @Test("the bound holds in bytes as well, and one entry may be larger than it")
    func bytes() {
        var queue = Self.queue(entries: 100, bytes: 10)
        for number in 0..<5 { queue.add(Self.log("log \(number)")) }
        #expect(queue.byteCount == 10)
        queue.add(Entry(1, .result, String(repeating: "x", count: 50)))
        #expect(queue.byteCount == 50)
        #expect(!queue.hasRoom)
        #expect(Self.rest(&queue) == [String(repeating: "x", count: 50), "-5 log -0 turns -0 words -0 repeated"])
        #expect(queue.hasRoom)
    }

    @Test("ten thousand log lines cost no more than the bound, and are counted")
    func many() {
        var queue = Self.queue(entries: 2_048, bytes: 1 << 18)
        for number in 0..<10_000 { queue.add(Self.log("line \(number)\n")) }
        #expect(queue.count == 2_048)
        var texts = Self.rest(&queue)
        #expect(texts.remove(at: 1_024) == "-7952 log -0 turns -0 words -0 repeated")
        #expect(texts == (7_952..<10_000).map { "line \($0)\n" })
    }

    @Test("what is discarded is neither written nor told")
    func discarded() {
        var queue = Self.queue(entries: 1)
        queue.add(Self.log("a"))
        queue.add(Self.log("b"))
        queue.discardAll()
        #expect(queue.isEmpty && Self.rest(&queue).isEmpty)
    }

    @Test("two errors of one connection with different codes are no repetition")
    func codes() {
        var queue = Self.queue(entries: 3)
        for (code, name) in [("23", "home"), ("20", "home"), ("23", "office"), ("23", "home")] {
            let members = [("connection", JSONText.string(name)), ("code", JSONText(unchecked: code))]
            queue.add(Self.milestone(OutputQueue.subject(of: "error", members), "\(name) \(code)\n"))
        }
        #expect(
            Set(Self.rest(&queue)) == [
                "home 20\n", "office 23\n", "home 23\n", "-0 log -0 turns -0 words -1 repeated",
            ])
    }

    @Test("dropped lines of the log are counted for good, whatever was reported of them")
    func counted() {
        var queue = Self.queue(entries: 1)
        for number in 0..<4 { queue.add(Self.log("\(number)")) }
        _ = Self.rest(&queue)
        for number in 0..<3 { queue.add(Self.log("\(number)")) }
        #expect(queue.logLinesDropped == 5)
        queue.discardAll()
        #expect(queue.logLinesDropped == 5)
    }
}
