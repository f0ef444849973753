import AgentKit
import Agents
import FoundationEssentials
import Glibc
import Recording
import Vocabulary

/// A recorded conversation and a decoder's view of it: one line per observation, with its time.
struct Trace {
    struct Frame {
        var at: Instant
        var direction: RecordedEntry.Direction
        var bytes: [UInt8]
    }

    struct UnknownAgent: Error { var trace: String }

    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    private static let folder = tests.appending(path: "Fixtures/traces")
    static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? [])
        .filter { $0.hasSuffix(".jsonl") }.sorted()

    static func path(_ name: String) -> String { folder.appending(path: name).path() }
    static func golden(_ name: String) -> URL {
        tests.appending(path: "AgentsTests/Golden/\(name.replacing(".jsonl", with: ".golden"))")
    }
    static func expected(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: golden(name)), as: UTF8.self)
    }

    var name: String
    var frames: [Frame]

    init(_ name: String) throws { try self.init(name, try RecordingReader(file: Self.path(name))) }

    init(_ name: String, _ reader: RecordingReader) throws {
        self.name = name
        frames = []
        while let entry = try reader.next() {
            frames.append(
                Frame(
                    at: Instant.zero + .milliseconds(entry.milliseconds), direction: entry.direction,
                    bytes: Array(entry.frame)))
        }
    }

    func observer() throws -> Observer {
        guard let agent = AgentRegistry.all.plugins.first(where: { name.hasPrefix($0.kind.rawValue) }) else {
            throw UnknownAgent(trace: name)
        }
        return Observer(decoder: agent.decoder())
    }

    /// All frames in order. Each has memory of its own, freed behind it.
    func observed() throws -> String {
        var observer = try observer()
        for frame in frames { observer.take(frame) }
        return observer.finish()
    }
}

/// A decoder and its observations so far.
struct Observer {
    var decoder: any AgentDecoder
    private(set) var text = ""

    init(decoder: any AgentDecoder) { self.decoder = decoder }

    mutating func take(_ frame: Trace.Frame) {
        frame.bytes.withUnsafeBytes { take($0, capacity: $0.count, frame.direction, at: frame.at) }
    }

    mutating func take(
        _ bytes: UnsafeRawBufferPointer, capacity: Int, _ direction: RecordedEntry.Direction, at now: Instant
    ) {
        meetDeadlines(until: now)
        note(
            direction == .incoming
                ? decoder.received(bytes, capacity: capacity, at: now)
                : decoder.sent(bytes, capacity: capacity, at: now),
            at: now)
    }

    /// Lets timers run out, then lists unknown frames.
    mutating func finish() -> String {
        meetDeadlines(until: nil)
        for (name, count) in decoder.unknown.counts.sorted(by: { $0.key < $1.key }) {
            text += "unknown \(name): \(count)\n"
        }
        if decoder.unknown.malformed > 0 { text += "malformed: \(decoder.unknown.malformed)\n" }
        return text
    }

    private mutating func note(_ observations: [Observation], at now: Instant) {
        for observation in observations {
            text += "\(ObservationText.milliseconds(now)) \(ObservationText.line(observation))\n"
        }
    }

    private mutating func meetDeadlines(until now: Instant?) {
        while let deadline = decoder.nextDeadline, now.map({ deadline <= $0 }) ?? true {
            note(decoder.deadlineHit(at: deadline), at: deadline)
        }
    }
}

/// Memory that ends where reading must end: one byte further is a fault of the process.
final class PageEnd {
    private let start: UnsafeMutableRawPointer
    private let readable: Int
    private static let page = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Nil if the system gives no memory.
    init?(room: Int) {
        readable = (room + Self.page) / Self.page * Self.page
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        guard let start = mmap(nil, readable + Self.page, PROT_READ | PROT_WRITE, flags, -1, 0), start != MAP_FAILED,
            mprotect(start + readable, Self.page, PROT_NONE) == 0
        else { return nil }
        self.start = start
    }

    deinit { munmap(start, readable + Self.page) }

    /// Lays the bytes so that the last one is the last of the memory.
    func hold(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        precondition(bytes.count <= readable)
        let begin = start + (readable - bytes.count)
        bytes.withUnsafeBytes { if let base = $0.baseAddress { begin.copyMemory(from: base, byteCount: $0.count) } }
        return UnsafeRawBufferPointer(start: begin, count: bytes.count)
    }
}
