/// One line of a recording. The frame is a view of the reader's memory, valid until the next line is read.
package struct RecordedEntry {
    package enum Direction: String, Sendable { case incoming = "in", outgoing = "out" }
    package enum Link: String, Sendable { case agent, relay }

    package var milliseconds: Int64
    package var link: Link
    /// Numbers the socket, the child or the exchange.
    package var stream: Int
    package var direction: Direction
    package var frame: UnsafeRawBufferPointer
    /// Bytes from the frame's beginning that may be read.
    package var capacity: Int
    package var line: Int
}

/// The first line of a recording of our own; recordings without one are taken as they are.
package struct RecordingHeader: Sendable, Hashable {
    package static let version = 1

    package var version: Int
    package var agent: String?
    /// When it was recorded, as in RFC 3339.
    package var date: String?
}
