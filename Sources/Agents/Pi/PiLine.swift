import JSONReading
import Vocabulary

/// Lines of pi's standard output.
enum PiLine {
    /// Finds the record in a line: an extension may print without a line end, and its noise then precedes the record
    /// (pi.md#framing).
    static func parse(_ line: UnsafeRawBufferPointer, capacity: Int, with parser: FrameParser) -> FrameNode? {
        if let root = parser.parse(line, capacity: capacity), root.isObject { return root }
        guard let start = beginning(in: line), start > 0 else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: line[start...])
        guard let root = parser.parse(rest, capacity: capacity - start), root.isObject else { return nil }
        return root
    }

    private static func beginning(in line: UnsafeRawBufferPointer) -> Int? {
        let mark = Array(#"{"type":"#.utf8)
        guard line.count >= mark.count else { return nil }
        return (0...(line.count - mark.count)).first { start in
            line[start] == mark[0] && line[start..<(start + mark.count)].elementsEqual(mark)
        }
    }
}
