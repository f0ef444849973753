import Vocabulary

/// A value inside a frame in its own bytes: a parser that writes it again may change numbers and escapes.
enum JSONSlice {
    /// Value of a member in a parsed frame, by its path. Nil if a name on the path has no plain member. Of two members with one
    /// name the first counts, as for the parser.
    static func member(_ path: [String], of frame: UnsafeRawBufferPointer) -> JSONText? {
        var range = 0..<frame.count
        for name in path {
            guard let found = value(of: Array(name.utf8), in: frame, range) else { return nil }
            range = found
        }
        return JSONText(unchecked: String(decoding: frame[range], as: UTF8.self))
    }

    private static func value(
        of name: [UInt8], in frame: UnsafeRawBufferPointer, _ range: Range<Int>
    ) -> Range<Int>? {
        var at = blank(frame, range.lowerBound, range.upperBound)
        guard at < range.upperBound, frame[at] == UInt8(ascii: "{") else { return nil }
        at += 1
        while true {
            at = blank(frame, at, range.upperBound)
            guard at < range.upperBound, frame[at] == UInt8(ascii: "\""),
                let keyEnd = string(frame, at, range.upperBound)
            else { return nil }
            let isFound = frame[(at + 1)..<(keyEnd - 1)].elementsEqual(name)
            at = blank(frame, keyEnd, range.upperBound)
            guard at < range.upperBound, frame[at] == UInt8(ascii: ":") else { return nil }
            let start = blank(frame, at + 1, range.upperBound)
            guard let end = value(frame, start, range.upperBound) else { return nil }
            if isFound { return start..<end }
            at = blank(frame, end, range.upperBound)
            guard at < range.upperBound, frame[at] == UInt8(ascii: ",") else { return nil }
            at += 1
        }
    }

    private static func blank(_ frame: UnsafeRawBufferPointer, _ start: Int, _ limit: Int) -> Int {
        var at = start
        while at < limit, frame[at] <= 0x20 { at += 1 }
        return at
    }

    /// Position behind the closing quote.
    private static func string(_ frame: UnsafeRawBufferPointer, _ start: Int, _ limit: Int) -> Int? {
        var at = start + 1
        while at < limit {
            if frame[at] == UInt8(ascii: "\"") { return at + 1 }
            at += frame[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    /// Position behind a value of any kind. Nesting is counted, not followed.
    private static func value(_ frame: UnsafeRawBufferPointer, _ start: Int, _ limit: Int) -> Int? {
        var (at, depth) = (start, 0)
        while at < limit {
            switch frame[at] {
            case UInt8(ascii: "\""):
                guard let end = string(frame, at, limit) else { return nil }
                at = end
                if depth == 0 { return at }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The enclosing value ends a number or a word.
                if depth == 0 { return at > start ? at : nil }
                depth -= 1
                if depth == 0 { return at + 1 }
            case UInt8(ascii: ","), 0...0x20:
                if depth == 0 { return at > start ? at : nil }
            default: break
            }
            at += 1
        }
        return depth == 0 && at > start ? at : nil
    }
}
