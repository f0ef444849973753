import Glibc
import Vocabulary

/// Input queued for the child.
struct OutgoingInput {
    enum State {
        case open
        /// All input was written, and no more follows.
        case done
        /// The child has closed its input.
        case deaf
    }

    private var messages: [ChildControl.Message] = []
    /// Bytes written of the first message.
    private var offset = 0
    private var isClosing = false
    private var written: [Int] = []

    var isWaiting: Bool { !messages.isEmpty }

    mutating func take(_ messages: [ChildControl.Message], closing: Bool) {
        self.messages += messages
        if closing { isClosing = true }
    }

    mutating func takeWritten() -> [Int] {
        defer { written = [] }
        return written
    }

    mutating func write(to pipe: Int32, _ control: ChildControl) -> State {
        var done = 0
        defer { messages.removeFirst(done) }
        while done < messages.count {
            let message = messages[done]
            let count = message.bytes.withUnsafeBytes {
                $0.count == offset ? 0 : Glibc.write(pipe, $0.baseAddress.map { $0 + offset }, $0.count - offset)
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return .open }
                done = messages.count
                return .deaf
            }
            offset += count
            control.wasWritten(count)
            guard offset == message.bytes.count else { continue }
            offset = 0
            done += 1
            if let token = message.telling { written.append(token) }
        }
        return isClosing ? .done : .open
    }
}

/// Standard output: the last read bytes, and the lines in them.
struct ChildOutput {
    private var reader: LineReader
    private var unread: [UInt8] = []
    private var position = 0
    private var hasEnded = false
    /// Bytes read after the child's exit.
    var lateBytes = 0

    init(limit: Int) { reader = LineReader(limit: limit) }

    var hasMore: Bool { position < unread.count }

    /// Replaces the read bytes. To call only after `next` returned nil.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        unread.removeAll(keepingCapacity: true)
        unread.append(contentsOf: bytes)
        position = 0
    }

    /// Ends the output; an unfinished line is the last one.
    mutating func end() { hasEnded = true }

    mutating func next() -> ChildEvent? {
        let found = unread.withUnsafeBytes { all in
            var rest = UnsafeRawBufferPointer(rebasing: all[position...])
            defer { position = all.count - rest.count }
            return reader.next(&rest)
        }
        switch found ?? (hasEnded ? reader.finish() : nil) {
        case .line(let line): return .line(line)
        case .skipped(let bytes): return .skipped(bytes: bytes)
        case nil: return nil
        }
    }
}

/// Standard error: its lines, and its last bytes for the report of the exit.
struct ErrorOutput {
    private static let lineLimit = 4_096
    private var reader = LineReader(limit: lineLimit)
    private var last = LastWords()

    var lastWords: String { last.text }

    mutating func take(_ bytes: UnsafeRawBufferPointer, _ handler: (ChildEvent) -> Void) {
        last.take(bytes)
        var rest = bytes
        while let found = reader.next(&rest) { tell(found, handler) }
    }

    mutating func end(_ handler: (ChildEvent) -> Void) {
        if let found = reader.finish() { tell(found, handler) }
    }

    private func tell(_ found: LineReader.Output, _ handler: (ChildEvent) -> Void) {
        switch found {
        case .line(let line): handler(.complained(String(decoding: line, as: UTF8.self)))
        case .skipped(let bytes): handler(.complained("(a line of \(bytes) bytes)"))
        }
    }
}
