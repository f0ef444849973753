/// One line of a recording. The frame is a view of the reader's memory, valid until the next line is read.
package struct RecordedEntry {
    package enum Direction: String, Sendable { case incoming = "in", outgoing = "out" }
    package enum Link: String, Sendable { case agent, relay }

    package var milliseconds: Int64
    package var link: Link
    /// Number of the socket, the child or the exchange.
    package var stream: Int
    package var direction: Direction
    package var frame: UnsafeRawBufferPointer
    /// Readable bytes from the frame's beginning.
    package var capacity: Int
    package var line: Int
}

/// First line of a recording of our own; a recording without one is accepted too.
package struct RecordingHeader: Sendable, Hashable {
    package static let version = 1

    package var version: Int
    package var agent: String?
    /// Date of the recording, in the form of RFC 3339.
    package var date: String?
}
