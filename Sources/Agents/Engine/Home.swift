import AgentKit
import Vocabulary

/// Place of a chat's session, folder of its child, and whether the person still has the chat.
struct Home {
    /// The place in the journal; the next child starts with it.
    private(set) var kept: Place
    /// Place that the journal could not take: it is written before the next prompt.
    private(set) var unkept: Place?
    /// Working folder of the next child, or nil for the configured one.
    private(set) var folder: String?
    /// Working folder of the newest child.
    private var startedIn: String?
    /// The chat was archived or deleted: its child ends once idle, and nothing of a deleted chat is kept.
    var isLeft = false
    /// The agent has lost the session, and the next prompt begins another one.
    var hasLostSession = false
    var isForgotten = false

    init(_ place: Place) {
        kept = place
        folder = place.folder
    }

    /// Moves to the chat's workspace, as the newest message says.
    mutating func moves(to folder: String?) { self.folder = folder ?? self.folder }
    mutating func isStarted() { startedIn = folder }
    /// The child works in another folder than the next message needs.
    var isElsewhere: Bool { startedIn != folder }

    func place(_ native: String?) -> Place { Place(native: native, folder: folder) }
    mutating func wasKept(_ place: Place) { (kept, unkept) = (place, nil) }
    mutating func wasNotKept(_ place: Place) { unkept = place }
    /// A session without a prompt ends with its child.
    mutating func childEnded() { if unkept != kept { unkept = nil } }
    /// The next child begins a new session.
    mutating func forgetsSession() { (kept, unkept) = (place(nil), nil) }
    mutating func losesSession() {
        hasLostSession = hasLostSession || kept.native != nil
        forgetsSession()
    }
}
