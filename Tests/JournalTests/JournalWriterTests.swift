import CSQLite
import FoundationEssentials
import Locking
import Testing
import Vocabulary
import WireTesting

@testable import Journal

@Suite("The writer")
struct JournalWriterTests {
    @Test("jobs that wait become one transaction, whichever connection they are of, and are told in order")
    func groupCommit() throws {
        let folder = try JournalFolder()
        let gate = WriterGate()
        let journal = try folder.open(gate.hooks)
        let (main, other) = (journal.connection(Sample.main), journal.connection(ConnectionName("other")))
        let told = Queue<Int>()
        let isHeld = gate.hold { main.submit([Sample.turn("first")], .written) { _ in told.put(0) } }
        #expect(isHeld)
        for number in 1...20 {
            let journal = number.isMultiple(of: 2) ? main : other
            journal.submit([Sample.turn("t\(number)")], number == 7 ? .synced : .written) { _ in told.put(number) }
        }
        gate.release()
        #expect(try (0...20).map { _ in try told.next() } == Array(0...20))
        #expect(gate.batches.withLock { $0 } == [1, 20])
    }

    @Test("what waits is counted in bytes, for each connection by itself, until it is committed or has failed")
    func heldBytes() throws {
        let folder = try JournalFolder()
        let gate = WriterGate()
        let journal = try folder.open(gate.hooks)
        let (main, other) = (journal.connection(Sample.main), journal.connection(ConnectionName("other")))
        let told = Queue<Int>()
        #expect(gate.hold { main.submit([Sample.turn("first")], .written, done: nil) })
        let body = String(repeating: "x", count: 90_000)
        main.submit([.call(Sample.call("a", "k", body: body))], .written) { _ in told.put(main.heldBytes) }
        main.submit([.call(Sample.call("a", "k", body: "another"))], .written) { _ in told.put(main.heldBytes) }
        #expect(main.heldBytes > 90_000)
        #expect(other.heldBytes == 0)
        gate.release()
        #expect(try (0..<2).map { _ in try told.next() } == [0, 0])
    }

