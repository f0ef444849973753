package import Vocabulary

/// A chat whose child waits for a person, or works in the background. No message is answered meanwhile, and the child keeps its place.
package struct WaitingChat: Hashable, Sendable {
    package var session: SessionID
    /// In milliseconds since 1970.
    package var since: Int64
    /// In the background; nil: the child waits for its person.
    package var work: String?

    package init(_ session: SessionID, since: Int64, work: String? = nil) {
        self.session = session
        self.since = since
        self.work = work
    }
}
