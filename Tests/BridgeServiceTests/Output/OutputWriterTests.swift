import BridgeService
import Glibc
import Testing
import Vocabulary

/// Both ends of a pipe of one page.
private final class Pipe: @unchecked Sendable {
    let reader: Int32
    let writer: Int32

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "no pipe")
        (reader, writer) = (ends[0], ends[1])
        // F_SETPIPE_SZ, which Glibc does not show to Swift.
        _ = fcntl(writer, 1_031, 4_096)
    }

    /// Empty if nothing comes, because a failing test must not hang.
    func read() -> String {
        var waiting = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 20_000) > 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(reader, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// Reads until the text ends like this.
    func read(to end: String) -> String {
        var text = ""
        while !text.hasSuffix(end) {
            let piece = read()
            if piece.isEmpty { return text }
            text += piece
        }
        return text
    }
}

@Suite("The thread that writes the output", .timeLimit(.minutes(1)))
struct OutputWriterTests {
    private typealias Entry = OutputQueue.Entry

    private static func writer(_ descriptor: Int32) -> OutputWriter {
        OutputWriter { losses in
            Entry(descriptor, .words, "(\(losses.logLines) logs, \(losses.turnsEnded) turns)\n")
        }
    }

    @Test("what is put is written in order, and flush waits for it")
    func order() {
        let pipe = Pipe()
        let writer = Self.writer(pipe.writer)
        for number in 0..<100 { writer.put(Entry(pipe.writer, .log, "\(number)\n")) }
        #expect(writer.flush(atMost: .seconds(30)))
        #expect(pipe.read() == (0..<100).map { "\($0)\n" }.joined())
    }

    @Test("a reader that stalls holds nobody; when it reads again it has every milestone, and the count of the rest")
    func stalled() {
        let pipe = Pipe()
        let writer = Self.writer(pipe.writer)
        writer.endure()
        writer.put(Entry(pipe.writer, .milestone, subject: "ready", "ready\n"))
        for number in 0..<10_000 {
            writer.put(Entry(pipe.writer, .turnEnded, "turn \(number)\n"))
            writer.put(Entry(pipe.writer, .log, "a line of the log, which is long enough to fill the pipe at once\n"))
        }
        writer.put(Entry(pipe.writer, .milestone, subject: "shutdown", "shutdown\n"))
        #expect(!writer.flush(atMost: .milliseconds(50)))
        let text = pipe.read(to: "shutdown\n")
        #expect(text.hasPrefix("ready\n"))
        let lines = text.split(separator: "\n")
        let turns = lines.count { $0.hasPrefix("turn ") }
        let logs = lines.count { $0.hasPrefix("a line") }
        let dropped = lines.filter { $0.hasPrefix("(") }
        #expect(dropped == ["(\(10_000 - logs) logs, \(10_000 - turns) turns)"])
        #expect((900...1_500).contains(turns), "\(turns) turns")
        #expect(logs < 200, "\(logs) logs")
        #expect(lines.last == "shutdown" && lines.dropLast().last == "turn 9999")
        #expect(writer.flush(atMost: .seconds(30)))
    }

    @Test("a full disk is a failure, or is tried again where the writer endures")
    func fullDisk() {
        let full = open("/dev/full", O_WRONLY)
        let writer = Self.writer(full)
        writer.put(Entry(full, .result, "text\n"))
        #expect(writer.flush(atMost: .seconds(30)))
        #expect(writer.failure == .unwritable(ENOSPC))
        // The entry is neither delayed nor written.
        writer.putWhenThereIsRoom(Entry(full, .result, String(repeating: "x", count: 1 << 20)))

        let enduring = Self.writer(full)
        enduring.endure()
        enduring.put(Entry(full, .milestone, "ready\n"))
        #expect(!enduring.flush(atMost: .milliseconds(50)))
        #expect(enduring.failure == nil)
        // The disk has room again.
        let pipe = Pipe()
        dup2(pipe.writer, full)
        #expect(enduring.flush(atMost: .seconds(30)))
        #expect(pipe.read() == "ready\n")
    }

    @Test(
        "a reader that went away is a failure and is told; a writer that endures goes on, and does not wait at the end")
    func closed() {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        close(pipe.reader)
        let writer = Self.writer(pipe.writer)
        let told = Pipe()
        writer.onFailure { _ = write(told.writer, "!", 1) }
        writer.put(Entry(pipe.writer, .result, "text\n"))
        #expect(told.read() == "!")
        #expect(writer.failure == .closed)

        let enduring = Self.writer(pipe.writer)
        enduring.endure()
        for _ in 0..<10_000 { enduring.put(Entry(pipe.writer, .milestone, subject: "ready", "ready\n")) }
        #expect(enduring.flush(atMost: .seconds(30)))
        #expect(enduring.failure == nil)
    }

    @Test("a descriptor that somebody has set to O_NONBLOCK loses nothing")
    func nonBlocking() {
        let pipe = Pipe()
        _ = fcntl(pipe.writer, F_SETFL, O_NONBLOCK)
        let writer = Self.writer(pipe.writer)
        let text = String(repeating: "0123456789abcde\n", count: 8_192)
        writer.put(Entry(pipe.writer, .result, text + "end\n"))
        #expect(pipe.read(to: "end\n") == text + "end\n")
    }

    @Test("a result waits for its reader, and none of it is dropped")
    func results() {
        let pipe = Pipe()
        let writer = Self.writer(pipe.writer)
        let count = 50_000
        let thread = Thread {
            for number in 0..<count { writer.putWhenThereIsRoom(Entry(pipe.writer, .result, "\(number)\n")) }
            writer.putWhenThereIsRoom(Entry(pipe.writer, .result, "end\n"))
        }
        #expect(pipe.read(to: "end\n") == (0..<count).map { "\($0)\n" }.joined() + "end\n")
        thread.join()
    }
}

/// A thread that a test can join.
private struct Thread {
    private final class Work: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    private var thread = pthread_t()

    init(_ work: @escaping @Sendable () -> Void) {
        let held = Unmanaged.passRetained(Work(work)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { @Sendable pointer in
                guard let pointer else { return nil }
                Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().work()
                return nil
            }, held)
        precondition(status == 0, "pthread_create failed with \(status)")
    }

    func join() { pthread_join(thread, nil) }
}
