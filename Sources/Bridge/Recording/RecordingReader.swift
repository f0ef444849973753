import CSimdjson
import Glibc

/// Reads a recording line by line (DESIGN.md#recording), also one without header, link, connection and stream.
///
/// `memchr` searches new bytes alone, and a frame is handed over in place: a line costs one copy from the system and one pass of the parser.
package final class RecordingReader {
    /// pi's lines may be very long (pi.md#framing); a file with a longer one is no recording.
    package static let lineLimit = 64 << 20
    private static let readSize = 1 << 20
    /// Thirty years in milliseconds: no recording is longer, and a count of nanoseconds could not hold much more.
    private static let timeLimit: Int64 = 1_000_000_000_000

    private let file: String
    private let descriptor: Int32
    private let json: OpaquePointer
    /// Bytes behind a line that the parser may read.
    private let padding: Int
    private var buffer: UnsafeMutableRawPointer
    private var size: Int
    private var start = 0
    private var end = 0
    private var searched = 0
    private var isAtEnd = false
    /// The current line has no line feed behind it: its writer may have been cut off.
    private var lacksLineFeed = false
    private var line = 0
    private var lastMilliseconds: Int64 = 0
    package private(set) var header: RecordingHeader?

    package init(file: String) throws(RecordingError) {
        self.file = file
        descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw RecordingError(
                .unreadable, file: file,
                "cannot be read: \(String(cString: strerror(errno))); check the path and its rights")
        }
        guard let json = sb_json_make() else {
            close(descriptor)
            throw RecordingError(.unreadable, file: file, "no memory for a JSON parser")
        }
        self.json = json
        padding = sb_json_padding()
        size = Self.readSize + padding
        buffer = .allocate(byteCount: size, alignment: 64)
    }

    /// A recording that is in memory.
    package init(text: String, name: String) throws(RecordingError) {
        file = name
        descriptor = -1
        guard let json = sb_json_make() else {
            throw RecordingError(.unreadable, file: name, "no memory for a JSON parser")
        }
        self.json = json
        padding = sb_json_padding()
        let bytes = Array(text.utf8)
        size = bytes.count + padding
        buffer = .allocate(byteCount: size, alignment: 64)
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(buffer), byteCount: $0.count)
        }
        end = bytes.count
        isAtEnd = true
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        sb_json_free(json)
        buffer.deallocate()
    }

    /// The next line, or nil at the end of the file.
    package func next() throws(RecordingError) -> RecordedEntry? {
        while let bytes = try nextLine() {
            line += 1
            guard bytes.count <= Self.lineLimit else { throw tooLong(line) }
            if bytes.allSatisfy({ $0 == 32 || $0 == 9 || $0 == 13 }) { continue }
            if let entry = try entry(bytes) { return entry }
        }
        return nil
    }

    // MARK: Lines

    private func nextLine() throws(RecordingError) -> UnsafeRawBufferPointer? {
        while true {
            if let found = memchr(buffer + searched, 10, end - searched) {
                let at = found - buffer
                defer {
                    start = at + 1
                    searched = start
                }
                return UnsafeRawBufferPointer(start: buffer + start, count: at - start)
            }
            searched = end
            if isAtEnd {
                guard end > start else { return nil }
                lacksLineFeed = true
                defer { start = end }
                return UnsafeRawBufferPointer(start: buffer + start, count: end - start)
            }
            try fill()
        }
    }

    private func fill() throws(RecordingError) {
        if start > 0 {
            memmove(buffer, buffer + start, end - start)
            end -= start
            searched -= start
            start = 0
        }
        if size - padding - end < Self.readSize / 2 { try grow() }
        let room = size - padding - end
        var count: Int
        repeat {
            count = read(descriptor, buffer + end, room)
        } while count < 0 && errno == EINTR
        guard count >= 0 else {
            throw RecordingError(
                .unreadable, file: file, line: line + 1, "cannot be read further: \(String(cString: strerror(errno)))")
        }
        isAtEnd = count == 0
        end += count
    }

    private func grow() throws(RecordingError) {
        guard end <= Self.lineLimit else { throw tooLong(line + 1) }
        let larger = UnsafeMutableRawPointer.allocate(byteCount: size * 2, alignment: 64)
        larger.copyMemory(from: buffer, byteCount: end)
        buffer.deallocate()
        buffer = larger
        size *= 2
    }

    private func tooLong(_ line: Int) -> RecordingError {
        RecordingError(
            .lineTooLong, file: file, line: line,
            "the line is longer than 64 MB; expected one frame a line, so this is probably another kind of file")
    }

    // MARK: One line

    private func fault(_ code: RecordingError.Code, _ message: String) -> RecordingError {
        RecordingError(code, file: file, line: line, message)
    }

    private func entry(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) -> RecordedEntry? {
        guard let base = bytes.baseAddress else { return nil }
        let capacity = size - (base - UnsafeRawPointer(buffer))
        // A line that was cut off may by chance end like a whole one: the parser decides.
        if !lacksLineFeed, let quick = quickEntry(bytes, capacity: capacity) { return try checked(quick) }
        var root = sb_node()
        guard sb_json_parse(json, base.assumingMemoryBound(to: CChar.self), bytes.count, capacity, &root) else {
            if lacksLineFeed {
                throw fault(.truncated, "the last line is cut off; the recording ends before it was written whole")
            }
            if sb_json_was_too_deep(json) {
                throw fault(
                    .tooDeep, "nests more than 1,024 deep; expected a frame as an agent or a relay would send it")
            }
            throw fault(.notJSON, "no JSON (\(String(cString: sb_json_fault(json)))); expected one object a line")
        }
        guard sb_node_kind(root) == sb_object else {
            throw fault(.wrongShape, "expected an object such as {\"at_ms\":0,\"dir\":\"in\",\"frame\":{…}}")
        }
        if let version = member(root, "sophon_recording") { return try readHeader(root, version) }
        return try checked(slowEntry(root))
    }

    private func checked(_ entry: RecordedEntry) throws(RecordingError) -> RecordedEntry {
        guard entry.milliseconds <= Self.timeLimit else {
            throw fault(
                .wrongShape, "\"at_ms\" is \(entry.milliseconds); expected milliseconds since the recording began")
        }
        guard entry.milliseconds >= lastMilliseconds else {
            throw fault(
                .timeGoesBack,
                "at_ms goes back from \(lastMilliseconds) to \(entry.milliseconds); the lines must be in the order of their time"
            )
        }
        lastMilliseconds = entry.milliseconds
        return entry
    }

    private func readHeader(_ root: sb_node, _ version: sb_node) throws(RecordingError) -> RecordedEntry? {
        var number: Int64 = 0
        guard sb_node_integer(version, &number), number == RecordingHeader.version else {
            throw fault(
                .unknownVersion,
                "the format's version is not \(RecordingHeader.version); record it anew, or use a newer program")
        }
        header = RecordingHeader(
            version: Int(number), agent: member(root, "agent").flatMap(text), date: member(root, "date").flatMap(text))
        return nil
    }

    private func member(_ node: sb_node, _ name: String) -> sb_node? {
        var name = name
        var member = sb_node()
        let found = name.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { sb_node_member(node, $0.baseAddress, $0.count, &member) }
        }
        return found ? member : nil
    }

    private func text(_ node: sb_node) -> String? {
        var bytes = sb_bytes()
        guard sb_node_string(node, &bytes) else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: bytes.start, count: bytes.count), as: UTF8.self)
    }

    /// Entry of a line with its members in any order. The frame is written out again, in the parser's memory.
    private func slowEntry(_ root: sb_node) throws(RecordingError) -> RecordedEntry {
        var milliseconds: Int64 = 0
        guard let time = member(root, "at_ms"), sb_node_integer(time, &milliseconds), milliseconds >= 0 else {
            throw fault(.wrongShape, "\"at_ms\" is missing or no whole number of milliseconds")
        }
        guard let direction = member(root, "dir").flatMap(text).flatMap(RecordedEntry.Direction.init(rawValue:)) else {
            throw fault(.wrongShape, "\"dir\" must be \"in\" or \"out\"")
        }
        let name = member(root, "link").flatMap(text) ?? "agent"
        guard let link = RecordedEntry.Link(rawValue: name) else {
            throw fault(.wrongShape, "\"link\" must be \"agent\" or \"relay\", not \"\(name.prefix(40))\"")
        }
        guard let frame = member(root, "frame"), sb_node_kind(frame) == sb_object || sb_node_kind(frame) == sb_string
        else {
            throw fault(.wrongShape, "\"frame\" is missing or no object")
        }
        var stream: Int64 = 1
        if let number = member(root, "stream") { _ = sb_node_integer(number, &stream) }
        // A frame that is no JSON is returned unchanged.
        var raw = sb_bytes()
        let isRaw = member(frame, "_raw").map { sb_node_string($0, &raw) } ?? false
        let compact = isRaw ? raw : sb_node_compact(json, frame)
        let bytes = UnsafeRawBufferPointer(start: compact.start, count: compact.count)
        return RecordedEntry(
            milliseconds: milliseconds, link: link, stream: Self.stream(stream), direction: direction, frame: bytes,
            capacity: bytes.count, line: line)
    }

    /// Recordings of one channel may leave the number out.
    private static func stream(_ number: Int64?) -> Int { Int(max(1, min(number ?? 1, Int64(Int32.max)))) }

    /// Entry of the form that our writer and the traces have: `{"at_ms":N,…,"frame":{…}}` with the frame last and nothing unusual before it.
    /// The frame itself is left to its decoder.
    private func quickEntry(_ bytes: UnsafeRawBufferPointer, capacity: Int) -> RecordedEntry? {
        var scan = PrefixScan(bytes)
        guard scan.begins(), let base = bytes.baseAddress, let at = scan.frame, bytes.count > at + 2 else { return nil }
        var last = bytes.count - 1
        while last > at, bytes[last] == 13 || bytes[last] == 32 { last -= 1 }
        guard bytes[last] == UInt8(ascii: "}"), bytes[last - 1] == UInt8(ascii: "}"), bytes[at] == UInt8(ascii: "{"),
            let milliseconds = scan.milliseconds, let direction = scan.direction, !scan.frameIsRaw
        else { return nil }
        return RecordedEntry(
            milliseconds: milliseconds, link: scan.isRelay ? .relay : .agent, stream: Self.stream(scan.stream),
            direction: direction,
            frame: UnsafeRawBufferPointer(start: base + at, count: last - at), capacity: capacity - at, line: line)
    }
}
