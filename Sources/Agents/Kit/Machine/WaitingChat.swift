package import Vocabulary

/// A chat whose child waits for a person. The child works on nothing meanwhile, and keeps its place.
package struct WaitingChat: Hashable, Sendable {
    package var session: SessionID
    /// In milliseconds since 1970.
    package var since: Int64

    package init(_ session: SessionID, since: Int64) {
        self.session = session
        self.since = since
    }
}
