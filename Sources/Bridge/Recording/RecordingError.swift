/// A fault of a recording: where, what was found, what was expected.
package struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case unreadable, lineTooLong, notJSON, tooDeep, wrongShape, truncated, unknownAgent, timeGoesBack, empty,
            unknownVersion, nothingRead
        case unwritable, tooLarge
    }

    package var code: Code
    package var file: String
    /// Counted from 1, or 0 if no line is meant.
    package var line: Int
    package var message: String

    package init(_ code: Code, file: String, line: Int = 0, _ message: String) {
        self.code = code
        self.file = file
        self.line = line
        self.message = message
    }

    package var description: String { line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)" }
}
