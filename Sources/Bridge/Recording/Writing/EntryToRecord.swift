/// An observation of a recorder, before it is a line.
package struct EntryToRecord: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        /// A frame as it came or went. Bytes that are no JSON object are kept as `_raw`.
        case frame([UInt8])
        case socketOpened(url: String)
        case socketClosed(code: Int, reason: String?)
        case httpRequest(method: String, path: String, body: [UInt8]?)
        case httpResponse(status: Int, body: [UInt8])
        case processStarted(arguments: [String])
        case processEnded(code: Int?, signal: String?)
    }

    package var milliseconds: Int64
    package var link: RecordedEntry.Link
    /// The name of the connection, as configured.
    package var connection: String
    /// Number of the socket, child or HTTP exchange of the connection, counted from 1.
    package var stream: Int
    package var direction: RecordedEntry.Direction
    package var content: Content
    /// True if no word of a chat may be in the recording (`WordCover`).
    package var coversWords: Bool

    package init(
        milliseconds: Int64, link: RecordedEntry.Link, connection: String, stream: Int,
        direction: RecordedEntry.Direction, content: Content, coversWords: Bool = false
    ) {
        self.milliseconds = milliseconds
        self.link = link
        self.connection = connection
        self.stream = stream
        self.direction = direction
        self.content = content
        self.coversWords = coversWords
    }
}
