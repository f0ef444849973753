import AgentKit
import Vocabulary

/// The place of a chat's session and the folder of its child, and whether the person still has the chat.
struct Home {
    /// The place as written down; the next child starts with it.
    private(set) var kept: Place
    /// Where the next child works; nil: where the settings say.
    private(set) var folder: String?
    /// Where the child works that was started last.
    private var startedIn: String?
    /// The chat was archived or deleted: its child ends when it has nothing to do, and of a deleted one nothing is kept.
    var isLeft = false
    /// The agent has no record of the session any longer, and the next prompt begins another one.
    var hasLostSession = false
    var isForgotten = false

    init(_ place: Place) {
        kept = place
        folder = place.folder
    }

    /// The workspace of its chat, as the newest message says.
    mutating func moves(to folder: String?) { self.folder = folder ?? self.folder }
    mutating func isStarted() { startedIn = folder }
    /// The child works in another folder than the next message asks for.
    var isElsewhere: Bool { startedIn != folder }

    func place(_ native: String?) -> Place { Place(native: native, folder: folder) }
    mutating func wasKept(_ place: Place) { kept = place }
    /// The next child begins a session of its own.
    mutating func forgetsSession() { kept = place(nil) }
    mutating func losesSession() {
        hasLostSession = hasLostSession || kept.native != nil
        forgetsSession()
    }
}
