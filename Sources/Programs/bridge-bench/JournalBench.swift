import BridgeService
import Dispatch
import Glibc
import Journal
import Vocabulary

/// Rate of commits of the journal, one call at a time: each is submitted once the one before has completed.
enum JournalBench {
    private static let turn = TurnID("turn")

    private static func call(_ number: Int) -> JournalEntry {
        .call(
            StoredCall(
                turn: turn, key: IdempotencyKey("key-\(number)"), name: [], path: "/v1/bridge/sendMessageDelta",
                body: [UInt8](repeating: 0x61, count: 1_024), endOffset: nil, wall: 0))
    }

    private final class Run: Sendable {
        let journal: any TurnJournal
        let durability: Durability
        let count: Int
        /// Called on the journal's thread after each commit, before the next is submitted.
        let told: @Sendable (Int) -> Void
        let end = DispatchSemaphore(value: 0)

        init(
            _ journal: any TurnJournal, _ durability: Durability, count: Int,
            told: @escaping @Sendable (Int) -> Void = { _ in }
        ) {
            self.journal = journal
            self.durability = durability
            self.count = count
            self.told = told
        }

        func next(_ number: Int) {
            guard number < count else {
                end.signal()
                return
            }
            journal.submit([JournalBench.call(number)], durability) { failure in
                if let failure {
                    print(failure)
                    exit(ExitCode.unexpected.rawValue)
                }
                self.told(number)
                self.next(number + 1)
            }
        }
    }

    /// Prints commits per second.
    static func commits(_ durability: Durability, directory: String, count: Int) throws {
        let clock = SystemClock()
        let journal = try Journal.open(directory: directory, wall: { clock.wallMilliseconds })
        let run = Run(journal.connection(ConnectionName("main")), durability, count: count)
        let begun = clock.now
        run.next(0)
        run.end.wait()
        print(Double(count) / (Double((clock.now - begun).nanoseconds) / 1e9))
        journal.close()
    }

    /// Writes until it is killed, and prints the number of each completed call on a line: for a test of the journal.
    static func tell(directory: String) throws {
        let journal = try Journal.open(directory: directory, wall: { 0 })
        let main = journal.connection(ConnectionName("main"))
        main.submit([.turn(turn, record: [])], .written, done: nil)
        let run = Run(main, .written, count: .max) { number in
            let line = Array("\(number)\n".utf8)
            _ = line.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        }
        run.next(0)
        run.end.wait()
        journal.close()
    }
}
