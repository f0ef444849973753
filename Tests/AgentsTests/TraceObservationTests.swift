import AgentKit
import FoundationEssentials
import Glibc
import Recording
import Testing
import Vocabulary

@Suite("Recorded frames, decoded")
struct TraceObservationTests {
    @Test("there are forty-six traces")
    func complete() { #expect(Trace.names.count == 46) }

    /// `REWRITE_GOLDENS=1 swift test --filter goldens` rewrites them; read the difference before committing it.
    @Test("the observations of a trace are those of its golden file", arguments: Trace.names)
    func goldens(name: String) throws {
        let text = try Trace(name).observed()
        if ProcessInfo.processInfo.environment["REWRITE_GOLDENS"] != nil {
            try Data(text.utf8).write(to: Trace.golden(name))
        }
        #expect(text == (try Trace.expected(name)))
    }

    @Test("nothing of a recorded conversation is unknown or malformed", arguments: Trace.names)
    func understood(name: String) throws {
        var observer = try Trace(name).observer()
        for frame in try Trace(name).frames { observer.take(frame) }
        _ = observer.finish()
        #expect(observer.decoder.unknown.counts.isEmpty)
        #expect(observer.decoder.unknown.malformed == 0)
    }

    @Test("frames read where they lie in the reader's memory give the same observations", arguments: Trace.names)
    func inPlace(name: String) throws {
        var observer = try Trace(name).observer()
        let reader = try RecordingReader(file: Trace.path(name))
        while let entry = try reader.next() {
            observer.take(
                entry.frame, capacity: entry.capacity, entry.direction, at: .zero + .milliseconds(entry.milliseconds))
        }
        #expect(observer.finish() == (try Trace.expected(name)))
    }

    @Test("frames that end where readable memory ends give the same observations", arguments: Trace.names)
    func atPageEnd(name: String) throws {
        let trace = try Trace(name)
        var observer = try trace.observer()
        let memory = try #require(PageEnd(room: trace.frames.map(\.bytes.count).max() ?? 0))
        for frame in trace.frames {
            let bytes = memory.hold(frame.bytes)
            observer.take(bytes, capacity: bytes.count, frame.direction, at: frame.at)
        }
        #expect(observer.finish() == (try Trace.expected(name)))
    }

    @Test("decoders of all traces, a frame each in turn, do not disturb one another")
    func interleaved() throws {
        let traces = try Trace.names.map { try Trace($0) }
        var observers = try traces.map { try $0.observer() }
        for index in 0..<(traces.map(\.frames.count).max() ?? 0) {
            for (at, trace) in traces.enumerated() where index < trace.frames.count {
                observers[at].take(trace.frames[index])
            }
        }
        for (at, trace) in traces.enumerated() {
            #expect(observers[at].finish() == (try Trace.expected(trace.name)), "\(trace.name)")
        }
    }

    @Test("decoders on threads of their own, all at once, give the same observations")
    func concurrent() async throws {
        let texts = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for name in Trace.names + Trace.names {
                group.addTask { (name, try Trace(name).observed()) }
            }
            return try await group.reduce(into: [(String, String)]()) { $0.append($1) }
        }
        #expect(texts.count == 2 * Trace.names.count)
        for (name, text) in texts { #expect(text == (try Trace.expected(name)), "\(name)") }
    }

    @Test("a trace that is in memory at once gives the same observations", arguments: Trace.names)
    func atOnce(name: String) throws {
        let text = String(decoding: try Data(contentsOf: URL(filePath: Trace.path(name))), as: UTF8.self)
        #expect(try Trace(name, RecordingReader(text: text, name: name)).observed() == Trace.expected(name))
    }

    @Test("a trace that comes a byte at a time gives the same observations", arguments: Trace.names)
    func byteByByte(name: String) throws {
        let pipe = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID().uuidString)").path()
        #expect(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        let feeder = Feeder(Array(try Data(contentsOf: URL(filePath: Trace.path(name)))), pipe)
        feeder.start()
        #expect(try Trace(name, RecordingReader(file: pipe)).observed() == Trace.expected(name))
        feeder.join()
    }

    @Test("a frame that is written anew without its secrets gives the same observations", arguments: Trace.names)
    func rewritten(name: String) throws {
        let formatter = RecordingFormatter()
        let reader = try RecordingReader(file: Trace.path(name))
        var lines = formatter.header(agent: "x", date: "2026-02-03T04:05:06Z")
        while let entry = try reader.next() {
            lines += formatter.line(
                for: EntryToRecord(
                    milliseconds: entry.milliseconds, link: entry.link, connection: "c", stream: 1,
                    direction: entry.direction, content: .frame(Array(entry.frame))))
        }
        let text = String(decoding: lines, as: UTF8.self)
        #expect(!text.contains("example-gateway-token"))
        #expect(try Trace(name, RecordingReader(text: text, name: name)).observed() == Trace.expected(name))
    }
}

/// Writes bytes one by one into a pipe, on a thread of its own, because opening a pipe waits for the other side.
private final class Feeder: Sendable {
    private let bytes: [UInt8]
    private let pipe: String
    private nonisolated(unsafe) var thread = pthread_t()  // Touched by the test's thread alone.

    init(_ bytes: [UInt8], _ pipe: String) {
        self.bytes = bytes
        self.pipe = pipe
    }

    func start() {
        pthread_create(
            &thread, nil,
            { @Sendable pointer in
                if let pointer { Unmanaged<Feeder>.fromOpaque(pointer).takeRetainedValue().feed() }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
    }

    func join() { pthread_join(thread, nil) }

    private func feed() {
        let descriptor = open(pipe, O_WRONLY)
        defer { close(descriptor) }
        for byte in bytes {
            var byte = byte
            guard write(descriptor, &byte, 1) == 1 else { return }
        }
    }
}
