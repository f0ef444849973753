package import Vocabulary

/// A chat whose child waits for a person, or works in the background. Meanwhile no message is answered, and the child keeps its
/// place.
package struct WaitingChat: Hashable, Sendable {
    package var session: SessionID
    /// Milliseconds since 1970.
    package var since: Int64
    /// Background work, or nil if the child waits for its person.
    package var work: String?

    package init(_ session: SessionID, since: Int64, work: String? = nil) {
        self.session = session
        self.since = since
        self.work = work
    }
}
