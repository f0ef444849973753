import AgentKit
import Vocabulary

/// The files of a message on its way to the gateway.
struct RunFiles: Hashable, Sendable {
    /// Files to send. Once chosen they stay the same, since the text under
    /// the same key names the others (openclaw.md#disconnects).
    var files: [MessageFile] = []
    /// Files that the bridge lacks, and files that the gateway does not accept.
    var missing: [MissingFile] = []
    var areChosen = false
    /// The message has no words.
    var areAlone = false
    /// The files were another process's, or are unreadable by now: the message cannot be sent again.
    var areGone = false
}