    @Test("the words of a closed turn are overwritten in the file")
    func overwritten() throws {
        let folder = try JournalFolder()
        let journal = try folder.open()
        let main = journal.connection(Sample.main)
        for turn in ["a", "b", "c"] {
            #expect(try main.write([Sample.turn(turn, "secret record")]) == nil)
            for number in 1...40 {
                let body = "secret word \(number) " + String(repeating: "of a body, ", count: 60)
                let part = Array((body + body).utf8)
                #expect(
                    try main.write([
                        .part(TurnID(turn), number: number, content: part),
                        .call(Sample.call(turn, "\(turn)-\(number)", body: body)),
                        Sample.tried(turn, "\(turn)-\(number)"),
                    ]) == nil)
            }
            #expect(try main.write([Sample.closed(turn)]) == nil)
        }
        journal.close()
        let file = try #require(FileManager.default.contents(atPath: folder.file))
        #expect(file.firstRange(of: Array("secret".utf8)) == nil)
    }

    @Test(
        "the places of a turn's parts are its own, whatever numbers a file has",
        arguments: [0, 1, 7, Int64.max, Int64.min])
    func places(turn: Int64) {
        let first = Parts.place(of: 0, in: turn)
        #expect(Parts.place(of: 1, in: turn) == first + 1)
        for part in [Int64.max, Int64.min, 1 << 20] {
            #expect((first...(first + (1 << 20 - 1))).contains(Parts.place(of: part, in: turn)))
        }
    }

    @Test("what several threads hand in is kept, each thread's in its order")
    func manyThreads() async throws {
        let folder = try JournalFolder()
        let main = try folder.open().connection(Sample.main)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<100 { main.submit([Sample.turn("\(thread)-\(number)")], .written, done: nil) }
                }
            }
        }
        let names = try main.load().turns.map(\.id.text)
        #expect(names.count == 800)
        for thread in 0..<8 {
            #expect(names.filter { $0.hasPrefix("\(thread)-") } == (0..<100).map { "\(thread)-\($0)" })
        }
    }

    @Test("a job that fails alone takes no other with it")
    func failsAlone() throws {
        let folder = try JournalFolder()
        let gate = WriterGate()
        let main = try folder.open(gate.hooks).connection(Sample.main)
        let told = Queue<JournalFailure.Code?>()
        #expect(gate.hold { main.submit([.call(Sample.call("a", "k", body: "one"))], .written, done: nil) })
        main.submit([Sample.turn("before")], .written) { told.put($0?.code) }
        main.submit([Sample.turn("within"), .call(Sample.call("a", "k", body: "two"))], .synced) { told.put($0?.code) }
        main.submit([Sample.turn("after")], .written) { told.put($0?.code) }
        gate.release()
        #expect(try (0..<3).map { _ in try told.next() } == [nil, .conflict, nil])
        #expect(try main.load().turns.map(\.id.text) == ["before", "after"])
    }

    @Test("a full disk fails every job of its transaction, and later ones go on when there is room")
    func fullDisk() throws {
        let folder = try JournalFolder()
        let isFull = Locked(true)
        let main = try folder.open(
            JournalHooks(willCommit: { database, _ in
                // SQLite takes a limit below the present size as the present size.
                try? database.script("PRAGMA max_page_count = \(isFull.withLock { $0 } ? 1 : 1_000_000)")
            })
        ).connection(Sample.main)
        let large = Sample.turn("a", String(repeating: "x", count: 1 << 20))
        #expect(try main.write([large], .synced)?.code == .full)
        #expect(try main.take(Sample.message("m", turn: String(repeating: "t", count: 1 << 20))).failureCode == .full)
        isFull.withLock { $0 = false }
        #expect(try main.write([large], .synced) == nil)
        #expect(try main.load().turns.count == 1)
    }

    @Test("a file that cannot be written fails jobs until it can be written again")
    func readOnly() throws {
        let folder = try JournalFolder()
        let isReadOnly = Locked(true)
        let main = try folder.open(
            JournalHooks(willCommit: { database, _ in
                try? database.script("PRAGMA query_only = \(isReadOnly.withLock { $0 })")
            })
        ).connection(Sample.main)
        let failure = try main.write([Sample.turn("a")])
        #expect(failure?.code == .readOnly)
        #expect(failure?.message.contains("SOPHON_STATE_DIR") == true)
        isReadOnly.withLock { $0 = false }
        #expect(try main.write([Sample.turn("a")]) == nil)
    }

    @Test("what is handed in after the close fails, and the close carries out what waits")
    func closing() throws {
        let folder = try JournalFolder()
        let gate = WriterGate()
        let journal = try folder.open(gate.hooks)
        let main = journal.connection(Sample.main)
        #expect(gate.hold { main.submit([Sample.turn("a")], .written, done: nil) })
        main.submit([Sample.turn("b")], .written, done: nil)
        gate.release()
        journal.close()
        journal.close()
        #expect(try main.write([Sample.turn("c")])?.code == .other)
        #expect(throws: JournalFailure.self) { try main.load() }
        // Checkpointed, and the WAL is removed.
        #expect(folder.logBytes == 0)
        #expect(try folder.open().connection(Sample.main).load().turns.map(\.id.text) == ["a", "b"])
    }

    @Test("the log is brought into the file as it grows")
    func checkpoints() throws {
        let folder = try JournalFolder()
        let main = try folder.open().connection(Sample.main)
        let record = String(repeating: "x", count: 1 << 20)
        for _ in 0..<40 { #expect(try main.write([Sample.turn("a", record)]) == nil) }
        // Forty megabytes were written.
        #expect(folder.logBytes < 20 << 20)
    }
}

extension Result where Failure == JournalFailure {
    var failureCode: JournalFailure.Code? { if case .failure(let failure) = self { failure.code } else { nil } }
}
