import Glibc

/// Splits bytes into lines, at LF alone: U+2028 and CR may occur in a JSON text. Never holds more than one line of the limit.
struct LineReader {
    enum Output: Hashable {
        case line([UInt8])
        /// A line over the limit, with its length.
        case skipped(bytes: Int)
    }

    /// Spare capacity behind a line, for a parser that reads beyond its end.
    static let padding = 64

    private let limit: Int
    private var pending: [UInt8] = []
    /// Bytes so far of a line over the limit, or nil.
    private var skipped: Int?

    init(limit: Int) { self.limit = limit }

    /// The next line, and the rest of the input. Nil if all of the input was consumed. Only new bytes are searched.
    mutating func next(_ input: inout UnsafeRawBufferPointer) -> Output? {
        guard let base = input.baseAddress, !input.isEmpty else { return nil }
        guard let end = memchr(base, 10, input.count) else {
            take(input, ending: false)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return nil
        }
        let count = UnsafeRawPointer(end) - base
        take(UnsafeRawBufferPointer(rebasing: input[..<count]), ending: true)
        input = UnsafeRawBufferPointer(rebasing: input[(count + 1)...])
        return endLine()
    }

    /// The last line, if no LF followed it.
    mutating func finish() -> Output? { pending.isEmpty && skipped == nil ? nil : endLine() }

    private mutating func take(_ part: UnsafeRawBufferPointer, ending: Bool) {
        if let skipped {
            self.skipped = skipped + part.count
        } else if pending.count + part.count > limit {
            skipped = pending.count + part.count
            pending = []
        } else {
            if ending { pending.reserveCapacity(pending.count + part.count + Self.padding) }
            pending.append(contentsOf: part)
        }
    }

    private mutating func endLine() -> Output {
        if let skipped = skipped.take() { return .skipped(bytes: skipped) }
        var line: [UInt8] = []
        swap(&line, &pending)
        line.reserveCapacity(line.count + Self.padding)
        return .line(line)
    }
}

/// The last bytes of a stream.
struct LastWords {
    static let limit = 2_048
    private var bytes: [UInt8] = []

    mutating func take(_ part: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: part.suffix(Self.limit))
        if bytes.count > Self.limit { bytes.removeFirst(bytes.count - Self.limit) }
    }

    /// The text, without a character that was cut at its start.
    var text: String {
        let whole = bytes.count < Self.limit ? bytes[...] : bytes.drop { $0 & 0xC0 == 0x80 }
        return String(decoding: whole, as: UTF8.self)
    }
}
